//! Decisions about configurations: what is one, and what a change of one asks for.

use std::collections::BTreeSet;

use butler_core::redact::Secret;
use serde_json::Value;
use tonic::Status;

use crate::talos::{
    config::{MachineConfig, MachineType},
    proto::machine::apply_configuration_request::Mode,
};

/// A configuration: the text as it was given, and what it says.
#[derive(Debug)]
pub(super) struct Config {
    pub(super) text: Secret,
    pub(super) machine: MachineConfig,
    /// The documents as plain values, the main one first.
    values: Vec<Value>,
}

/// What was given.
#[derive(Debug)]
pub(super) enum Given {
    Complete(Box<Config>),
    /// Documents without the main one: the node goes on waiting.
    Partial,
}

const TOP: &[&str] = &["version", "debug", "persist", "machine", "cluster"];
const MACHINE: &[&str] = &[
    "type",
    "token",
    "ca",
    "acceptedCAs",
    "certSANs",
    "controlPlane",
    "kubelet",
    "pods",
    "network",
    "disks",
    "install",
    "files",
    "env",
    "time",
    "sysctls",
    "sysfs",
    "registries",
    "systemDiskEncryption",
    "features",
    "udev",
    "logging",
    "kernel",
    "seccompProfiles",
    "baseRuntimeSpecOverrides",
    "nodeLabels",
    "nodeAnnotations",
    "nodeTaints",
];
const CLUSTER: &[&str] = &[
    "id",
    "secret",
    "controlPlane",
    "clusterName",
    "network",
    "token",
    "aescbcEncryptionSecret",
    "secretboxEncryptionSecret",
    "ca",
    "acceptedCAs",
    "aggregatorCA",
    "serviceAccount",
    "apiServer",
    "controllerManager",
    "proxy",
    "scheduler",
    "discovery",
    "etcd",
    "coreDNS",
    "externalCloudProvider",
    "extraManifests",
    "extraManifestHeaders",
    "inlineManifests",
    "adminKubeconfig",
    "allowSchedulingOnMasters",
    "allowSchedulingOnControlPlanes",
];
/// What of `machine` may change while the node runs.
const LIVE: &[&str] = &[
    "ca",
    "acceptedCAs",
    "certSANs",
    "time",
    "install",
    "network",
    "sysfs",
    "sysctls",
    "logging",
    "controlPlane",
    "kubelet",
    "kernel",
    "registries",
    "pods",
    "seccompProfiles",
    "nodeLabels",
    "nodeAnnotations",
    "nodeTaints",
];
const LIVE_FEATURES: &[&str] =
    &["kubernetesTalosAPIAccess", "kubePrism", "hostDNS", "imageCache", "nodeAddressSortAlgorithm"];

impl Config {
    /// Reads what was given. The error is the text a node would answer.
    pub(super) fn read(bytes: &[u8]) -> Result<Given, String> {
        let text = std::str::from_utf8(bytes).map_err(|_| "the configuration is not text".to_owned())?;
        let options = serde_saphyr::options! { strict_booleans: true };
        let values: Vec<Value> =
            serde_saphyr::from_multiple_with_options(text, options).map_err(|error| {
                // The place, never the line itself: it may hold a key.
                let place = error.location().map(|place| format!("line {}: ", place.line()));
                format!("yaml: {}not a valid document", place.unwrap_or_default())
            })?;
        let values: Vec<Value> = values.into_iter().filter(|value| !value.is_null()).collect();
        let (mains, others): (Vec<Value>, Vec<Value>) =
            values.into_iter().partition(|value| value.get("kind").is_none());
        for other in &others {
            if other.get("apiVersion").and_then(Value::as_str) != Some("v1alpha1") {
                return Err("\"apiVersion\" is not v1alpha1".to_owned());
            }
        }
        let mut seen = BTreeSet::new();
        for other in &others {
            let word = |key| other.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
            if !seen.insert((word("kind"), word("name"))) {
                return Err(format!("duplicate document: v1alpha1/{}", word("kind")));
            }
        }
        if mains.is_empty() {
            return if others.is_empty() {
                Err("no configuration documents are provided".to_owned())
            } else {
                Ok(Given::Partial)
            };
        }
        let unknown = unknown_keys(&mains[0]);
        if !unknown.is_empty() {
            return Err(format!("unknown keys found during decoding:\n{}", unknown.join("\n")));
        }
        let text = Secret::from(text);
        let machine =
            MachineConfig::from_yaml(&text).map_err(|error| format!("v1alpha1.Config: {}", full(&error)))?;
        let values = mains.into_iter().chain(others).collect();
        Ok(Given::Complete(Box::new(Self { text, machine, values })))
    }

