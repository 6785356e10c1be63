//! What keeps an addon from being installed.

use butler_core::{
    cluster::ApiError,
    error::{Code, Diagnose},
};

/// Why an addon is not installed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AddonError {
    /// The cluster refused or did not answer.
    #[error(transparent)]
    Api(#[from] ApiError),
}

impl Diagnose for AddonError {
    fn code(&self) -> Code {
        match self {
            Self::Api(error) => error.code(),
        }
    }

    fn hints(&self) -> Vec<String> {
        match self {
            Self::Api(error) => error.hints(),
        }
    }
}
