//! Stops a sandbox, and believes it only after looking at processes and ports.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use fs_err as fs;
use rustix::process::{Pid, Signal, kill_process};

use super::{holder, launch::remove_file};
use crate::{
    process::{
        listeners,
        usage::{Process, Snapshot},
    },
    sandbox::{Place, SandboxError, platform::PlanePorts},
};

/// How long a supervisor may take to stop everything in order.
const STOP_LIMIT: Duration = Duration::from_secs(30);
/// How long processes may take to vanish once their supervisor is gone.
const VANISH_LIMIT: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(25);

/// What was stopped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Halted {
    /// How many processes there were; none when nothing ran.
    pub processes: usize,
    /// How many ports they listened on.
    pub ports: usize,
    /// True when the supervisor had to be killed.
    pub killed: bool,
}

/// Stops a sandbox and looks until nothing of it runs and listens. Data stays.
pub async fn halt(place: &Place) -> Result<Halted, SandboxError> {
    let mut halted = Halted::default();
    let Some(pid) = holder(place) else {
        // A supervisor that was killed leaves these behind.
        forget_sockets(place);
        return Ok(halted);
    };
    let processes = Snapshot::take().tree(pid);
    let addresses: Vec<SocketAddr> = ours(place).into_iter().map(|listener| listener.address).collect();
    halted.processes = processes.len();
    halted.ports = addresses.len();
    let signal = |signal| {
        if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
            // It may be ending by itself.
            let _ = kill_process(pid, signal);
        }
    };
    signal(Signal::TERM);
    if !until(STOP_LIMIT, || holder(place).is_none()).await {
        halted.killed = true;
        signal(Signal::KILL);
        until(VANISH_LIMIT, || holder(place).is_none()).await;
    }
    let left = || left(place, &processes, &addresses);
    if !until(VANISH_LIMIT, || left().is_empty()).await {
        return Err(SandboxError::Leftovers { name: place.name().to_owned(), what: left() });
    }
    forget_sockets(place);
    Ok(halted)
}

/// Removes the data of a sandbox that was stopped.
pub fn remove(place: &Place) -> Result<(), SandboxError> {
    if let Some(pid) = holder(place) {
        return Err(SandboxError::Busy { name: place.name().to_owned(), pid });
    }
    match fs::remove_dir_all(place.dir()) {
        Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
            let action = format!("remove `{}`", place.dir().display());
            Err(SandboxError::System { action, source })
        }
        _ => Ok(()),
    }
}

fn forget_sockets(place: &Place) {
    for socket in [place.host_socket(), place.control_socket()] {
        // The next supervisor replaces it anyway.
        let _ = remove_file(&socket);
    }
}

/// What listens on the addresses and ports of this sandbox.
fn ours(place: &Place) -> Vec<listeners::Listener> {
    let Some(ports) = PlanePorts::read(&place.ports()) else { return Vec::new() };
    let network = match ports.api.ip() {
        std::net::IpAddr::V4(ip) if !ip.is_private() && ip != std::net::Ipv4Addr::LOCALHOST => {
            Some([ip.octets()[0], ip.octets()[1], ip.octets()[2]])
        }
        _ => None,
    };
    let in_network = |address: &SocketAddr| match (address.ip(), network) {
        (std::net::IpAddr::V4(ip), Some(network)) => ip.octets()[..3] == network,
        _ => false,
    };
    let all = listeners::all().into_iter();
    all.filter(|found| ports.all().contains(&found.address) || in_network(&found.address)).collect()
}

/// Processes and ports that should be gone, in words.
fn left(place: &Place, processes: &[Process], addresses: &[SocketAddr]) -> Vec<String> {
    let now = Snapshot::take();
    let alive =
        processes.iter().filter(|process| now.has(process)).map(|process| format!("process {}", process.pid));
    let open =
        ours(place).into_iter().map(|found| found.address).filter(|address| addresses.contains(address));
    alive.chain(open.map(|address| format!("port {address}"))).collect()
}

async fn until(limit: Duration, mut done: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + limit;
    while !done() {
        if Instant::now() > end {
            return false;
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
    true
}
