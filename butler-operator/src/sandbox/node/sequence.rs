//! What ends a boot on purpose: reboot, reset, upgrade, rollback, shutdown. Each tells its phases as
//! events before it acts on them.

use std::{sync::Arc, time::Duration};

use tonic::Status as Refusal;

use super::{
    config::full,
    context::{After, Node, uuid},
    discovery, etcd,
    services::State,
    status::Stage,
};
use crate::talos::proto::{
    etcdserverpb::{MemberListRequest, MemberRemoveRequest, cluster_client::ClusterClient},
    machine::{ResetRequest, UpgradeRequest, reset_request::WipeMode, sequence_event::Action},
};

/// Between the last event and the end of the connection that carries it.
const FAREWELL: Duration = Duration::from_millis(300);
/// How often a node tries to leave etcd, once a second.
const LEAVE_TRIES: u32 = 30;

/// What to do with the disk.
#[derive(Debug, Default)]
struct Wipe {
    labels: Vec<String>,
    leave_etcd: bool,
}

/// Starts a reboot; gives the id its events carry.
pub(super) fn reboot(node: &Arc<Node>) -> Result<String, Refusal> {
    let actor = begin(node)?;
    go(node, "reboot", Stage::Rebooting, &actor, After::Reboot, None);
    Ok(actor)
}

/// A reboot that a new configuration asks for.
pub(super) fn reboot_for_config(node: &Arc<Node>) {
    // One that is on its way already will do.
    if let Ok(actor) = begin(node) {
        go(node, "reboot", Stage::Rebooting, &actor, After::Reboot, None);
    }
}

/// Starts a shutdown.
pub(super) fn shutdown(node: &Arc<Node>) -> Result<String, Refusal> {
    let actor = begin(node)?;
    go(node, "shutdown", Stage::ShuttingDown, &actor, After::Off, None);
    Ok(actor)
}

/// Starts an upgrade to the version in the image's tag.
pub(super) async fn upgrade(node: &Arc<Node>, request: &UpgradeRequest) -> Result<String, Refusal> {
    let version = tag(&request.image).ok_or_else(|| {
        Refusal::unknown(format!(
            "error validating installer image {:?}: there is no version in it",
            request.image
        ))
    })?;
    if node.is_control_plane() && !request.force && node.etcd.borrow().member {
        check_etcd(node)
            .await
            .map_err(|error| Refusal::unknown(format!("error validating etcd for upgrade: {error}")))?;
    }
    let mut meta = node.machine.disk.meta();
    if request.stage {
        meta.staged = Some(version);
    } else {
        meta.previous = Some(node.version.clone());
        meta.version = Some(version);
    }
    let actor = begin(node)?;
    if let Err(error) = node.machine.disk.write_meta(&meta) {
        return Err(Refusal::unknown(format!("error writing meta: {}", full(&error))));
    }
    let name = if request.stage { "stageUpgrade" } else { "upgrade" };
    go(node, name, Stage::Upgrading, &actor, After::Reboot, None);
    Ok(actor)
}

/// Goes back to the version before the last upgrade.
pub(super) fn rollback(node: &Arc<Node>) -> Result<(), Refusal> {
    let mut meta = node.machine.disk.meta();
    let previous = meta
        .previous
        .take()
        .ok_or_else(|| Refusal::unknown("failed to rollback bootloader: no previous version is there"))?;
    meta.previous = meta.version.replace(previous);
    let actor = begin(node)?;
    node.machine.disk.write_meta(&meta).map_err(|error| Refusal::unknown(full(&error)))?;
    go(node, "reboot", Stage::Rebooting, &actor, After::Reboot, None);
    Ok(())
}

/// Starts a reset.
pub(super) fn reset(node: &Arc<Node>, request: &ResetRequest) -> Result<String, Refusal> {
    let labels: Vec<String> = request
        .system_partitions_to_wipe
        .iter()
        .filter(|spec| spec.wipe)
        .map(|spec| spec.label.clone())
        .collect();
    match request.mode() {
        WipeMode::SystemDisk if !request.user_disks_to_wipe.is_empty() => {
            return Err(Refusal::unknown(
                "reset failed: invalid input, wipe mode SYSTEM_DISK doesn't support UserDisksToWipe parameter",
            ));
        }
        WipeMode::UserDisks if !labels.is_empty() => {
            return Err(Refusal::unknown(
                "reset failed: invalid input, wipe mode USER_DISKS doesn't support SystemPartitionsToWipe parameter",
            ));
        }
        _ => {}
    }
    if let Some(disk) = request.user_disks_to_wipe.first() {
        return Err(Refusal::unknown(format!("reset user disk failed: device {disk} wasn't found")));
    }
    if let Some(label) = labels.iter().find(|label| !["STATE", "EPHEMERAL", "META"].contains(&label.as_str()))
    {
        return Err(Refusal::unknown(format!("failed to reset: volume {label:?} is not located")));
    }
    let labels = match (request.mode(), labels.is_empty()) {
        (WipeMode::UserDisks, _) => Vec::new(),
        (_, true) => ["STATE", "EPHEMERAL", "META"].map(str::to_owned).to_vec(),
        (_, false) => labels,
    };
    let actor = begin(node)?;
    let after = if request.reboot { After::Reboot } else { After::Off };
    let leave_etcd = request.graceful && node.is_control_plane();
    go(node, "reset", Stage::Resetting, &actor, after, Some(Wipe { labels, leave_etcd }));
    Ok(actor)
}

