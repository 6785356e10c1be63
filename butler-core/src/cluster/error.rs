//! The one place where errors of the Kubernetes client become errors of ours.

use crate::error::{Code, Diagnose};

/// A call to the API server that failed; says what was tried on which object.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action}")]
pub struct ApiError {
    action: String,
    #[source]
    source: Box<kube::Error>,
}

impl ApiError {
    /// Wraps a client error. `action` completes the sentence "cannot …", with the object named in
    /// backticks: "get tenant cluster `dev` in namespace `butler-tenants`".
    pub fn new(action: impl Into<String>, source: kube::Error) -> Self {
        Self { action: action.into(), source: Box::new(source) }
    }

    /// True when the object does not exist.
    pub fn is_not_found(&self) -> bool {
        matches!(&*self.source, kube::Error::Api(status) if status.code == 404)
    }
}

impl Diagnose for ApiError {
    fn code(&self) -> Code {
        if self.is_not_found() { Code::ObjectNotFound } else { Code::ApiRejected }
    }
}
