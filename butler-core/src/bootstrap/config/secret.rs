//! Where a secret is, and getting it.

use std::{
    fmt, io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use fs_err as fs;

use crate::{
    error::{Code, Diagnose},
    redact::Secret,
    settings::Environment,
};

/// Largest file that is taken for a secret.
const MAX_BYTES: u64 = 1 << 20;

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

/// The keyring of this user. Entries have service `butler` and an account.
pub trait Keyring {
    /// The secret of an account.
    fn lookup(&self, account: &str) -> Result<Secret, KeyringError>;
}

/// Why the keyring gives no secret.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyringError {
    /// This computer has no keyring that could be asked.
    #[error("there is no keyring on this computer: {0}")]
    Absent(String),
    /// The keyring has no such entry, or is locked.
    #[error("the keyring has no entry of service `butler` and that account, or is locked")]
    NoEntry,
    /// The keyring could not be asked.
    #[error("cannot ask the keyring")]
    Failed(#[source] io::Error),
}

/// A computer without a keyring.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoKeyring;

impl Keyring for NoKeyring {
    fn lookup(&self, _: &str) -> Result<Secret, KeyringError> {
        Err(KeyringError::Absent("nothing here can ask one".to_owned()))
    }
}

/// Why a secret cannot be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SecretError {
    /// The environment variable is not there, or empty.
    #[error("environment variable `{name}` is not set")]
    Unset {
        /// The variable.
        name: String,
    },
    /// The environment variable is not text.
    #[error("environment variable `{name}` is not text in UTF-8")]
    NotText {
        /// The variable.
        name: String,
    },
    /// The file cannot be read.
    #[error("cannot read the secret in `{}`", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
    /// Others can read the file, so it holds no secret.
    #[error("other users can read the secret in `{}`: its mode is {mode:03o}", path.display())]
    Shared {
        /// The file.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// There is nothing in it.
    #[error("the secret in {place} is empty")]
    Empty {
        /// Where it should be.
        place: String,
    },
    /// The keyring does not give it.
    #[error("cannot get keyring entry `{name}`")]
    Keyring {
        /// The account.
        name: String,
        /// The keyring's reason.
        #[source]
        source: KeyringError,
    },
}

impl Diagnose for SecretError {
    fn code(&self) -> Code {
        match self {
            Self::Unset { .. } | Self::NotText { .. } => Code::SecretUnset,
            Self::Unreadable { .. } | Self::Empty { .. } => Code::SecretFileUnusable,
            Self::Shared { .. } => Code::SecretFileShared,
            Self::Keyring { .. } => Code::SecretKeyring,
        }
    }

    fn hints(&self) -> Vec<String> {
        match self {
            Self::Unset { name } | Self::NotText { name } => vec![format!("export {name}=…")],
            Self::Unreadable { path, .. } => vec![format!("ls -l {}", path.display())],
            Self::Shared { path, .. } => vec![format!("chmod 600 {}", path.display())],
            Self::Empty { .. } => Vec::new(),
            Self::Keyring { name, .. } => {
                vec![format!("secret-tool store --label {name} service butler account {name}")]
            }
        }
    }
}

impl SecretSource {
    /// True for a secret that stands in the configuration itself.
    pub fn is_plain(&self) -> bool {
        matches!(self, Self::Plain(_))
    }

    /// The secret itself. A line break at its end is not part of it.
    pub fn resolve(&self, environment: &Environment, keyring: &dyn Keyring) -> Result<Secret, SecretError> {
        let secret = match self {
            Self::Plain(secret) => secret.clone(),
            Self::Env(name) => from_environment(name, environment)?,
            Self::File(path) => from_file(path)?,
            Self::Keyring(name) => {
                keyring.lookup(name).map_err(|source| SecretError::Keyring { name: name.clone(), source })?
            }
        };
        match secret.expose().trim().is_empty() {
            true => Err(SecretError::Empty { place: self.to_string() }),
            false => Ok(secret),
        }
    }
}

fn from_environment(name: &str, environment: &Environment) -> Result<Secret, SecretError> {
    match (environment.get(name), environment.get_os(name)) {
        (Some(text), _) => Ok(text.into()),
        (None, Some(_)) => Err(SecretError::NotText { name: name.to_owned() }),
        (None, None) => Err(SecretError::Unset { name: name.to_owned() }),
    }
}

fn from_file(path: &Path) -> Result<Secret, SecretError> {
    let unreadable = |source| SecretError::Unreadable { path: path.to_owned(), source };
    // The mode is that of the file which is read, whatever the path names a moment later.
    let file = fs::File::open(path).map_err(unreadable)?;
    let metadata = file.metadata().map_err(unreadable)?;
    if !metadata.is_file() {
        return Err(unreadable(io::Error::other("it is no file")));
    }
    if metadata.len() > MAX_BYTES {
        return Err(unreadable(io::Error::other("it is larger than 1 MiB")));
    }
    let mode = metadata.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(SecretError::Shared { path: path.to_owned(), mode });
    }
    let text = io::read_to_string(io::Read::take(file, MAX_BYTES)).map_err(unreadable)?;
    let line = text.strip_suffix('\n').unwrap_or(&text);
    Ok(line.strip_suffix('\r').unwrap_or(line).into())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::settings::home::write_private;

    struct OneEntry;

    impl Keyring for OneEntry {
        fn lookup(&self, account: &str) -> Result<Secret, KeyringError> {
            if account == "prism" { Ok("hunter2".into()) } else { Err(KeyringError::NoEntry) }
        }
    }

    fn environment() -> Environment {
        Environment::of([("PASSWORD", "hunter2"), ("NOTHING", "")])
    }

    #[rstest]
    #[case(SecretSource::Plain("hunter2".into()))]
    #[case(SecretSource::Env("PASSWORD".into()))]
    #[case(SecretSource::Keyring("prism".into()))]
    fn a_secret_is_found_where_it_is(#[case] source: SecretSource) {
        assert_eq!(source.resolve(&environment(), &OneEntry).unwrap().expose(), "hunter2");
        assert!(!format!("{source} {source:?}").contains("hunter2"));
    }

    #[rstest]
    #[case(SecretSource::Plain("".into()), Code::SecretFileUnusable)]
    #[case(SecretSource::Env("PASSWRD".into()), Code::SecretUnset)]
    #[case(SecretSource::Env("NOTHING".into()), Code::SecretUnset)]
    #[case(SecretSource::File("/nowhere/at/all".into()), Code::SecretFileUnusable)]
    #[case(SecretSource::File("/".into()), Code::SecretFileUnusable)]
    #[case(SecretSource::Keyring("other".into()), Code::SecretKeyring)]
    fn a_secret_that_is_not_there_is_named_with_its_place(#[case] source: SecretSource, #[case] code: Code) {
        let error = source.resolve(&environment(), &OneEntry).unwrap_err();
        assert_eq!(error.code(), code, "{error}");
        assert_eq!(error.kind().exit_code(), 2);
    }

    #[test]
    fn a_file_is_read_only_when_nobody_else_can() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("password");
        let source = SecretSource::File(path.clone());
        let resolve = || source.resolve(&Environment::default(), &NoKeyring);

        write_private(&path, b"hunter2\r\n").unwrap();
        assert_eq!(resolve().unwrap().expose(), "hunter2");

        for mode in [0o640, 0o604, 0o620] {
            fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
            let error = resolve().unwrap_err();
            assert_eq!(error.code(), Code::SecretFileShared);
            assert_eq!(error.hints(), [format!("chmod 600 {}", path.display())]);
        }

        write_private(&path, b" \n").unwrap();
        assert!(matches!(resolve(), Err(SecretError::Empty { .. })));
        write_private(&path, b"\xff\xfe").unwrap();
        assert!(matches!(resolve(), Err(SecretError::Unreadable { .. })));
        write_private(&path, &vec![b'x'; (1 << 20) + 1]).unwrap();
        assert!(matches!(resolve(), Err(SecretError::Unreadable { .. })));
    }
}
