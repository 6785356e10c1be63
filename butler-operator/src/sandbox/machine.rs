//! A simulated machine, as its host and its node process see it.
//!
//! The host (the simulated hypervisor) makes a directory per machine and starts the node process in it:
//!
//! | file | written by | holds |
//! |---|---|---|
//! | `machine.json` | the host, before each start | [`MachineFile`] |
//! | `user-data` | the host, 0600 | the machine configuration given at creation, if any |
//! | `faults.json` | people and tests | [`Faults`](super::faults::Faults) |
//! | `console.log` | the host | what the node writes to stderr |
//! | `disk/` | the node | everything that survives a reboot: configuration, etcd's data, logs |
//!
//! The node writes an [`AgentMessage`] per line to stdout, as a guest agent would. It ends with status 0
//! when the machine is switched off from inside; any other end is a crash.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    path::{Path, PathBuf},
};

use butler_core::settings::home::{HomeError, write_private};
use serde::{Deserialize, Serialize};

use crate::driver::{Ownership, Role};

/// What the host tells the node about the machine it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MachineFile {
    /// The provider's id.
    pub id: String,
    /// The machine's name, also its host name unless the configuration says otherwise.
    pub name: String,
    /// Whose it is.
    pub ownership: Ownership,
    /// What it is for.
    pub role: Role,
    /// Virtual processors.
    pub cpu: u32,
    /// Memory in MiB.
    pub memory_mb: u32,
    /// Root disk in GiB.
    pub disk_gb: u32,
    /// The address of its network card.
    pub address: IpAddr,
    /// Ports, which differ from the usual ones only where every machine has the same address.
    #[serde(default)]
    pub ports: NodePorts,
    /// Hardware address of its network card.
    pub mac: String,
    /// The version of Talos it boots, `v1.11.5`.
    pub talos_version: String,
    /// The real programs a control plane runs.
    pub parts: NodeParts,
    /// Where nodes of one host find each other, as through a discovery service.
    pub discovery_dir: PathBuf,
}

/// Where a node's servers listen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodePorts {
    /// Talos API.
    pub talos: u16,
    /// trustd.
    pub trustd: u16,
    /// etcd, for clients.
    pub etcd: u16,
    /// etcd, for members.
    pub etcd_peer: u16,
    /// kube-apiserver.
    pub api: u16,
    /// kubelet.
    pub kubelet: u16,
}

impl Default for NodePorts {
    fn default() -> Self {
        Self { talos: 50_000, trustd: 50_001, etcd: 2379, etcd_peer: 2380, api: 6443, kubelet: 10_250 }
    }
}

/// Paths of the real programs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeParts {
    /// etcd.
    pub etcd: PathBuf,
    /// kube-apiserver.
    pub kube_apiserver: PathBuf,
    /// kube-controller-manager.
    pub kube_controller_manager: PathBuf,
    /// kube-scheduler.
    pub kube_scheduler: PathBuf,
    /// etcdutl, which only the recovery of etcd needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etcdutl: Option<PathBuf>,
}

/// What a node tells its host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum AgentMessage {
    /// The machine has an address; sent at each boot, once it answers there.
    #[serde(rename_all = "camelCase")]
    Booted {
        /// The address it says it has.
        address: IpAddr,
        /// Changes with each boot.
        boot_id: String,
    },
    /// It is in another stage of its life: `maintenance`, `booting`, `running`, `rebooting`, ….
    Stage {
        /// Talos' word for it.
        stage: String,
    },
}

/// Paths in the directory of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineDir(pub PathBuf);

impl MachineDir {
    /// `machine.json`
    pub fn machine_file(&self) -> PathBuf {
        self.0.join("machine.json")
    }

    /// `user-data`
    pub fn user_data(&self) -> PathBuf {
        self.0.join("user-data")
    }

    /// `faults.json`
    pub fn faults_file(&self) -> PathBuf {
        self.0.join("faults.json")
    }

    /// `console.log`
    pub fn console(&self) -> PathBuf {
        self.0.join("console.log")
    }

    /// `disk/`
    pub fn disk(&self) -> PathBuf {
        self.0.join("disk")
    }
}

impl MachineFile {
    /// Reads the file of a machine.
    pub fn read(path: &Path) -> io::Result<Self> {
        let text = fs_err::read(path)?;
        serde_json::from_slice(&text).map_err(|error| {
            io::Error::new(io::ErrorKind::InvalidData, format!("`{}` is not valid: {error}", path.display()))
        })
    }

    /// Replaces the file of a machine whole.
    pub fn write(&self, path: &Path) -> Result<(), HomeError> {
        let text = serde_json::to_vec_pretty(self)
            .map_err(|error| HomeError::Write { path: path.to_owned(), source: error.into() })?;
        write_private(path, &text)
    }

    /// Where the Talos API listens.
    pub fn talos(&self) -> SocketAddr {
        SocketAddr::new(self.address, self.ports.talos)
    }
}
