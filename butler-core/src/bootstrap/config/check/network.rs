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

/// Addresses that no machine, Pod or Service can have.
pub(super) fn unusable(check: &mut Check<'_, '_>) {
    let area = |first: [u8; 4], last: [u8; 4], what: &'static str| {
        (Area { path: "", first: first.into(), last: last.into() }, what)
    };
    let never = [
        area([0, 0, 0, 0], [0, 255, 255, 255], "addresses that nobody can have"),
        area([127, 0, 0, 0], [127, 255, 255, 255], "addresses of a computer itself"),
        area([169, 254, 0, 0], [169, 254, 255, 255], "addresses of a single link"),
        area([224, 0, 0, 0], [255, 255, 255, 255], "addresses of groups"),
    ];
    // What is left out is right; the address of simulated machines is looked at with the others of its kind.
    let networks = ["network.podCIDR", "network.serviceCIDR", "networkPool.cidr"];
    let mut given: Vec<Area> =
        networks.into_iter().filter_map(|path| Some(Area::network(path, check.root.cidr(path)?))).collect();
    given.extend(load_balancers(check).filter(|_| *check.provider != ProviderKind::Sandbox));
    for area in given {
        if let Some((_, what)) = never.iter().find(|(never, _)| never.meets(&area)) {
            let message = format!("`{}` {} has {what}", area.path, area.show());
            check.error(area.path, message, "choose other addresses");
        }
    }
}

/// The router of the machines has its address already, and must be one of their network.
pub(super) fn gateway(check: &mut Check<'_, '_>) {
    const GATEWAY: &str = "providerNetwork.gateway";
    let Some(gateway) = check.root.ipv4(GATEWAY) else { return };
    let area = Area::address(GATEWAY, gateway);
    if check.root.ipv4("network.vip") == Some(gateway) {
        let message = format!("`network.vip` {gateway} is the gateway's address");
        check.error("network.vip", message, "write a free address of the machines' network");
    }
    if let Some(pool) = load_balancers(check).filter(|pool| pool.contains(&area)) {
        let message = format!("`{GATEWAY}` {gateway} lies in `{}` {}", pool.path, pool.show());
        check.error(pool.path, message, "leave it out of the pool, which would give it to a Service");
    }
    let subnet = check.root.text("providerNetwork.subnet").and_then(|text| format::cidr(text).ok());
    if let Some(subnet) = subnet.filter(|subnet| !subnet.contains(&gateway)) {
        let message = format!("`{GATEWAY}` {gateway} does not lie in `providerNetwork.subnet` {subnet}");
        check.error(GATEWAY, message, "write the router of that network");
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
        if defaults::load_balancer(check.root, check.provider).as_str() != "metallb"
            || defaults::is_cloud(check.provider)
        {
            let message = format!("`{path}` is not looked at: MetalLB, which gives it out, is not installed");
            check.warning(path, message, "remove it");
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
