//! Questions and orders to the node's member of etcd.

use std::io::Write;

use futures::StreamExt;
use tonic::{Response, Status, Streaming};

use super::{Streamed, control_plane};
use crate::{
    sandbox::node::{context::Node, etcd, sequence},
    talos::proto::{
        common::Data,
        etcdserverpb::{
            AlarmRequest, AlarmResponse, AlarmType, DefragmentRequest, MemberListRequest,
            MemberRemoveRequest, MoveLeaderRequest, SnapshotRequest, StatusRequest, alarm_request::Action,
            cluster_client::ClusterClient,
        },
        machine::{
            EtcdMember, EtcdMemberAlarm, EtcdMemberStatus, EtcdMembers, etcd_member_alarm::AlarmType as Alarm,
        },
    },
};

fn failed(what: &str) -> impl Fn(Status) -> Status + '_ {
    move |status| Status::new(status.code(), format!("failed to {what}: {}", status.message()))
}

pub(super) async fn members(node: &Node, local: bool) -> Result<EtcdMembers, Status> {
    control_plane(node, "member list")?;
    let request = MemberListRequest { linearizable: !local };
    let list = ClusterClient::new(etcd::local(node)?)
        .member_list(request)
        .await
        .map_err(failed("list etcd members"))?
        .into_inner();
    let mut members: Vec<EtcdMember> = list
        .members
        .into_iter()
        .map(|member| EtcdMember {
            id: member.id,
            hostname: member.name,
            peer_urls: member.peer_urls,
            client_urls: member.client_urls,
            is_learner: member.is_learner,
        })
        .collect();
    members.sort_by_key(|member| member.id);
    let legacy_members = members.iter().map(|member| member.hostname.clone()).collect();
    Ok(EtcdMembers { metadata: None, legacy_members, members })
}

pub(super) async fn status(node: &Node) -> Result<EtcdMemberStatus, Status> {
    control_plane(node, "etcd status")?;
    let status = etcd::maintenance(node)?
        .status(StatusRequest {})
        .await
        .map_err(failed("query etcd status"))?
        .into_inner();
    Ok(EtcdMemberStatus {
        protocol_version: status.version,
        db_size: status.db_size,
        db_size_in_use: status.db_size_in_use,
        leader: status.leader,
        raft_index: status.raft_index,
        raft_term: status.raft_term,
        raft_applied_index: status.raft_applied_index,
        errors: status.errors,
        is_learner: status.is_learner,
        member_id: status.header.unwrap_or_default().member_id,
        storage_version: status.storage_version,
    })
}

pub(super) async fn remove(node: &Node, id: u64) -> Result<(), Status> {
    control_plane(node, "etcd remove member")?;
    let removed = ClusterClient::new(etcd::local(node)?).member_remove(MemberRemoveRequest { id }).await;
    removed.map_err(failed("remove member")).map(drop)
}

pub(super) async fn leave(node: &Node) -> Result<(), Status> {
    control_plane(node, "etcd leave")?;
    if members(node, true).await?.members.len() < 2 {
        return Err(Status::unknown("failed to leave cluster: this is the only member"));
    }
    sequence::leave_etcd(node)
        .await
        .map_err(|error| Status::unknown(format!("failed to leave cluster: {error}")))?;
    // Its data belongs to a cluster it is no longer in; the node joins anew when it is told to boot.
    node.held.send_if_modified(|held| held.insert("etcd".to_owned()));
    Ok(())
}

/// Hands the lead to another member; the name of the new leader, or nothing when it did not lead.
pub(super) async fn forfeit(node: &Node) -> Result<String, Status> {
    control_plane(node, "etcd forfeit leadership")?;
    let own = status(node).await?;
    if own.leader != own.member_id {
        return Ok(String::new());
    }
    let members = members(node, true).await?.members;
    let next = members.into_iter().find(|member| member.id != own.member_id && !member.is_learner);
    let Some(next) = next else {
        return Err(Status::unknown("failed to forfeit leadership: no other member can lead"));
    };
    let request = MoveLeaderRequest { target_id: next.id };
    etcd::maintenance(node)?.move_leader(request).await.map_err(failed("forfeit leadership"))?;
    Ok(next.hostname)
}

pub(super) async fn snapshot(node: &Node) -> Streamed<Data> {
    control_plane(node, "etcd snapshot")?;
    let pieces = etcd::maintenance(node)?
        .snapshot(SnapshotRequest {})
        .await
        .map_err(failed("read etcd snapshot"))?
        .into_inner();
    let items = pieces.map(|piece| piece.map(|piece| Data { metadata: None, bytes: piece.blob }));
    Ok(Response::new(Box::pin(items)))
}

/// Takes a snapshot that a bootstrap with recovery begins from. One that breaks off is not kept.
pub(super) async fn recover(node: &Node, mut pieces: Streaming<Data>) -> Result<(), Status> {
    control_plane(node, "etcd recover")?;
    let disk = &node.machine.disk;
    let failed = |error: std::io::Error| Status::unknown(format!("failed to keep the snapshot: {error}"));
    disk.room().map_err(failed)?;
    let mut file =
        tempfile::Builder::new().prefix(".etcd-snapshot-").tempfile_in(disk.ephemeral()).map_err(failed)?;
    while let Some(piece) = pieces.message().await? {
        file.write_all(&piece.bytes).map_err(failed)?;
    }
    file.as_file().sync_all().map_err(failed)?;
    file.persist(disk.etcd_snapshot()).map_err(|error| failed(error.error))?;
    Ok(())
}

pub(super) async fn alarms(node: &Node, action: Action) -> Result<Vec<EtcdMemberAlarm>, Status> {
    control_plane(node, "etcd alarms")?;
    let call = |action: Action, member_id, alarm: AlarmType| async move {
        let request = AlarmRequest { action: action.into(), member_id, alarm: alarm.into() };
        let answer = etcd::maintenance(node)?.alarm(request).await.map_err(failed("list etcd alarms"))?;
        Ok::<AlarmResponse, Status>(answer.into_inner())
    };
    let raised = call(Action::Get, 0, AlarmType::None).await?.alarms;
    if action == Action::Deactivate {
        for alarm in &raised {
            call(Action::Deactivate, alarm.member_id, alarm.alarm()).await?;
        }
    }
    let kind = |alarm| match alarm {
        AlarmType::None => Alarm::None,
        AlarmType::Nospace => Alarm::Nospace,
        AlarmType::Corrupt => Alarm::Corrupt,
    };
    let own = raised
        .into_iter()
        .map(|alarm| EtcdMemberAlarm { member_id: alarm.member_id, alarm: kind(alarm.alarm()).into() });
    Ok(own.collect())
}

pub(super) async fn defragment(node: &Node) -> Result<(), Status> {
    control_plane(node, "etcd defragment")?;
    let done = etcd::maintenance(node)?.defragment(DefragmentRequest {}).await;
    done.map_err(failed("defragment etcd")).map(drop)
}
