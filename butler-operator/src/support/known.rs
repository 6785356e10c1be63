//! What is secret on this computer and in its cluster. Learnt before anything is written, never written itself.

use std::path::{Path, PathBuf};

use base64::{Engine, engine::general_purpose::STANDARD};
use butler_core::cluster::pages::Pages;
use serde_json::Value;

use super::{
    Scene,
    scrub::{Known, LAST_APPLIED, is_secret_name},
    within,
};

/// Files with more in them are no files of secrets.
const LARGEST: u64 = 4 << 20;
/// Charts of releases and other things that are not secrets, though Secrets hold them.
const NO_SECRETS: [&str; 1] = ["helm.sh/release.v1"];

/// Learns everything that is known to be secret, and says why the cluster's own secrets are not, if they are not.
pub(super) async fn learn(scene: &Scene<'_>) -> (Known, Result<(), String>) {
    let mut known = Known::default();
    of_environment(scene, &mut known);
    for run in &scene.runs {
        of_config(&run.config(), scene, &mut known);
        for path in files(&run.secrets()) {
            of_file(&path, true, &mut known);
        }
        of_file(&run.work().join("kubeconfig"), false, &mut known);
        of_file(&run.work().join("talosconfig"), false, &mut known);
        of_file(&run.temporary().join("kubeconfig"), false, &mut known);
    }
    for path in files(scene.home.dir()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.ends_with("-kubeconfig") || name.ends_with("-talosconfig") || name == "credentials.json" {
            of_file(&path, false, &mut known);
        }
    }
    let mut kubeconfigs = scene.environment.paths("KUBECONFIG");
    kubeconfigs.extend(scene.environment.path("HOME").map(|home| home.join(".kube/config")));
    kubeconfigs.extend(scene.home.sandboxes().into_iter().map(|dir| dir.join("kubeconfig")));
    kubeconfigs.iter().for_each(|path| of_file(path, false, &mut known));
    let cluster = within(of_cluster(scene, &mut known)).await;
    (known, cluster)
}

/// Values of variables that are called like secrets, and what stands before an `@`.
fn of_environment(scene: &Scene<'_>, known: &mut Known) {
    for (name, value) in scene.environment.vars() {
        let (name, value) = (name.to_string_lossy(), value.to_string_lossy());
        if is_secret_name(&name) {
            known.add(&value);
        }
        of_address(&value, known);
    }
}

/// Name and password of an address.
fn of_address(text: &str, known: &mut Known) {
    let Some((_, rest)) = text.split_once("://") else { return };
    let Some((user, _)) = rest.rsplit_once('@') else { return };
    if let Some((_, password)) = user.split_once(':') {
        known.add(password);
    }
}

/// A configuration: what stands in it as a secret, and what its references lead to.
fn of_config(path: &Path, scene: &Scene<'_>, known: &mut Known) {
    let Some(document) = document(path) else { return };
    known.add_document(&document, false);
    references(&document, path.parent().unwrap_or(Path::new("/")), scene, known);
}

fn references(value: &Value, dir: &Path, scene: &Scene<'_>, known: &mut Known) {
    match value {
        Value::Object(map) => {
            let only = |key: &str| map.get(key).and_then(Value::as_str).filter(|_| map.len() == 1);
            if let Some(value) = only("env").and_then(|name| scene.environment.get(name)) {
                known.add(value);
            }
            if let Some(text) = only("file").and_then(|file| read(&dir.join(file))) {
                known.add(&text);
            }
            map.values().for_each(|value| references(value, dir, scene, known));
        }
        Value::Array(values) => values.iter().for_each(|value| references(value, dir, scene, known)),
        Value::String(text) => of_address(text, known),
        _ => {}
    }
}

/// A file of credentials; with `all` every text in it is one.
fn of_file(path: &Path, all: bool, known: &mut Known) {
    let Some(document) = document(path) else {
        if let Some(text) = read(path).filter(|_| all) {
            known.add(&text);
        }
        return;
    };
    known.add_document(&document, all);
    decoded(&document, known);
}

/// Keys in base64, as they would stand elsewhere: in PEM.
fn decoded(value: &Value, known: &mut Known) {
    match value {
        Value::String(text) => {
            let bytes = STANDARD.decode(text.trim()).ok();
            if let Some(text) = bytes
                .and_then(|bytes| String::from_utf8(bytes).ok())
                .filter(|text| text.contains("PRIVATE KEY"))
            {
                known.add(&text);
                // Each line alone says what the key is.
                text.lines().filter(|line| !line.starts_with("-----")).for_each(|line| known.add(line));
            }
        }
        Value::Object(map) => map.values().for_each(|value| decoded(value, known)),
        Value::Array(values) => values.iter().for_each(|value| decoded(value, known)),
        _ => {}
    }
}

/// The values of every Secret in the cluster.
async fn of_cluster(scene: &Scene<'_>, known: &mut Known) -> Result<(), String> {
    let client = scene.client.as_ref().map_err(Clone::clone)?;
    let mut pages = Pages::new(client, "/api/v1/secrets".to_owned(), "list secrets".to_owned(), None);
    while let Some(items) = pages.next().await.map_err(|error| error.to_string())? {
        for item in items {
            let Ok(secret) = serde_json::from_str::<Value>(item.get()) else { continue };
            if secret["type"].as_str().is_some_and(|of| NO_SECRETS.contains(&of)) {
                continue;
            }
            of_secret(&secret, known);
            // What kubectl keeps of it may be older, and a secret still.
            let applied = secret["metadata"]["annotations"][LAST_APPLIED].as_str().unwrap_or_default();
            if let Ok(applied) = serde_json::from_str::<Value>(applied) {
                of_secret(&applied, known);
            }
        }
    }
    Ok(())
}

/// The values of a Secret, in clear or in base64.
fn of_secret(secret: &Value, known: &mut Known) {
    let texts = |key: &str| {
        let values = secret[key].as_object().into_iter().flat_map(|data| data.values());
        values.filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>()
    };
    let decoded_texts = texts("data").into_iter().filter_map(|text| {
        let bytes = STANDARD.decode(text).ok()?;
        String::from_utf8(bytes).ok()
    });
    for text in decoded_texts.chain(texts("stringData")) {
        known.add(&text);
        // It may be a kubeconfig, a bundle, an account of a cloud.
        if let Ok(document @ (Value::Object(_) | Value::Array(_))) = serde_saphyr::from_str::<Value>(&text) {
            known.add_document(&document, false);
            decoded(&document, known);
        }
    }
}

fn document(path: &Path) -> Option<Value> {
    let document = serde_saphyr::from_str::<Value>(&read(path)?).ok()?;
    (document.is_object() || document.is_array()).then_some(document)
}

fn read(path: &Path) -> Option<String> {
    let meta = std::fs::metadata(path).ok()?;
    if !meta.is_file() || meta.len() > LARGEST {
        return None;
    }
    std::fs::read_to_string(path).ok()
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.is_file()).collect()
}
