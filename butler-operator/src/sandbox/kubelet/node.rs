//! The Node object: what a kubelet says about its machine. Pure.

use std::{collections::BTreeMap, time::Duration};

use jiff::Timestamp;
use k8s_openapi::{
    api::{
        coordination::v1::{Lease, LeaseSpec},
        core::v1::{
            DaemonEndpoint, Node, NodeAddress, NodeCondition, NodeDaemonEndpoints, NodeSpec, NodeStatus,
            NodeSystemInfo,
        },
    },
    apimachinery::pkg::{
        api::resource::Quantity,
        apis::meta::v1::{MicroTime, ObjectMeta, OwnerReference, Time},
    },
};
use serde_json::{Value, json};

use super::KubeletOptions;

/// How many Pods a node takes.
const MAX_PODS: u32 = 110;
/// What the system keeps for itself.
const RESERVED_MILLICPU: u32 = 50;
const RESERVED_MEMORY_MB: u32 = 512;
/// Namespace of the nodes' leases.
pub(super) const LEASE_NAMESPACE: &str = "kube-node-lease";
/// How long a lease holds.
const LEASE_SECONDS: i32 = 40;
/// How often a lease is renewed.
pub(super) const LEASE_INTERVAL: Duration = Duration::from_secs(10);
/// How often the status is told when nothing changed.
pub(super) const HEARTBEAT: Duration = Duration::from_secs(5 * 60);

const HOSTNAME: &str = "kubernetes.io/hostname";
/// Labels with these names a kubelet may set; others of Kubernetes' own prefixes it may not.
const OPEN_LABELS: [&str; 8] = [
    HOSTNAME,
    "kubernetes.io/os",
    "kubernetes.io/arch",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "node.kubernetes.io/instance-type",
    "beta.kubernetes.io/os",
    "beta.kubernetes.io/arch",
];

/// A Node as it is registered.
pub(super) fn object(options: &KubeletOptions, network: bool, now: Timestamp) -> Node {
    let mut annotations = options.annotations.clone();
    annotations
        .insert("volumes.kubernetes.io/controller-managed-attach-detach".to_owned(), "true".to_owned());
    let mut labels = options.labels.clone();
    labels.extend(own_labels(options));
    Node {
        metadata: ObjectMeta {
            name: Some(options.node_name.clone()),
            labels: Some(labels),
            annotations: Some(annotations),
            ..ObjectMeta::default()
        },
        spec: Some(NodeSpec {
            provider_id: options.provider_id.clone(),
            taints: Some(options.taints.clone()).filter(|taints| !taints.is_empty()),
            ..NodeSpec::default()
        }),
        status: Some(status(options, network, None, now)),
    }
}

/// Leaves only labels that the API server lets a node give to itself.
pub(super) fn keep_open_labels(node: &mut Node) {
    if let Some(labels) = &mut node.metadata.labels {
        labels.retain(|label, _| is_open(label));
    }
}

fn is_open(label: &str) -> bool {
    let prefix = label.split_once('/').map_or("", |(prefix, _)| prefix);
    let within =
        |domain: &str| prefix.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    let is_kubernetes = within("kubernetes.io") || within("k8s.io");
    !is_kubernetes
        || OPEN_LABELS.contains(&label)
        || within("node.kubernetes.io")
        || within("kubelet.kubernetes.io")
}

fn own_labels(options: &KubeletOptions) -> BTreeMap<String, String> {
    let pairs = [
        (HOSTNAME, options.node_name.as_str()),
        ("kubernetes.io/os", "linux"),
        ("kubernetes.io/arch", architecture()),
        ("beta.kubernetes.io/os", "linux"),
        ("beta.kubernetes.io/arch", architecture()),
    ];
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
}

/// What a Node that exists lacks of what this kubelet would have registered; what others set stays.
pub(super) fn adoption(options: &KubeletOptions, node: &Node, all_labels: bool) -> Option<Value> {
    let mut wanted = object(options, true, Timestamp::UNIX_EPOCH).metadata;
    if !all_labels && let Some(labels) = &mut wanted.labels {
        labels.retain(|label, _| is_open(label));
    }
    let own = own_labels(options);
    let lacks = |has: Option<&BTreeMap<String, String>>, wants: Option<BTreeMap<String, String>>| {
        let mut wants = wants.unwrap_or_default();
        wants.retain(|name, value| match has.and_then(|has| has.get(name)) {
            None => true,
            Some(other) => own.contains_key(name) && other != value,
        });
        wants
    };
    let labels = lacks(node.metadata.labels.as_ref(), wanted.labels);
    let annotations = lacks(node.metadata.annotations.as_ref(), wanted.annotations);
    let has_provider = node.spec.as_ref().is_some_and(|spec| spec.provider_id.is_some());
    let provider = options.provider_id.as_ref().filter(|_| !has_provider);
    if labels.is_empty() && annotations.is_empty() && provider.is_none() {
        return None;
    }
    let mut patch = json!({"metadata": {"labels": labels, "annotations": annotations}});
    if let Some(provider) = provider {
        patch["spec"] = json!({"providerID": provider});
    }
    Some(patch)
}

