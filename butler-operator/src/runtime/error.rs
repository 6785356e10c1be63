//! What keeps a temporary control plane from running.

use std::{io, net::SocketAddr, path::PathBuf, time::Duration};

use butler_core::{
    cluster::ApiError,
    error::{Code, Diagnose, ErrorKind},
    settings::HomeError,
};
use semver::Version;

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
    /// No container engine is installed.
    #[error("none of these container engines is on PATH: {}", names.join(", "))]
    EngineMissing {
        /// What was looked for.
        names: Vec<String>,
    },
    /// Its server does not answer.
    #[error("the container engine `{engine}` does not answer at {host}")]
    EngineNotRunning {
        /// The engine.
        engine: &'static str,
        /// Where it was asked.
        host: String,
    },
    /// Its server does not let us in.
    #[error("this user may not use the socket `{}` of `{engine}`", socket.display())]
    EngineDenied {
        /// The engine.
        engine: &'static str,
        /// Its socket.
        socket: PathBuf,
    },
    /// It is too old.
    #[error("`{engine}` is version {found}, and the oldest that works is {oldest}")]
    EngineTooOld {
        /// The engine.
        engine: &'static str,
        /// What it says.
        found: Version,
        /// What is needed.
        oldest: Version,
    },
    /// The node image is not there and cannot be pulled.
    #[error("`{engine}` has no image `{image}` and cannot pull it{}", after(said))]
    NodeImage {
        /// The engine.
        engine: &'static str,
        /// The image.
        image: String,
        /// The engine's last words.
        said: String,
    },
    /// A command of the engine or of `kind` failed.
    #[error("`{command}` failed ({status}){}", after(said))]
    Command {
        /// The command.
        command: String,
        /// How it ended.
        status: String,
        /// Its last words.
        said: String,
    },
    /// A command of the engine or of `kind` did not end.
    #[error("`{command}` did not end within {} s", limit.as_secs())]
    CommandTimeout {
        /// The command.
        command: String,
        /// How long it was given.
        limit: Duration,
    },
    /// The engine said something else than expected.
    #[error("the answer to `{command}` could not be understood")]
    Answer {
        /// The command.
        command: String,
    },
    /// A port that is to be published is taken.
    #[error("cannot publish the console on {address}: the port is taken by {holder}")]
    PortTaken {
        /// The port.
        address: SocketAddr,
        /// Who has it.
        holder: String,
    },
    /// There is a cluster of that name which this run did not make.
    #[error("KIND cluster `{name}` exists, and this run did not make it{}", made(made_in.as_ref()))]
    NotOurs {
        /// Its name.
        name: String,
        /// The directory of the run that made it, if one of ours did.
        made_in: Option<PathBuf>,
    },
    /// The API server does not answer.
    #[error("`{name}` was not ready within {} s", limit.as_secs())]
    NotReady {
        /// What was waited for.
        name: String,
        /// How long.
        limit: Duration,
    },
    /// A value that cannot be used.
    #[error("{what} cannot be used: {why}")]
    Settings {
        /// The value.
        what: String,
        /// Why not.
        why: String,
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
    /// Its identities, or a client for its API server.
    #[error(transparent)]
    Plane(#[from] PlaneError),
    /// Its API server.
    #[error(transparent)]
    Api(#[from] ApiError),
}

fn after(said: &str) -> String {
    if said.is_empty() { String::new() } else { format!(": {said}") }
}

fn made(dir: Option<&PathBuf>) -> String {
    dir.map_or_else(String::new, |dir| format!(" (it belongs to `{}`)", dir.display()))
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
            Self::EngineMissing { .. } => Code::EngineMissing,
            Self::EngineNotRunning { .. } => Code::EngineNotRunning,
            Self::EngineDenied { .. } => Code::EngineDenied,
            Self::EngineTooOld { .. } => Code::EngineTooOld,
            Self::NodeImage { .. } => Code::NodeImageMissing,
            Self::Command { .. }
            | Self::CommandTimeout { .. }
            | Self::Answer { .. }
            | Self::NotReady { .. } => Code::EngineFailed,
            Self::PortTaken { .. } => Code::RuntimePortTaken,
            Self::NotOurs { .. } => Code::ClusterNotOurs,
            Self::Settings { .. } => Code::RuntimeSettings,
            Self::System { .. } => Code::FileUnwritable,
            Self::Part(error) => error.code(),
            Self::Process(error) => error.code(),
            Self::Ports(error) => error.code(),
            Self::Home(error) => error.code(),
            Self::Plane(error) => error.code(),
            Self::Api(error) => error.code(),
        }
    }

    fn kind(&self) -> ErrorKind {
        match self {
            Self::CommandTimeout { .. } | Self::NotReady { .. } => ErrorKind::Timeout,
            Self::Part(error) => error.kind(),
            Self::Api(error) => error.kind(),
            Self::Plane(error) => error.kind(),
            _ => self.code().kind(),
        }
    }

    fn hints(&self) -> Vec<String> {
        match self {
            Self::Busy { pid, .. } if *pid != 0 => vec![format!("ps -fp {pid}")],
            Self::NoSpace { dir, .. } => vec![format!("df -h {}", dir.display())],
            Self::EngineMissing { .. } => {
                vec!["set `bootstrapCluster.runtime: process`: it needs no container engine".to_owned()]
            }
            Self::EngineNotRunning { engine, host } if host.starts_with("unix://") => {
                vec![format!("sudo systemctl start {engine}"), format!("{engine} info")]
            }
            Self::EngineNotRunning { engine, .. } => {
                vec![format!("{engine} info"), "echo $DOCKER_HOST".to_owned()]
            }
            Self::EngineDenied { engine, socket } => {
                vec![format!("ls -l {}", socket.display()), format!("sudo usermod -aG {engine} $USER")]
            }
            Self::EngineTooOld { engine, .. } => vec![format!("{engine} version")],
            Self::NodeImage { engine, image, .. } => vec![
                format!("{engine} pull {image}"),
                format!("{engine} image ls"),
                "set `bootstrapCluster.kind.image` to an image that is there".to_owned(),
            ],
            Self::PortTaken { address, .. } => vec![
                format!("ss -ltnp 'sport = :{}'", address.port()),
                "set `providerConfig.local.consolePort` to a port that is free".to_owned(),
            ],
            Self::NotOurs { name, .. } => {
                vec![
                    format!("kubectl cluster-info --context kind-{name}"),
                    format!("kind delete cluster --name {name}"),
                ]
            }
            Self::Part(error) => error.hints(),
            Self::Process(error) => error.hints(),
            _ => Vec::new(),
        }
    }
}
