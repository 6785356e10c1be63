//! Why a kubelet cannot begin its work. Once it works, nothing ends it but its shutdown.

use std::{io, net::SocketAddr, path::PathBuf};

use butler_core::{
    error::{Code, Diagnose},
    pki::PkiError,
};

/// Why a kubelet could not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KubeletError {
    /// Its address is taken or not this machine's.
    #[error("kubelet of node `{node}` cannot listen on {address}")]
    Listen {
        /// The node.
        node: String,
        /// Where it would serve.
        address: SocketAddr,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
    /// The authority of its clients, its own certificate or its key cannot be used.
    #[error("kubelet of node `{node}` cannot use its {what}")]
    Certificate {
        /// The node.
        node: String,
        /// Which of them.
        what: &'static str,
        /// What is wrong with it.
        #[source]
        source: PkiError,
    },
    /// There is no place for the logs of containers.
    #[error("kubelet of node `{node}` cannot keep logs in `{}`", path.display())]
    Logs {
        /// The node.
        node: String,
        /// The directory.
        path: PathBuf,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
}

impl Diagnose for KubeletError {
    fn code(&self) -> Code {
        match self {
            Self::Listen { .. } => Code::KubeletNotListening,
            Self::Certificate { .. } => Code::CertificateUnusable,
            Self::Logs { .. } => Code::FileUnwritable,
        }
    }
}
