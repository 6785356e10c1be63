//! What goes wrong between us and a node, and what class of failure each is.

use std::{error::Error, io, path::PathBuf, time::Duration};

use butler_core::error::{Code, Diagnose, ErrorKind};
use tonic::{Code as Grpc, Status};

use super::{document::DocumentError, proto::common, tls::Fingerprint};

/// Why a call to a node failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TalosError {
    #[error("cannot reach node `{node}`")]
    Unreachable {
        node: String,
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    #[error("node `{node}` shows the key {seen}, not the pinned {expected}")]
    OtherKey { node: String, expected: Fingerprint, seen: Fingerprint },
    #[error("cannot trust node `{node}`")]
    Certificate {
        node: String,
        #[source]
        source: rustls::Error,
    },
    #[error("node `{node}` does not accept our certificate")]
    IdentityRefused {
        node: String,
        #[source]
        source: rustls::Error,
    },
    #[error("cannot connect to node `{node}` with this talosconfig")]
    Identity {
        node: String,
        #[source]
        source: DocumentError,
    },
    #[error("`{node}` is not an address of a node")]
    Address { node: String },
    #[error("node `{node}` did not {call} within {} s", after.as_secs())]
    Timeout { node: String, call: &'static str, after: Duration },
    #[error("node `{node}` did not {call}")]
    Refused {
        node: String,
        call: &'static str,
        #[source]
        source: Refusal,
    },
    #[error("the answer of node `{node}` to `{call}` cannot be read")]
    Unreadable { node: String, call: &'static str },
    #[error("cannot read the snapshot `{}`", path.display())]
    Snapshot {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

/// A node's own words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    pub code: Grpc,
    pub message: String,
}

impl TalosError {
    /// Sorts a failed connection.
    pub(super) fn connect(node: &str, error: tonic::transport::Error) -> Self {
        let node = node.to_owned();
        match tls_failure(&error) {
            Some(source) => Self::from_tls(node, source.clone()),
            None => Self::Unreachable { node, source: error.into() },
        }
    }

    /// Sorts a failed call; `status` is the node's, or tonic's own for a broken connection.
    pub(super) fn status(node: &str, call: &'static str, status: Status) -> Self {
        let node = node.to_owned();
        if let Some(source) = tls_failure(&status) {
            return Self::from_tls(node, source.clone());
        }
        let refusal = Refusal { code: status.code(), message: status.message().to_owned() };
        match status.code() {
            Grpc::Unavailable => Self::Unreachable { node, source: refusal.into() },
            // The stream was cut below gRPC: the node went away in mid-answer.
            Grpc::Unknown | Grpc::Internal | Grpc::Cancelled if status.source().is_some() => {
                Self::Unreachable { node, source: refusal.into() }
            }
            _ => Self::Refused { node, call, source: refusal },
        }
    }

    /// The failure an answer carries in its envelope, if any.
    pub(super) fn envelope(
        node: &str,
        call: &'static str,
        metadata: Option<&common::Metadata>,
    ) -> Option<Self> {
        let metadata = metadata.filter(|metadata| !metadata.error.is_empty() || metadata.status.is_some())?;
        let node = if metadata.hostname.is_empty() { node } else { &metadata.hostname };
        let (code, message) = match &metadata.status {
            Some(status) => (Grpc::from_i32(status.code), status.message.clone()),
            None => (Grpc::Unknown, metadata.error.clone()),
        };
        Some(Self::status(node, call, Status::new(code, message)))
    }

    /// True when the node said that the thing is there already.
    pub(super) fn is_already_exists(&self) -> bool {
        matches!(self, Self::Refused { source, .. } if source.code == Grpc::AlreadyExists)
    }

    fn from_tls(node: String, source: rustls::Error) -> Self {
        match source {
            rustls::Error::AlertReceived(_) => Self::IdentityRefused { node, source },
            _ => Self::Certificate { node, source },
        }
    }
}

impl Diagnose for TalosError {
    fn code(&self) -> Code {
        match self {
            Self::Unreachable { .. } => Code::NodeUnreachable,
            Self::OtherKey { .. } | Self::Certificate { .. } => Code::NodeCertificate,
            Self::IdentityRefused { .. } => Code::NodeDenied,
            Self::Identity { .. } => Code::TalosconfigInvalid,
            Self::Address { .. } => Code::Usage,
            Self::Timeout { .. } => Code::NodeTimeout,
            Self::Unreadable { .. } => Code::NodeAnswerUnreadable,
            Self::Snapshot { .. } => Code::FileUnreadable,
            Self::Refused { source, .. } => match source.code {
                Grpc::PermissionDenied | Grpc::Unauthenticated => Code::NodeDenied,
                Grpc::InvalidArgument => Code::NodeConfigRefused,
                Grpc::FailedPrecondition | Grpc::Aborted | Grpc::ResourceExhausted => Code::NodeNotReady,
                Grpc::Unimplemented => Code::NodeUnsupported,
                Grpc::NotFound => Code::NodeNotFound,
                Grpc::DeadlineExceeded => Code::NodeTimeout,
                _ => Code::NodeRefused,
            },
        }
    }

    fn kind(&self) -> ErrorKind {
        use rustls::{CertificateError, Error::InvalidCertificate};
        match self {
            // A node that has just got its configuration signs from its own "now"; clocks catch up.
            Self::Certificate {
                source:
                    InvalidCertificate(
                        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. },
                    ),
                ..
            } => ErrorKind::Transient,
            Self::Refused { source, .. } if source.code == Grpc::AlreadyExists => ErrorKind::Conflict,
            _ => self.code().kind(),
        }
    }

    fn hints(&self) -> Vec<String> {
        match self {
            Self::OtherKey { node, .. } => {
                vec![format!("compare with the fingerprint on the console of `{node}`")]
            }
            Self::Refused { node, .. } => vec![format!("talosctl -n {node} services")],
            _ => Vec::new(),
        }
    }
}

/// The TLS failure at the root of an error. I/O errors do not list what they wrap as a source, so they
/// are opened by hand.
fn tls_failure<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a rustls::Error> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(tls) = error.downcast_ref() {
            return Some(tls);
        }
        let wrapped = error.downcast_ref().and_then(io::Error::get_ref);
        next = match wrapped {
            Some(inner) => Some(inner),
            None => error.source(),
        };
    }
    None
}