fn begin(node: &Node) -> Result<String, Refusal> {
    node.begin_sequence()?;
    Ok(uuid())
}

fn go(node: &Arc<Node>, name: &'static str, stage: Stage, actor: &str, after: After, wipe: Option<Wipe>) {
    let (node, actor) = (node.clone(), actor.to_owned());
    // Not one of the boot's own tasks: it waits for those.
    tokio::spawn(async move { run(&node, name, stage, &actor, after, wipe).await });
}

async fn run(node: &Arc<Node>, name: &str, stage: Stage, actor: &str, after: After, wipe: Option<Wipe>) {
    node.machine.logs.talos(format_args!("{name} sequence: started"));
    node.events.sequence(name, Action::Start, actor);
    node.enter(stage, actor);
    // Whoever asked opens its stream of events beside the call; it should see the phases.
    tokio::time::sleep(FAREWELL).await;
    node.events.phase("cleanup", "cleanupBootloader", actor);
    if wipe.as_ref().is_some_and(|wipe| wipe.leave_etcd) {
        node.events.phase("leave", "leaveEtcd", actor);
        if let Err(error) = leave_etcd(node).await {
            node.machine.logs.talos(format_args!("cannot leave etcd: {error}"));
        }
    }
    node.events.phase("stopServices", "stopServicesEphemeral", actor);
    node.stop_workload().await;
    for service in node.services.list() {
        if service.state == "Running" && !["apid", "machined", "trustd"].contains(&service.id.as_str()) {
            node.services.set(&service.id, State::Finished, "Service finished successfully");
        }
    }
    if name.contains("pgrade") {
        node.events.phase("upgrade", "upgrade", actor);
    }
    if let Some(wipe) = &wipe {
        node.events.phase("reset", "resetSystemDisk", actor);
        if wipe.labels.iter().any(|label| label == "STATE") {
            discovery::leave(node);
        }
        for label in &wipe.labels {
            if let Err(error) = node.machine.disk.wipe(label) {
                node.machine.logs.talos(format_args!("cannot wipe {label}: {}", full(&error)));
            }
        }
    }
    if after == After::Off || wipe.is_some() {
        node.events.phase("stopEverything", "stopAllServices", actor);
    }
    // Whoever waits for a reboot hears of the last phase no more: talosctl would take it for the end of
    // the stream and ask again for new events only, and a machine this quick is up again by then.
    node.events.phase(if after == After::Reboot { "reboot" } else { "shutdown" }, "reboot", actor);
    tokio::time::sleep(FAREWELL).await;
    node.events.sequence(name, Action::Stop, actor);
    node.end(after);
}

/// Takes this node out of etcd, if it is not the last one.
pub(super) async fn leave_etcd(node: &Node) -> Result<(), String> {
    if !node.etcd.borrow().member {
        return Ok(());
    }
    let words = |status: Refusal| status.message().to_owned();
    let mut cluster = ClusterClient::new(etcd::local(node).map_err(words)?);
    let list =
        cluster.member_list(MemberListRequest { linearizable: true }).await.map_err(words)?.into_inner();
    if list.members.len() < 2 {
        return Ok(());
    }
    let id = list.header.unwrap_or_default().member_id;
    node.etcd.send_modify(|phase| phase.member = false);
    // A cluster that has just changed takes no further change for some seconds.
    let mut left = LEAVE_TRIES;
    loop {
        match cluster.member_remove(MemberRemoveRequest { id }).await {
            Ok(_) => return Ok(()),
            Err(_) if left > 0 => left -= 1,
            Err(status) => return Err(words(status)),
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

/// An upgrade must not cost etcd its majority.
async fn check_etcd(node: &Node) -> Result<(), String> {
    let words = |status: Refusal| status.message().to_owned();
    let mut cluster = ClusterClient::new(etcd::local(node).map_err(words)?);
    let list =
        cluster.member_list(MemberListRequest { linearizable: true }).await.map_err(words)?.into_inner();
    if list.members.len() == 2 {
        return Err("etcd member count(2) is insufficient to maintain quorum if upgrade commences".to_owned());
    }
    match list.members.iter().find(|member| member.name.is_empty()) {
        Some(member) => Err(format!("etcd member {:016x} is not started", member.id)),
        None => Ok(()),
    }
}

/// The version at the end of an image's name.
fn tag(image: &str) -> Option<String> {
    let (_, tag) = image.rsplit_once(':')?;
    let tag = tag.split('@').next()?;
    semver::Version::parse(tag.strip_prefix('v')?).ok().map(|version| format!("v{version}"))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("ghcr.io/siderolabs/installer:v1.12.1", Some("v1.12.1"))]
    #[case("registry.example:5000/installer/abc:v1.11.5", Some("v1.11.5"))]
    #[case("registry.example:5000/installer", None)]
    #[case("installer:latest", None)]
    #[case("", None)]
    fn the_version_stands_at_the_end_of_the_image(#[case] image: &str, #[case] expected: Option<&str>) {
        assert_eq!(tag(image).as_deref(), expected);
    }
}
