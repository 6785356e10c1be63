//! What keeps a temporary control plane from running.

use butler_core::error::{Code, Diagnose};

use crate::process::ProcessError;

/// Why there is no temporary control plane.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RuntimeError {
    /// A program of it failed.
    #[error(transparent)]
    Process(#[from] ProcessError),
}

impl Diagnose for RuntimeError {
    fn code(&self) -> Code {
        match self {
            Self::Process(error) => error.code(),
        }
    }

    fn hints(&self) -> Vec<String> {
        match self {
            Self::Process(error) => error.hints(),
        }
    }
}
