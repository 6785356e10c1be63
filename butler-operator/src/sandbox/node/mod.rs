//! A simulated Talos node: one process that talosctl, kubectl and our own controllers take for a machine.
//!
//! It speaks the Talos API with real TLS: maintenance mode first, then mutual TLS from the
//! configuration it was given. A control plane runs real etcd, kube-apiserver,
//! kube-controller-manager and kube-scheduler; every node runs the kubelet of
//! [`kubelet`](super::kubelet). A reboot happens inside the process; its end with status 0 is power off.
//!
//! | module | owns |
//! |---|---|
//! | `boot`, `sequence`, `status` | the life of a boot: stages, what ends it |
//! | `context` | what the parts of a boot share |
//! | `listen`, `tls`, `roles`, `proxy` | the port: who may enter, where a call goes, joined answers |
//! | `api`, `cosi` | the answers |
//! | `etcd`, `kubernetes`, `kubelet`, `children` | the real programs and how they join others |
//! | `trustd`, `discovery`, `balance` | how nodes find, trust and reach each other |
//! | `disk`, `logs`, `events`, `services`, `clock`, `config` | what a node remembers and knows |

mod api;
mod balance;
mod boot;
mod children;
mod clock;
mod config;
mod context;
mod cosi;
mod discovery;
mod disk;
mod etcd;
mod events;
mod health;
mod kubelet;
mod kubernetes;
mod listen;
mod logs;
mod proxy;
mod roles;
mod sequence;
mod services;
mod status;
mod tls;
mod trustd;

use std::{
    fmt,
    io::{self, Write},
    net::SocketAddr,
    path::PathBuf,
    sync::Arc,
};

use butler_core::{
    error::{Code, Diagnose},
    pki::PkiError,
    settings::Environment,
};

use super::machine::{MachineDir, MachineFile};
use crate::process::{Guard, ProcessError};

/// The kernel every simulated machine has.
const KERNEL: &str = "6.12.57-talos";

/// Where a node writes: messages to its host, and its console.
pub struct Streams {
    /// [`AgentMessage`](super::machine::AgentMessage)s, one per line.
    pub agent: Box<dyn Write + Send>,
    /// Lines for people.
    pub console: Box<dyn Write + Send>,
}

impl fmt::Debug for Streams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Streams").finish_non_exhaustive()
    }
}

/// Why a machine cannot run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NodeError {
    /// Its file is missing or damaged.
    #[error("cannot read the machine in `{}`", dir.display())]
    Machine {
        /// The machine's directory.
        dir: PathBuf,
        /// The reason.
        #[source]
        source: io::Error,
    },
    /// Its address or port is taken, or not of this computer.
    #[error("cannot listen on {address}")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// The reason.
        #[source]
        source: io::Error,
    },
    /// Its certificate could not be made.
    #[error("cannot make the certificate of the maintenance service")]
    Certificate(#[source] PkiError),
    /// TLS does not take the certificate.
    #[error("cannot serve TLS")]
    Tls(#[source] rustls::Error),
    /// Nobody watches over its children.
    #[error("cannot start the machine")]
    Process(#[source] ProcessError),
}

impl Diagnose for NodeError {
    fn code(&self) -> Code {
        match self {
            Self::Machine { .. } => Code::MachineUnreadable,
            Self::Listen { .. } => Code::MachineAddressTaken,
            Self::Certificate(error) => error.code(),
            Self::Tls(_) => Code::CertificateUnusable,
            Self::Process(error) => error.code(),
        }
    }
}

/// Runs the machine of a directory until it is switched off from inside.
pub async fn run(dir: MachineDir, environment: Environment, streams: Streams) -> Result<(), NodeError> {
    let file = MachineFile::read(&dir.machine_file())
        .map_err(|source| NodeError::Machine { dir: dir.0.clone(), source })?;
    let guard = Guard::start(&environment).map_err(NodeError::Process)?;
    let clock = Arc::new(clock::Clock::new(dir.faults_file()));
    let disk = disk::Disk::new(&dir);
    let logs = Arc::new(logs::Logs::new(clock.clone(), disk.clone(), streams.console));
    let machine = Arc::new(context::Machine {
        dir,
        file,
        disk,
        clock,
        logs,
        agent: context::Agent::new(streams.agent),
        guard,
    });
    loop {
        let node = context::Node::new(machine.clone());
        match boot::run(&node).await? {
            context::After::Reboot => machine.logs.kernel("reboot: restarting system"),
            context::After::Off => {
                machine.logs.kernel("reboot: power down");
                return Ok(());
            }
        }
    }
}
