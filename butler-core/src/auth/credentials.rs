//! `credentials.json`: one login per Butler server, and which of them is active.
//!
//! Read tolerantly, because other versions of the program write it too: unknown fields are ignored.
//! Parse errors are reported by position only; their text could quote a token.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use jiff::Timestamp;
use secrecy::SecretString;
use serde::Deserialize;

use crate::error::{Code, Diagnose};

/// All logins of this user.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Credentials {
    active_server: String,
    servers: BTreeMap<String, Login>,
}

/// A login on one server.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Login {
    user: User,
    /// Base64 of a kubeconfig with a short-lived token.
    pub kubeconfig: Option<SecretString>,
    /// When that token ends; a missing time counts as ended.
    pub expires_at: Option<Timestamp>,
    active_team: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct User {
    email: String,
}

impl Login {
    /// The e-mail address, trimmed and in lower case, as role bindings name it; none when empty.
    pub fn email(&self) -> Option<String> {
        Some(self.user.email.trim().to_lowercase()).filter(|email| !email.is_empty())
    }

    /// The team chosen with `context use`.
    pub fn active_team(&self) -> Option<String> {
        Some(self.active_team.clone()).filter(|team| !team.is_empty())
    }

    /// True when the token in the kubeconfig can no longer be used.
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.expires_at.is_none_or(|end| end < now)
    }
}

impl Credentials {
    /// Reads the file; a missing file is the same as one without logins.
    pub fn read(path: &Path) -> Result<Self, CredentialsError> {
        let text = match fs::read(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(source) => return Err(CredentialsError::Unreadable { path: path.to_owned(), source }),
        };
        serde_json::from_slice(&text).map_err(|error| CredentialsError::Malformed {
            path: path.to_owned(),
            line: error.line(),
            column: error.column(),
        })
    }

    /// The active server, if one was chosen, and its login, if there is one.
    pub fn active(self) -> Option<(String, Option<Login>)> {
        let Self { active_server, mut servers } = self;
        (!active_server.is_empty()).then(|| {
            let login = servers.remove(&active_server);
            (active_server, login)
        })
    }
}

/// Why the logins cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CredentialsError {
    /// The system refused.
    #[error("cannot read the logins in `{}`", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
    /// The content is not what it should be.
    #[error("the logins in `{}` are not valid at line {line}, column {column}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// Counted from 1.
        column: usize,
    },
}

impl Diagnose for CredentialsError {
    fn code(&self) -> Code {
        Code::CredentialsMalformed
    }
}
