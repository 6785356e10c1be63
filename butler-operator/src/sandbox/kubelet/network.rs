//! Addresses of Pods, and when Pods have a network at all.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    net::{IpAddr, Ipv4Addr},
};

use k8s_openapi::api::core::v1::Pod;

/// Directories of a network plugin. A Pod that has one of them from its node brings the network.
const PLUGIN_DIRS: [&str; 2] = ["/etc/cni", "/opt/cni"];
/// The first address of a range is the network's, the second its gateway's.
const RESERVED: u32 = 2;
/// A range this large is enough for every node.
const SMALLEST_PREFIX: u8 = 16;
const USUAL_PREFIX: u8 = 24;

/// The addresses a node can give to its Pods.
#[derive(Debug)]
pub(super) struct Addresses {
    first: u32,
    count: u32,
    next: u32,
    /// Who has which.
    given: BTreeMap<Ipv4Addr, String>,
}

impl Addresses {
    /// For a node whose range is not known yet: one that follows from its own address.
    pub(super) fn for_node(address: IpAddr, port: u16) -> Self {
        // 10.130 to 10.229 is neither the usual range of Pods nor that of Services.
        let (high, low) = match address {
            // Every node has this address where there is only one, and a port of its own.
            IpAddr::V4(Ipv4Addr::LOCALHOST) => {
                let [high, low] = port.to_be_bytes();
                (high, low)
            }
            IpAddr::V4(address) => {
                let [.., high, low] = address.octets();
                (high, low)
            }
            IpAddr::V6(address) => {
                let [.., high, low] = address.octets();
                (high, low)
            }
        };
        Self::new(Ipv4Addr::new(10, 130 + high % 100, low, 0), USUAL_PREFIX)
    }

    fn new(network: Ipv4Addr, prefix: u8) -> Self {
        let prefix = prefix.clamp(SMALLEST_PREFIX, 30);
        let size = 1_u32 << (32 - prefix);
        let network = network.to_bits() & !(size - 1);
        Self { first: network + RESERVED, count: size - RESERVED - 1, next: 0, given: BTreeMap::new() }
    }

    /// Takes over the range that the cluster gave to the node. What was given stays given.
    pub(super) fn use_range(&mut self, cidr: &str) {
        let Some((network, prefix)) = cidr.split_once('/') else { return };
        let (Ok(network), Ok(prefix)) = (network.parse(), prefix.parse()) else { return };
        let other = Self::new(network, prefix);
        if (other.first, other.count) != (self.first, self.count) {
            self.first = other.first;
            self.count = other.count;
            self.next = 0;
        }
    }

    /// The address of a Pod: the one it has, or the next free one.
    pub(super) fn give(&mut self, uid: &str, has: Option<&str>) -> Option<IpAddr> {
        let has = has.and_then(|text| text.parse::<IpAddr>().ok());
        if let Some(IpAddr::V4(address)) = has {
            self.given.entry(address).or_insert_with(|| uid.to_owned());
        }
        if has.is_some() {
            return has;
        }
        for _ in 0..self.count {
            let address = Ipv4Addr::from_bits(self.first + self.next);
            self.next = (self.next + 1) % self.count;
            if let Entry::Vacant(free) = self.given.entry(address) {
                free.insert(uid.to_owned());
                return Some(address.into());
            }
        }
        None
    }

    /// Takes an address back.
    pub(super) fn take_back(&mut self, uid: &str, address: IpAddr) {
        if let IpAddr::V4(address) = address
            && self.given.get(&address).is_some_and(|owner| owner == uid)
        {
            self.given.remove(&address);
        }
    }
}

/// True when a running Pod puts a network plugin on its node.
pub(super) fn brings_network(pod: &Pod, phase: Option<&str>) -> bool {
    let volumes = pod.spec.iter().flat_map(|spec| spec.volumes.iter().flatten());
    let mut paths = volumes.filter_map(|volume| Some(volume.host_path.as_ref()?.path.as_str()));
    let is_plugin_dir = |path: &str| {
        PLUGIN_DIRS
            .iter()
            .any(|dir| path.strip_prefix(dir).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
    };
    phase == Some("Running") && paths.any(is_plugin_dir)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn node() -> Addresses {
        Addresses::for_node("127.40.3.11".parse().unwrap(), 10_250)
    }

    #[test]
    fn addresses_are_unique_and_come_back() {
        let mut addresses = node();
        let given: BTreeSet<IpAddr> =
            (0..253).map(|number| addresses.give(&number.to_string(), None).unwrap()).collect();
        assert_eq!(given.len(), 253);
        assert_eq!(given.first().unwrap().to_string(), "10.133.11.2");
        assert_eq!(given.last().unwrap().to_string(), "10.133.11.254");
        assert_eq!(addresses.give("one too many", None), None);
        let seventh: IpAddr = "10.133.11.8".parse().unwrap();
        addresses.take_back("somebody else", seventh);
        assert_eq!(addresses.give("next", None), None, "only the owner gives back");
        addresses.take_back("6", seventh);
        assert_eq!(addresses.give("next", None), Some(seventh));
    }

    #[test]
    fn a_pod_keeps_the_address_it_has() {
        let mut addresses = node();
        addresses.use_range("10.244.7.0/24");
        let held = addresses.give("old", Some("10.244.7.2"));
        assert_eq!(held.unwrap().to_string(), "10.244.7.2");
        assert_eq!(addresses.give("new", None).unwrap().to_string(), "10.244.7.3");
        addresses.use_range("nonsense");
        assert_eq!(addresses.give("newer", None).unwrap().to_string(), "10.244.7.4");
    }

    #[test]
    fn nodes_with_one_address_have_ranges_of_their_own() {
        let of = |port| Addresses::for_node(Ipv4Addr::LOCALHOST.into(), port).first;
        assert_ne!(of(20_001), of(20_002));
    }

    #[rstest]
    #[case("/opt/cni/bin", "Running", true)]
    #[case("/etc/cni", "Running", true)]
    #[case("/etc/cnipher", "Running", false)]
    #[case("/opt/cni/bin", "Pending", false)]
    #[case("/var/lib", "Running", false)]
    fn a_running_pod_with_plugin_directories_brings_the_network(
        #[case] path: &str,
        #[case] phase: &str,
        #[case] brings: bool,
    ) {
        let pod = serde_json::from_value(json!({"spec": {
            "containers": [],
            "volumes": [{"name": "a", "emptyDir": {}}, {"name": "b", "hostPath": {"path": path}}],
        }}));
        assert_eq!(brings_network(&pod.unwrap(), Some(phase)), brings);
    }
}
