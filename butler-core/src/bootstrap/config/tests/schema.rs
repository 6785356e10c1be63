//! The schema against the examples, and against the table.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::*;
use crate::bootstrap::config::keys::{Key, ROOT, Shape};

/// The part of JSON Schema that ours uses. Anything else in a schema is a mistake here.
fn check(schema: &Value, root: &Value, value: &Value, path: &str, found: &mut Vec<String>) {
    let schema = match schema {
        Value::Bool(true) => return,
        Value::Bool(false) => return found.push(format!("{path}: nothing may stand here")),
        Value::Object(schema) => schema,
        other => panic!("no schema: {other}"),
    };
    let passes = |schema: &Value, value: &Value| {
        let mut below = Vec::new();
        check(schema, root, value, path, &mut below);
        below.is_empty()
    };
    for (keyword, rule) in schema {
        match keyword.as_str() {
            "$schema" | "$id" | "title" | "$defs" | "description" | "default" | "deprecated" | "then" => {}
            "$ref" => {
                let target = root.pointer(rule.as_str().unwrap().trim_start_matches('#')).unwrap();
                check(target, root, value, path, found);
            }
            "type" => {
                let fits = match rule.as_str().unwrap() {
                    "object" => value.is_object(),
                    "array" => value.is_array(),
                    "string" => value.is_string(),
                    "integer" => value.is_i64(),
                    "boolean" => value.is_boolean(),
                    other => panic!("type {other}"),
                };
                if !fits {
                    found.push(format!("{path}: not of type {rule}"));
                }
            }
            "properties" => {
                for (name, value) in value.as_object().into_iter().flatten() {
                    if let Some(schema) = rule.get(name) {
                        check(schema, root, value, &format!("{path}/{name}"), found);
                    }
                }
            }
            "additionalProperties" => {
                assert_eq!(rule, &json!(false));
                for name in value.as_object().into_iter().flatten().map(|(name, _)| name) {
                    if schema["properties"].get(name).is_none() {
                        found.push(format!("{path}/{name}: unknown"));
                    }
                }
            }
            "required" => {
                for name in rule.as_array().unwrap() {
                    if value.is_object() && value.get(name.as_str().unwrap()).is_none() {
                        found.push(format!("{path}: without {name}"));
                    }
                }
            }
            "items" => {
                for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                    check(rule, root, item, &format!("{path}/{index}"), found);
                }
            }
            "enum" => {
                if !rule.as_array().unwrap().contains(value) {
                    found.push(format!("{path}: not in the list"));
                }
            }
            "const" => {
                if rule != value {
                    found.push(format!("{path}: not {rule}"));
                }
            }
            "minimum" | "maximum" => {
                let (limit, number) = (rule.as_i64().unwrap(), value.as_i64().unwrap_or_default());
                let fits = if keyword == "minimum" { number >= limit } else { number <= limit };
                if value.is_i64() && !fits {
                    found.push(format!("{path}: outside"));
                }
            }
            "minLength" => {
                if value.as_str() == Some("") {
                    found.push(format!("{path}: empty"));
                }
            }
            "pattern" => {
                let pattern = regex::Regex::new(rule.as_str().unwrap()).unwrap();
                if value.as_str().is_some_and(|text| !pattern.is_match(text)) {
                    found.push(format!("{path}: does not match"));
                }
            }
            "oneOf" => {
                if rule.as_array().unwrap().iter().filter(|schema| passes(schema, value)).count() != 1 {
                    found.push(format!("{path}: not exactly one"));
                }
            }
            "allOf" => {
                rule.as_array().unwrap().iter().for_each(|schema| check(schema, root, value, path, found))
            }
            "not" => {
                if passes(rule, value) {
                    found.push(format!("{path}: refused"));
                }
            }
            "if" => {
                if passes(rule, value) {
                    check(&schema["then"], root, value, path, found);
                }
            }
            other => panic!("keyword {other}"),
        }
    }
}

fn violations(text: &str) -> Vec<String> {
    let value: Value = serde_saphyr::from_str(text).unwrap();
    let (schema, mut found) = (schema(), Vec::new());
    check(&schema, &schema, &value, "", &mut found);
    found
}

