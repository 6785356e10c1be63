//! Where a secret is.

use std::{fmt, path::PathBuf};

use crate::redact::Secret;

/// Where a secret is. Only [`Plain`](Self::Plain) holds one.
#[derive(Clone, PartialEq)]
pub enum SecretSource {
    /// In the configuration itself.
    Plain(Secret),
    /// In an environment variable of this name.
    Env(String),
    /// In a file that only this user can read.
    File(PathBuf),
    /// In the keyring of this user, under this name.
    Keyring(String),
}

impl fmt::Debug for SecretSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for SecretSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain(_) => f.write_str("a value in the configuration"),
            Self::Env(name) => write!(f, "environment variable `{name}`"),
            Self::File(path) => write!(f, "file `{}`", path.display()),
            Self::Keyring(name) => write!(f, "keyring entry `{name}`"),
        }
    }
}
