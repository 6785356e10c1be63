//! The member of etcd on a control plane: bootstrapped, joined, kept running, and asked about itself.

use std::{net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use butler_core::pki::{Leaf, Usage, valid_from};
use jiff::SignedDuration;
use tonic::{
    Status,
    transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity},
};

use super::{
    children::{self, Part, Program, Report},
    config::{Config, full},
    context::Node,
    services::State,
    tls,
};
use crate::{
    plane::{self, TlsFiles},
    process::Streams,
    talos::proto::etcdserverpb::{
        Member, MemberAddRequest, MemberListRequest, MemberPromoteRequest, StatusRequest,
        cluster_client::ClusterClient, maintenance_client::MaintenanceClient,
    },
};

const ID: &str = "etcd";
const CALL: Duration = Duration::from_secs(5);
/// How long a snapshot may take to become data.
const RESTORE: Duration = Duration::from_secs(120);
/// How long etcd's certificates live: as the machine's.
const LIFE: SignedDuration = SignedDuration::from_hours(8760);

/// Where the member is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Phase {
    /// Somebody asked this node to begin a cluster.
    pub(super) bootstrap: bool,
    /// It is to begin from the snapshot that was handed over.
    pub(super) recovery: Option<Recovery>,
    /// It is healthy and one of the members.
    pub(super) member: bool,
    /// Its process.
    pub(super) pid: Option<u32>,
    /// Its id, once it is known.
    pub(super) id: u64,
}

/// How a snapshot is to be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Recovery {
    /// Do not look for the checksum at its end, which a copy of a data file lacks.
    pub(super) skip_hash_check: bool,
}

/// How it starts.
#[derive(Clone, Debug)]
enum Start {
    /// From the data it has.
    Again,
    /// As the first one.
    First,
    /// Beside others: names and peer URLs of all.
    Join(Vec<(String, String)>),
}

/// Where files of etcd's identity lie.
pub(super) fn pki(node: &Node) -> PathBuf {
    node.machine.disk.kubernetes().join("etcd-pki")
}

/// The address for clients.
pub(super) fn address(node: &Node) -> SocketAddr {
    SocketAddr::new(node.machine.file.address, node.machine.file.ports.etcd)
}

fn peer(node: &Node) -> SocketAddr {
    SocketAddr::new(node.machine.file.address, node.machine.file.ports.etcd_peer)
}

/// Runs the member until the workload ends.
pub(super) async fn run(node: Arc<Node>) {
    loop {
        node.services.set(ID, State::Starting, "Starting service");
        node.services.set(ID, State::Preparing, "Running pre state");
        if let Err(error) = write_pki(&node) {
            node.services.set(ID, State::Failed, &format!("Failed to run pre stage: {error}"));
            if pause(&node).await {
                return;
            }
            continue;
        }
        let start = tokio::select! {
            () = node.workload.cancelled() => break,
            start = plan(&node) => start,
        };
        node.services.set(ID, State::Preparing, "Creating service runner");
        let member = EtcdMember { node: node.clone(), start };
        let promotion = promote(node.clone());
        tokio::pin!(promotion);
        let supervised = children::supervise(node.clone(), member);
        tokio::pin!(supervised);
        let mut over = false;
        loop {
            tokio::select! {
                () = &mut promotion, if !over => over = true,
                () = &mut supervised => break,
            }
        }
        break;
    }
    node.services.set(ID, State::Finished, "Service finished successfully");
}

/// Waits a little; true when the workload ends.
async fn pause(node: &Node) -> bool {
    tokio::select! {
        () = node.workload.cancelled() => true,
        () = tokio::time::sleep(Duration::from_secs(2)) => false,
    }
}

