//! The Butler home directory: where everything a user owns lies, readable by that user alone.

use std::{
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, PermissionsExt},
    path::{Path, PathBuf},
};

use fs_err as fs;

use super::env::{self, Environment};
use crate::error::{Code, Diagnose};

/// Why the home directory or a file in it cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HomeError {
    /// Neither `BUTLER_HOME` nor `HOME` is set.
    #[error("cannot tell where the Butler home is: neither BUTLER_HOME nor HOME is set")]
    Unknown,
    /// A directory or file cannot be written.
    #[error("cannot write `{}`", path.display())]
    Write {
        /// What was to be written.
        path: PathBuf,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
}

impl Diagnose for HomeError {
    fn code(&self) -> Code {
        match self {
            Self::Unknown => Code::HomeUnknown,
            Self::Write { .. } => Code::FileUnwritable,
        }
    }
}

/// The directory named by `BUTLER_HOME`, default `~/.butler`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home {
    dir: PathBuf,
}

impl Home {
    /// Finds the home; touches nothing.
    pub fn resolve(environment: &Environment) -> Result<Self, HomeError> {
        if let Some(dir) = environment.path(env::BUTLER_HOME) {
            return Ok(Self { dir });
        }
        let home = environment.path(env::HOME).ok_or(HomeError::Unknown)?;
        Ok(Self { dir: home.join(".butler") })
    }

    /// The directory itself.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// `config.toml`: the user's settings.
    pub fn config_file(&self) -> PathBuf {
        self.dir.join("config.toml")
    }

    /// `credentials.json`: logins, where there is no keyring.
    pub fn credentials_file(&self) -> PathBuf {
        self.dir.join("credentials.json")
    }

    /// `tools/`: programs that were downloaded or built.
    pub fn tools_dir(&self) -> PathBuf {
        self.dir.join("tools")
    }

    /// The directories of all sandboxes, by name.
    pub fn sandboxes(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.dir.join("sandbox")).into_iter().flatten();
        let mut sandboxes: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        sandboxes.sort();
        sandboxes
    }

    /// `sandbox/<name>/`: everything of one sandbox.
    pub fn sandbox_dir(&self, name: &str) -> PathBuf {
        self.dir.join("sandbox").join(name)
    }

    /// Creates the home (0700) if it is missing.
    pub fn ensure(&self) -> Result<(), HomeError> {
        make_private_dir(&self.dir)
    }
}

/// Creates a directory and its parents, readable by this user alone.
pub fn make_private_dir(dir: &Path) -> Result<(), HomeError> {
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(dir)
        .map_err(|source| HomeError::Write { path: dir.to_owned(), source })
}

/// Replaces a file whole, with mode 0600: written beside it, flushed, renamed. The old content stays
/// until the new one is complete on disk.
pub fn write_private(path: &Path, content: &[u8]) -> Result<(), HomeError> {
    let write = || -> io::Result<()> {
        let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut file = tempfile::Builder::new()
            .prefix(".butler-")
            .permissions(std::fs::Permissions::from_mode(0o600))
            .tempfile_in(dir)?;
        file.write_all(content)?;
        file.as_file().sync_all()?;
        file.persist(path).map_err(|error| error.error)?;
        // The rename is durable only once the directory is.
        fs::File::open(dir)?.sync_all()
    };
    write().map_err(|source| HomeError::Write { path: path.to_owned(), source })
}
