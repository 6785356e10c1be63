//! Why controllers cannot run at all. Whatever goes wrong later is logged and tried again.

use std::{io, net::SocketAddr};

use butler_core::{
    error::{Code, Diagnose},
    nearest::nearest,
};

use super::CONTROLLERS;

/// Why controllers cannot run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ControllerError {
    /// A name that no controller has.
    #[error("there is no controller `{name}`")]
    Unknown {
        /// The name.
        name: String,
    },
    /// Metrics and health cannot be served.
    #[error("cannot serve metrics and health on {address}")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
}

impl Diagnose for ControllerError {
    fn code(&self) -> Code {
        match self {
            Self::Unknown { .. } => Code::ControllerUnknown,
            Self::Listen { .. } => Code::MetricsUnavailable,
        }
    }

    fn hints(&self) -> Vec<String> {
        match self {
            Self::Unknown { name } => {
                let names = CONTROLLERS.iter().map(|controller| controller.name);
                let guess = nearest(name, names.clone()).map(|name| format!("did you mean `{name}`"));
                vec![guess.unwrap_or_else(|| format!("one of: {}", names.collect::<Vec<_>>().join(", ")))]
            }
            Self::Listen { .. } => Vec::new(),
        }
    }
}
