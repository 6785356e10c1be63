//! How nodes of a cluster find each other: a directory of the host plays the discovery service.

use std::{
    collections::BTreeMap,
    net::{IpAddr, SocketAddr},
    path::PathBuf,
    sync::Arc,
    time::{Duration, SystemTime},
};

use serde::{Deserialize, Serialize};

use super::{context::Node, kubernetes};
use crate::{sandbox::machine::NodePorts, talos::config::MachineType};

/// Pause between two looks; a look costs nothing while the directory is as before.
const INTERVAL: Duration = Duration::from_millis(500);

/// What a node tells others of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Member {
    pub(super) id: String,
    pub(super) hostname: String,
    pub(super) machine_type: MachineType,
    pub(super) addresses: Vec<IpAddr>,
    pub(super) ports: NodePorts,
    /// Where its API server listens; only on control planes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) api: Option<SocketAddr>,
    /// Where its etcd serves clients, once it is a member.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) etcd: Option<SocketAddr>,
    pub(super) operating_system: String,
}

impl Member {
    pub(super) fn is_control_plane(&self) -> bool {
        self.machine_type == MachineType::ControlPlane
    }

    pub(super) fn talos(&self) -> Option<SocketAddr> {
        self.addresses.first().map(|address| SocketAddr::new(*address, self.ports.talos))
    }

    pub(super) fn trustd(&self) -> Option<SocketAddr> {
        self.addresses.first().map(|address| SocketAddr::new(*address, self.ports.trustd))
    }
}

/// What this node is to others.
pub(super) fn own(node: &Node) -> Option<Member> {
    let config = node.current()?;
    let file = &node.machine.file;
    let address = node.faults().wrong_address.unwrap_or(file.address);
    let is_control_plane = config.is_control_plane();
    Some(Member {
        id: node.identity.clone(),
        hostname: node.hostname(),
        machine_type: config.machine.main.machine.machine_type,
        addresses: vec![address],
        ports: file.ports,
        api: is_control_plane.then(|| kubernetes::api_address(node, &config)),
        etcd: node.etcd.borrow().member.then(|| SocketAddr::new(file.address, file.ports.etcd)),
        operating_system: node.os(),
    })
}

fn dir(node: &Node) -> Option<PathBuf> {
    let config = node.current()?;
    let cluster = &config.machine.main.cluster;
    let enabled = cluster.discovery.enabled && !cluster.discovery.registries.service.disabled;
    let id: String =
        cluster.id.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '_' }).collect();
    (enabled && !id.is_empty()).then(|| node.machine.file.discovery_dir.join(id))
}

/// Tells and listens until the boot ends.
pub(super) async fn run(node: Arc<Node>) {
    let mut told = None;
    let mut seen: Option<SystemTime> = None;
    loop {
        let mine = own(&node);
        if told != mine && tell(&node, mine.as_ref()).is_ok() {
            told = mine.clone();
            seen = None;
        }
        let changed = dir(&node).and_then(|dir| std::fs::metadata(dir).ok()?.modified().ok());
        if changed.is_none() || changed != seen {
            listen(&node, mine);
            // A change within the clock's grain of this look would be missed, so look once more.
            let settled =
                changed.filter(|time| time.elapsed().is_ok_and(|age| age > Duration::from_millis(100)));
            seen = settled;
        }
        tokio::select! {
            () = node.stop.cancelled() => return,
            () = tokio::time::sleep(INTERVAL) => {}
        }
    }
}

fn tell(node: &Node, mine: Option<&Member>) -> std::io::Result<()> {
    let (Some(dir), Some(mine)) = (dir(node), mine) else { return Ok(()) };
    let path = dir.join(format!("{}.json", mine.id));
    let text = serde_json::to_vec(mine).map_err(std::io::Error::other)?;
    node.machine.disk.write(&path, &text)
}

/// Reads who is there. Nothing written by others can do harm: what is no member is skipped.
fn listen(node: &Node, mine: Option<Member>) {
    let mut members: BTreeMap<String, Member> = BTreeMap::new();
    if let Some(dir) = dir(node)
        && let Ok(entries) = fs_err::read_dir(dir)
    {
        for entry in entries.flatten() {
            let path = entry.path();
            if path.extension().is_none_or(|kind| kind != "json") {
                continue;
            }
            let read = fs_err::read(&path).ok();
            if let Some(member) = read.and_then(|text| serde_json::from_slice::<Member>(&text).ok()) {
                members.insert(member.id.clone(), member);
            }
        }
    }
    if let Some(mine) = mine {
        members.insert(mine.id.clone(), mine);
    }
    let members: Vec<_> = members.into_values().collect();
    let changed = node.members.send_if_modified(|old| {
        let changed = *old != members;
        *old = members;
        changed
    });
    if changed {
        node.changed.notify_one();
    }
}

/// Takes this node out of the directory.
pub(super) fn leave(node: &Node) {
    if let Some(dir) = dir(node) {
        // What is not there needs no removal.
        let _ = fs_err::remove_file(dir.join(format!("{}.json", node.identity)));
    }
}