/// The whole status. `old` is the Node as it is, for the times of conditions that did not change.
pub(super) fn status(
    options: &KubeletOptions,
    network: bool,
    old: Option<&Node>,
    now: Timestamp,
) -> NodeStatus {
    let quantity = |name: &str, value: String| (name.to_owned(), Quantity(value));
    let memory = u64::from(options.memory_mb) << 20;
    let disk = u64::from(options.disk_gb) << 30;
    let reserved = u64::from(RESERVED_MEMORY_MB.min(options.memory_mb / 4)) << 20;
    let millicpu = (options.cpu * 1000).saturating_sub(RESERVED_MILLICPU);
    let address = |kind: &str, address: String| NodeAddress { type_: kind.to_owned(), address };
    NodeStatus {
        addresses: Some(vec![
            address("InternalIP", options.address.to_string()),
            address("Hostname", options.node_name.clone()),
        ]),
        capacity: Some(BTreeMap::from([
            quantity("cpu", options.cpu.to_string()),
            quantity("memory", bytes(memory)),
            quantity("ephemeral-storage", bytes(disk)),
            quantity("pods", MAX_PODS.to_string()),
        ])),
        allocatable: Some(BTreeMap::from([
            quantity(
                "cpu",
                if millicpu.is_multiple_of(1000) {
                    (millicpu / 1000).to_string()
                } else {
                    format!("{millicpu}m")
                },
            ),
            quantity("memory", bytes(memory - reserved)),
            quantity("ephemeral-storage", bytes(disk / 10 * 9)),
            quantity("pods", MAX_PODS.to_string()),
        ])),
        conditions: Some(conditions(network, old, now)),
        daemon_endpoints: Some(NodeDaemonEndpoints {
            kubelet_endpoint: Some(DaemonEndpoint { port: options.port.into() }),
        }),
        node_info: Some(NodeSystemInfo {
            architecture: architecture().to_owned(),
            boot_id: options.boot_id.clone(),
            container_runtime_version: options.container_runtime.clone(),
            kernel_version: options.kernel_version.clone(),
            kubelet_version: options.kubelet_version.clone(),
            machine_id: options.machine_id.clone(),
            operating_system: "linux".to_owned(),
            os_image: options.os_image.clone(),
            system_uuid: options.system_uuid.clone(),
            ..NodeSystemInfo::default()
        }),
        ..NodeStatus::default()
    }
}

/// A number of bytes, down to the KiB, exactly as the API server would write it: what comes back must
/// be the same text, or the node would seem to have changed.
fn bytes(bytes: u64) -> String {
    let mut number = bytes >> 10;
    let mut units = ["Ki", "Mi", "Gi", "Ti", "Pi"].into_iter();
    let mut unit = units.next().unwrap_or_default();
    if number == 0 {
        return "0".to_owned();
    }
    while number.is_multiple_of(1024)
        && let Some(larger) = units.next()
    {
        number /= 1024;
        unit = larger;
    }
    format!("{number}{unit}")
}

fn conditions(network: bool, old: Option<&Node>, now: Timestamp) -> Vec<NodeCondition> {
    const NO_NETWORK: &str = "container runtime network not ready: NetworkReady=false \
         reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized";
    let ready = if network {
        ("True", "KubeletReady", "kubelet is posting ready status")
    } else {
        ("False", "KubeletNotReady", NO_NETWORK)
    };
    let claims = [
        ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
        ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
        ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
        ("Ready", ready.0, ready.1, ready.2),
    ];
    let old = old.and_then(|node| node.status.as_ref()?.conditions.as_ref());
    let since = |kind: &str, status: &str| {
        let same = old.into_iter().flatten().find(|old| old.type_ == kind && old.status == status);
        same.and_then(|old| old.last_transition_time.clone()).unwrap_or(Time(now))
    };
    claims
        .into_iter()
        .map(|(kind, status, reason, message)| NodeCondition {
            type_: kind.to_owned(),
            status: status.to_owned(),
            reason: Some(reason.to_owned()),
            message: Some(message.to_owned()),
            last_heartbeat_time: Some(Time(now)),
            last_transition_time: Some(since(kind, status)),
        })
        .collect()
}

