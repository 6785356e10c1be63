//! Why a provider could not be asked.

use std::error::Error;

use butler_core::{
    bootstrap::config::SecretError,
    cluster::{ApiError, ConnectError},
    error::{Code, Diagnose, ErrorKind},
};

use crate::driver::DriverError;

/// Why a provider could not be asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SurveyError {
    /// What it is signed in to with is not there.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// There is no way to its Kubernetes API.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// Its Kubernetes API refused.
    #[error(transparent)]
    Api(#[from] ApiError),
    /// It answered something else.
    #[error(transparent)]
    Provider(#[from] DriverError),
}

impl SurveyError {
    fn inner(&self) -> &dyn Diagnose {
        match self {
            Self::Secret(error) => error,
            Self::Connect(error) => error,
            Self::Api(error) => error,
            Self::Provider(error) => error,
        }
    }

    /// The whole of it in a line.
    pub(super) fn in_words(&self) -> String {
        let mut words = self.to_string();
        let mut cause = self.source();
        while let Some(error) = cause {
            words += &format!(": {error}");
            cause = error.source();
        }
        words
    }
}

impl Diagnose for SurveyError {
    fn code(&self) -> Code {
        self.inner().code()
    }

    fn kind(&self) -> ErrorKind {
        self.inner().kind()
    }

    fn hints(&self) -> Vec<String> {
        self.inner().hints()
    }

    fn problems(&self) -> Vec<String> {
        self.inner().problems()
    }
}