    /// True for a control plane.
    pub(super) fn is_control_plane(&self) -> bool {
        self.machine.main.machine.machine_type == MachineType::ControlPlane
    }

    /// What of the change needs a reboot, if anything does.
    pub(super) fn needs_reboot(&self, new: &Self) -> Option<String> {
        let (old, new) = (self.values.first()?, new.values.first()?);
        let differ = |path: &[&str]| {
            let at = |value: &Value| path.iter().fold(value.clone(), |value, key| value[*key].clone());
            at(old) != at(new)
        };
        let keys = MACHINE.iter().filter(|key| !LIVE.contains(key) && **key != "features");
        let mut changed: Vec<String> =
            keys.filter(|key| differ(&["machine", key])).map(|key| format!(".machine.{key}")).collect();
        let features = |value: &Value| match &value["machine"]["features"] {
            Value::Object(map) => map
                .iter()
                .filter(|(key, _)| !LIVE_FEATURES.contains(&key.as_str()))
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect(),
            _ => Vec::new(),
        };
        if features(old) != features(new) {
            changed.push(".machine.features".to_owned());
        }
        if differ(&["persist"]) {
            changed.push(".persist".to_owned());
        }
        (!changed.is_empty()).then(|| {
            format!("this config change can't be applied in immediate mode\ndiff: {}", changed.join(", "))
        })
    }

    /// The paths that differ, never the values: they may be keys.
    pub(super) fn diff(&self, new: &Self) -> String {
        let mut paths = Vec::new();
        let length = self.values.len().max(new.values.len());
        for index in 0..length {
            let at = |values: &[Value]| values.get(index).cloned().unwrap_or(Value::Null);
            differing(&at(&self.values), &at(&new.values), "", &mut paths);
        }
        if paths.is_empty() { "No changes.".to_owned() } else { paths.join("\n") }
    }
}

/// How a change is made.
pub(super) struct Applied {
    pub(super) mode: Mode,
    pub(super) details: String,
}

/// Decides how a configured node takes a new configuration.
pub(super) fn decide(old: &Config, new: &Config, mode: Mode) -> Result<Applied, Status> {
    let without = "Applied configuration without a reboot".to_owned();
    let with = "Applied configuration with a reboot".to_owned();
    let blocked = old.needs_reboot(new);
    Ok(match (mode, blocked) {
        (Mode::Auto, None) => Applied { mode: Mode::NoReboot, details: without },
        (Mode::Auto, Some(why)) => Applied { mode: Mode::Reboot, details: format!("{with}: {why}") },
        (Mode::NoReboot | Mode::Try, Some(why)) => return Err(Status::invalid_argument(why)),
        (Mode::NoReboot | Mode::Try, None) => Applied { mode, details: without },
        (Mode::Staged, _) => {
            Applied { mode, details: "Staged configuration to be applied after the next reboot".to_owned() }
        }
        (Mode::Reboot, _) => Applied { mode, details: with },
    })
}

fn unknown_keys(main: &Value) -> Vec<String> {
    let check = |value: &Value, known: &[&str], prefix: &str| -> Vec<String> {
        let Value::Object(map) = value else { return Vec::new() };
        let unknown = map.keys().filter(|key| !known.contains(&key.as_str()));
        unknown.map(|key| format!("{prefix}{key}")).collect()
    };
    let mut unknown = check(main, TOP, "");
    unknown.extend(check(&main["machine"], MACHINE, "machine."));
    unknown.extend(check(&main["cluster"], CLUSTER, "cluster."));
    unknown
}

