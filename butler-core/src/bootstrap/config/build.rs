//! The last step: a file without errors becomes a [`Config`].

mod addons;
mod provider;

pub(super) use addons::split_image;

use std::path::PathBuf;

use super::{
    BootstrapClusterConfig, ChartsConfig, ClusterConfig, Config, KindConfig, NetworkConfig,
    NetworkPoolConfig, RuntimeKind, TalosConfig, defaults, values::Object,
};
use crate::api::{
    cluster_bootstrap::{NodePool, Topology},
    common::{DiskSpec, ExposureSpec, ProviderKind},
    network_pool::{AllocationDefaults, NetworkPoolSpec, ReservedBlock, TenantAllocation},
    provider_config::{PoolRef, ProviderLoadBalancer, ProviderNetwork, TenantAddressQuota},
};

/// Makes the configuration; none when a required key is missing, which the checks have told.
pub(super) fn config(
    root: &Object,
    kind: &ProviderKind,
    absolute: impl Fn(&str) -> PathBuf,
) -> Option<Config> {
    let name = root.text("cluster.name")?;
    let network_pool = network_pool(root, name);
    Some(Config {
        cluster: cluster(root, name)?,
        network: network(root),
        talos: TalosConfig {
            version: defaults::talos_version(root, kind),
            schematic: root.owned("talos.schematic").unwrap_or_default(),
            kubernetes_version: defaults::kubernetes_version(root, kind)?,
            install_disk: root.text("talos.installDisk").unwrap_or(defaults::INSTALL_DISK).to_owned(),
            time_servers: root.texts("talos.timeServers"),
        },
        addons: addons::addons(root, kind, name),
        catalog: defaults::is_enabled(root, "catalog"),
        charts: ChartsConfig { mirror: root.text("charts.mirror").map(|text| mirror(text, absolute)) },
        control_plane_exposure: root.object("controlPlaneExposure").map(exposure),
        multi_tenancy_mode: root.text("multiTenancyMode").map(Into::into),
        provider_network: root
            .object("providerNetwork")
            .map(|object| provider_network(object, network_pool.as_ref())),
        network_pool,
        provider: provider::settings(root, kind)?,
        bootstrap_cluster: BootstrapClusterConfig {
            runtime: runtime(root),
            kind: KindConfig {
                image: root.owned("bootstrapCluster.kind.image"),
                name_servers: root
                    .texts("bootstrapCluster.kind.nameServers")
                    .iter()
                    .filter_map(|text| text.parse().ok())
                    .collect(),
            },
        },
    })
}

/// An address stays as it is; a directory is the same one wherever the program is run.
fn mirror(text: &str, absolute: impl Fn(&str) -> PathBuf) -> String {
    let text = text.trim();
    if text.contains("://") { text.to_owned() } else { absolute(text).display().to_string() }
}

fn cluster(root: &Object, name: &str) -> Option<ClusterConfig> {
    let topology = defaults::topology(root);
    let replicas = |path: &str| root.int32(path).unwrap_or(1);
    let pool = |path: &str| pool(root.object(path)?, replicas(&format!("{path}.replicas")));
    let mut control_plane = pool("cluster.controlPlane")?;
    let mut workers = pool("cluster.workers").filter(|pool| pool.replicas > 0);
    if topology == Topology::SingleNode {
        control_plane.replicas = 1;
        workers = None;
    }
    Some(ClusterConfig { name: name.to_owned(), topology, control_plane, workers })
}

fn pool(object: &Object, replicas: i32) -> Option<NodePool> {
    let disk = |disk: &Object| {
        Some(DiskSpec { size_gb: disk.int32("sizeGB")?, storage_class: disk.owned("storageClass") })
    };
    Some(NodePool {
        replicas,
        cpu: object.int32("cpu")?,
        memory_mb: object.int32("memoryMB")?,
        disk_gb: object.int32("diskGB")?,
        extra_disks: object.objects("extraDisks").filter_map(disk).collect(),
        labels: Default::default(),
    })
}

fn network(root: &Object) -> NetworkConfig {
    NetworkConfig {
        pod_cidr: defaults::pod_cidr(root),
        service_cidr: defaults::service_cidr(root),
        vip: root.ipv4("network.vip"),
        vip_interface: root.owned("network.vipInterface"),
        load_balancer_pool: defaults::load_balancer_pool(root).map(|(_, start, end)| (start, end)),
        mtu: root.integer("network.mtu").and_then(|mtu| u16::try_from(mtu).ok()).filter(|mtu| *mtu > 0),
    }
}

fn exposure(object: &Object) -> ExposureSpec {
    ExposureSpec {
        mode: Some(object.text("mode").unwrap_or("LoadBalancer").into()),
        hostname: object.owned("hostname"),
        ingress_class_name: object.owned("ingressClassName"),
        controller_type: object.text("controllerType").map(Into::into),
        gateway_ref: object.owned("gatewayRef"),
    }
}

fn network_pool(root: &Object, cluster: &str) -> Option<NetworkPoolConfig> {
    let pool = root.object("networkPool")?;
    let reserved = |block: &Object| {
        Some(ReservedBlock { cidr: block.owned("cidr")?, description: block.owned("description") })
    };
    let tenants = pool.object("tenantAllocation").map(|tenants| TenantAllocation {
        ranges: Vec::new(),
        start: tenants.owned("start"),
        end: tenants.owned("end"),
        defaults: tenants.object("defaults").map(|sizes| AllocationDefaults {
            nodes_per_tenant: sizes.positive("nodesPerTenant"),
            lb_pool_per_tenant: sizes.positive("lbPoolPerTenant"),
        }),
    });
    Some(NetworkPoolConfig {
        name: pool.owned("name").unwrap_or_else(|| format!("{cluster}-underlay")),
        spec: NetworkPoolSpec {
            cidr: pool.owned("cidr")?,
            reserved: pool.objects("reserved").filter_map(reserved).collect(),
            tenant_allocation: tenants,
        },
    })
}

fn provider_network(object: &Object, pool: Option<&NetworkPoolConfig>) -> ProviderNetwork {
    let reference = |reference: &Object| {
        Some(PoolRef { name: reference.owned("name")?, priority: reference.int32("priority") })
    };
    let mut pool_refs: Vec<PoolRef> = object.objects("poolRefs").filter_map(reference).collect();
    if pool_refs.is_empty() && object.text("mode") == Some("ipam") {
        pool_refs.extend(pool.map(|pool| PoolRef { name: pool.name.clone(), priority: Some(1) }));
    }
    ProviderNetwork {
        mode: object.text("mode").map(Into::into),
        pool_refs,
        subnet: object.owned("subnet"),
        gateway: object.owned("gateway"),
        dns_servers: object.texts("dnsServers"),
        time_servers: Vec::new(),
        load_balancer: object.object("loadBalancer").map(|sizes| ProviderLoadBalancer {
            allocation_mode: sizes.text("allocationMode").map(Into::into),
            default_pool_size: sizes.positive("defaultPoolSize"),
            initial_pool_size: sizes.positive("initialPoolSize"),
            growth_increment: sizes.positive("growthIncrement"),
        }),
        quota_per_tenant: object.object("quotaPerTenant").map(|quota| TenantAddressQuota {
            max_node_ips: quota.positive("maxNodeIPs"),
            max_load_balancer_ips: quota.positive("maxLoadBalancerIPs"),
        }),
    }
}

fn runtime(root: &Object) -> RuntimeKind {
    match root.text("bootstrapCluster.runtime") {
        Some("process") => RuntimeKind::Process,
        _ => RuntimeKind::Kind,
    }
}
