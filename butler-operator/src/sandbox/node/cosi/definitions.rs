//! The kinds of resources, and how `talosctl get` knows them by many words.

use prost::Message;
use serde_json::json;

use super::Object;
use crate::talos::proto::definitions::{
    NamespaceSpec, ResourceDefinitionSpec,
    resource_definition_spec::{PrintColumn, Sensitivity},
};

/// A kind of resource.
pub(super) struct Definition {
    pub(super) kind: &'static str,
    pub(super) namespace: &'static str,
    pub(super) sensitive: bool,
    aliases: &'static [&'static str],
    columns: &'static [(&'static str, &'static str)],
}

const fn plain(kind: &'static str, namespace: &'static str) -> Definition {
    Definition { kind, namespace, sensitive: false, aliases: &[], columns: &[] }
}

const fn with(
    kind: &'static str,
    namespace: &'static str,
    aliases: &'static [&'static str],
    columns: &'static [(&'static str, &'static str)],
) -> Definition {
    Definition { kind, namespace, sensitive: false, aliases, columns }
}

pub(super) const NAMESPACES: &[&str] = &[
    "meta",
    "runtime",
    "cluster",
    "cluster-raw",
    "config",
    "etcd",
    "files",
    "hardware",
    "k8s",
    "controlplane",
    "kubespan",
    "network",
    "network-config",
    "cri",
    "secrets",
    "perf",
];

pub(super) const RESOURCE_DEFINITIONS: &str = "ResourceDefinitions.meta.cosi.dev";
pub(super) const NAMESPACE_KIND: &str = "Namespaces.meta.cosi.dev";

pub(super) const ALL: &[Definition] = &[
    with(RESOURCE_DEFINITIONS, "meta", &["api-resources"], &[("Aliases", "{.aliases[:]}")]),
    plain(NAMESPACE_KIND, "meta"),
    with(
        "Members.cluster.talos.dev",
        "cluster",
        &[],
        &[
            ("Hostname", "{.hostname}"),
            ("Machine Type", "{.machineType}"),
            ("OS", "{.operatingSystem}"),
            ("Addresses", "{.addresses}"),
        ],
    ),
    with(
        "Infos.cluster.talos.dev",
        "cluster",
        &[],
        &[("Cluster ID", "{.clusterId}"), ("Cluster Name", "{.clusterName}")],
    ),
    with("Identities.cluster.talos.dev", "cluster", &[], &[("ID", "{.nodeId}")]),
    with(
        "MachineStatuses.runtime.talos.dev",
        "runtime",
        &[],
        &[("Stage", "{.stage}"), ("Ready", "{.status.ready}")],
    ),
    with(
        "SecurityStates.talos.dev",
        "runtime",
        &["securitystate"],
        &[("SecureBoot", "{.secureBoot}"), ("SELinuxState", "{.selinuxState}")],
    ),
    with(
        "Diagnostics.runtime.talos.dev",
        "runtime",
        &[],
        &[("Message", "{.message}"), ("Details", "{.details}")],
    ),
    with("MetaKeys.runtime.talos.dev", "runtime", &["meta"], &[("Value", "{.value}")]),
    with(
        "Services.v1alpha1.talos.dev",
        "runtime",
        &["svc"],
        &[("Running", "{.running}"), ("Healthy", "{.healthy}"), ("Health Unknown", "{.unknown}")],
    ),
    with("MachineTypes.config.talos.dev", "config", &[], &[("Type", "{}")]),
    Definition {
        kind: "MachineConfigs.config.talos.dev",
        namespace: "config",
        sensitive: true,
        aliases: &["mc"],
        columns: &[],
    },
    plain("KubeletSpecs.kubernetes.talos.dev", "k8s"),
    with(
        "StaticPodStatuses.kubernetes.talos.dev",
        "k8s",
        &["podstatus"],
        &[("Ready", "{.conditions[?(@.type==\"Ready\")].status}")],
    ),
    with("Nodenames.kubernetes.talos.dev", "k8s", &[], &[("Nodename", "{.nodename}")]),
    with(
        "HostnameStatuses.net.talos.dev",
        "network",
        &["hostname"],
        &[("Hostname", "{.hostname}"), ("Domainname", "{.domainname}")],
    ),
    with("NodeAddresses.net.talos.dev", "network", &[], &[("Addresses", "{.addresses}")]),
    with("ResolverStatuses.net.talos.dev", "network", &["resolvers"], &[("Resolvers", "{.dnsServers}")]),
    with(
        "TimeServerStatuses.net.talos.dev",
        "network",
        &["timeservers"],
        &[("Timeservers", "{.timeServers}")],
    ),
    with(
        "NetworkStatuses.net.talos.dev",
        "network",
        &["netstatus"],
        &[
            ("Address", "{.addressReady}"),
            ("Connectivity", "{.connectivityReady}"),
            ("Hostname", "{.hostnameReady}"),
            ("Etc", "{.etcFilesReady}"),
        ],
    ),
    with(
        "RouteStatuses.net.talos.dev",
        "network",
        &["route", "routes"],
        &[("Destination", "{.dst}"), ("Gateway", "{.gateway}"), ("Link", "{.outLinkName}")],
    ),
    with(
        "LinkStatuses.net.talos.dev",
        "network",
        &["link", "links"],
        &[("Hw Addr", "{.hardwareAddr}"), ("MTU", "{.mtu}"), ("Link State", "{.linkState}")],
    ),
    with(
        "SystemInformations.hardware.talos.dev",
        "hardware",
        &["systeminformation"],
        &[("Manufacturer", "{.manufacturer}"), ("ProductName", "{.productName}"), ("UUID", "{.uuid}")],
    ),
    plain("SiderolinkStatuses.siderolink.talos.dev", "config"),
    with(
        "VolumeStatuses.block.talos.dev",
        "runtime",
        &[],
        &[("Phase", "{.phase}"), ("Location", "{.location}"), ("Size", "{.prettySize}")],
    ),
    with(
        "Disks.block.talos.dev",
        "runtime",
        &[],
        &[
            ("Size", "{.prettySize}"),
            ("Read Only", "{.readonly}"),
            ("Model", "{.model}"),
            ("Serial", "{.serial}"),
        ],
    ),
    with("EtcdMembers.etcd.talos.dev", "etcd", &[], &[("ID", "{.memberID}")]),
];

