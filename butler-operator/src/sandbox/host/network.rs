//! The addresses of a sandbox.
//!
//! Linux answers on all of 127.0.0.0/8, so a sandbox takes a /24 of its own, which it keeps for life:
//! its machines have it in their certificates. The claim is a bound UDP socket on its first address,
//! kept by the kernel, seen by every process of every user and released even by SIGKILL. Where only
//! 127.0.0.1 can be bound, every machine has that address and ports of its own.
//!
//! | last number | for |
//! |---|---|
//! | 1 | the platform: API server, controllers, login |
//! | 10–149 | machines |
//! | 150–229 | tenants, by the NetworkPool |
//! | 230–249 | load balancers |
//! | 250–254 | nobody: virtual addresses that people choose |

use std::{
    collections::BTreeSet,
    io,
    net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, UdpSocket},
    ops::RangeInclusive,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use butler_core::settings::home::write_private;
use fs_err as fs;
use serde::{Deserialize, Serialize};

use super::error::{HostError, Refusal};
use crate::{
    driver::ErrorClass,
    process::{
        listeners,
        ports::{self, Port},
    },
    sandbox::machine::NodePorts,
};

/// Second numbers of the networks that may be taken.
const SECOND: RangeInclusive<u8> = 40..=99;
/// Below the range from which the kernel hands out ports, so no passing socket is in the way.
const CLAIM_PORT: u16 = 19_127;
/// How long a claim that should be ours is waited for.
const PATIENCE: Duration = Duration::from_secs(1);
const MACHINES: RangeInclusive<u8> = 10..=149;
const TENANTS: RangeInclusive<u8> = 150..=229;
const BALANCERS: RangeInclusive<u8> = 230..=249;

/// The addresses a sandbox may use. Clones share the claim.
#[derive(Clone, Debug)]
pub struct Network {
    form: Form,
    claim: Arc<Mutex<Option<UdpSocket>>>,
}

/// What is kept on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Form {
    /// Second and third number.
    Range(u8, u8),
    /// One address for all.
    Single,
}

/// Why a network cannot be claimed.
enum Refused {
    Taken,
    Impossible(io::Error),
}

