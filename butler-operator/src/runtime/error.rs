//! What keeps a temporary control plane from running.

use std::{io, path::PathBuf};

use butler_core::{
    error::{Code, Diagnose, ErrorKind},
    settings::HomeError,
};

use crate::{
    parts::PartError,
    plane::PlaneError,
    process::{ProcessError, ports::PortsTaken},
};

/// Why there is no temporary control plane, or why it is still there.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RuntimeError {
    /// Another process has its directory.
    #[error("the temporary control plane in `{}` is used by process {pid}", dir.display())]
    Busy {
        /// Where it lies.
        dir: PathBuf,
        /// Who has it; 0 when that is not known.
        pid: u32,
    },
    /// The disk is nearly full.
    #[error("`{}` has {free} MiB free, and the temporary cluster needs {needed} MiB", dir.display())]
    NoSpace {
        /// Where it lies.
        dir: PathBuf,
        /// What is there.
        free: u64,
        /// What is needed.
        needed: u64,
    },
    /// Something was left after everything was removed.
    #[error("the temporary cluster was removed and is not gone: {}", what.join(", "))]
    Leftovers {
        /// Processes, containers and files.
        what: Vec<String>,
    },
    /// A file or directory cannot be used.
    #[error("cannot {action}")]
    System {
        /// What was tried.
        action: String,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
    /// A program that is needed.
    #[error(transparent)]
    Part(#[from] PartError),
    /// A program of it failed.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// No port is free.
    #[error(transparent)]
    Ports(#[from] PortsTaken),
    /// A file of ours.
    #[error(transparent)]
    Home(#[from] HomeError),
    /// Its identities, or its API server.
    #[error(transparent)]
    Plane(#[from] PlaneError),
}

impl RuntimeError {
    pub(super) fn system(action: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let action = action.into();
        |source| Self::System { action, source }
    }
}

impl Diagnose for RuntimeError {
    fn code(&self) -> Code {
        match self {
            Self::Busy { .. } => Code::RuntimeBusy,
            Self::NoSpace { .. } => Code::RuntimeNoSpace,
            Self::Leftovers { .. } => Code::RuntimeLeftovers,
            Self::System { .. } => Code::FileUnwritable,
            Self::Part(error) => error.code(),
            Self::Process(error) => error.code(),
            Self::Ports(error) => error.code(),
            Self::Home(error) => error.code(),
            Self::Plane(error) => error.code(),
        }
    }

    fn kind(&self) -> ErrorKind {
        match self {
            Self::Part(error) => error.kind(),
            Self::Plane(error) => error.kind(),
            _ => self.code().kind(),
        }
    }

    fn hints(&self) -> Vec<String> {
        match self {
            Self::Busy { pid, .. } if *pid != 0 => vec![format!("ps -fp {pid}")],
            Self::NoSpace { dir, .. } => vec![format!("df -h {}", dir.display())],
            Self::Part(error) => error.hints(),
            Self::Process(error) => error.hints(),
            _ => Vec::new(),
        }
    }
}
