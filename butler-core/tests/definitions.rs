//! The definitions we generate say the same as those of existing installations.
//!
//! `data/crds` holds the latter without their descriptions. Both sides are flattened into facts, one
//! line each (`schema.spec.workers.replicas.minimum = 1`), so that a failure reads as a list of facts.
#![expect(clippy::unwrap_used, reason = "this file is a test, its helpers included")]

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use butler_core::api::{KINDS, all_crds};
use rstest::rstest;
use serde_json::{Value, json};

/// Where we differ on purpose: the kind, the beginning of the facts, and why.
const ACCEPTED: &[(&str, &str, &str)] = &[
    (
        "ClusterBootstrap",
        "schema.spec.provider.enum",
        "one value more: `sandbox`, simulated machines that existing installations do not have",
    ),
    ("ClusterCreationPolicy", "schema.spec.targetProviders[].enum", "as for ClusterBootstrap"),
    ("ProviderConfig", "schema.spec.provider.enum", "as for ClusterBootstrap"),
    (
        "TenantCluster",
        "columns.05 Namespace.",
        "with the columns below, one server-side table without objects answers `butlerctl cluster list`",
    ),
    ("TenantCluster", "columns.06 Environment.", "as for Namespace"),
    ("TenantCluster", "columns.07 Ready Workers.", "as for Namespace"),
    ("TenantCluster", "columns.08 Desired Workers.", "as for Namespace"),
    ("TenantCluster", "columns.09 Spec Workers.", "as for Namespace"),
    ("TenantCluster", "columns.10 Provider.", "as for Namespace"),
    ("TenantCluster", "columns.11 Tenant Namespace.", "as for Namespace"),
    (
        "TenantCluster",
        "columns.12 Created.",
        "as for Namespace; the age column is rounded, sorting needs the time",
    ),
    (
        "User",
        "schema.status.phase.",
        "the same enumeration twice in an `allOf` is here said once; both allow the same values",
    ),
];

type Facts = BTreeMap<String, String>;

#[test]
fn definitions_say_the_same_as_those_of_existing_installations() {
    let mut unexpected = Vec::new();
    let mut unused: BTreeSet<_> = ACCEPTED.iter().collect();
    for crd in all_crds() {
        let kind = crd.spec.names.kind.as_str();
        let ours = serde_json::to_value(&crd).unwrap();
        for (fact, difference) in differences(&facts(&reference(kind)), &facts(&ours)) {
            match ACCEPTED.iter().find(|(of, prefix, _)| *of == kind && fact.starts_with(prefix)) {
                Some(accepted) => _ = unused.remove(accepted),
                None => unexpected.push(format!("{kind} {fact}: {difference}")),
            }
        }
    }
    assert!(unexpected.is_empty(), "not accepted:\n{}", unexpected.join("\n"));
    assert!(unused.is_empty(), "accepted, but no longer a difference: {unused:#?}");
}

#[test]
fn every_reference_has_a_kind() {
    let files = std::fs::read_dir(data()).unwrap();
    let names: BTreeSet<_> = files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(names, KINDS.iter().map(|kind| format!("{kind}.json")).collect());
}

/// The comparison is only worth something if it sees each sort of difference.
#[rstest]
#[case::group("/spec/group", json!("example.com"), "group")]
#[case::scope("/spec/scope", json!("Cluster"), "scope")]
#[case::short_name("/spec/names/shortNames", json!(["cluster"]), "names.shortNames")]
#[case::category("/spec/names/categories", json!(["all"]), "names.categories")]
#[case::version("/spec/versions/0/name", json!("v1"), "version.name")]
#[case::storage("/spec/versions/0/storage", json!(false), "version.storage")]
#[case::subresource("/spec/versions/0/subresources", json!({}), "subresources.status")]
#[case::column("/spec/versions/0/additionalPrinterColumns/0/jsonPath", json!(".phase"), "columns.00 Phase.jsonPath")]
#[case::property("~properties~spec~properties~teamRef", json!(null), "schema.spec.teamRef.type")]
#[case::type_("~properties~spec~properties~teamRef~type", json!("string"), "schema.spec.teamRef.type")]
#[case::format("~properties~spec~properties~workers~properties~replicas~format", json!("int64"), "schema.spec.workers.replicas.format")]
#[case::bound("~properties~spec~properties~workers~properties~replicas~minimum", json!(0), "schema.spec.workers.replicas.minimum")]
#[case::required("~properties~spec~required", json!(["workers"]), "schema.spec.required")]
#[case::enumeration("~properties~status~properties~phase~enum", json!(["Ready"]), "schema.status.phase.enum")]
#[case::default("~properties~spec~properties~networking~properties~podCIDR~default", json!("10.0.0.0/8"), "schema.spec.networking.podCIDR.default")]
#[case::pattern("~properties~spec~properties~kubernetesVersion~pattern", json!("^v"), "schema.spec.kubernetesVersion.pattern")]
#[case::rule("~x-kubernetes-validations", json!([{ "rule": "true" }]), "schema.x-kubernetes-validations")]
#[case::list_type("~properties~status~properties~conditions~x-kubernetes-list-type", json!("atomic"), "schema.status.conditions.x-kubernetes-list-type")]
#[case::nullable("~properties~spec~properties~teamRef~nullable", json!(true), "schema.spec.teamRef.nullable")]
#[case::free_object("~properties~spec~properties~addons~properties~cni~properties~values~x-kubernetes-preserve-unknown-fields", json!(false), "schema.spec.addons.cni.values.x-kubernetes-preserve-unknown-fields")]
fn a_difference_is_seen(#[case] place: &str, #[case] value: Value, #[case] fact: &str) {
    let reference = reference("TenantCluster");
    let mut changed = reference.clone();
    // `~` starts at the schema: the way to it is long.
    let pointer = match place.strip_prefix('~') {
        Some(rest) => format!("/spec/versions/0/schema/openAPIV3Schema/{}", rest.replace('~', "/")),
        None => place.to_owned(),
    };
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    let parent = changed.pointer_mut(parent).unwrap().as_object_mut().unwrap();
    if value.is_null() {
        parent.remove(key).unwrap();
    } else {
        parent.insert(key.to_owned(), value);
    }
    let differences = differences(&facts(&reference), &facts(&changed));
    assert!(differences.contains_key(fact), "{differences:#?}");
}

