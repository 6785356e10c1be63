//! What counts when a file does not say. The checks and the configuration are made from the same values.

use std::net::Ipv4Addr;

use ipnet::Ipv4Net;
use semver::Version;

use super::{format, values::Object, versions};
use crate::api::{
    cluster_bootstrap::{BootstrapCniType, BootstrapLoadBalancerType, BootstrapStorageType, Topology},
    common::ProviderKind,
};

/// Version of the console's chart.
pub(super) const CONSOLE_VERSION: &str = "0.14.1";
/// Version of Cluster API for the `local` provider, which always has it.
pub(super) const LOCAL_CAPI_VERSION: &str = "v1.9.4";
/// Port of Prism Central.
pub(super) const PRISM_PORT: i32 = 9440;
/// Port of the console on this computer.
pub(super) const CONSOLE_PORT: u16 = 8080;
/// Disk that Talos installs itself on.
pub(super) const INSTALL_DISK: &str = "/dev/vda";
/// Addresses of load balancers of a tenant that asks for none.
pub(super) const LOAD_BALANCERS_PER_TENANT: i32 = 8;
/// Addresses of nodes of a tenant that asks for none.
pub(super) const NODES_PER_TENANT: i32 = 5;

/// True for providers whose control planes stand behind a load balancer of their own.
pub(super) fn is_cloud(provider: &ProviderKind) -> bool {
    matches!(provider, ProviderKind::Aws | ProviderKind::Azure | ProviderKind::Gcp)
}

/// True for hypervisors, where an address must be shared among control planes.
pub(super) fn is_on_prem(provider: &ProviderKind) -> bool {
    matches!(provider, ProviderKind::Harvester | ProviderKind::Nutanix | ProviderKind::Proxmox)
}

pub(super) fn topology(root: &Object) -> Topology {
    root.text("cluster.topology").map_or(Topology::Ha, Topology::from)
}

/// Control planes, workers.
pub(super) fn machines(root: &Object) -> (i32, i32) {
    if topology(root) == Topology::SingleNode {
        return (1, 0);
    }
    let count = |path: &str| root.int32(path).unwrap_or_default();
    (count("cluster.controlPlane.replicas").max(1), count("cluster.workers.replicas"))
}

pub(super) fn pod_cidr(root: &Object) -> Ipv4Net {
    let default = || Ipv4Net::new_assert(Ipv4Addr::new(10, 244, 0, 0), 16);
    root.cidr("network.podCIDR").unwrap_or_else(default)
}

pub(super) fn service_cidr(root: &Object) -> Ipv4Net {
    let default = || Ipv4Net::new_assert(Ipv4Addr::new(10, 96, 0, 0), 12);
    root.cidr("network.serviceCIDR").unwrap_or_else(default)
}

/// Where the addresses of load balancers are written: the new spelling wins over the old one.
pub(super) fn load_balancer_pool(root: &Object) -> Option<(&'static str, Ipv4Addr, Ipv4Addr)> {
    const NEW: &str = "network.loadBalancerPool";
    const OLD: &str = "addons.loadBalancer.addressPool";
    let new = root.ipv4("network.loadBalancerPool.start").zip(root.ipv4("network.loadBalancerPool.end"));
    let old = || root.text(OLD).and_then(|text| format::range(text).ok());
    match new {
        Some((start, end)) => Some((NEW, start, end)),
        None if root.has(NEW) => None,
        None => old().map(|(start, end)| (OLD, start, end)),
    }
}

pub(super) fn talos_version(root: &Object, provider: &ProviderKind) -> Version {
    let default = match provider {
        ProviderKind::Sandbox => versions::SANDBOX_TALOS,
        _ => versions::DEFAULT_TALOS,
    };
    root.text("talos.version").and_then(|text| format::version(text).ok()).unwrap_or(default)
}

/// None when Talos is too new for the table and the file does not say.
pub(super) fn kubernetes_version(root: &Object, provider: &ProviderKind) -> Option<Version> {
    let given = root.text("talos.kubernetesVersion").and_then(|text| format::version(text).ok());
    given.or_else(|| match provider {
        ProviderKind::Sandbox => Some(versions::SANDBOX_KUBERNETES),
        provider => versions::kubernetes_for(&talos_version(root, provider)),
    })
}

/// True where the machines are no machines, so that neither network nor disks are to be set up.
fn is_on_this_computer(provider: &ProviderKind) -> bool {
    matches!(provider, ProviderKind::Local | ProviderKind::Sandbox)
}

pub(super) fn cni(root: &Object, provider: &ProviderKind) -> BootstrapCniType {
    match root.text("addons.cni.type") {
        Some(text) => text.into(),
        None if is_on_this_computer(provider) => BootstrapCniType::None,
        None => BootstrapCniType::Cilium,
    }
}

pub(super) fn storage(root: &Object, provider: &ProviderKind) -> BootstrapStorageType {
    match root.text("addons.storage.type") {
        Some(text) => text.into(),
        None if is_on_this_computer(provider) => BootstrapStorageType::None,
        None => BootstrapStorageType::Longhorn,
    }
}

pub(super) fn load_balancer(root: &Object, provider: &ProviderKind) -> BootstrapLoadBalancerType {
    match root.text("addons.loadBalancer.type") {
        Some(text) => text.into(),
        None if is_cloud(provider) || *provider == ProviderKind::Sandbox => BootstrapLoadBalancerType::None,
        None => BootstrapLoadBalancerType::MetalLb,
    }
}

/// Whether an addon is installed that is there unless somebody says no.
pub(super) fn is_enabled(root: &Object, addon: &str) -> bool {
    root.flag(&format!("addons.{addon}.enabled")).unwrap_or(true)
}