fn differing(old: &Value, new: &Value, path: &str, paths: &mut Vec<String>) {
    match (old, new) {
        (Value::Object(one), Value::Object(two)) => {
            let keys: BTreeSet<_> = one.keys().chain(two.keys()).collect();
            for key in keys {
                let null = Value::Null;
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                differing(one.get(key).unwrap_or(&null), two.get(key).unwrap_or(&null), &path, paths);
            }
        }
        (one, two) if one != two => {
            let sign = match (one.is_null(), two.is_null()) {
                (true, _) => '+',
                (_, true) => '-',
                _ => '~',
            };
            paths.push(format!("{sign} {path}"));
        }
        _ => {}
    }
}

/// An error with its causes.
pub(super) fn full(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        next = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    fn bundle() -> &'static crate::talos::secrets::SecretsBundle {
        static BUNDLE: std::sync::OnceLock<crate::talos::secrets::SecretsBundle> = std::sync::OnceLock::new();
        BUNDLE.get_or_init(|| crate::talos::secrets::SecretsBundle::generate(jiff::Timestamp::now()).unwrap())
    }

    fn worker(more: &str) -> String {
        let ca = {
            use base64::Engine;
            base64::engine::general_purpose::STANDARD.encode(&bundle().certs.os.crt)
        };
        format!(
            "version: v1alpha1\nmachine:\n  type: worker\n  token: a\n  ca: {{crt: {ca}, key: ''}}\n{more}\
             cluster:\n  controlPlane: {{endpoint: 'https://10.0.0.1:6443'}}\n"
        )
    }

    fn read(text: &str) -> Config {
        match Config::read(text.as_bytes()) {
            Ok(Given::Complete(config)) => *config,
            other => panic!("{other:?}"),
        }
    }

    #[rstest]
    #[case("a: [", "yaml:")]
    #[case("", "no configuration documents")]
    #[case("version: v1alpha1\nmachin: {}\n", "unknown keys found during decoding:\nmachin")]
    #[case("version: v1alpha1\nmachine: {typ: worker}\n", "machine.typ")]
    #[case("version: v1alpha1\nmachine: {type: worker}\n", "v1alpha1.Config: ")]
    #[case("apiVersion: v2\nkind: HostnameConfig\n", "apiVersion")]
    #[case(
        "apiVersion: v1alpha1\nkind: HostnameConfig\n---\napiVersion: v1alpha1\nkind: HostnameConfig\n",
        "duplicate document"
    )]
    fn what_is_no_configuration_is_refused(#[case] text: &str, #[case] words: &str) {
        let error = Config::read(text.as_bytes()).unwrap_err();
        assert!(error.contains(words), "{error}");
    }

    #[test]
    fn documents_without_the_main_one_are_partial() {
        let given = Config::read(b"apiVersion: v1alpha1\nkind: HostnameConfig\nhostname: a\n");
        assert!(matches!(given, Ok(Given::Partial)), "{given:?}");
    }

    #[rstest]
    #[case("  nodeLabels: {a: b}\n", Mode::NoReboot)]
    #[case("  env: {a: b}\n", Mode::Reboot)]
    #[case("  features: {kubePrism: {enabled: true}}\n", Mode::NoReboot)]
    #[case("  features: {rbac: true}\n", Mode::Reboot)]
    fn the_change_decides_whether_to_reboot(#[case] more: &str, #[case] expected: Mode) {
        let (old, new) = (read(&worker("")), read(&worker(more)));
        assert_eq!(decide(&old, &new, Mode::Auto).unwrap().mode, expected);
        assert_eq!(decide(&old, &new, Mode::NoReboot).is_err(), expected == Mode::Reboot);
        assert_ne!(old.diff(&new), "No changes.");
        assert_eq!(old.diff(&old), "No changes.");
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            prop_assert!(!matches!(Config::read(&bytes), Ok(Given::Complete(_))));
        }

        #[test]
        fn any_piece_of_a_configuration_is_read_or_refused(cut in 0_usize..400) {
            let text = worker("");
            let _ = Config::read(&text.as_bytes()[..cut.min(text.len())]);
        }
    }
}
