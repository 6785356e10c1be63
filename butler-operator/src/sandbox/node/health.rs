//! `talosctl health`, on the node: the whole cluster is looked at, one check after the other.

use std::{future::Future, sync::Arc, time::Duration};

use futures::StreamExt;
use k8s_openapi::api::core::v1::{Node as KubernetesNode, Pod};
use kube::{Api, api::ListParams};
use prost::Message;
use tokio::{sync::mpsc, time::Instant};
use tonic::{Request, Response, Status, metadata::MetadataValue, service::Interceptor, transport::Channel};

use super::{context::Node, discovery::Member, kubernetes, proxy::Forwarder};
use crate::talos::{
    config::MachineType,
    proto::{
        cluster::{
            ClusterInfo, HealthCheckProgress, HealthCheckRequest, cluster_service_server::ClusterService,
        },
        common::Metadata,
        cosi::resource::{ListRequest, Resource, state_client::StateClient},
        definitions::{MachineStatusSpec, VolumeStatusSpec, machine_status_spec::Stage},
        machine::{
            EtcdMember, EtcdMemberListRequest, ServiceInfo, machine_service_client::MachineServiceClient,
        },
    },
};

const PAUSE: Duration = Duration::from_secs(1);
const ATTEMPT: Duration = Duration::from_secs(10);
/// What the parts of one node need, in KiB.
const MEMORY_CONTROL_PLANE: u64 = 1698 * 1024;
const MEMORY_WORKER: u64 = 874 * 1024;
/// The smallest EPHEMERAL volume.
const EPHEMERAL: u64 = 3932 << 20;

/// The health checks as a service.
pub(super) struct Health {
    node: Arc<Node>,
    forwarder: Option<Arc<Forwarder>>,
}

impl Health {
    pub(super) fn new(node: Arc<Node>, forwarder: Option<Arc<Forwarder>>) -> Self {
        Self { node, forwarder }
    }
}

type Progress = std::pin::Pin<Box<dyn futures::Stream<Item = Result<HealthCheckProgress, Status>> + Send>>;

#[tonic::async_trait]
impl ClusterService for Health {
    async fn health_check(&self, request: Request<HealthCheckRequest>) -> Result<Response<Progress>, Status> {
        let Some(forwarder) = self.forwarder.clone() else {
            return Err(Status::unimplemented("health check is only available on control plane nodes"));
        };
        let request = request.into_inner();
        let limit = request.wait_timeout.and_then(|limit| Duration::try_from(limit).ok());
        let end = Instant::now() + limit.filter(|limit| !limit.is_zero()).unwrap_or(Duration::from_secs(300));
        let (say, said) = mpsc::channel(16);
        let checks = Checks { node: self.node.clone(), forwarder, info: request.cluster_info, say, end };
        let node = self.node.clone();
        self.node.spawn(async move {
            tokio::select! {
                () = node.stop.cancelled() => {}
                () = checks.run() => {}
            }
        });
        let items = futures::stream::unfold(said, |mut said| async move { Some((said.recv().await?, said)) });
        Ok(Response::new(items.map(Ok).boxed()))
    }
}

struct Checks {
    node: Arc<Node>,
    forwarder: Arc<Forwarder>,
    info: Option<ClusterInfo>,
    say: mpsc::Sender<HealthCheckProgress>,
    end: Instant,
}

/// What a check found: fine, not needed, or what is wrong.
enum Found {
    Fine,
    Skip,
}

type Outcome = Result<Found, String>;

impl Checks {
    async fn run(self) {
        let nodes: Vec<String> = self.members().iter().filter_map(address).collect();
        self.tell(format!("discovered nodes: {nodes:?}")).await;
        macro_rules! checks {
            ($($name:literal => $check:ident,)+) => {
                $(if !self.wait($name, || self.$check()).await {
                    return;
                })+
            };
        }
        checks! {
            "etcd to be healthy" => etcd_healthy,
            "etcd members to be consistent across nodes" => etcd_consistent,
            "etcd members to be control plane nodes" => etcd_control_planes,
            "apid to be ready" => apid_ready,
            "all nodes memory sizes" => memory_sizes,
            "all nodes disk sizes" => disk_sizes,
            "no diagnostics" => no_diagnostics,
            "kubelet to be healthy" => kubelet_healthy,
            "all nodes to finish boot sequence" => boot_finished,
            "all k8s nodes to report" => nodes_report,
            "all control plane static pods to be running" => static_pods,
            "all control plane components to be ready" => components_ready,
            "all k8s nodes to report ready" => nodes_ready,
            "kube-proxy to report ready" => no_addon,
            "coredns to report ready" => no_addon,
            "all k8s nodes to report schedulable" => nodes_schedulable,
        }
    }

