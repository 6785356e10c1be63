//! Why a sandbox cannot be started, asked or stopped.

use std::{io, path::PathBuf, time::Duration};

use butler_core::{
    cluster::{ApiError, crds::CrdsError},
    error::{Code, Diagnose, ErrorKind},
    pki::PkiError,
    settings::HomeError,
};
use serde::{Deserialize, Serialize};

use super::{host::HostError, socket::CallError};
use crate::{
    parts::PartError,
    plane::PlaneError,
    process::{LogTail, ProcessError},
};

/// Why a sandbox is not as wanted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SandboxError {
    /// Its files are laid out in another way.
    #[error("sandbox `{name}` has layout {found}, and this program works with layout {known}")]
    Layout {
        /// The sandbox.
        name: String,
        /// What its file says.
        found: String,
        /// What we know.
        known: u32,
    },
    /// Nothing runs.
    #[error("sandbox `{name}` is not running")]
    NotRunning {
        /// The sandbox.
        name: String,
    },
    /// A supervisor runs already.
    #[error("sandbox `{name}` is held by process {pid}")]
    Busy {
        /// The sandbox.
        name: String,
        /// Who holds it.
        pid: u32,
    },
    /// It is not one of machines only.
    #[error("sandbox `{name}` has a management plane of its own")]
    HasPlatform {
        /// The sandbox.
        name: String,
    },
    /// The disk is nearly full.
    #[error("`{}` has {free} MiB free, and a sandbox needs {needed} MiB to start", dir.display())]
    NoSpace {
        /// Where it lies.
        dir: PathBuf,
        /// What is there.
        free: u64,
        /// What is needed.
        needed: u64,
    },
    /// The deadline passed.
    #[error("sandbox `{name}` was not ready within {} s", limit.as_secs())]
    NotReady {
        /// The sandbox.
        name: String,
        /// How long was waited.
        limit: Duration,
    },
    /// The supervisor ended without a word.
    #[error("the supervisor of sandbox `{name}` ended")]
    Lost {
        /// The sandbox.
        name: String,
        /// What it said last.
        #[source]
        log: LogTail,
    },
    /// Something was left after everything was stopped.
    #[error("sandbox `{name}` was stopped and is not gone: {}", what.join(", "))]
    Leftovers {
        /// The sandbox.
        name: String,
        /// Processes and ports.
        what: Vec<String>,
    },
    /// Neither a part nor a machine has this name.
    #[error("sandbox `{name}` has no part and no machine `{part}`")]
    NoSuchPart {
        /// The sandbox.
        name: String,
        /// What was asked for.
        part: String,
        /// What there is.
        known: Vec<String>,
    },
    /// What the supervisor said when it gave up.
    #[error("{}", .0.message)]
    Reported(Box<Report>),
    /// A file cannot be read.
    #[error("cannot read `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
    /// The supervisor cannot be started or reached.
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
    /// A program that runs.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// The host of the machines.
    #[error(transparent)]
    Host(#[from] HostError),
    /// A file of ours.
    #[error(transparent)]
    Home(#[from] HomeError),
    /// A certificate of ours.
    #[error(transparent)]
    Pki(#[from] PkiError),
    /// The management API server.
    #[error(transparent)]
    Api(#[from] ApiError),
    /// The definitions in it.
    #[error(transparent)]
    Crds(#[from] CrdsError),
    /// The supervisor's socket.
    #[error("cannot ask the supervisor of sandbox `{name}`")]
    Call {
        /// The sandbox.
        name: String,
        /// What happened.
        #[source]
        source: CallError,
    },
}

impl From<PlaneError> for SandboxError {
    fn from(error: PlaneError) -> Self {
        match error {
            PlaneError::Read { path, source } => Self::Read { path, source },
            PlaneError::Home(error) => Self::Home(error),
            PlaneError::Pki(error) => Self::Pki(error),
            PlaneError::Api(error) => Self::Api(error),
        }
    }
}

/// An error of the supervisor, on its way to whoever started it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// Its code, `BTL-1406`.
    pub code: String,
    /// What was tried.
    pub message: String,
    /// What led to it.
    pub causes: Vec<String>,
    /// Next steps.
    pub hints: Vec<String>,
}

impl Report {
    /// The report of an error.
    pub fn of(error: &impl Diagnose) -> Self {
        let mut causes = error.problems();
        let mut next = error.source();
        while let Some(cause) = next {
            causes.push(cause.to_string());
            next = cause.source();
        }
        Self { code: error.code().to_string(), message: error.to_string(), causes, hints: error.hints() }
    }
}

impl Diagnose for SandboxError {
    fn code(&self) -> Code {
        match self {
            Self::Layout { .. } => Code::SandboxLayout,
            Self::NotRunning { .. } => Code::SandboxNotRunning,
            Self::Busy { .. } => Code::SandboxBusy,
            Self::HasPlatform { .. } => Code::SandboxHasPlatform,
            Self::NoSpace { .. } => Code::SandboxNoSpace,
            Self::NotReady { .. } => Code::SandboxNotReady,
            Self::Lost { .. } | Self::Call { .. } => Code::SandboxLost,
            Self::Leftovers { .. } => Code::SandboxLeftovers,
            Self::NoSuchPart { .. } => Code::SandboxNoSuchPart,
            Self::Reported(report) => report.code.parse().unwrap_or(Code::SandboxLost),
            Self::Read { .. } => Code::FileUnreadable,
            Self::System { .. } => Code::ProcessFailed,
            Self::Part(error) => error.code(),
            Self::Process(error) => error.code(),
            Self::Host(error) => error.code(),
            Self::Home(error) => error.code(),
            Self::Pki(error) => error.code(),
            Self::Api(error) => error.code(),
            Self::Crds(error) => error.code(),
        }
    }

    fn kind(&self) -> ErrorKind {
        match self {
            Self::Part(error) => error.kind(),
            Self::Api(error) => error.kind(),
            Self::Crds(error) => error.kind(),
            _ => self.code().kind(),
        }
    }

    fn problems(&self) -> Vec<String> {
        match self {
            Self::Reported(report) => report.causes.clone(),
            Self::Part(error) => error.problems(),
            Self::Api(error) => error.problems(),
            _ => Vec::new(),
        }
    }

    fn hints(&self) -> Vec<String> {
        let named = |name: &str, command: &str| match name {
            DEFAULT_NAME => format!("butleradm sandbox {command}"),
            name => format!("butleradm sandbox {command} --name {name}"),
        };
        match self {
            Self::Layout { name, .. } => {
                vec!["use the version of Butler that made it".to_owned(), named(name, "reset")]
            }
            Self::NotRunning { name } => vec![named(name, "up")],
            Self::Busy { name, .. } => vec![named(name, "status"), named(name, "down")],
            Self::HasPlatform { name } => {
                vec!["name another sandbox in providerConfig.sandbox.name".to_owned(), named(name, "reset")]
            }
            Self::NoSpace { dir, .. } => vec![
                format!("df -h {}", dir.display()),
                "set BUTLER_HOME to a directory on another file system".to_owned(),
            ],
            Self::NotReady { name, .. } | Self::Lost { name, .. } | Self::Call { name, .. } => {
                vec![named(name, "logs")]
            }
            Self::NoSuchPart { known, .. } => vec![format!("there are: {}", known.join(", "))],
            Self::Reported(report) => report.hints.clone(),
            Self::Part(error) => error.hints(),
            Self::Process(error) => error.hints(),
            Self::Api(error) => error.hints(),
            Self::Crds(error) => error.hints(),
            _ => Vec::new(),
        }
    }
}

/// The sandbox that is meant when none is named.
pub const DEFAULT_NAME: &str = "default";
