//! What a ClusterBootstrap asks others for: MachineRequests, and a LoadBalancerRequest where control
//! planes stand behind a load balancer of the provider. Pure.

use std::collections::BTreeMap;

use butler_core::api::{
    ClusterBootstrap, LoadBalancerRequest, MachineRequest,
    cluster_bootstrap::{NodePool, Topology},
    common::{MachineRole, ProviderKind, ProviderRef},
    load_balancer_request::{LoadBalancerRequestSpec, LoadBalancerTarget},
    machine_request::MachineRequestSpec,
    names::labels,
};
use kube::{Resource, ResourceExt, core::ObjectMeta};

/// The port of the API server.
const API_PORT: i32 = 6443;

/// True when there is one machine for everything.
pub(super) fn is_single(bootstrap: &ClusterBootstrap) -> bool {
    bootstrap.spec.cluster.topology == Some(Topology::SingleNode)
}

/// True when machines and Talos are none of our business: the cluster is there.
pub(super) fn is_local(bootstrap: &ClusterBootstrap) -> bool {
    bootstrap.spec.provider == ProviderKind::Local
}

/// True on public clouds.
pub(super) fn is_cloud(bootstrap: &ClusterBootstrap) -> bool {
    matches!(bootstrap.spec.provider, ProviderKind::Aws | ProviderKind::Azure | ProviderKind::Gcp)
}

/// The address that control planes share, if the person named one.
pub(super) fn vip(bootstrap: &ClusterBootstrap) -> Option<&str> {
    bootstrap.spec.network.vip.as_deref().filter(|vip| !vip.is_empty())
}

/// True when a load balancer of the provider is the way to the API.
pub(super) fn wants_balancer(bootstrap: &ClusterBootstrap) -> bool {
    let provider_has_them = is_cloud(bootstrap) || bootstrap.spec.provider == ProviderKind::Sandbox;
    provider_has_them && !is_single(bootstrap) && vip(bootstrap).is_none()
}

/// The machines, control planes first, in the order of their numbers.
pub(super) fn machine_requests(bootstrap: &ClusterBootstrap) -> Vec<MachineRequest> {
    if is_local(bootstrap) {
        return Vec::new();
    }
    let cluster = &bootstrap.spec.cluster;
    let control_planes = if is_single(bootstrap) { 1 } else { cluster.control_plane.replicas };
    let workers = cluster.workers.as_ref().filter(|_| !is_single(bootstrap));
    let mut requests: Vec<_> = (0..control_planes)
        .map(|index| request(bootstrap, MachineRole::ControlPlane, &cluster.control_plane, index))
        .collect();
    if let Some(pool) = workers {
        requests.extend((0..pool.replicas).map(|index| request(bootstrap, MachineRole::Worker, pool, index)));
    }
    requests
}

fn request(bootstrap: &ClusterBootstrap, role: MachineRole, pool: &NodePool, index: i32) -> MachineRequest {
    let cluster = &bootstrap.spec.cluster.name;
    let short = if role == MachineRole::ControlPlane { "cp" } else { "worker" };
    let name = format!("{cluster}-{short}-{index}");
    let mut tags = pool.labels.clone();
    if is_cloud(bootstrap) {
        tags.insert(format!("kubernetes.io/cluster/{cluster}"), "owned".to_owned());
    }
    let mut request = MachineRequest::new(
        &name,
        MachineRequestSpec {
            machine_name: name.clone(),
            role: role.clone(),
            provider_ref: provider_ref(bootstrap),
            cpu: pool.cpu,
            memory_mb: pool.memory_mb,
            disk_gb: pool.disk_gb,
            extra_disks: pool.extra_disks.clone(),
            image: None,
            user_data: None,
            network_data: None,
            labels: tags,
        },
    );
    request.metadata = meta(bootstrap, name, Some(role));
    request
}

/// The load balancer in front of the control planes that have an address.
pub(super) fn load_balancer(
    bootstrap: &ClusterBootstrap,
    requests: &[MachineRequest],
) -> Option<LoadBalancerRequest> {
    if !wants_balancer(bootstrap) {
        return None;
    }
    let cluster = &bootstrap.spec.cluster.name;
    let name = format!("{cluster}-cp-lb");
    let control_planes = requests.iter().filter(|request| request.spec.role == MachineRole::ControlPlane);
    let targets = control_planes
        .filter_map(|request| {
            let status = request.status.as_ref()?;
            let ip = status.ip_address.clone().filter(|address| !address.is_empty())?;
            Some(LoadBalancerTarget {
                ip: Some(ip),
                instance_id: status.provider_id.clone(),
                instance_name: Some(request.name_any()),
            })
        })
        .collect();
    let mut balancer = LoadBalancerRequest::new(
        &name,
        LoadBalancerRequestSpec {
            cluster_name: cluster.clone(),
            provider_config_ref: provider_ref(bootstrap),
            port: Some(API_PORT),
            health_check_port: None,
            targets,
        },
    );
    balancer.metadata = meta(bootstrap, name, None);
    Some(balancer)
}

fn provider_ref(bootstrap: &ClusterBootstrap) -> ProviderRef {
    let mut reference = bootstrap.spec.provider_ref.clone();
    if reference.namespace.as_deref().is_none_or(str::is_empty) {
        reference.namespace = bootstrap.namespace();
    }
    reference
}

fn meta(bootstrap: &ClusterBootstrap, name: String, role: Option<MachineRole>) -> ObjectMeta {
    let mut all = BTreeMap::from([
        (labels::CLUSTER_BOOTSTRAP.to_owned(), bootstrap.name_any()),
        (labels::CLUSTER.to_owned(), bootstrap.spec.cluster.name.clone()),
    ]);
    all.extend(role.map(|role| (labels::ROLE.to_owned(), role.to_string())));
    ObjectMeta {
        name: Some(name),
        namespace: bootstrap.namespace(),
        labels: Some(all),
        owner_references: bootstrap.controller_owner_ref(&()).map(|owner| vec![owner]),
        ..ObjectMeta::default()
    }
}