/// Waits until there is something to start: data, an order, or others to join.
async fn plan(node: &Arc<Node>) -> Start {
    let mut members = node.members.subscribe();
    let mut last = String::new();
    loop {
        if node.machine.disk.has_etcd() {
            return Start::Again;
        }
        let Phase { bootstrap: begins, recovery, .. } = node.etcd.borrow().clone();
        let held_up = node.faults().etcd_wont_join;
        if begins && !held_up {
            let Some(recovery) = recovery else { return Start::First };
            match restore(node, recovery).await {
                Ok(()) => return Start::Again,
                Err(error) => {
                    let error = format!("failed to recover etcd from the snapshot: {error}");
                    node.machine.logs.talos(format_args!("{error}"));
                    node.services.set(ID, State::Failed, &error);
                    // It may be tried with another snapshot.
                    node.etcd.send_modify(|phase| (phase.bootstrap, phase.recovery) = (false, None));
                    continue;
                }
            }
        }
        let others: Vec<SocketAddr> = members
            .borrow_and_update()
            .iter()
            .filter(|member| member.id != node.identity && member.is_control_plane())
            .filter_map(|member| member.etcd)
            .collect();
        if begins || !others.is_empty() {
            let joined = if held_up {
                let what = if begins { "begin" } else { "join" };
                Err(format!("etcd does not {what}: that fault is set"))
            } else {
                join(node, &others).await
            };
            match joined {
                Ok(members) => return Start::Join(members),
                Err(error) if error != last => {
                    node.machine.logs.talos(format_args!("cannot start etcd yet: {error}"));
                    node.machine.logs.service(ID, &error);
                    node.services.set(ID, State::Preparing, &error);
                    last = error;
                }
                Err(_) => {}
            }
        }
        tokio::select! {
            () = node.etcd_order.notified() => {}
            Ok(()) = members.changed() => {}
            () = tokio::time::sleep(Duration::from_secs(1)) => {}
        }
    }
}

/// Makes etcd's data from the snapshot that was handed over, with this node as its only member.
async fn restore(node: &Node, recovery: Recovery) -> Result<(), String> {
    let disk = &node.machine.disk;
    let program = node.machine.file.parts.etcdutl.as_ref().ok_or("there is no `etcdutl` on this computer")?;
    let (snapshot, fresh, url) =
        (disk.etcd_snapshot(), disk.etcd_recovering(), format!("https://{}", peer(node)));
    if fresh.exists() {
        fs_err::remove_dir_all(&fresh).map_err(|error| full(&error))?;
    }
    disk.room().map_err(|error| full(&error))?;
    let hostname = node.hostname();
    let spawn = node
        .machine
        .guard
        .command(program, Streams::Piped)
        .args(["snapshot", "restore"])
        .args([&snapshot])
        .args(["--data-dir"])
        .args([&fresh])
        .args(["--name", &hostname, "--initial-cluster", &format!("{hostname}={url}")])
        .args(["--initial-advertise-peer-urls", &url])
        .args(recovery.skip_hash_check.then_some("--skip-hash-check"));
    let done = node.machine.guard.finish(&spawn, Vec::new(), RESTORE, CALL).await;
    let done = done.map_err(|error| full(&error))?;
    if !done.status.success() || done.late {
        let words = String::from_utf8_lossy(&done.stderr).into_owned();
        return Err(words.lines().last().unwrap_or("it said nothing").to_owned());
    }
    fs_err::rename(&fresh, disk.etcd()).map_err(|error| full(&error))?;
    fs_err::remove_file(&snapshot).map_err(|error| full(&error))
}