/// The kind of this name.
pub(super) fn find(kind: &str) -> Option<&'static Definition> {
    ALL.iter().find(|definition| definition.kind == kind)
}

/// Everything of the namespace `meta`.
pub(super) fn objects() -> Vec<Object> {
    let namespaces = NAMESPACES.iter().map(|name| Object {
        namespace: "meta",
        kind: NAMESPACE_KIND,
        id: (*name).to_owned(),
        proto: NamespaceSpec { description: String::new() }.encode_to_vec(),
        yaml: "description: \"\"\n".to_owned(),
    });
    namespaces.chain(ALL.iter().map(definition)).collect()
}

fn definition(definition: &Definition) -> Object {
    let spec = spec(definition);
    let yaml = json!({
        "type": spec.resource_type,
        "displayType": spec.display_type,
        "aliases": spec.aliases,
        "allAliases": spec.all_aliases,
        "printColumns": spec.print_columns.iter().map(|column| json!({
            "name": column.name, "jsonPath": column.json_path,
        })).collect::<Vec<_>>(),
        "defaultNamespace": spec.default_namespace,
        "sensitivity": if definition.sensitive { "sensitive" } else { "" },
    });
    Object {
        namespace: "meta",
        kind: RESOURCE_DEFINITIONS,
        id: definition.kind.to_lowercase(),
        proto: spec.encode_to_vec(),
        yaml: super::resources::yaml(&yaml),
    }
}

fn spec(definition: &Definition) -> ResourceDefinitionSpec {
    let (plural, suffix) = definition.kind.split_once('.').unwrap_or((definition.kind, ""));
    let singular = singular(plural);
    let mut aliases: Vec<String> = definition.aliases.iter().map(|alias| (*alias).to_owned()).collect();
    let mut add = |alias: String| {
        if !aliases.contains(&alias) {
            aliases.push(alias);
        }
    };
    add(singular.to_lowercase());
    let initials: String = singular.chars().filter(char::is_ascii_uppercase).collect();
    if initials.len() > 1 {
        add(initials.to_lowercase());
        if !initials.ends_with('S') {
            add(format!("{}s", initials.to_lowercase()));
        }
    }
    let lower = plural.to_lowercase();
    let mut all = vec![lower.clone()];
    let parts: Vec<&str> = suffix.split('.').collect();
    all.extend((1..parts.len()).map(|count| format!("{lower}.{}", parts[..count].join("."))));
    all.extend(aliases.iter().cloned());
    ResourceDefinitionSpec {
        resource_type: definition.kind.to_owned(),
        display_type: singular,
        default_namespace: definition.namespace.to_owned(),
        aliases,
        all_aliases: all,
        print_columns: definition
            .columns
            .iter()
            .map(|(name, path)| PrintColumn { name: (*name).to_owned(), json_path: (*path).to_owned() })
            .collect(),
        sensitivity: if definition.sensitive { Sensitivity::Sensitive } else { Sensitivity::NonSensitive }
            .into(),
    }
}

fn singular(plural: &str) -> String {
    if let Some(stem) = plural.strip_suffix("ies") {
        return format!("{stem}y");
    }
    for ending in ["uses", "sses"] {
        if plural.ends_with(ending) {
            return plural[..plural.len() - 2].to_owned();
        }
    }
    plural.strip_suffix('s').unwrap_or(plural).to_owned()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_kind_has_words_of_its_own() {
        let mut words = BTreeSet::new();
        for definition in ALL {
            for word in spec(definition).all_aliases {
                // Initials may mean two kinds, as on Talos; talosctl then asks for a longer word.
                assert!(words.insert(word.clone()) || word.len() <= 3, "two kinds are called {word}");
            }
        }
        for word in [
            "members",
            "member",
            "mc",
            "machinestatus",
            "ms",
            "nodeaddresses",
            "nodeaddress",
            "rd",
            "staticpodstatus",
        ] {
            assert!(words.contains(word), "{word}");
        }
    }
}
