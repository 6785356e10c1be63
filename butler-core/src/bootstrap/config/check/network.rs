//! Addresses: that nothing lies in anything else, and that there are enough.

use std::net::Ipv4Addr;

use ipnet::Ipv4Net;

use super::Check;
use crate::{
    api::common::ProviderKind,
    bootstrap::config::{defaults, format},
};

/// The network that Kubernetes gives each node a part of.
const NODE_MASK: u8 = 24;

/// Addresses with the key they come from; both ends included.
#[derive(Clone, Debug)]
pub(super) struct Area {
    pub path: &'static str,
    pub first: Ipv4Addr,
    pub last: Ipv4Addr,
}

impl Area {
    pub(super) fn network(path: &'static str, network: Ipv4Net) -> Self {
        Self { path, first: network.network(), last: network.broadcast() }
    }

    pub(super) fn address(path: &'static str, address: Ipv4Addr) -> Self {
        Self { path, first: address, last: address }
    }

    pub(super) fn meets(&self, other: &Self) -> bool {
        self.first <= other.last && other.first <= self.last
    }

    pub(super) fn contains(&self, other: &Self) -> bool {
        self.first <= other.first && other.last <= self.last
    }

    /// How many addresses it has; a range in the wrong order has none.
    pub(super) fn size(&self) -> u64 {
        (u64::from(u32::from(self.last)) + 1).saturating_sub(u64::from(u32::from(self.first)))
    }

    /// What both have.
    pub(super) fn common(&self, other: &Self) -> Option<Self> {
        self.meets(other).then(|| Self {
            path: self.path,
            first: self.first.max(other.first),
            last: self.last.min(other.last),
        })
    }

    pub(super) fn show(&self) -> String {
        if self.first == self.last { self.first.to_string() } else { format!("{}-{}", self.first, self.last) }
    }
}

/// The addresses for load balancers, if they are in order.
pub(super) fn load_balancers(check: &Check<'_, '_>) -> Option<Area> {
    let (path, first, last) = defaults::load_balancer_pool(check.root)?;
    (first <= last).then_some(Area { path, first, last })
}

pub(super) fn packets(check: &mut Check<'_, '_>) {
    const MTU: &str = "network.mtu";
    let Some(mtu) = check.root.integer(MTU).filter(|mtu| *mtu != 0) else { return };
    if mtu < 576 {
        check.error(
            MTU,
            format!("`{MTU}` must be 0 or between 576 and 9000, not {mtu}"),
            "write 1500 or remove it",
        );
    } else if mtu > 1500 && check.root.flag("network.jumboFrames") != Some(true) {
        let message =
            format!("`{MTU}` is {mtu}, and `network.jumboFrames` does not say that the network passes it");
        check.error(MTU, message, "add `jumboFrames: true` if every switch passes such packets");
    }
}

pub(super) fn overlaps(check: &mut Check<'_, '_>) {
    const POD: &str = "network.podCIDR";
    const SERVICE: &str = "network.serviceCIDR";
    let inside = [
        Area::network(POD, defaults::pod_cidr(check.root)),
        Area::network(SERVICE, defaults::service_cidr(check.root)),
    ];
    let [pod, service] = &inside;
    if pod.meets(service) {
        let given = if check.root.has(SERVICE) { SERVICE } else { POD };
        let message = format!(
            "`{POD}` {} and `{SERVICE}` {} overlap",
            defaults::pod_cidr(check.root),
            defaults::service_cidr(check.root)
        );
        check.error(given, message, "choose networks that have no address in common");
    }
    for area in outside(check) {
        for inner in &inside {
            if area.meets(inner) {
                let message =
                    format!("`{}` {} lies in `{}` {}", area.path, area.show(), inner.path, inner.show());
                let advice = format!("choose another one, or another `{}`", inner.path);
                check.error(area.path, message, advice);
            }
        }
    }
}

