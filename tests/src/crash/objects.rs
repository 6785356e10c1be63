//! Objects of a cluster without what differs between two clusters that were made the same way.
//!
//! | left out or replaced | because |
//! |---|---|
//! | `uid`, `resourceVersion`, `generation`, `observedGeneration`, `managedFields` | the API server counts and names; a second apply of the same content may count too |
//! | every time | it is another day |
//! | values of Secrets, certificates, `caBundle` | generated for each cluster; which keys there are is compared |
//! | `bootID`, `machineID`, `systemUUID` of nodes | each machine has its own |
//! | `clusterIP`, `clusterIPs`, `nodePort` of Services | the API server draws them |
//! | `podCIDR`, `podCIDRs` of nodes | given in the order in which nodes come, which is nobody's decision |
//! | `lastHeartbeatTime`, capacity in use, images | what a node reports from moment to moment |
//! | what [`Objects::replace`] was given | addresses and ids that the scenario knows by a better name |

use std::{collections::BTreeMap, sync::LazyLock};

use anyhow::{Context, Result};
use regex::Regex;
use serde_json::{Map, Value, json};

/// Keys that are left out wherever they stand.
const DROPPED: [&str; 10] = [
    "uid",
    "resourceVersion",
    "generation",
    "observedGeneration",
    "managedFields",
    "creationTimestamp",
    "bootID",
    "machineID",
    "systemUUID",
    "images",
];
/// Keys whose values are generated; that they are there is compared.
const GENERATED: [&str; 6] = ["caBundle", "clusterIP", "clusterIPs", "nodePort", "podCIDR", "podCIDRs"];

/// Brings objects into a form that can be compared.
#[derive(Clone, Debug, Default)]
pub struct Objects {
    replaced: Vec<(String, String)>,
}

impl Objects {
    /// Lets `name` stand wherever `text` does.
    pub fn replace(&mut self, text: impl Into<String>, name: impl Into<String>) {
        self.replaced.push((text.into(), name.into()));
        // The longest first: 127.40.0.10 begins with 127.40.0.1.
        self.replaced.sort_by_key(|(text, _)| std::cmp::Reverse(text.len()));
    }

    /// The items of a list by kind and name.
    pub fn of(&self, list: &Value) -> Result<BTreeMap<String, Value>> {
        let items = list["items"].as_array().context("no list of objects")?;
        Ok(items.iter().map(|item| (self.text(&key(item)), self.object(item))).collect())
    }

    /// One object.
    pub fn object(&self, object: &Value) -> Value {
        let mut object = object.clone();
        if object["kind"] == "Secret" {
            for key in ["data", "stringData"] {
                if let Some(data) = object.get_mut(key).and_then(Value::as_object_mut) {
                    data.values_mut().for_each(|value| *value = json!("[secret]"));
                }
            }
        }
        self.value(object)
    }

    fn value(&self, value: Value) -> Value {
        match value {
            Value::Object(map) => {
                let kept = map.into_iter().filter(|(key, _)| !DROPPED.contains(&key.as_str()));
                let kept = kept.map(|(key, value)| {
                    let value = match GENERATED.contains(&key.as_str()) {
                        true => json!("[generated]"),
                        false => self.value(value),
                    };
                    (self.text(&key), value)
                });
                Value::Object(kept.collect::<Map<_, _>>())
            }
            Value::Array(values) => Value::Array(values.into_iter().map(|value| self.value(value)).collect()),
            Value::String(text) => Value::String(self.text(&text)),
            other => other,
        }
    }

    fn text(&self, text: &str) -> String {
        #[expect(clippy::expect_used, reason = "the pattern is a constant")]
        static TIME: LazyLock<Regex> = LazyLock::new(|| {
            Regex::new(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)").expect("a valid pattern")
        });
        if text.contains("-----BEGIN CERTIFICATE-----") {
            return "[certificate]".to_owned();
        }
        let text = TIME.replace_all(text, "[time]").into_owned();
        self.replaced.iter().fold(text, |text, (from, to)| text.replace(from, to))
    }
}