#[test]
fn every_example_follows_the_schema() {
    for (name, text) in examples() {
        assert_eq!(violations(&text), [] as [&str; 0], "{name}");
    }
    let few = with(MINIMAL, "replicas: 1, ", "");
    let none = with(NUTANIX, "{replicas: 2, cpu: 4, memoryMB: 8192, diskGB: 60}", "{replicas: 0}");
    for text in [MINIMAL, NUTANIX, &few, &none] {
        assert_eq!(violations(text), [] as [&str; 0]);
    }
}

#[test]
fn what_the_loader_refuses_the_schema_refuses_too() {
    for (old, new) in [
        ("provider: nutanix", "provider: nutanx"),
        ("topology: ha", "topology: HA"),
        ("topology: ha", "topolgy: ha"),
        ("  name: mgmt\n", ""),
        ("name: mgmt", "name: Mgmt"),
        ("replicas: 3", "replicas: 11"),
        ("replicas: 3, ", ""),
        ("replicas: 2, cpu: 4, ", "replicas: 2, "),
        ("workers: {replicas: 2, ", "workers: {"),
        ("replicas: 3", "replicas: '3'"),
        ("memoryMB: 8192", "memoryMB: 2047"),
        ("vip: 172.20.8.20", "vip: 172.20.8.20/24"),
        ("vip: 172.20.8.20", "mtu: 9001"),
        ("password: hunter2", "password: {enw: X}"),
        ("password: hunter2", "password: {env: X, file: Y}"),
        ("password: hunter2", "password: [x]"),
        ("    password: hunter2\n", ""),
        ("  nutanix:\n", "  aws: {region: x}\n  nutanix:\n"),
        ("network:\n", "addons: {console: {auth: {jwtSecret: x}}}\nnetwork:\n"),
        ("network:\n", "talos: {version: '1.12'}\nnetwork:\n"),
    ] {
        let text = with(NUTANIX, old, new);
        assert_ne!(violations(&text), [] as [&str; 0], "{new}");
        assert_ne!(told(&text), [] as [&str; 0], "{new}");
    }
}

/// Every path of the table.
fn known(keys: &[Key], path: &str, found: &mut BTreeSet<String>) {
    for key in keys {
        let path = format!("{path}/{}", key.name);
        let mut shape = key.shape;
        while let Shape::List(item) = shape {
            shape = *item;
        }
        if let Shape::Object(keys) = shape {
            known(keys, &path, found);
        }
        found.insert(path);
    }
}

/// Every path of the schema.
fn described(schema: &Value, path: &str, found: &mut BTreeSet<String>) {
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let path = format!("{path}/{name}");
        assert!(property["description"].as_str().is_some_and(|text| text.ends_with('.')), "{path}");
        let mut inner = property;
        while inner.get("items").is_some() {
            inner = &inner["items"];
        }
        described(inner, &path, found);
        found.insert(path);
    }
}

#[test]
fn the_schema_and_the_loader_know_the_same_keys() {
    let (mut in_table, mut in_schema) = (BTreeSet::new(), BTreeSet::new());
    known(ROOT, "", &mut in_table);
    described(&schema(), "", &mut in_schema);
    assert_eq!(in_table, in_schema);
}

/// Every default of the table follows its own schema.
fn defaults(schema: &Value, root: &Value, path: &str) {
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let path = format!("{path}/{name}");
        if let Some(default) = property.get("default") {
            let mut found = Vec::new();
            check(property, root, default, &path, &mut found);
            assert_eq!(found, [] as [&str; 0]);
        }
        defaults(property, root, &path);
    }
}

#[test]
fn defaults_are_values_that_may_be_written() {
    let schema = schema();
    defaults(&schema, &schema, "");
    fn count(keys: &[Key]) -> usize {
        keys.iter()
            .map(|key| {
                let below = if let Shape::Object(keys) = key.shape { count(keys) } else { 0 };
                if let Some(default) = key.default {
                    serde_json::from_str::<Value>(default).unwrap_or_else(|_| panic!("{}", key.name));
                }
                below + usize::from(key.default.is_some())
            })
            .sum()
    }
    assert!(count(ROOT) > 30);
}