    /// Asks until it is fine; each new answer is told once. False when time is up.
    async fn wait<F: Future<Output = Outcome>>(&self, name: &str, check: impl Fn() -> F) -> bool {
        self.tell(format!("waiting for {name}: ...")).await;
        let mut last = String::new();
        loop {
            let left = self.end.saturating_duration_since(Instant::now());
            let outcome = tokio::time::timeout(ATTEMPT.min(left), check()).await;
            match outcome.unwrap_or_else(|_| Err("no answer in time".to_owned())) {
                Ok(Found::Fine) => {
                    self.tell(format!("waiting for {name}: OK")).await;
                    return true;
                }
                Ok(Found::Skip) => {
                    self.tell(format!("waiting for {name}: SKIP")).await;
                    return true;
                }
                Err(error) if error != last => {
                    self.tell(format!("waiting for {name}: {error}")).await;
                    last = error;
                }
                Err(_) => {}
            }
            if Instant::now() + PAUSE > self.end {
                let error = format!("rpc error: code = DeadlineExceeded desc = {name}: {last}");
                let metadata = Some(Metadata { error, ..Metadata::default() });
                // A caller who is gone wants no answer.
                let _ = self.say.send(HealthCheckProgress { metadata, message: String::new() }).await;
                return false;
            }
            if self.say.is_closed() {
                return false;
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn tell(&self, message: String) {
        let _ = self.say.send(HealthCheckProgress { metadata: None, message }).await;
    }

    /// Who is looked at: whom the caller named, else all members.
    fn members(&self) -> Vec<Member> {
        let known = self.node.members.borrow().clone();
        let Some(info) = self.info.as_ref().filter(|info| !info.control_plane_nodes.is_empty()) else {
            return known;
        };
        let find = |name: &String, machine_type| {
            let found = known.iter().find(|member| {
                member.hostname == *name
                    || member.addresses.iter().any(|address| address.to_string() == *name)
            });
            found.cloned().or_else(|| {
                Some(Member {
                    id: name.clone(),
                    hostname: name.clone(),
                    machine_type,
                    addresses: vec![name.parse().ok()?],
                    ports: Default::default(),
                    api: None,
                    etcd: None,
                    operating_system: String::new(),
                })
            })
        };
        let planes = info.control_plane_nodes.iter().filter_map(|name| find(name, MachineType::ControlPlane));
        planes.chain(info.worker_nodes.iter().filter_map(|name| find(name, MachineType::Worker))).collect()
    }

    fn control_planes(&self) -> Vec<Member> {
        self.members().into_iter().filter(Member::is_control_plane).collect()
    }

    fn machine(&self, member: &Member) -> Result<MachineServiceClient<Marked>, String> {
        Ok(MachineServiceClient::with_interceptor(self.channel(member)?, Mark))
    }

    fn channel(&self, member: &Member) -> Result<Channel, String> {
        let target = address(member).ok_or("a member has no address")?;
        self.forwarder.channel(&target).map_err(words)
    }

    async fn list(&self, member: &Member, namespace: &str, kind: &str) -> Result<Vec<Resource>, String> {
        let request = ListRequest { namespace: namespace.into(), r#type: kind.into(), options: None };
        let mut client = StateClient::with_interceptor(self.channel(member)?, Mark);
        let mut items = client.list(request).await.map_err(words)?.into_inner();
        let mut resources = Vec::new();
        while let Some(item) = items.message().await.map_err(words)? {
            resources.extend(item.resource);
        }
        Ok(resources)
    }

    async fn service_healthy(&self, id: &str) -> Outcome {
        let planes = self.control_planes();
        if planes.is_empty() {
            return Err("no control plane nodes are known".to_owned());
        }
        for member in &planes {
            let answer = self.machine(member)?.service_list(()).await.map_err(words)?.into_inner();
            let services = answer.messages.into_iter().flat_map(|message| message.services);
            let service = services.into_iter().find(|service| service.id == id);
            healthy(&name(member), id, service.as_ref())?;
        }
        Ok(Found::Fine)
    }

    async fn etcd_healthy(&self) -> Outcome {
        self.service_healthy("etcd").await
    }

    async fn kubelet_healthy(&self) -> Outcome {
        self.service_healthy("kubelet").await
    }

    async fn etcd_members(&self, member: &Member) -> Result<Vec<EtcdMember>, String> {
        let request = EtcdMemberListRequest { query_local: true };
        let answer = self.machine(member)?.etcd_member_list(request).await.map_err(words)?.into_inner();
        Ok(answer.messages.into_iter().flat_map(|message| message.members).collect())
    }

    async fn etcd_consistent(&self) -> Outcome {
        let mut first: Option<Vec<(u64, String, bool)>> = None;
        for member in self.control_planes() {
            let seen = self.etcd_members(&member).await?;
            let seen: Vec<_> = seen.into_iter().map(|one| (one.id, one.hostname, one.is_learner)).collect();
            match &first {
                None => first = Some(seen),
                Some(known) if *known != seen => return Err("data is not consistent across nodes".to_owned()),
                Some(_) => {}
            }
        }
        Ok(Found::Fine)
    }

    async fn etcd_control_planes(&self) -> Outcome {
        let planes = self.control_planes();
        let first = planes.first().ok_or("no control plane nodes are known")?;
        for member in self.etcd_members(first).await? {
            let host = |url: &String| url.parse::<http::Uri>().ok()?.host().map(str::to_owned);
            let known = member.peer_urls.iter().filter_map(host).any(|host| {
                planes.iter().any(|plane| plane.addresses.iter().any(|address| address.to_string() == host))
            });
            if !known {
                return Err(format!("etcd member {:?} is not a control plane node", member.hostname));
            }
        }
        Ok(Found::Fine)
    }

    async fn apid_ready(&self) -> Outcome {
        for member in self.members() {
            self.machine(&member)?
                .version(())
                .await
                .map_err(|status| format!("{}: {}", name(&member), status.message()))?;
        }
        Ok(Found::Fine)
    }

    async fn memory_sizes(&self) -> Outcome {
        for member in self.members() {
            let answer = self.machine(&member)?.memory(()).await.map_err(words)?.into_inner();
            let total = answer.messages.first().and_then(|message| message.meminfo).map(|info| info.memtotal);
            let needed = if member.is_control_plane() { MEMORY_CONTROL_PLANE } else { MEMORY_WORKER };
            if total.unwrap_or_default() < needed {
                return Err(format!("{}: memory is below {} MiB", name(&member), needed / 1024));
            }
        }
        Ok(Found::Fine)
    }

    async fn disk_sizes(&self) -> Outcome {
        for member in self.members() {
            let volumes = self.list(&member, "runtime", "VolumeStatuses.block.talos.dev").await?;
            let found = volumes.iter().find(|one| id(one) == "EPHEMERAL");
            let volume = found.and_then(|one| VolumeStatusSpec::decode(spec(one)).ok());
            let size = volume.ok_or_else(|| format!("{}: no EPHEMERAL volume", name(&member)))?.size;
            if size < EPHEMERAL {
                return Err(format!("{}: EPHEMERAL is below {} MiB", name(&member), EPHEMERAL >> 20));
            }
        }
        Ok(Found::Fine)
    }

    async fn no_diagnostics(&self) -> Outcome {
        for member in self.members() {
            let found = self.list(&member, "runtime", "Diagnostics.runtime.talos.dev").await?;
            if let Some(one) = found.first() {
                return Err(format!("{}: diagnostic {:?}", name(&member), id(one)));
            }
        }
        Ok(Found::Fine)
    }

    async fn boot_finished(&self) -> Outcome {
        for member in self.members() {
            let found = self.list(&member, "runtime", "MachineStatuses.runtime.talos.dev").await?;
            let status = found.first().and_then(|one| MachineStatusSpec::decode(spec(one)).ok());
            if status.is_none_or(|status| status.stage() != Stage::Running) {
                return Err(format!("{}: boot sequence is not over", name(&member)));
            }
        }
        Ok(Found::Fine)
    }

    async fn client(&self) -> Result<kube::Client, String> {
        kubernetes::pki::admin_client(&self.node).await
    }

    async fn nodes(&self) -> Result<Vec<KubernetesNode>, String> {
        let api: Api<KubernetesNode> = Api::all(self.client().await?);
        let list = api.list(&ListParams::default()).await.map_err(|error| super::config::full(&error))?;
        Ok(list.items)
    }

    async fn nodes_report(&self) -> Outcome {
        let nodes = self.nodes().await?;
        for member in self.members() {
            let reported = nodes.iter().any(|node| {
                let all = node.status.as_ref().and_then(|status| status.addresses.as_ref());
                all.into_iter()
                    .flatten()
                    .any(|one| member.addresses.iter().any(|address| address.to_string() == one.address))
            });
            if !reported {
                return Err(format!("can't find expected node with address {}", name(&member)));
            }
        }
        Ok(Found::Fine)
    }

    async fn static_pods(&self) -> Outcome {
        for member in self.control_planes() {
            let pods = self.list(&member, "k8s", "StaticPodStatuses.kubernetes.talos.dev").await?;
            for wanted in [kubernetes::API_SERVER, kubernetes::CONTROLLER_MANAGER, kubernetes::SCHEDULER] {
                if !pods.iter().any(|pod| id(pod).starts_with(&format!("kube-system/{wanted}"))) {
                    return Err(format!("{}: missing static pods on node: {wanted}", name(&member)));
                }
            }
        }
        Ok(Found::Fine)
    }

    async fn components_ready(&self) -> Outcome {
        let api: Api<Pod> = Api::namespaced(self.client().await?, "kube-system");
        for wanted in [kubernetes::API_SERVER, kubernetes::CONTROLLER_MANAGER, kubernetes::SCHEDULER] {
            let params = ListParams::default().labels(&format!("k8s-app={wanted}"));
            let pods = api.list(&params).await.map_err(|error| super::config::full(&error))?;
            let ready = pods.items.iter().filter(|pod| {
                let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_ref());
                conditions.into_iter().flatten().any(|one| one.type_ == "Ready" && one.status == "True")
            });
            let (ready, needed) = (ready.count(), self.control_planes().len());
            if ready < needed {
                return Err(format!("expected {needed} ready pods of {wanted}, found {ready}"));
            }
        }
        Ok(Found::Fine)
    }

    async fn nodes_ready(&self) -> Outcome {
        for node in self.nodes().await? {
            let conditions = node.status.and_then(|status| status.conditions).unwrap_or_default();
            if !conditions.iter().any(|one| one.type_ == "Ready" && one.status == "True") {
                return Err(format!(
                    "some nodes are not ready: {:?}",
                    node.metadata.name.unwrap_or_default()
                ));
            }
        }
        Ok(Found::Fine)
    }

    async fn nodes_schedulable(&self) -> Outcome {
        for node in self.nodes().await? {
            if node.spec.is_some_and(|spec| spec.unschedulable.unwrap_or_default()) {
                let name = node.metadata.name.unwrap_or_default();
                return Err(format!("some nodes are not schedulable: {name:?}"));
            }
        }
        Ok(Found::Fine)
    }

    /// Neither is run here; whoever brings its own looks after it.
    async fn no_addon(&self) -> Outcome {
        Ok(Found::Skip)
    }
}

fn healthy(node: &str, id: &str, service: Option<&ServiceInfo>) -> Result<(), String> {
    let service = service.ok_or_else(|| format!("{node}: service {id:?} not found"))?;
    if service.state != "Running" {
        return Err(format!("{node}: service {id:?} not in expected state \"Running\": {}", service.state));
    }
    match &service.health {
        Some(health) if health.healthy => Ok(()),
        _ => Err(format!("{node}: service {id:?} is not healthy")),
    }
}

fn words(status: Status) -> String {
    status.message().to_owned()
}

fn address(member: &Member) -> Option<String> {
    member.addresses.first().map(ToString::to_string)
}

fn name(member: &Member) -> String {
    address(member).unwrap_or_else(|| member.hostname.clone())
}

fn id(resource: &Resource) -> &str {
    resource.metadata.as_ref().map(|metadata| metadata.id.as_str()).unwrap_or_default()
}

fn spec(resource: &Resource) -> &[u8] {
    resource.spec.as_ref().map(|spec| spec.proto_spec.as_slice()).unwrap_or_default()
}

/// Marks a call as one node's to another, with the rights of a reader.
#[derive(Clone)]
struct Mark;

type Marked = tonic::service::interceptor::InterceptedService<Channel, Mark>;

impl Interceptor for Mark {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        request.metadata_mut().insert("proxyfrom", MetadataValue::from_static("health"));
        request.metadata_mut().insert("talos-role", MetadataValue::from_static("os:reader"));
        Ok(request)
    }
}