impl Network {
    /// Takes the network that the file at `path` names, or a new one. With `fixed` there are machines
    /// that rely on the one in the file, so no other will do.
    pub fn claim(path: &Path, fixed: bool) -> Result<Self, HostError> {
        let known = match fs::read(path) {
            // A file that cannot be understood is as good as none, unless machines rely on it.
            Ok(text) => serde_json::from_slice::<Form>(&text).ok(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(source) => return Err(HostError::Read { path: path.to_owned(), source }),
        };
        if let Some(form) = known {
            match take_patiently(form, fixed) {
                Ok(network) => return Ok(network),
                Err(refused) if fixed => {
                    let reason = match refused {
                        Refused::Taken => "another sandbox uses it".to_owned(),
                        Refused::Impossible(error) => format!("this system does not have it ({error})"),
                    };
                    return Err(HostError::Network { network: form.to_string(), reason });
                }
                Err(_) => {}
            }
        }
        let network = Self::any(path)?;
        let text = serde_json::to_vec(&network.form).unwrap_or_default();
        write_private(path, &text)?;
        Ok(network)
    }

    fn any(path: &Path) -> Result<Self, HostError> {
        // Sandboxes begin at different places, so that they seldom meet.
        let digest = ring::digest::digest(&ring::digest::SHA256, path.as_os_str().as_encoded_bytes());
        let begin = digest.as_ref().iter().take(4).fold(0_usize, |sum, byte| (sum << 8) | usize::from(*byte));
        let all: Vec<(u8, u8)> = SECOND.flat_map(|x| (0..=u8::MAX).map(move |y| (x, y))).collect();
        for step in 0..all.len() {
            let (x, y) = all[(begin + step) % all.len()];
            match take(Form::Range(x, y)) {
                Ok(network) => return Ok(network),
                Err(Refused::Taken) => {}
                Err(Refused::Impossible(_)) => {
                    return Ok(Self { form: Form::Single, claim: Arc::default() });
                }
            }
        }
        Err(HostError::NoNetwork)
    }

    /// Lets others take it; for whoever has stopped all that used it.
    pub fn release(&self) {
        self.claim.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// The address of the platform itself.
    pub fn platform(&self) -> IpAddr {
        self.at(1)
    }

    /// True when every machine has the same address, and ports of its own.
    pub fn is_single(&self) -> bool {
        self.form == Form::Single
    }

    /// True for an address that a machine or load balancer here may have.
    pub(super) fn contains(&self, address: IpAddr) -> bool {
        match (self.form, address) {
            (Form::Range(x, y), IpAddr::V4(address)) => address.octets()[..3] == [127, x, y],
            (Form::Single, address) => address == IpAddr::V4(Ipv4Addr::LOCALHOST),
            _ => false,
        }
    }

    /// First and last address for tenants, if they can have any of their own.
    pub fn tenants(&self) -> Option<(IpAddr, IpAddr)> {
        (!self.is_single()).then(|| (self.at(*TENANTS.start()), self.at(*TENANTS.end())))
    }

    /// An address and ports for a new machine. `used` are the addresses of the others.
    pub(super) fn for_machine(
        &self,
        used: &BTreeSet<IpAddr>,
    ) -> Result<(IpAddr, NodePorts, Vec<Port>), Refusal> {
        if self.is_single() {
            let (ports, held) = reserve_node_ports(self.at(1))?;
            return Ok((self.at(1), ports, held));
        }
        let address = self.free(MACHINES, used, "machines")?;
        let ports = NodePorts::default();
        for port in numbers(&ports) {
            bindable(SocketAddr::new(address, port))?;
        }
        Ok((address, ports, Vec::new()))
    }

    /// Holds the ports of a machine that exists; nothing to hold where it has its own address.
    pub(super) fn hold(&self, address: IpAddr, ports: &NodePorts) -> Result<Vec<Port>, String> {
        if !self.is_single() {
            return Ok(Vec::new());
        }
        let hold = |port| {
            let address = SocketAddr::new(address, port);
            ports::take(address).ok_or_else(|| {
                let who = listeners::who_has(address).unwrap_or_else(|| "another process".to_owned());
                format!("port {port} of {} is held by {who}", address.ip())
            })
        };
        numbers(ports).into_iter().map(hold).collect()
    }

    /// An address and port for a load balancer that should listen on `port`.
    pub(super) fn for_balancer(
        &self,
        used: &BTreeSet<IpAddr>,
        port: u16,
    ) -> Result<(SocketAddr, Option<Port>), Refusal> {
        if self.is_single() {
            let held = ports::reserve(self.at(1)).map_err(|error| quota(&error))?;
            return Ok((held.address(), Some(held)));
        }
        let address = SocketAddr::new(self.free(BALANCERS, used, "load balancers")?, port);
        bindable(address)?;
        Ok((address, None))
    }

    fn free(
        &self,
        range: RangeInclusive<u8>,
        used: &BTreeSet<IpAddr>,
        what: &str,
    ) -> Result<IpAddr, Refusal> {
        let count = range.clone().count();
        range.map(|last| self.at(last)).find(|address| !used.contains(address)).ok_or_else(|| {
            Refusal::new(ErrorClass::Quota, format!("all {count} addresses for {what} are in use"))
        })
    }

    fn at(&self, last: u8) -> IpAddr {
        match self.form {
            Form::Range(x, y) => Ipv4Addr::new(127, x, y, last).into(),
            Form::Single => Ipv4Addr::LOCALHOST.into(),
        }
    }
}

impl std::fmt::Display for Network {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.form.fmt(f)
    }
}

impl std::fmt::Display for Form {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Range(x, y) => write!(f, "127.{x}.{y}.0/24"),
            Self::Single => f.write_str("127.0.0.1/32"),
        }
    }
}

