//! `networkPool` and `providerNetwork`.

use super::{
    Check,
    network::{Area, load_balancers},
};
use crate::bootstrap::config::defaults;

const CIDR: &str = "networkPool.cidr";
const TENANTS: &str = "networkPool.tenantAllocation";

pub(super) fn network_pool(check: &mut Check<'_, '_>) {
    let Some(pool) = check.root.cidr(CIDR).map(|network| Area::network(CIDR, network)) else { return };
    let mut reserved = Vec::new();
    let mut outside = Vec::new();
    for block in check.root.object("networkPool").into_iter().flat_map(|pool| pool.objects("reserved")) {
        let Some(network) = block.cidr("cidr") else { continue };
        let area = Area::network("networkPool.reserved", network);
        if pool.contains(&area) {
            reserved.push(area);
        } else {
            outside
                .push(format!("`networkPool.reserved` {network} does not lie in `{CIDR}` {}", pool.show()));
        }
    }
    for message in outside {
        check.error("networkPool.reserved", message, "reserve a part of the pool, or remove the block");
    }
    if !check.root.has(TENANTS) {
        return;
    }
    let start = check.root.ipv4("networkPool.tenantAllocation.start");
    let end = check.root.ipv4("networkPool.tenantAllocation.end");
    let Some((first, last)) = start.zip(end) else { return };
    if first > last {
        let message = format!("`{TENANTS}` ends before it begins: {first} comes after {last}");
        check.error(TENANTS, message, format!("write start {last} and end {first}"));
        return;
    }
    let tenants = Area { path: TENANTS, first, last };
    if !pool.contains(&tenants) {
        let message = format!("`{TENANTS}` {} does not lie in `{CIDR}` {}", tenants.show(), pool.show());
        check.error(TENANTS, message, "choose addresses of the pool");
        return;
    }
    given_twice(check, &tenants, &reserved);
    room_for_a_tenant(check, &tenants, &reserved);
    room_for_machines(check, &pool, &tenants);
}

/// Addresses that somebody else has must be kept from tenants.
fn given_twice(check: &mut Check<'_, '_>, tenants: &Area, reserved: &[Area]) {
    let mut taken: Vec<Area> = load_balancers(check).into_iter().collect();
    for path in ["network.vip", "providerNetwork.gateway"] {
        taken.extend(check.root.ipv4(path).map(|address| Area::address(path, address)));
    }
    for area in taken {
        let Some(common) = area.common(tenants) else { continue };
        if covered(&common, reserved) == common.size() {
            continue;
        }
        let message = format!("`{}` {} lies in `{TENANTS}` {}", area.path, common.show(), tenants.show());
        check.error(area.path, message, "choose other addresses, or add them to `networkPool.reserved`");
    }
}

/// How many addresses of an area lie in any of these blocks, which may lie in each other.
fn covered(area: &Area, blocks: &[Area]) -> u64 {
    let mut parts: Vec<Area> = blocks.iter().filter_map(|block| block.common(area)).collect();
    parts.sort_by_key(|part| part.first);
    let mut next = u64::from(u32::from(area.first));
    let mut count = 0;
    for part in parts {
        let (first, last) = (u64::from(u32::from(part.first)), u64::from(u32::from(part.last)));
        let first = first.max(next);
        count += (last + 1).saturating_sub(first);
        next = next.max(last + 1);
    }
    count
}

fn room_for_a_tenant(check: &mut Check<'_, '_>, tenants: &Area, reserved: &[Area]) {
    let free = tenants.size().saturating_sub(covered(tenants, reserved));
    let size = |key: &str, default| {
        let given = check.root.positive(&format!("{TENANTS}.defaults.{key}"));
        u64::from(given.unwrap_or(default).unsigned_abs())
    };
    let wanted = size("nodesPerTenant", defaults::NODES_PER_TENANT)
        + size("lbPoolPerTenant", defaults::LOAD_BALANCERS_PER_TENANT);
    if free < wanted {
        let message = format!("`{TENANTS}` has {free} free addresses, and one tenant takes {wanted}");
        check.error(TENANTS, message, "make it larger, or lower `defaults`");
    }
}

/// The machines of the management cluster stand in the same network, when the address they share does.
fn room_for_machines(check: &mut Check<'_, '_>, pool: &Area, tenants: &Area) {
    let vip = check.root.ipv4("network.vip").map(|vip| Area::address("network.vip", vip));
    if !vip.as_ref().is_some_and(|vip| pool.contains(vip)) {
        return;
    }
    let (control_planes, workers) = defaults::machines(check.root);
    let mut wanted = u64::from((control_planes + workers).unsigned_abs());
    // What was reserved within the tenants' part is not taken from the rest.
    for area in vip.into_iter().chain(load_balancers(check).and_then(|area| area.common(pool))) {
        wanted += area.size() - covered(&area, std::slice::from_ref(tenants));
    }
    let left = pool.size().saturating_sub(2).saturating_sub(tenants.size());
    if left < wanted {
        let message = format!(
            "`{CIDR}` leaves {left} addresses besides those of tenants, and the management cluster takes {wanted}"
        );
        check.error(CIDR, message, "make the pool larger, or give tenants fewer addresses");
    }
}

pub(super) fn provider_network(check: &mut Check<'_, '_>) {
    const BLOCK: &str = "providerNetwork";
    let Some(block) = check.root.object(BLOCK) else { return };
    let is_ipam = block.text("mode") == Some("ipam");
    let named: Vec<String> = block.objects("poolRefs").filter_map(|pool| pool.owned("name")).collect();
    let cluster = check.root.text("cluster.name").unwrap_or_default();
    let own = check
        .root
        .has("networkPool")
        .then(|| check.root.owned("networkPool.name").unwrap_or_else(|| format!("{cluster}-underlay")));
    if is_ipam && named.is_empty() && own.is_none() {
        let message = "mode `ipam` needs a pool, and there is none";
        check.error("providerNetwork.mode", message, "add `networkPool:`, or name pools in `poolRefs`");
    }
    for name in named.iter().filter(|name| own.as_ref() != Some(name)) {
        let message = format!("`{BLOCK}.poolRefs` names `{name}`, and this file makes no such pool");
        let advice = match &own {
            Some(own) => format!("write `{own}`, or make the pool yourself"),
            None => "add `networkPool:`, or make the pool yourself".to_owned(),
        };
        check.warning("providerNetwork.poolRefs", message, advice);
    }
    limits(check);
}

/// A size must fit its own limit, or no tenant can ever be made.
fn limits(check: &mut Check<'_, '_>) {
    const PAIRS: [(&str, &str); 4] = [
        ("providerNetwork.loadBalancer.initialPoolSize", "providerNetwork.quotaPerTenant.maxLoadBalancerIPs"),
        ("providerNetwork.loadBalancer.defaultPoolSize", "providerNetwork.quotaPerTenant.maxLoadBalancerIPs"),
        (
            "networkPool.tenantAllocation.defaults.lbPoolPerTenant",
            "providerNetwork.quotaPerTenant.maxLoadBalancerIPs",
        ),
        ("networkPool.tenantAllocation.defaults.nodesPerTenant", "providerNetwork.quotaPerTenant.maxNodeIPs"),
    ];
    for (size_path, limit_path) in PAIRS {
        let sizes = check.root.positive(size_path).zip(check.root.positive(limit_path));
        if let Some((size, limit)) = sizes.filter(|(size, limit)| size > limit) {
            let message = format!("`{size_path}` is {size}, and `{limit_path}` allows {limit}");
            check.error(size_path, message, "lower the size, or raise the limit");
        }
    }
}