/// Announces this node to the others, as a learner. Done before and interrupted, it is found again.
async fn join(node: &Node, others: &[SocketAddr]) -> Result<Vec<(String, String)>, String> {
    let url = format!("https://{}", peer(node));
    let channel = connect(node, others).map_err(|status| status.message().to_owned())?;
    let mut cluster = ClusterClient::new(channel);
    let words = |status: Status| status.message().to_owned();
    let known = cluster
        .member_list(MemberListRequest { linearizable: true })
        .await
        .map_err(words)?
        .into_inner()
        .members;
    let hostname = node.hostname();
    if let Some(stale) =
        known.iter().find(|member| member.name == hostname && !member.peer_urls.contains(&url))
    {
        return Err(format!("a member named `{}` is there already, at {:?}", stale.name, stale.peer_urls));
    }
    let members = if known.iter().any(|member| member.peer_urls.contains(&url)) {
        known
    } else {
        let request = MemberAddRequest { peer_urls: vec![url.clone()], is_learner: true };
        cluster.member_add(request).await.map_err(words)?.into_inner().members
    };
    let named = |member: Member| {
        let peer = member.peer_urls.first()?.clone();
        let name = if peer == url { hostname.clone() } else { member.name };
        (!name.is_empty()).then_some((name, peer))
    };
    Ok(members.into_iter().filter_map(named).collect())
}

