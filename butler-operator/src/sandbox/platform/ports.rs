//! The ports of the management plane: the usual ones, unless somebody has them.

use std::{
    net::{IpAddr, SocketAddr, TcpListener},
    path::Path,
};

use butler_core::settings::home::write_private;
use fs_err as fs;
use serde::{Deserialize, Serialize};

use crate::{
    process::{
        listeners,
        ports::{self, Port, PortsTaken},
    },
    sandbox::{SandboxError, host::HostError, host::Network},
};

/// Where the parts of the management plane listen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanePorts {
    /// etcd, for clients.
    pub etcd: SocketAddr,
    /// etcd, for members.
    pub etcd_peer: SocketAddr,
    /// kube-apiserver.
    pub api: SocketAddr,
    /// kube-controller-manager.
    pub controller_manager: SocketAddr,
    /// Our own controllers: health and metrics.
    pub serve: SocketAddr,
}

/// A port that is not the one of the last time, or not the usual one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    /// What was wanted.
    pub wanted: SocketAddr,
    /// Who has it.
    pub holder: String,
    /// What is used in its place.
    pub used: SocketAddr,
}

impl PlanePorts {
    /// Chooses ports for this start: those of the last time, else the usual ones, else any that is
    /// free. The ports are held as long as the second value lives.
    pub fn choose(path: &Path, network: &Network) -> Result<(Self, Vec<Port>, Vec<Moved>), SandboxError> {
        let ip = network.platform();
        let known: Option<Self> = fs::read(path).ok().and_then(|text| serde_json::from_slice(&text).ok());
        let mut choice = Choice { single: network.is_single(), ip, held: Vec::new(), moved: Vec::new() };
        let mut port = |of: fn(&Self) -> SocketAddr, usual: u16| choice.port(known.as_ref().map(of), usual);
        let chosen = Self {
            etcd: port(|ports| ports.etcd, 2379)?,
            etcd_peer: port(|ports| ports.etcd_peer, 2380)?,
            api: port(|ports| ports.api, 6443)?,
            controller_manager: port(|ports| ports.controller_manager, 10_257)?,
            serve: port(|ports| ports.serve, 8080)?,
        };
        if known != Some(chosen) {
            write_private(path, &serde_json::to_vec_pretty(&chosen).unwrap_or_default())?;
        }
        Ok((chosen, choice.held, choice.moved))
    }

    /// Reads the ports of the last start.
    pub fn read(path: &Path) -> Option<Self> {
        fs::read(path).ok().and_then(|text| serde_json::from_slice(&text).ok())
    }

    /// All of them.
    pub fn all(&self) -> [SocketAddr; 5] {
        [self.etcd, self.etcd_peer, self.api, self.controller_manager, self.serve]
    }
}

struct Choice {
    single: bool,
    ip: IpAddr,
    held: Vec<Port>,
    moved: Vec<Moved>,
}

impl Choice {
    fn port(&mut self, known: Option<SocketAddr>, usual: u16) -> Result<SocketAddr, SandboxError> {
        let known = known.filter(|known| known.ip() == self.ip);
        if self.single {
            // Everybody is on this address, so a port is held against all our processes.
            let port =
                known.and_then(ports::take).map_or_else(|| ports::reserve(self.ip), Ok).map_err(taken)?;
            let address = port.address();
            self.held.push(port);
            return Ok(address);
        }
        let wanted = known.unwrap_or(SocketAddr::new(self.ip, usual));
        for candidate in [wanted, SocketAddr::new(self.ip, usual)] {
            if TcpListener::bind(candidate).is_ok() {
                return Ok(candidate);
            }
        }
        let port = ports::reserve(self.ip).map_err(taken)?;
        let used = port.address();
        let holder = listeners::who_has(wanted).unwrap_or_else(|| "another process".to_owned());
        self.moved.push(Moved { wanted, holder, used });
        self.held.push(port);
        Ok(used)
    }
}

fn taken(error: PortsTaken) -> SandboxError {
    HostError::Ports(error).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_that_somebody_has_is_replaced_and_its_holder_named() {
        let dir = tempfile::tempdir().unwrap();
        let network = Network::claim(&dir.path().join("network.json"), false).unwrap();
        let path = dir.path().join("ports.json");
        let stranger = TcpListener::bind((network.platform(), 6443)).unwrap();
        let (first, held, moved) = PlanePorts::choose(&path, &network).unwrap();
        assert_eq!((first.etcd.port(), moved.len()), (2379, 1));
        assert!(moved[0].holder.contains(&std::process::id().to_string()), "{moved:?}");
        assert_eq!((moved[0].wanted.port(), moved[0].used), (6443, first.api));
        drop((stranger, held));
        let (second, _held, moved) = PlanePorts::choose(&path, &network).unwrap();
        assert_eq!((second, moved), (first, vec![]), "people know the port by now");
        assert_eq!(PlanePorts::read(&path), Some(first));
    }
}
