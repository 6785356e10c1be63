//! The objects that a configuration becomes in the temporary cluster. Pure.

use serde_json::json;

use super::config::{Config, ProviderSettings};
use crate::api::{
    cluster_bootstrap::{
        BootstrapCluster, BootstrapNetwork, BootstrapTalos, ClusterBootstrapSpec, ConfigPatch,
        LoadBalancerPool, PatchOp, Topology,
    },
    common::{ProviderKind, ProviderRef, SecretRef},
    names::namespaces,
    provider_config::{
        LocalSettings, ProviderConfigSpec, ProviderNetwork, ProviderNetworkMode, ProviderScope,
        ProviderScopeType,
    },
};

/// Name of the ProviderConfig.
pub fn provider_name(cluster: &str) -> String {
    format!("{cluster}-provider")
}

/// Name of the Secret with the provider's credentials; none where there are no credentials.
pub fn credentials_name(config: &Config) -> Option<String> {
    let provider = config.provider_kind();
    (provider != ProviderKind::Local).then(|| format!("{}-{provider}-credentials", config.cluster.name))
}

/// The machines that a configuration asks for, control planes first: name, and whether it is one.
pub fn machine_names(config: &Config) -> Vec<(String, bool)> {
    if config.provider_kind() == ProviderKind::Local {
        return Vec::new();
    }
    let (control_planes, workers) = match config.cluster.topology {
        Topology::SingleNode => (1, 0),
        _ => config.machines(),
    };
    let cluster = &config.cluster.name;
    let first = (0..control_planes).map(|index| (format!("{cluster}-cp-{index}"), true));
    first.chain((0..workers).map(|index| (format!("{cluster}-worker-{index}"), false))).collect()
}

/// Name of the LoadBalancerRequest; none where control planes are reached another way.
pub fn load_balancer_name(config: &Config) -> Option<String> {
    let has_them = config.provider.is_cloud() || config.provider_kind() == ProviderKind::Sandbox;
    let wanted =
        has_them && config.cluster.topology != Topology::SingleNode && config.network.vip.is_none();
    wanted.then(|| format!("{}-cp-lb", config.cluster.name))
}

/// The ClusterBootstrap, without the version of Kubernetes, for which it has no field.
pub fn cluster_bootstrap(config: &Config) -> ClusterBootstrapSpec {
    let Config { cluster, network, talos, .. } = config;
    let system = Some(namespaces::SYSTEM.to_owned());
    ClusterBootstrapSpec {
        provider: config.provider_kind(),
        provider_ref: ProviderRef { name: provider_name(&cluster.name), namespace: system },
        cluster: BootstrapCluster {
            name: cluster.name.clone(),
            topology: Some(cluster.topology.clone()),
            control_plane: cluster.control_plane.clone(),
            workers: cluster.workers.clone(),
        },
        network: BootstrapNetwork {
            pod_cidr: network.pod_cidr.to_string(),
            service_cidr: network.service_cidr.to_string(),
            vip: network.vip.map(|vip| vip.to_string()),
            vip_interface: network.vip_interface.clone(),
            load_balancer_pool: network
                .load_balancer_pool
                .map(|(start, end)| LoadBalancerPool { start: start.to_string(), end: end.to_string() }),
        },
        talos: BootstrapTalos {
            version: format!("v{}", talos.version),
            schematic: talos.schematic.clone(),
            install_disk: Some(talos.install_disk.clone()),
            config_patches: patches(config),
        },
        addons: Some(config.addons.clone()),
        control_plane_exposure: config.control_plane_exposure.clone(),
        paused: None,
    }
}

/// Time servers and the size of packets have no fields of their own in the object.
fn patches(config: &Config) -> Vec<ConfigPatch> {
    let add = |path: &str, value: serde_json::Value| ConfigPatch {
        op: PatchOp::Add,
        path: path.to_owned(),
        value: Some(value.to_string()),
    };
    let servers = &config.talos.time_servers;
    let time = (!servers.is_empty()).then(|| add("/machine/time", json!({ "servers": servers })));
    let mtu = config.network.mtu.map(|mtu| {
        let physical = json!([{ "deviceSelector": { "physical": true }, "dhcp": true, "mtu": mtu }]);
        add("/machine/network/interfaces", physical)
    });
    time.into_iter().chain(mtu).collect()
}

/// The ProviderConfig.
pub fn provider_config(config: &Config) -> ProviderConfigSpec {
    let mut spec = ProviderConfigSpec {
        provider: config.provider_kind(),
        credentials_ref: credentials_name(config).map(|name| SecretRef {
            name,
            namespace: Some(namespaces::SYSTEM.to_owned()),
            key: (config.provider_kind() == ProviderKind::Harvester).then(|| "kubeconfig".to_owned()),
        }),
        scope: None,
        limits: None,
        network: config.provider_network.clone(),
        harvester: None,
        nutanix: None,
        proxmox: None,
        aws: None,
        azure: None,
        gcp: None,
        local: None,
    };
    match &config.provider {
        ProviderSettings::Harvester(block) => spec.harvester = Some(block.settings.clone()),
        ProviderSettings::Nutanix(block) => spec.nutanix = Some(block.settings.clone()),
        ProviderSettings::Proxmox(block) => spec.proxmox = Some(block.settings.clone()),
        ProviderSettings::Aws(block) => spec.aws = Some(block.settings.clone()),
        ProviderSettings::Azure(block) => spec.azure = Some(block.settings.clone()),
        ProviderSettings::Gcp(block) => spec.gcp = Some(block.settings.clone()),
        ProviderSettings::Local(_) => {
            let image = config.bootstrap_cluster.kind.image.clone();
            spec.local = Some(LocalSettings { kind_node_image: image });
            spec.scope = Some(ProviderScope { type_: Some(ProviderScopeType::Platform), team_ref: None });
            spec.network.get_or_insert_with(|| ProviderNetwork {
                mode: Some(ProviderNetworkMode::Cloud),
                ..ProviderNetwork::default()
            });
        }
        ProviderSettings::Sandbox(_) => {}
    }
    spec
}
