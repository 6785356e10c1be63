//! What is kept of each kind: a few words and numbers, whatever the size of the object.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::{
    api::{
        apps::v1::{DaemonSet, Deployment},
        core::v1::{Event, Node},
    },
    apimachinery::pkg::api::resource::Quantity,
};
use kube::{
    Api, Client, ResourceExt,
    api::{ApiResource, DynamicObject},
    runtime::watcher,
};
use serde_json::Value;

use super::{News, follow};
use crate::{
    api::NetworkPool,
    platform::{Workload, WorkloadKind},
    tenant::{self, Scope, Summary},
};

/// A machine of the management cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeRow {
    /// True when it is ready.
    pub ready: bool,
    /// Thousandths of a core that Pods can have.
    pub cpu: u64,
    /// Bytes that Pods can have.
    pub memory: u64,
}

/// A pool of addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PoolRow {
    /// Its name.
    pub name: String,
    /// Addresses given out.
    pub allocated: u64,
    /// Addresses that can be given out.
    pub total: u64,
}

/// Something that happened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventRow {
    /// When, for the last time.
    pub time: Option<Timestamp>,
    /// True when it is a warning.
    pub warning: bool,
    /// What it is about: kind and name.
    pub about: String,
    /// Its namespace.
    pub namespace: String,
    /// Why, in one word.
    pub reason: String,
    /// Why, in a sentence.
    pub message: String,
}

impl EventRow {
    pub(super) fn of(event: Event) -> Self {
        let object = &event.involved_object;
        let name = object.name.clone().unwrap_or_default();
        Self {
            time: tenant::last_seen(&event),
            warning: event.type_.as_deref() == Some("Warning"),
            about: format!("{}/{name}", object.kind.clone().unwrap_or_default()),
            namespace: object.namespace.clone().unwrap_or_default(),
            reason: event.reason.unwrap_or_default(),
            message: event.message.unwrap_or_default(),
        }
    }
}

/// Tenant clusters. Read as JSON: one that does not fit its schema must still be shown.
pub fn tenants(client: &Client, scope: &Scope) -> News<Summary> {
    let resource = tenant::resource();
    let api: Api<DynamicObject> = match &scope.namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    };
    follow(api, watcher::Config::default(), scope.action("watch"), |mut object| {
        // Half of an object, and nothing of it is shown.
        object.metadata.managed_fields = None;
        Summary::of(&serde_json::to_value(&object).unwrap_or_default())
    })
}

/// Machines of the management cluster.
pub fn nodes(client: &Client) -> News<NodeRow> {
    let api: Api<Node> = Api::all(client.clone());
    follow(api, watcher::Config::default(), "watch nodes".to_owned(), |node| {
        let status = node.status.unwrap_or_default();
        let ready = status.conditions.unwrap_or_default();
        let has = status.allocatable.unwrap_or_default();
        NodeRow {
            ready: ready.iter().any(|one| one.type_ == "Ready" && one.status == "True"),
            cpu: amount(&has, "cpu"),
            memory: amount(&has, "memory") / 1000,
        }
    })
}

/// Pools of addresses.
pub fn pools(client: &Client) -> News<PoolRow> {
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &ApiResource::erase::<NetworkPool>(&()));
    follow(api, watcher::Config::default(), "watch network pools".to_owned(), |pool| {
        let count = |pointer: &str| pool.data.pointer(pointer).and_then(Value::as_u64).unwrap_or_default();
        PoolRow {
            name: pool.name_any(),
            allocated: count("/status/allocatedIPs"),
            total: count("/status/totalIPs"),
        }
    })
}

/// Deployments in all namespaces.
pub fn deployments(client: &Client) -> News<Workload> {
    let api: Api<Deployment> = Api::all(client.clone());
    follow(api, watcher::Config::default(), "watch deployments".to_owned(), |one| Workload {
        kind: WorkloadKind::Deployment,
        namespace: one.namespace().unwrap_or_default(),
        name: one.name_any(),
        ready: one.status.and_then(|status| status.ready_replicas).unwrap_or_default(),
        desired: one.spec.replicas.unwrap_or(1),
    })
}

/// DaemonSets in all namespaces.
pub fn daemons(client: &Client) -> News<Workload> {
    let api: Api<DaemonSet> = Api::all(client.clone());
    follow(api, watcher::Config::default(), "watch daemon sets".to_owned(), |one| {
        let (namespace, name) = (one.namespace().unwrap_or_default(), one.name_any());
        let status = one.status.unwrap_or_default();
        let (ready, desired) = (status.number_ready, status.desired_number_scheduled);
        Workload { kind: WorkloadKind::DaemonSet, namespace, name, ready, desired }
    })
}

/// What happened, in all namespaces.
pub fn events(client: &Client) -> News<EventRow> {
    let api: Api<Event> = Api::all(client.clone());
    follow(api, watcher::Config::default(), "watch events".to_owned(), EventRow::of)
}

fn amount(of: &BTreeMap<String, Quantity>, name: &str) -> u64 {
    of.get(name).map_or(0, |quantity| thousandths(&quantity.0))
}

/// Thousandths of what a quantity says: `2`, `1500m`, `8Gi`, `1e3`. Nonsense is nothing.
fn thousandths(text: &str) -> u64 {
    let end = text.find(|c: char| c.is_ascii_alphabetic() && c != 'e' && c != 'E').unwrap_or(text.len());
    let exponent = text.ends_with('E');
    let (number, unit) = if exponent { text.split_at(text.len() - 1) } else { text.split_at(end) };
    let factor: f64 = match unit {
        "" => 1.0,
        "m" => 1e-3,
        "k" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "T" => 1e12,
        "P" => 1e15,
        "E" => 1e18,
        "Ki" => 1024.0,
        "Mi" => 1024.0 * 1024.0,
        "Gi" => 1024.0 * 1024.0 * 1024.0,
        "Ti" => 1024.0 * 1024.0 * 1024.0 * 1024.0,
        _ => return 0,
    };
    // Casting saturates, and what is not a number becomes nothing.
    number.parse::<f64>().map_or(0, |number| (number * factor * 1000.0) as u64)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("4", 4_000)]
    #[case("3920m", 3_920)]
    #[case("8Ki", 8 * 1024 * 1000)]
    #[case("1.5G", 1_500_000_000_000)]
    #[case("1e3", 1_000_000)]
    #[case("2E", 2_000_000_000_000_000_000_000_f64 as u64)]
    #[case("", 0)]
    #[case("lots", 0)]
    #[case("-1", 0)]
    fn quantities_are_read(#[case] text: &str, #[case] expected: u64) {
        assert_eq!(thousandths(text), expected);
    }
}
