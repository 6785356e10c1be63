//! What a control plane puts into a new cluster: how nodes join it, and what the configuration adds.

use std::sync::Arc;

use kube::{
    Client,
    api::{Api, DynamicObject, Patch, PatchParams},
    core::GroupVersionKind,
    discovery,
};
use serde_json::{Value, json};

use super::RETRY;
use crate::sandbox::node::{
    config::{Config, full},
    context::Node,
};

const MANAGER: &str = "talos";

/// Applies everything; what does not work yet is tried again.
pub(super) async fn apply(node: &Arc<Node>, client: &Client) {
    let Some(config) = node.current() else { return };
    let mut left: Vec<Value> = objects(&config, node);
    let mut pause = RETRY;
    let mut last = String::new();
    while !left.is_empty() {
        let mut failed = Vec::new();
        for object in left {
            if let Err(error) = apply_one(client, &object).await {
                if error != last {
                    node.machine.logs.talos(format_args!("cannot apply a manifest yet: {error}"));
                    last = error;
                }
                failed.push(object);
            }
        }
        left = failed;
        if !left.is_empty() {
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(RETRY * 20);
        }
    }
    node.machine.logs.talos("manifests are applied");
}

async fn apply_one(client: &Client, object: &Value) -> Result<(), String> {
    let text = |path: &[&str]| {
        let found = path.iter().try_fold(object, |value, key| value.get(*key));
        found.and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let (version, kind) = (text(&["apiVersion"]), text(&["kind"]));
    let (group, version) = version.rsplit_once('/').unwrap_or(("", &version));
    let gvk = GroupVersionKind::gvk(group, version, &kind);
    let (resource, capabilities) =
        discovery::pinned_kind(client, &gvk).await.map_err(|error| full(&error))?;
    let api: Api<DynamicObject> = match capabilities.scope {
        discovery::Scope::Cluster => Api::all_with(client.clone(), &resource),
        discovery::Scope::Namespaced => {
            let namespace = Some(text(&["metadata", "namespace"])).filter(|name| !name.is_empty());
            Api::namespaced_with(client.clone(), namespace.as_deref().unwrap_or("default"), &resource)
        }
    };
    let name = text(&["metadata", "name"]);
    let params = PatchParams::apply(MANAGER).force();
    api.patch(&name, &params, &Patch::Apply(object)).await.map_err(|error| full(&error)).map(drop)
}

fn objects(config: &Config, node: &Node) -> Vec<Value> {
    let cluster = &config.machine.main.cluster;
    let mut objects = Vec::new();
    if let Some((id, secret)) = cluster.token.expose().split_once('.') {
        objects.push(json!({
            "apiVersion": "v1", "kind": "Secret", "type": "bootstrap.kubernetes.io/token",
            "metadata": { "name": format!("bootstrap-token-{id}"), "namespace": "kube-system" },
            "stringData": {
                "token-id": id,
                "token-secret": secret,
                "usage-bootstrap-authentication": "true",
                "auth-extra-groups": "system:bootstrappers:nodes",
            },
        }));
    }
    for (name, role, group) in [
        ("system-bootstrap-node-bootstrapper", "system:node-bootstrapper", "system:bootstrappers:nodes"),
        (
            "system-bootstrap-approve-node-client-csr",
            "system:certificates.k8s.io:certificatesigningrequests:nodeclient",
            "system:bootstrappers:nodes",
        ),
        (
            "system-bootstrap-node-renewal",
            "system:certificates.k8s.io:certificatesigningrequests:selfnodeclient",
            "system:nodes",
        ),
    ] {
        objects.push(json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
            "metadata": { "name": name },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role },
            "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": group }],
        }));
    }
    for manifest in &cluster.inline_manifests {
        match serde_saphyr::from_multiple::<Value>(manifest.contents.expose()) {
            Ok(documents) => objects.extend(documents.into_iter().filter(Value::is_object)),
            Err(_) => {
                node.machine.logs.talos(format_args!("inline manifest `{}` is not YAML", manifest.name));
            }
        }
    }
    objects
}