/// A claim ends with its process, and that may be ending this very moment.
fn take_patiently(form: Form, fixed: bool) -> Result<Network, Refused> {
    let end = Instant::now() + PATIENCE;
    loop {
        match take(form) {
            Err(Refused::Taken) if fixed && Instant::now() < end => std::thread::sleep(PATIENCE / 50),
            other => return other,
        }
    }
}

fn take(form: Form) -> Result<Network, Refused> {
    let Form::Range(x, y) = form else { return Ok(Network { form, claim: Arc::default() }) };
    match UdpSocket::bind((Ipv4Addr::new(127, x, y, 1), CLAIM_PORT)) {
        Ok(claim) => Ok(Network { form, claim: Arc::new(Mutex::new(Some(claim))) }),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => Err(Refused::Taken),
        Err(error) => Err(Refused::Impossible(error)),
    }
}

fn numbers(ports: &NodePorts) -> [u16; 6] {
    let NodePorts { talos, trustd, etcd, etcd_peer, api, kubelet } = *ports;
    [talos, trustd, etcd, etcd_peer, api, kubelet]
}

fn reserve_node_ports(ip: IpAddr) -> Result<(NodePorts, Vec<Port>), Refusal> {
    let mut held = Vec::new();
    let mut next = || -> Result<u16, Refusal> {
        let port = ports::reserve(ip).map_err(|error| quota(&error))?;
        let number = port.number();
        held.push(port);
        Ok(number)
    };
    let ports = NodePorts {
        talos: next()?,
        trustd: next()?,
        etcd: next()?,
        etcd_peer: next()?,
        api: next()?,
        kubelet: next()?,
    };
    Ok((ports, held))
}

fn quota(error: &dyn std::error::Error) -> Refusal {
    Refusal::new(ErrorClass::Quota, error.to_string())
}

/// Fails with the name of whoever listens there, which can only be on every address at once.
fn bindable(address: SocketAddr) -> Result<(), Refusal> {
    let Err(error) = TcpListener::bind(address) else { return Ok(()) };
    let who = listeners::who_has(address).map_or_else(|| error.to_string(), |who| format!("held by {who}"));
    let message = format!("port {} of {} cannot be used: {who}", address.port(), address.ip());
    Err(Refusal::new(ErrorClass::Transient, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_belongs_to_one_sandbox_and_is_kept() {
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let path = one.path().join("network.json");
        let first = Network::claim(&path, false).unwrap();
        // A copy of the first sandbox wants the same network while that is in use.
        let copy = two.path().join("network.json");
        fs::copy(&path, &copy).unwrap();
        let error = Network::claim(&copy, true).unwrap_err();
        assert!(error.to_string().contains("another sandbox uses it"), "{error}");
        let second = Network::claim(&copy, false).unwrap();
        assert_ne!(first.to_string(), second.to_string());
        let name = first.to_string();
        drop(first);
        assert_eq!(Network::claim(&path, true).unwrap().to_string(), name);
    }

    #[test]
    fn machines_and_load_balancers_get_addresses_until_there_are_none() {
        let dir = tempfile::tempdir().unwrap();
        let network = Network::claim(&dir.path().join("network.json"), false).unwrap();
        let mut used = BTreeSet::new();
        for _ in MACHINES {
            let (address, ports, _) = network.for_machine(&used).unwrap();
            assert!(network.contains(address) && used.insert(address));
            assert_eq!(ports, NodePorts::default());
        }
        let refusal = network.for_machine(&used).unwrap_err();
        assert_eq!(refusal.class, ErrorClass::Quota);
        let (address, _) = network.for_balancer(&used, 6443).unwrap();
        assert!(network.contains(address.ip()) && !used.contains(&address.ip()));
    }
}
