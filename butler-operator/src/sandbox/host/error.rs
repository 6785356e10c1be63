//! Why the host cannot run, and why it does not do what a caller asks.

use std::{io, path::PathBuf};

use butler_core::{
    error::{Code, Diagnose},
    settings::HomeError,
};

use crate::{
    driver::ErrorClass,
    process::{ProcessError, ports::PortsTaken},
};

/// Why the host cannot run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// Every network of the loopback range is in use.
    #[error("cannot find a free network between 127.40.0.0 and 127.99.255.0")]
    NoNetwork,
    /// The network of this sandbox, which its machines have in their configurations, is not to be had.
    #[error("cannot use the network {network} of this sandbox: {reason}")]
    Network {
        /// The network.
        network: String,
        /// Why not.
        reason: String,
    },
    /// No port of the one address is free.
    #[error(transparent)]
    Ports(#[from] PortsTaken),
    /// A file cannot be read.
    #[error("cannot read `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
    /// A file cannot be written.
    #[error(transparent)]
    Write(#[from] HomeError),
    /// The guard, without which nothing is started, is not there.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// The socket cannot be opened.
    #[error("cannot listen at `{}`", path.display())]
    Listen {
        /// The socket.
        path: PathBuf,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
}

impl Diagnose for HostError {
    fn code(&self) -> Code {
        match self {
            Self::NoNetwork | Self::Ports(_) => Code::PortsTaken,
            Self::Network { .. } => Code::SandboxBusy,
            Self::Read { .. } => Code::FileUnreadable,
            Self::Write(error) => error.code(),
            Self::Process(error) => error.code(),
            Self::Listen { .. } => Code::FileUnwritable,
        }
    }
}

/// What a caller is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The class, which decides what the caller does next.
    pub class: ErrorClass,
    /// The host's words.
    pub message: String,
}

impl Refusal {
    /// A refusal in words.
    pub fn new(class: ErrorClass, message: impl Into<String>) -> Self {
        Self { class, message: message.into() }
    }

    /// There is none of this name, or it is somebody else's.
    pub(super) fn not_found(what: &str, name: &str) -> Self {
        Self::new(ErrorClass::NotFound, format!("there is no {what} `{name}` of this owner"))
    }

    /// A file could not be read or written. A full disk is a limit; other reasons may pass.
    pub(super) fn disk(error: &(dyn std::error::Error + 'static)) -> Self {
        let mut message = error.to_string();
        let mut full = false;
        let mut next = Some(error);
        while let Some(cause) = next {
            if !message.contains(&cause.to_string()) {
                message = format!("{message}: {cause}");
            }
            full |= cause.downcast_ref::<io::Error>().is_some_and(|error| {
                matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
            });
            next = cause.source();
        }
        Self::new(if full { ErrorClass::Quota } else { ErrorClass::Transient }, message)
    }
}

impl From<HomeError> for Refusal {
    fn from(error: HomeError) -> Self {
        Self::disk(&error)
    }
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        Self::disk(&error)
    }
}