/// Addresses that must be reached from Pods, and so cannot be theirs.
fn outside(check: &Check<'_, '_>) -> Vec<Area> {
    let root = check.root;
    let mut areas = Vec::new();
    for path in ["network.vip", "providerNetwork.gateway"] {
        areas.extend(root.ipv4(path).map(|address| Area::address(path, address)));
    }
    areas.extend(load_balancers(check));
    areas.extend(root.cidr("networkPool.cidr").map(|network| Area::network("networkPool.cidr", network)));
    // A provider may call it by a name instead.
    let subnet = root.text("providerNetwork.subnet").and_then(|text| format::cidr(text).ok());
    areas.extend(subnet.map(|network| Area::network("providerNetwork.subnet", network)));
    areas
}

pub(super) fn sizes(check: &mut Check<'_, '_>) {
    let (pod, service) = (defaults::pod_cidr(check.root), defaults::service_cidr(check.root));
    let (control_planes, workers) = defaults::machines(check.root);
    let machines = u64::from((control_planes + workers).unsigned_abs());
    let nodes = match pod.prefix_len() {
        len if len > NODE_MASK => 0,
        len => 1_u64 << (NODE_MASK - len),
    };
    if nodes < machines {
        let message =
            format!("`network.podCIDR` {pod} is too small: each of {machines} machines needs a /{NODE_MASK}");
        check.error("network.podCIDR", message, "write a /16");
    }
    if !(12..=28).contains(&service.prefix_len()) {
        let message = format!("`network.serviceCIDR` {service} must be between /12 and /28");
        check.error("network.serviceCIDR", message, "write a /16");
    }
    if let Some((path, first, last)) = defaults::load_balancer_pool(check.root) {
        if first > last {
            let message = format!("`{path}` ends before it begins: {first} comes after {last}");
            check.error(path, message, format!("write start {last} and end {first}"));
            return;
        }
        let wanted = load_balancers_wanted(check);
        let size = Area { path, first, last }.size();
        if size < wanted {
            let message = format!("`{path}` has {size} address, and at least {wanted} are needed");
            check.error(path, message, "ingress and each tenant, or the shared Gateway, take one");
        }
    } else if defaults::is_on_prem(check.provider)
        && defaults::load_balancer(check.root, check.provider).as_str() == "metallb"
        && !check.root.has("network.loadBalancerPool")
    {
        let message = "`network.loadBalancerPool` is missing: Services of type LoadBalancer get no address";
        check.warning("network", message, "add `loadBalancerPool:` with `start` and `end`");
    }
}

/// Addresses that the platform itself and a first tenant take.
fn load_balancers_wanted(check: &Check<'_, '_>) -> u64 {
    let ingress =
        defaults::is_enabled(check.root, "ingress") && check.root.text("addons.ingress.type") != Some("none");
    let tenants = match check.root.text("controlPlaneExposure.mode") {
        Some("Ingress") => 0,
        _ => 1,
    };
    u64::from(ingress) + tenants
}

pub(super) fn vip(check: &mut Check<'_, '_>) {
    const VIP: &str = "network.vip";
    let Some(vip) = check.root.ipv4(VIP) else {
        if check.root.has("network.vipInterface") && !check.root.has(VIP) {
            let message = "`network.vipInterface` is of no use without `network.vip`";
            check.warning("network.vipInterface", message, "add `vip:`, or remove it");
        }
        return;
    };
    let simulated = *check.provider == ProviderKind::Sandbox;
    if vip.is_unspecified() || vip.is_multicast() || vip.is_broadcast() || vip.is_loopback() != simulated {
        let advice = match simulated {
            true => "remove it: simulated machines get an address of 127.0.0.0/8",
            false => "write a free address of the machines' network",
        };
        check.error(VIP, format!("`{VIP}` {vip} cannot be an address of these machines"), advice);
    }
    let area = Area::address(VIP, vip);
    if let Some(pool) = load_balancers(check)
        && pool.contains(&area)
    {
        let message = format!("`{VIP}` {vip} lies in `{}` {}", pool.path, pool.show());
        check.error(VIP, message, "choose an address outside: the pool would give it to a Service");
    }
    if defaults::is_cloud(check.provider) {
        let message = format!("`{VIP}` replaces the load balancer of the cloud as the cluster's address");
        check.warning(VIP, message, "remove it unless that is meant");
    }
}
