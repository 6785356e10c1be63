//! A secret by reference: journals and plans hold the path, never the value.

use std::{
    io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use fs_err as fs;
use secrecy::{ExposeSecret, SecretSlice};
use serde::{Deserialize, Serialize};

use super::JournalError;
use crate::settings::home::write_private;

/// The file (0600) that holds a secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SecretFile {
    secret_file: PathBuf,
}

impl SecretFile {
    /// Writes the secret and returns its reference.
    pub fn store(path: &Path, secret: &SecretSlice<u8>) -> Result<Self, JournalError> {
        write_private(path, secret.expose_secret())?;
        Ok(Self { secret_file: path.to_owned() })
    }

    /// Reads the secret; refuses a file that others can read, because then it is none.
    pub fn load(&self) -> Result<SecretSlice<u8>, JournalError> {
        let read = || -> io::Result<Vec<u8>> {
            let mode = fs::metadata(&self.secret_file)?.permissions().mode();
            if mode & 0o077 != 0 {
                return Err(io::Error::other(format!("its mode {:03o} lets others read it", mode & 0o777)));
            }
            fs::read(&self.secret_file)
        };
        let read = read().map_err(|source| JournalError::Read { path: self.secret_file.clone(), source })?;
        Ok(SecretSlice::from(read))
    }

    /// Where the secret lies.
    pub fn path(&self) -> &Path {
        &self.secret_file
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_written_beside_the_journal_and_named_in_it() {
        let dir = tempfile::tempdir().unwrap();
        let secret = SecretSlice::from(b"s3cret".to_vec());
        let file = SecretFile::store(&dir.path().join("talosconfig"), &secret).unwrap();
        assert_eq!(file.load().unwrap().expose_secret(), b"s3cret");
        let shown = format!("{} {file:?} {secret:?}", serde_json::to_string(&file).unwrap());
        assert!(shown.contains("secretFile") && !shown.contains("s3cret"), "{shown}");

        fs::set_permissions(file.path(), PermissionsExt::from_mode(0o640)).unwrap();
        let error = file.load().unwrap_err();
        assert!(error.to_string().contains("talosconfig"), "{error}");
    }
}