/// True when a Node tells something else than the wanted status, heartbeat aside.
pub(super) fn differs(node: &Node, wanted: &NodeStatus) -> bool {
    let Some(has) = &node.status else { return true };
    let says = |status: &NodeStatus, wanted: &NodeCondition| {
        status.conditions.iter().flatten().any(|condition| {
            condition.type_ == wanted.type_
                && condition.status == wanted.status
                && condition.reason == wanted.reason
        })
    };
    has.addresses != wanted.addresses
        || has.capacity != wanted.capacity
        || has.daemon_endpoints != wanted.daemon_endpoints
        || has.node_info != wanted.node_info
        || !wanted.conditions.iter().flatten().all(|condition| says(has, condition))
}

/// The lease of a node.
pub(super) fn lease(node_name: &str, node_uid: &str, now: Timestamp) -> Lease {
    Lease {
        metadata: ObjectMeta {
            name: Some(node_name.to_owned()),
            namespace: Some(LEASE_NAMESPACE.to_owned()),
            owner_references: Some(vec![OwnerReference {
                api_version: "v1".to_owned(),
                kind: "Node".to_owned(),
                name: node_name.to_owned(),
                uid: node_uid.to_owned(),
                ..OwnerReference::default()
            }]),
            ..ObjectMeta::default()
        },
        spec: Some(LeaseSpec {
            holder_identity: Some(node_name.to_owned()),
            lease_duration_seconds: Some(LEASE_SECONDS),
            renew_time: Some(MicroTime(now)),
            ..LeaseSpec::default()
        }),
    }
}

/// What Kubernetes calls this machine's processor.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("pool", true)]
    #[case("example.com/pool", true)]
    #[case("kubernetes.io/hostname", true)]
    #[case("node.kubernetes.io/anything", true)]
    #[case("a.kubelet.kubernetes.io/b", true)]
    #[case("node-role.kubernetes.io/control-plane", false)]
    #[case("node-restriction.kubernetes.io/team", false)]
    #[case("some.k8s.io/label", false)]
    #[case("notkubernetes.io/label", true)]
    fn a_node_may_not_give_itself_every_label(#[case] label: &str, #[case] open: bool) {
        assert_eq!(is_open(label), open);
    }

    #[rstest]
    #[case(0, "0")]
    #[case(1023, "0")]
    #[case(8 << 30, "8Gi")]
    #[case(7680 << 20, "7680Mi")]
    #[case((8 << 30) / 10 * 9, "7549747Ki")]
    #[case(5 << 40, "5Ti")]
    fn bytes_are_written_as_the_api_server_does(#[case] number: u64, #[case] text: &str) {
        assert_eq!(bytes(number), text);
    }

    #[test]
    fn a_condition_keeps_its_time_until_it_changes() {
        let [first, second, third]: [Timestamp; 3] =
            ["2026-01-01T00:00:00Z", "2026-01-01T00:05:00Z", "2026-01-01T00:10:00Z"]
                .map(|time| time.parse().unwrap());
        let with = |conditions| Node {
            status: Some(NodeStatus { conditions: Some(conditions), ..NodeStatus::default() }),
            ..Node::default()
        };
        let ready = |list: &[NodeCondition]| list.iter().find(|c| c.type_ == "Ready").cloned().unwrap();
        let node = with(conditions(false, None, first));
        let later = conditions(false, Some(&node), second);
        assert_eq!(ready(&later).last_transition_time, Some(Time(first)));
        assert_eq!(ready(&later).last_heartbeat_time, Some(Time(second)));
        assert_eq!(ready(&later).reason.as_deref(), Some("KubeletNotReady"));
        let last = conditions(true, Some(&with(later)), third);
        assert_eq!(ready(&last).status, "True");
        assert_eq!(ready(&last).last_transition_time, Some(Time(third)));
        let memory = last.iter().find(|c| c.type_ == "MemoryPressure").unwrap();
        assert_eq!(memory.last_transition_time, Some(Time(first)));
    }
}
