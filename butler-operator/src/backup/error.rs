//! What keeps a backup from being made, read or used.

use std::path::{Path, PathBuf};

use butler_core::{
    bootstrap::run::RunError,
    cluster::ApiError,
    error::{Code, Diagnose, ErrorKind},
    event::RunId,
    settings::HomeError,
};

use crate::{
    bootstrap::BootstrapError,
    talos::{DocumentError, TalosError},
};

/// Why a backup cannot be made, read or used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BackupError {
    /// It ends before its end.
    #[error("the backup `{}` ends after {found} of {wanted} bytes", path.display())]
    Truncated {
        /// The file.
        path: PathBuf,
        /// How much is there.
        found: u64,
        /// How much there should be at least.
        wanted: u64,
    },
    /// A part of it is not what was written.
    #[error("the backup `{}` is damaged: {part}: {why}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The part.
        part: String,
        /// What is wrong with it.
        why: String,
    },
    /// It is something else, or newer than this program.
    #[error("`{}` is no backup that can be read: {why}", path.display())]
    Unknown {
        /// The file.
        path: PathBuf,
        /// What it is instead.
        why: String,
    },
    /// No identity opens it.
    #[error("no identity in `{}` opens the backup `{}`, which is encrypted to {}", identity.display(), path.display(), recipients.join(", "))]
    Locked {
        /// The file.
        path: PathBuf,
        /// Where the identities are.
        identity: PathBuf,
        /// Whom it is encrypted to.
        recipients: Vec<String>,
    },
    /// A text is not the key that it should be.
    #[error("{what} is not usable: {why}")]
    Key {
        /// Which one; never the key itself.
        what: String,
        /// What is wrong with it.
        why: String,
    },
    /// There is no cluster that could be backed up.
    #[error("run `{run}` of cluster `{cluster}` has nothing that could be backed up: {why}")]
    Nothing {
        /// The cluster.
        cluster: String,
        /// The run.
        run: RunId,
        /// Why not.
        why: String,
    },
    /// A file cannot be read.
    #[error("cannot read `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        #[source]
        source: std::io::Error,
    },
    /// A file cannot be written.
    #[error("cannot write `{}`", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        #[source]
        source: std::io::Error,
    },
    /// A node.
    #[error(transparent)]
    Talos(#[from] TalosError),
    /// Documents of Talos.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// The API server.
    #[error(transparent)]
    Api(#[from] ApiError),
    /// Runs.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A run that makes the cluster again.
    #[error(transparent)]
    Bootstrap(#[from] BootstrapError),
    /// Files of the home.
    #[error(transparent)]
    Home(#[from] HomeError),
}

impl BackupError {
    pub(super) fn damaged(path: &Path, part: impl Into<String>, why: impl Into<String>) -> Self {
        Self::Damaged { path: path.to_owned(), part: part.into(), why: why.into() }
    }

    fn inner(&self) -> Option<&dyn Diagnose> {
        Some(match self {
            Self::Talos(error) => error,
            Self::Document(error) => error,
            Self::Api(error) => error,
            Self::Run(error) => error,
            Self::Bootstrap(error) => error,
            Self::Home(error) => error,
            _ => return None,
        })
    }
}

impl Diagnose for BackupError {
    fn code(&self) -> Code {
        match self {
            Self::Truncated { .. } | Self::Damaged { .. } => Code::BackupDamaged,
            Self::Unknown { .. } => Code::BackupUnknown,
            Self::Locked { .. } => Code::BackupLocked,
            Self::Key { .. } => Code::BackupKeyInvalid,
            Self::Nothing { .. } => Code::NothingToBackUp,
            Self::Read { .. } => Code::FileUnreadable,
            Self::Write { .. } => Code::FileUnwritable,
            _ => self.inner().map_or(Code::Internal, Diagnose::code),
        }
    }

    fn kind(&self) -> ErrorKind {
        self.inner().map_or_else(|| self.code().kind(), Diagnose::kind)
    }

    fn hints(&self) -> Vec<String> {
        match self {
            Self::Truncated { path, .. } => vec![format!("ls -l {}", path.display())],
            Self::Key { .. } => vec!["butleradm backup keygen --out FILE".to_owned()],
            Self::Nothing { run, .. } => vec![format!("butleradm bootstrap status {run}")],
            _ => self.inner().map(Diagnose::hints).unwrap_or_default(),
        }
    }

    fn problems(&self) -> Vec<String> {
        self.inner().map(Diagnose::problems).unwrap_or_default()
    }
}
