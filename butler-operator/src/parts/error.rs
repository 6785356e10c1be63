//! Why a part cannot be had.

use std::path::PathBuf;

use butler_core::{
    error::{Code, Diagnose, ErrorKind},
    settings::HomeError,
};
use semver::Version;

use super::{build::BuildError, download::DownloadError, version::VersionError};

/// Why a part cannot be found or installed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PartError {
    /// It is nowhere.
    #[error("`{name}` {wanted} was not found")]
    NotFound {
        /// The program.
        name: &'static str,
        /// Versions that fit.
        wanted: String,
    },
    /// The program in an explicit place has another version.
    #[error("`{}` is version {found}, and Butler works with {wanted}", path.display())]
    Version {
        /// The program that was asked.
        path: PathBuf,
        /// What it answered.
        found: Version,
        /// Versions that fit.
        wanted: String,
    },
    /// The program in an explicit place does not say its version.
    #[error("cannot tell whether `{}` is version {wanted}", path.display())]
    NoVersion {
        /// The program that was asked.
        path: PathBuf,
        /// Versions that fit.
        wanted: String,
        /// What happened instead.
        #[source]
        source: VersionError,
    },
    /// It could not be downloaded, in a way that a build must not paper over.
    #[error("cannot download `{name}`")]
    Download {
        /// The program.
        name: &'static str,
        /// What happened.
        #[source]
        source: DownloadError,
    },
    /// It could neither be downloaded nor built, because there is no fitting Go.
    #[error("cannot install `{name}`: it could not be downloaded ({download}), and cannot be built here")]
    NoGo {
        /// The program.
        name: &'static str,
        /// Why the download failed.
        download: DownloadError,
        /// Why Go cannot be used.
        #[source]
        source: BuildError,
    },
    /// Building it failed.
    #[error("cannot build `{name}` from source")]
    Build {
        /// The program, or the programs, that were built.
        name: String,
        /// What happened.
        #[source]
        source: BuildError,
    },
    /// The cache cannot be written.
    #[error(transparent)]
    Cache(#[from] HomeError),
}

impl Diagnose for PartError {
    fn code(&self) -> Code {
        match self {
            Self::NotFound { .. } | Self::NoGo { .. } => Code::PartNotFound,
            Self::Version { .. } | Self::NoVersion { .. } => Code::PartVersion,
            Self::Download { source, .. } => source.code(),
            Self::Build { .. } => Code::BuildFailed,
            Self::Cache(error) => error.code(),
        }
    }

    fn kind(&self) -> ErrorKind {
        self.code().kind()
    }

    fn hints(&self) -> Vec<String> {
        match self {
            Self::NotFound { name, .. } => vec![format!("butleradm tools install {name}")],
            Self::Build { source, .. } => {
                source.log().map(|log| format!("less {}", log.display())).into_iter().collect()
            }
            _ => Vec::new(),
        }
    }
}