fn data() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/crds")
}

fn reference(kind: &str) -> Value {
    let text = std::fs::read_to_string(data().join(format!("{kind}.json"))).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Facts that differ, with both sides of each.
fn differences(reference: &Facts, ours: &Facts) -> BTreeMap<String, String> {
    let side = |value: Option<&String>| value.map_or("nothing", String::as_str).to_owned();
    let names: BTreeSet<_> = reference.keys().chain(ours.keys()).collect();
    names
        .into_iter()
        .filter(|name| reference.get(*name) != ours.get(*name))
        .map(|name| {
            let sides = format!("reference has {}, ours {}", side(reference.get(name)), side(ours.get(name)));
            (name.clone(), sides)
        })
        .collect()
}

/// What a definition says, without its descriptions.
fn facts(crd: &Value) -> Facts {
    let mut facts = Facts::new();
    let spec = &crd["spec"];
    let kind = spec["names"]["kind"].as_str().unwrap();
    // The API server fills these in.
    let mut names = json!({ "listKind": format!("{kind}List"), "singular": kind.to_lowercase() });
    names.as_object_mut().unwrap().extend(spec["names"].as_object().unwrap().clone());
    flatten(&mut facts, "name", &crd["metadata"]["name"]);
    flatten(&mut facts, "group", &spec["group"]);
    flatten(&mut facts, "scope", &spec["scope"]);
    flatten(&mut facts, "names", &names);
    flatten(&mut facts, "conversion", &spec["conversion"]);
    for version in spec["versions"].as_array().unwrap() {
        for property in ["name", "served", "storage", "deprecated", "selectableFields"] {
            flatten(&mut facts, &format!("version.{property}"), &version[property]);
        }
        if let Some(subresources) = version["subresources"].as_object() {
            facts.extend(subresources.keys().map(|name| (format!("subresources.{name}"), "present".into())));
        }
        for (index, column) in version["additionalPrinterColumns"].as_array().unwrap().iter().enumerate() {
            let name = column["name"].as_str().unwrap();
            flatten(&mut facts, &format!("columns.{index:02} {name}"), column);
        }
        schema(&mut facts, "schema", &version["schema"]["openAPIV3Schema"]);
    }
    facts
}

/// Facts of a schema; the properties of an object follow its own path directly.
fn schema(facts: &mut Facts, path: &str, value: &Value) {
    for (key, value) in value.as_object().unwrap() {
        match key.as_str() {
            "properties" => {
                for (name, property) in value.as_object().unwrap() {
                    schema(facts, &format!("{path}.{name}"), property);
                }
            }
            "items" => schema(facts, &format!("{path}[]"), value),
            "additionalProperties" if value.is_object() => schema(facts, &format!("{path}{{}}"), value),
            _ => flatten(facts, &format!("{path}.{key}"), value),
        }
    }
}

fn flatten(facts: &mut Facts, path: &str, value: &Value) {
    match value {
        Value::Null => {}
        // Descriptions are the one thing in which everybody may differ.
        Value::String(_) if path.ends_with(".description") => {}
        Value::Object(object) => {
            object.iter().for_each(|(key, value)| flatten(facts, &format!("{path}.{key}"), value));
        }
        // Lists of names are sets: required, enum, short names, map keys.
        Value::Array(list) if list.iter().all(Value::is_string) => {
            let mut names: Vec<_> = list.iter().map(Value::to_string).collect();
            names.sort();
            if !names.is_empty() {
                facts.insert(path.to_owned(), names.join(" "));
            }
        }
        // 1 and 1.0 are the same bound.
        Value::Number(number) => _ = facts.insert(path.to_owned(), number.as_f64().unwrap().to_string()),
        Value::Array(_) | Value::Bool(_) | Value::String(_) => {
            facts.insert(path.to_owned(), value.to_string());
        }
    }
}