fn key(object: &Value) -> String {
    let of = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    match of("/metadata/namespace").as_str() {
        "" => format!("{} {}", of("/kind"), of("/metadata/name")),
        namespace => format!("{} {namespace}/{}", of("/kind"), of("/metadata/name")),
    }
}

/// Where two states differ, in words.
pub fn differences(wanted: &BTreeMap<String, Value>, found: &BTreeMap<String, Value>) -> Vec<String> {
    let mut said = Vec::new();
    for (key, value) in wanted {
        match found.get(key) {
            None => said.push(format!("{key}: missing")),
            Some(other) => compare(key, value, other, &mut said),
        }
    }
    said.extend(
        found.keys().filter(|key| !wanted.contains_key(*key)).map(|key| format!("{key}: not expected")),
    );
    said
}

fn compare(at: &str, wanted: &Value, found: &Value, said: &mut Vec<String>) {
    match (wanted, found) {
        (Value::Object(wanted), Value::Object(found)) => {
            for (key, value) in wanted {
                compare(&format!("{at}.{key}"), value, found.get(key).unwrap_or(&Value::Null), said);
            }
            for (key, value) in found.iter().filter(|(key, _)| !wanted.contains_key(*key)) {
                compare(&format!("{at}.{key}"), &Value::Null, value, said);
            }
        }
        (Value::Array(wanted), Value::Array(found)) if wanted.len() == found.len() => {
            for (index, (wanted, found)) in wanted.iter().zip(found).enumerate() {
                compare(&format!("{at}[{index}]"), wanted, found, said);
            }
        }
        _ if wanted == found => {}
        _ => said.push(format!("{at}: wanted {wanted}, found {found}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(list: Value, objects: &Objects) -> BTreeMap<String, Value> {
        objects.of(&json!({ "items": [list] })).unwrap()
    }

    #[test]
    fn what_differs_between_two_clusters_is_not_compared_and_everything_else_is() {
        let object = |uid: &str, time: &str, ip: &str, phase: &str| {
            json!({
                "kind": "Machine", "metadata": { "name": "a", "namespace": "n", "uid": uid },
                "status": { "phase": phase, "since": time, "address": format!("{ip}:6443") },
            })
        };
        let mut one = Objects::default();
        one.replace("127.40.0.1", "[other]");
        one.replace("127.40.0.10", "[a]");
        let mut two = Objects::default();
        two.replace("127.41.7.33", "[a]");
        let wanted = state(object("1", "2026-01-01T00:00:00Z", "127.40.0.10", "Running"), &one);
        let same = state(object("2", "2027-01-01T00:00:00.5Z", "127.41.7.33", "Running"), &two);
        assert!(differences(&wanted, &same).is_empty(), "{wanted:?} {same:?}");
        let other = state(object("2", "2027-01-01T00:00:00Z", "127.41.7.33", "Failed"), &two);
        let said = differences(&wanted, &other);
        assert_eq!(said, [r#"Machine n/a.status.phase: wanted "Running", found "Failed""#]);
        let said = differences(&wanted, &BTreeMap::new());
        assert_eq!(said, ["Machine n/a: missing"]);
        assert_eq!(differences(&BTreeMap::new(), &wanted), ["Machine n/a: not expected"]);
    }

    #[test]
    fn a_secret_is_compared_by_its_keys() {
        let secret = |key: &str, value: &str| json!({ "kind": "Secret", "metadata": { "name": "s" }, "data": { key: value } });
        let objects = Objects::default();
        let wanted = state(secret("token", "eA=="), &objects);
        assert!(differences(&wanted, &state(secret("token", "eQ=="), &objects)).is_empty());
        assert_eq!(differences(&wanted, &state(secret("key", "eA=="), &objects)).len(), 2);
        assert!(!format!("{wanted:?}").contains("eA=="));
    }
}
