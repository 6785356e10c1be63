//! Addresses for Services of type LoadBalancer on a cluster of containers: a piece at the end of the
//! engine's network, where the engine hands out none.

use std::net::Ipv4Addr;

use serde_json::Value;

/// What is used when the engine does not say: the piece of Docker's first network of that kind.
pub(super) const USUAL: (Ipv4Addr, Ipv4Addr) =
    (Ipv4Addr::new(172, 18, 255, 200), Ipv4Addr::new(172, 18, 255, 250));

/// The pool in the first IPv4 network that `network inspect` names, both ends included. None when there
/// is no such network, or it is too small to give any away.
pub fn load_balancer_pool(network: &Value) -> Option<(Ipv4Addr, Ipv4Addr)> {
    let network = network.as_array().map_or(Some(network), |list| list.first())?;
    // Docker and nerdctl, then Podman.
    let subnets = network.pointer("/IPAM/Config").or_else(|| network.get("subnets"))?.as_array()?;
    let subnet = |entry: &Value| -> Option<(Ipv4Addr, u8)> {
        let text = entry.get("Subnet").or_else(|| entry.get("subnet"))?.as_str()?;
        let (address, length) = text.split_once('/')?;
        Some((address.parse().ok()?, length.parse().ok()?))
    };
    let (address, length) = subnets.iter().find_map(subnet)?;
    // The last 256 addresses of the network; a smaller one has no room.
    if length > 24 {
        return None;
    }
    let hosts = u32::MAX.checked_shr(u32::from(length)).unwrap_or(0);
    let last = u32::from(address) | hosts;
    let at = |number: u32| Ipv4Addr::from((last & !0xff) | number);
    Some((at(200), at(250)))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case(json!([{ "IPAM": { "Config": [{ "Subnet": "fc00:f853:ccd:e793::/64" }, { "Subnet": "172.19.0.0/16", "Gateway": "172.19.0.1" }] } }]), "172.19.255.200")]
    #[case(json!([{ "IPAM": { "Config": [{ "Subnet": "10.10.4.0/24" }] } }]), "10.10.4.200")]
    #[case(json!([{ "IPAM": { "Config": [{ "Subnet": "192.168.32.0/20" }] } }]), "192.168.47.200")]
    #[case(json!([{ "name": "kind", "subnets": [{ "subnet": "10.89.0.0/16" }] }]), "10.89.255.200")]
    fn the_pool_is_the_end_of_the_engines_network(#[case] answer: Value, #[case] first: Ipv4Addr) {
        let (start, end) = load_balancer_pool(&answer).unwrap();
        assert_eq!((start, u32::from(end) - u32::from(start)), (first, 50));
    }

    #[rstest]
    #[case(json!([]))]
    #[case(json!([{ "IPAM": { "Config": [] } }]))]
    #[case(json!([{ "IPAM": { "Config": [{ "Subnet": "fc00::/64" }] } }]))]
    #[case(json!([{ "IPAM": { "Config": [{ "Subnet": "10.0.0.0/28" }] } }]))]
    #[case(json!([{ "IPAM": { "Config": [{ "Subnet": "nonsense" }] } }]))]
    fn a_network_without_room_gives_none(#[case] answer: Value) {
        assert_eq!(load_balancer_pool(&answer), None);
    }
}
