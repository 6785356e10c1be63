//! JSON Schema of the configuration, made from the table of keys, for editors and other programs.

use serde_json::{Map, Value, json};

use super::keys::{Key, ROOT, Shape};
use crate::api::common::ProviderKind;

/// The schema: draft 2020-12.
pub fn schema() -> Value {
    let mut schema = object(ROOT);
    let head = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://butler.butlerlabs.dev/schemas/bootstrap.json",
        "title": "Butler bootstrap configuration",
        "$defs": { "secretReference": reference() },
        "allOf": providers().into_iter().chain(sizes()).collect::<Vec<_>>(),
    });
    if let (Value::Object(schema), Value::Object(head)) = (&mut schema, head) {
        schema.extend(head);
    }
    schema
}

fn object(keys: &[Key]) -> Value {
    let properties: Map<String, Value> =
        keys.iter().map(|key| (key.name.to_owned(), property(key))).collect();
    let required: Vec<&str> = keys.iter().filter(|key| key.required).map(|key| key.name).collect();
    let mut schema = json!({ "type": "object", "properties": properties, "additionalProperties": false });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

fn property(key: &Key) -> Value {
    let mut schema = shape(key.shape, key.may_be_empty);
    schema["description"] = json!(key.doc);
    if let Some(default) = key.default.and_then(|text| serde_json::from_str::<Value>(text).ok()) {
        schema["default"] = default;
    }
    schema
}

fn shape(shape: Shape, may_be_empty: bool) -> Value {
    match shape {
        Shape::Text(format) => match format.pattern() {
            Some(pattern) if may_be_empty => json!({ "type": "string", "pattern": format!("^$|{pattern}") }),
            Some(pattern) => json!({ "type": "string", "pattern": pattern }),
            None if may_be_empty => json!({ "type": "string" }),
            None => json!({ "type": "string", "minLength": 1 }),
        },
        Shape::Choice(values) => json!({ "type": "string", "enum": values }),
        Shape::Integer(min, max) if max >= i64::from(i32::MAX) => {
            json!({ "type": "integer", "minimum": min })
        }
        Shape::Integer(min, max) => json!({ "type": "integer", "minimum": min, "maximum": max }),
        Shape::Flag => json!({ "type": "boolean" }),
        Shape::File => json!({ "type": "string", "minLength": 1 }),
        Shape::Secret | Shape::Identity => json!({
            "oneOf": [{ "type": "string", "minLength": 1 }, { "$ref": "#/$defs/secretReference" }],
        }),
        Shape::List(item) => json!({ "type": "array", "items": self::shape(*item, false) }),
        Shape::Object(keys) => object(keys),
        Shape::Refused(_) => json!({ "not": {}, "deprecated": true }),
    }
}

fn reference() -> Value {
    let place = |name: &str, doc: &str, pattern: &str| {
        json!({
            "type": "object",
            "properties": { name: { "type": "string", "pattern": pattern, "description": doc } },
            "required": [name],
            "additionalProperties": false,
        })
    };
    json!({
        "description": "Where a secret is.",
        "oneOf": [
            place("env", "Environment variable that holds it.", "^[A-Za-z_][A-Za-z0-9_]*$"),
            place("file", "File that holds it; only its owner may be able to read it.", "."),
            place("keyring", "Account of its entry in the keyring; the service is `butler`.", "."),
        ],
    })
}

/// What is needed of machines where there are several of them.
fn sizes() -> [Value; 2] {
    let is_ha = json!({ "not": { "const": "single-node" } });
    let cluster = |keys: Value| json!({ "properties": { "cluster": { "properties": keys } } });
    [
        json!({
            "if": cluster(json!({ "topology": is_ha })),
            "then": cluster(json!({ "controlPlane": { "required": ["replicas"] } })),
        }),
        json!({
            "if": cluster(json!({
                "topology": is_ha,
                "workers": { "properties": { "replicas": { "not": { "const": 0 } } } },
            })),
            "then": cluster(json!({ "workers": { "required": ["cpu", "memoryMB", "diskGB"] } })),
        }),
    ]
}

/// The block that goes with each provider, and no other.
fn providers() -> Vec<Value> {
    let rule = |provider: &&str| {
        let needs_block =
            !matches!(ProviderKind::from(*provider), ProviderKind::Local | ProviderKind::Sandbox);
        let others: Vec<&str> =
            ProviderKind::VALUES.iter().copied().filter(|other| other != provider).collect();
        let others: Map<String, Value> =
            others.iter().map(|other| ((*other).to_owned(), json!(false))).collect();
        let mut then = json!({ "properties": { "providerConfig": { "properties": others } } });
        if needs_block {
            then["required"] = json!(["providerConfig"]);
            then["properties"]["providerConfig"]["required"] = json!([provider]);
        }
        json!({
            "if": { "properties": { "provider": { "const": provider } }, "required": ["provider"] },
            "then": then,
        })
    };
    ProviderKind::VALUES.iter().map(rule).collect()
}