/// A learner becomes a member that counts, as soon as it has caught up.
async fn promote(node: Arc<Node>) {
    loop {
        let tried = async {
            let status = maintenance(&node)?.status(StatusRequest {}).await?.into_inner();
            if !status.is_learner {
                return Ok::<_, Status>(true);
            }
            let id = status.header.unwrap_or_default().member_id;
            let others: Vec<SocketAddr> = node
                .members
                .borrow()
                .iter()
                .filter(|member| member.id != node.identity)
                .filter_map(|member| member.etcd)
                .collect();
            ClusterClient::new(connect(&node, &others)?).member_promote(MemberPromoteRequest { id }).await?;
            node.machine.logs.talos("etcd: this member votes now");
            Ok(true)
        };
        if tried.await.unwrap_or(false) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

struct EtcdMember {
    node: Arc<Node>,
    start: Start,
}

impl Part for EtcdMember {
    fn id(&self) -> &str {
        ID
    }

    fn program(&self) -> Result<Program, String> {
        let node = &self.node;
        let config = node.current().ok_or("there is no configuration")?;
        let dir = pki(node);
        let own = (node.hostname(), format!("https://{}", peer(node)));
        let (members, joins) = match &self.start {
            // What it started with the first time, or nothing that etcd still looks at.
            Start::First | Start::Again => (vec![own], false),
            Start::Join(members) => (members.clone(), true),
        };
        let etcd = plane::Etcd {
            name: node.hostname(),
            data_dir: node.machine.disk.etcd(),
            client: address(node),
            peer: peer(node),
            members,
            joins,
            serving: TlsFiles::in_dir(&dir, "server"),
            peering: TlsFiles::in_dir(&dir, "peer"),
            durable: false,
        };
        let mut args = etcd.args();
        // One member may become three later, on a busy machine; and people read its log.
        args.extend(
            ["--heartbeat-interval=100", "--election-timeout=1000", "--log-level=info"].map(str::to_owned),
        );
        let extra = config.machine.main.cluster.etcd.iter().flat_map(|etcd| &etcd.extra_args);
        args.extend(extra.map(|(name, value)| format!("--{name}={value}")));
        Ok(Program { path: node.machine.file.parts.etcd.clone(), args, log: node.machine.logs.file(ID) })
    }

    async fn check(&self) -> Result<(), String> {
        let words = |status: Status| status.message().to_owned();
        let list = ClusterClient::new(local(&self.node).map_err(words)?)
            .member_list(MemberListRequest { linearizable: false })
            .await
            .map_err(words)?
            .into_inner();
        let id = list.header.unwrap_or_default().member_id;
        let own = list.members.iter().find(|member| member.id == id);
        if own.is_some_and(|own| own.is_learner) {
            return Err("member is a learner".to_owned());
        }
        // Only a cluster with a leader answers this one.
        ClusterClient::new(local(&self.node).map_err(words)?)
            .member_list(MemberListRequest { linearizable: true })
            .await
            .map_err(words)?;
        self.node.etcd.send_if_modified(|phase| {
            let changed = !phase.member || phase.id != id;
            (phase.member, phase.id) = (true, id);
            changed
        });
        Ok(())
    }

    fn report(&self, report: Report) {
        let services = &self.node.services;
        let pid = |pid| {
            self.node.etcd.send_modify(|phase| phase.pid = pid);
        };
        match report {
            Report::Started(id) => {
                pid(Some(id));
                services.set(ID, State::Running, &format!("Started task etcd (PID {id}) for container etcd"));
            }
            Report::Healthy => services.health(ID, true, ""),
            Report::Unhealthy(error) => services.health(ID, false, &error),
            Report::Ended(status) => {
                pid(None);
                services.set(
                    ID,
                    State::Waiting,
                    &format!("Error running etcd, going to restart forever: task ended: {status}"),
                );
            }
            Report::Failed(error) => services.set(ID, State::Failed, &error),
            Report::Stopped => {
                pid(None);
                services.set(ID, State::Finished, "Service finished successfully");
            }
        }
        self.node.changed.notify_one();
    }
}

/// A client of this node's member.
pub(super) fn local(node: &Node) -> Result<Channel, Status> {
    connect(node, &[address(node)])
}

/// The same for questions about the member itself.
pub(super) fn maintenance(node: &Node) -> Result<MaintenanceClient<Channel>, Status> {
    Ok(MaintenanceClient::new(local(node)?).max_decoding_message_size(64 * 1024 * 1024))
}

/// A client of any of these members.
fn connect(node: &Node, addresses: &[SocketAddr]) -> Result<Channel, Status> {
    let dir = pki(node);
    let read = |name: &str| {
        fs_err::read_to_string(dir.join(name)).map_err(|_| Status::unavailable("etcd is not available yet"))
    };
    let tls = ClientTlsConfig::new()
        .ca_certificate(Certificate::from_pem(read("ca.crt")?))
        .identity(Identity::from_pem(read("client.crt")?, read("client.key")?));
    let endpoints = addresses.iter().filter_map(|address| {
        let endpoint = Endpoint::from_shared(format!("https://{address}")).ok()?;
        endpoint.tls_config(tls.clone()).ok().map(|endpoint| endpoint.timeout(CALL).connect_timeout(CALL))
    });
    let endpoints: Vec<Endpoint> = endpoints.collect();
    match endpoints.as_slice() {
        [] => Err(Status::unavailable("there is no member of etcd to ask")),
        [one] => Ok(one.connect_lazy()),
        _ => Ok(Channel::balance_list(endpoints.into_iter())),
    }
}

/// Issues what this node needs to be a member and a client.
fn write_pki(node: &Node) -> Result<(), String> {
    let config = node.current().ok_or("there is no configuration")?;
    let etcd = config.machine.main.cluster.etcd.as_ref().ok_or("there is no authority of etcd")?;
    let authority = etcd.ca.authority().map_err(|error| full(&error))?;
    let now = node.machine.clock.now();
    let dir = pki(node);
    let write = |name: &str, text: &str| {
        node.machine.disk.write(&dir.join(name), text.as_bytes()).map_err(|error| full(&error))
    };
    write("ca.crt", authority.certificate())?;
    let leaves = [
        ("server", Usage::Both, names(node, &config)),
        ("peer", Usage::Both, names(node, &config)),
        ("client", Usage::Client, Vec::new()),
    ];
    for (name, usage, names) in leaves {
        let issued = authority
            .issue(&Leaf {
                common_name: Some(node.hostname()),
                organization: None,
                names,
                usage,
                not_before: valid_from(now),
                life: LIFE,
            })
            .map_err(|error| full(&error))?;
        write(&format!("{name}.crt"), &issued.certificate)?;
        let key = butler_core::pki::PrivateKey::from_pem(&issued.key).map_err(|error| full(&error))?;
        write(&format!("{name}.key"), key.to_pkcs8_pem().expose())?;
    }
    Ok(())
}

fn names(node: &Node, _config: &Config) -> Vec<String> {
    tls::own_names(node, &[])
}
