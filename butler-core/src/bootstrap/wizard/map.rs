//! The addresses of the answers as a picture: which lie where, and which lie where others do.
//!
//! Networks differ by many orders of magnitude, so the axis is no ruler: it is cut wherever something
//! begins or ends, and a piece is the wider the more addresses it has, by their logarithm.

use std::{collections::BTreeSet, net::Ipv4Addr};

use ipnet::Ipv4Net;

use super::Answers;

/// A picture of addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Map {
    /// The pieces of the axis, each with its weight; pieces that nothing lies in weigh nothing.
    pub pieces: Vec<u32>,
    /// What lies there, in the order of the questions.
    pub rows: Vec<Row>,
}

/// Something with addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// What it is.
    pub name: &'static str,
    /// Its addresses, in words.
    pub range: String,
    /// How many they are.
    pub count: u64,
    /// Which pieces it has.
    pub pieces: std::ops::Range<usize>,
    /// What it must not share an address with, and does.
    pub clashes: Vec<&'static str>,
}

/// What may lie in what: a part in its whole.
const WITHIN: &[(&str, &str)] = &[
    ("Virtual address", "Pool"),
    ("Load balancers", "Pool"),
    ("Gateway", "Pool"),
    ("Tenants", "Pool"),
    ("Reserved", "Pool"),
    ("Virtual address", "Reserved"),
    ("Load balancers", "Reserved"),
    ("Gateway", "Reserved"),
    ("Reserved", "Tenants"),
];

struct Area {
    name: &'static str,
    first: u64,
    /// Behind the last.
    end: u64,
}

impl Area {
    fn new(name: &'static str, first: Ipv4Addr, last: Ipv4Addr) -> Option<Self> {
        (first <= last).then(|| Self {
            name,
            first: u64::from(u32::from(first)),
            end: u64::from(u32::from(last)) + 1,
        })
    }

    fn network(name: &'static str, network: Ipv4Net) -> Option<Self> {
        Self::new(name, network.network(), network.broadcast())
    }

    /// A network, two addresses with a dash between, or one address.
    fn parse(name: &'static str, text: &str) -> Option<Self> {
        if let Ok(network) = text.parse() {
            return Self::network(name, network);
        }
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        Self::new(name, first.trim().parse().ok()?, last.trim().parse().ok()?)
    }

    fn words(&self) -> String {
        let [first, last] = [self.first, self.end - 1]
            .map(|address| Ipv4Addr::from(u32::try_from(address).unwrap_or(u32::MAX)));
        if first == last { first.to_string() } else { format!("{first} - {last}") }
    }

    fn clashes(&self, other: &Self) -> bool {
        let within =
            |pair: &(&str, &str)| *pair == (self.name, other.name) || *pair == (other.name, self.name);
        self.first < other.end && other.first < self.end && !WITHIN.iter().any(within)
    }
}

/// The picture of the answers; what cannot be read is not on it.
pub fn map(answers: &Answers) -> Map {
    let one = |name, key: &str| Area::parse(name, &answers.text(key));
    let two = |name, from: &str, to: &str| {
        Area::parse(name, &format!("{}-{}", answers.text(from), answers.text(to)))
    };
    let reserved = answers.text("networkPool.reserved");
    let reserved = reserved.split(',').filter_map(|part| Area::parse("Reserved", part.trim()));
    let areas: Vec<Area> = [
        one("Pods", "network.podCIDR"),
        one("Services", "network.serviceCIDR"),
        one("Virtual address", "network.vip"),
        two("Load balancers", "network.loadBalancerPool.start", "network.loadBalancerPool.end"),
        one("Pool", "networkPool.cidr"),
        one("Gateway", "providerNetwork.gateway"),
        two("Tenants", "networkPool.tenantAllocation.start", "networkPool.tenantAllocation.end"),
    ]
    .into_iter()
    .flatten()
    .chain(reserved)
    .collect();
    let cuts: Vec<u64> =
        areas.iter().flat_map(|area| [area.first, area.end]).collect::<BTreeSet<_>>().into_iter().collect();
    let piece = |pair: &[u64]| match pair {
        [from, to] if areas.iter().any(|area| area.first <= *from && *to <= area.end) => {
            (to - from).ilog2() + 1
        }
        _ => 0,
    };
    let at = |address: u64| cuts.partition_point(|cut| *cut < address);
    let row = |area: &Area| Row {
        name: area.name,
        range: area.words(),
        count: area.end - area.first,
        pieces: at(area.first)..at(area.end),
        clashes: areas
            .iter()
            .filter(|other| area.clashes(other) && other.name != area.name)
            .map(|other| other.name)
            .collect(),
    };
    Map { pieces: cuts.windows(2).map(piece).collect(), rows: areas.iter().map(row).collect() }
}

impl Map {
    /// How many columns each piece has when there are so many: none is lost as long as there is one for each.
    pub fn columns(&self, width: usize) -> Vec<usize> {
        let least = self.pieces.len();
        let weight: u64 = self.pieces.iter().map(|piece| u64::from(*piece)).sum();
        let spare = width.saturating_sub(least) as u64;
        let share = |piece: &u32| match weight {
            0 => 0,
            _ => usize::try_from(spare * u64::from(*piece) / weight).unwrap_or_default(),
        };
        self.pieces.iter().map(|piece| 1 + share(piece)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bootstrap::wizard::answers::find;

    fn answered(pairs: &[(&str, &str)]) -> Map {
        let mut answers = Answers::default();
        for (key, answer) in pairs {
            answers.give(find(key).unwrap(), answer);
        }
        map(&answers)
    }

    #[test]
    fn the_picture_of_a_cluster_with_tenants() {
        let map = answered(&[
            ("provider", "harvester"),
            ("network.vip", "192.168.50.10"),
            ("network.loadBalancerPool.start", "192.168.50.40"),
            ("network.loadBalancerPool.end", "192.168.50.79"),
            ("networkPool.cidr", "192.168.50.0/24"),
            ("networkPool.reserved", "192.168.50.0/25"),
            ("networkPool.tenantAllocation.start", "192.168.50.130"),
            ("networkPool.tenantAllocation.end", "192.168.50.250"),
        ]);
        assert!(map.rows.iter().all(|row| row.clashes.is_empty()), "{map:?}");
        let names: Vec<_> = map.rows.iter().map(|row| (row.name, row.count)).collect();
        assert_eq!(names[..3], [("Pods", 65536), ("Services", 1 << 20), ("Virtual address", 1)]);
        for width in 0..100 {
            let columns = map.columns(width);
            let sum: usize = columns.iter().sum();
            assert!(sum <= width.max(columns.len()) && columns.iter().all(|columns| *columns > 0));
        }
    }

    #[test]
    fn what_lies_where_it_must_not_is_named_on_both_sides() {
        let map = answered(&[("provider", "sandbox"), ("network.serviceCIDR", "10.244.128.0/20")]);
        assert_eq!(map.rows[0].clashes, ["Services"]);
        assert_eq!(map.rows[1].clashes, ["Pods"]);
        let map = answered(&[("network.podCIDR", "nonsense"), ("network.serviceCIDR", "10.0.0.9-10.0.0.1")]);
        assert_eq!(map, Map::default());
    }
}
