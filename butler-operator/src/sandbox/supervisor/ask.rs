//! Looks at a sandbox from outside: what its supervisor says, what its processes cost, or what is on
//! disk when nothing runs.

use std::{collections::BTreeMap, path::PathBuf};

use fs_err as fs;
use http::Method;
use serde::Serialize;

use super::{
    holder,
    management::ManagementCluster,
    wire::{Health, PartStatus, PlatformStatus},
};
use crate::{
    process::usage::{Snapshot, Usage},
    sandbox::{
        Place, SandboxError,
        host::wire::NodeStatus,
        machine::{MachineDir, MachineFile},
        socket::Client,
    },
};

/// How a sandbox is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum State {
    /// There is none of this name.
    Absent,
    /// It has data and does not run.
    Stopped,
    /// It is being started.
    Starting,
    /// Everything works.
    Running,
    /// A part was lost and is being started again.
    Degraded,
}

/// A sandbox, its parts and its machines.
#[derive(Clone, Debug)]
pub struct Status {
    /// How it is doing.
    pub state: State,
    /// What its supervisor says, if one runs.
    pub platform: Option<PlatformStatus>,
    /// Machines that are on disk while nothing runs.
    pub stored: Vec<String>,
    usage: BTreeMap<u32, Usage>,
}

impl Status {
    /// What a process costs, with what it started.
    pub fn usage(&self, pid: Option<u32>) -> Option<Usage> {
        self.usage.get(&pid?).copied()
    }

    /// The parts, none when nothing runs.
    pub fn parts(&self) -> &[PartStatus] {
        self.platform.as_ref().map_or(&[], |platform| &platform.parts)
    }

    /// The machines, none when nothing runs.
    pub fn machines(&self) -> &[NodeStatus] {
        self.platform.as_ref().map_or(&[], |platform| &platform.machines)
    }
}

/// Looks at a sandbox. Shares of a core are those since `earlier`.
pub async fn ask(place: &Place, earlier: &Snapshot) -> Result<Status, SandboxError> {
    let mut status =
        Status { state: State::Absent, platform: None, stored: Vec::new(), usage: BTreeMap::new() };
    if holder(place).is_none() {
        if place.exists() {
            status.state = State::Stopped;
            status.stored = stored(place);
        }
        return Ok(status);
    }
    let client = Client::new(place.control_socket());
    let platform: PlatformStatus = match client.get("/v1/status").await {
        Ok(platform) => platform,
        // Its socket comes a little after its lock, and goes a little before.
        Err(_) => {
            status.state = State::Starting;
            return Ok(status);
        }
    };
    status.state = match platform.state {
        Health::Ready => State::Running,
        Health::Starting => State::Starting,
        Health::Restarting | Health::Stopped => State::Degraded,
    };
    let now = Snapshot::take();
    let parts = platform.parts.iter().filter_map(|part| Some((part.pid?, part.name != "supervisor")));
    let machines = platform.machines.iter().filter_map(|node| Some((node.pid?, true)));
    for (pid, with_tree) in parts.chain(machines) {
        status.usage.extend(now.usage(pid, with_tree, earlier).map(|usage| (pid, usage)));
    }
    status.platform = Some(platform);
    Ok(status)
}

/// Gives a sandbox of machines the controllers of the management cluster that was made on them; its
/// kubeconfig lies in the place.
pub async fn manage(place: &Place, cluster: &ManagementCluster) -> Result<(), SandboxError> {
    let client = Client::new(place.control_socket());
    let call = client.call(Method::POST, "/v1/management", cluster);
    call.await.map_err(|source| SandboxError::Call { name: place.name().to_owned(), source })
}

/// Ends the controllers of the management cluster, for its machines are about to go.
pub async fn release(place: &Place) -> Result<(), SandboxError> {
    let client = Client::new(place.control_socket());
    let call = client.call(Method::DELETE, "/v1/management", &());
    call.await.map_err(|source| SandboxError::Call { name: place.name().to_owned(), source })
}

/// Names of the machines on disk.
fn stored(place: &Place) -> Vec<String> {
    let entries = fs::read_dir(place.machines()).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| !name.starts_with('.')).collect();
    names.sort();
    names
}

/// Every log of a sandbox by the name of its part or machine, parts first.
pub fn log_files(place: &Place) -> Vec<(String, PathBuf)> {
    let mut files = vec![("supervisor".to_owned(), place.supervisor_log())];
    let logs = fs::read_dir(place.logs()).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut parts: Vec<PathBuf> =
        logs.filter(|path| path.extension().is_some_and(|end| end == "log")).collect();
    parts.sort();
    let name = |path: &PathBuf| path.file_stem().map(|name| name.to_string_lossy().into_owned());
    files.extend(parts.into_iter().filter_map(|path| Some((name(&path)?, path))));
    let machine = |name: String| {
        let console = MachineDir(place.machines().join(&name)).console();
        (name, console)
    };
    files.extend(stored(place).into_iter().map(machine));
    files
}

impl Place {
    /// The file of a machine on disk, if there is such a machine.
    pub fn machine_file(&self, name: &str) -> Option<std::io::Result<MachineFile>> {
        let dir = MachineDir(self.machines().join(name));
        dir.0.is_dir().then(|| MachineFile::read(&dir.machine_file()))
    }
}
