//! The objects that make a management API server a platform: definitions, namespaces, settings, the
//! sandbox as a provider, a network pool and a team.
//!
//! What the sandbox cannot do without is set on every start; what a person may want to change is made
//! once, and left alone where somebody else has changed it.

use std::{path::Path, time::Duration};

use base64::{Engine, prelude::BASE64_STANDARD};
use butler_core::{
    api::{
        self,
        names::{labels, namespaces},
    },
    cluster::{ApiError, crds},
};
use kube::{
    Client,
    api::{Api, ApiResource, DynamicObject, Patch, PatchParams},
    core::GroupVersionKind,
};
use serde_json::{Value, json};

use crate::sandbox::{SandboxError, host::Network};

/// Field manager of what `sandbox up` makes.
const MANAGER: &str = "butleradm/sandbox";
/// Name of the ProviderConfig.
const PROVIDER: &str = "sandbox";
/// Name of the NetworkPool.
const POOL: &str = "sandbox";
/// Name of the Team.
const TEAM: &str = "demo";
/// How long the API server may take to serve new definitions.
const ESTABLISHED: Duration = Duration::from_secs(30);

/// Whether an object follows the sandbox or its owner.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Whose {
    Sandbox,
    Person,
}

/// Installs everything. Running it again changes nothing that a person changed.
pub async fn install(client: &Client, socket: &Path, network: &Network) -> Result<(), SandboxError> {
    let definitions = async {
        let names = crds::apply(client, false).await?;
        crds::established(client, &names, ESTABLISHED).await?;
        Ok::<_, SandboxError>(())
    };
    let spaces = async {
        let mut system = namespace(namespaces::SYSTEM);
        system["metadata"]["labels"][labels::SANDBOX] = json!("true");
        for space in [system, namespace(namespaces::TENANTS)] {
            apply(client, Whose::Sandbox, &space).await?;
        }
        apply(client, Whose::Sandbox, &credentials(socket)).await
    };
    tokio::try_join!(definitions, spaces)?;
    let objects = objects(network);
    let applied = objects.iter().map(|(whose, object)| apply(client, *whose, object));
    futures::future::try_join_all(applied).await?;
    Ok(())
}

fn namespace(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": {
        "name": name, "labels": { labels::MANAGED_BY: labels::MANAGED_BY_BUTLER },
    }})
}

/// Where the provider is: its socket is all there is to know.
fn credentials(socket: &Path) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": { "name": "sandbox-credentials", "namespace": namespaces::SYSTEM },
        "type": "Opaque",
        "data": { "socket": BASE64_STANDARD.encode(socket.as_os_str().as_encoded_bytes()) },
    })
}

fn objects(network: &Network) -> Vec<(Whose, Value)> {
    let butler = |kind: &str, namespace: Option<&str>, name: &str, spec: Value| {
        let mut object = json!({
            "apiVersion": api::API_VERSION, "kind": kind, "metadata": { "name": name }, "spec": spec,
        });
        if let Some(namespace) = namespace {
            object["metadata"]["namespace"] = json!(namespace);
        }
        object
    };
    let system = Some(namespaces::SYSTEM);
    let mut pool = json!({ "cidr": network.to_string() });
    if let Some((start, end)) = network.tenants() {
        pool["tenantAllocation"] = json!({ "start": start, "end": end });
    }
    vec![
        (
            Whose::Sandbox,
            butler(
                "ProviderConfig",
                system,
                PROVIDER,
                json!({
                    "provider": "sandbox",
                    "credentialsRef": { "name": "sandbox-credentials", "namespace": namespaces::SYSTEM },
                    "scope": { "type": "platform" },
                    "network": { "mode": "ipam", "poolRefs": [{ "name": POOL }] },
                }),
            ),
        ),
        (Whose::Sandbox, butler("NetworkPool", system, POOL, pool)),
        (
            Whose::Person,
            butler(
                "ButlerConfig",
                None,
                "butler",
                json!({
                    "multiTenancy": { "mode": "Optional" },
                    "defaultProviderConfigRef": { "name": PROVIDER },
                }),
            ),
        ),
        (
            Whose::Person,
            butler(
                "Team",
                None,
                TEAM,
                json!({ "displayName": "Demo", "description": "A team to try the sandbox with" }),
            ),
        ),
    ]
}

async fn apply(client: &Client, whose: Whose, object: &Value) -> Result<(), SandboxError> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let (version, kind, name) = (text("/apiVersion"), text("/kind"), text("/metadata/name"));
    let (group, version) = version.split_once('/').unwrap_or(("", version));
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
    let api: Api<DynamicObject> = match text("/metadata/namespace") {
        "" => Api::all_with(client.clone(), &resource),
        namespace => Api::namespaced_with(client.clone(), namespace, &resource),
    };
    let params = PatchParams { force: whose == Whose::Sandbox, ..PatchParams::apply(MANAGER) };
    match api.patch(name, &params, &Patch::Apply(object)).await {
        Ok(_) => Ok(()),
        // Somebody else changed it, and it is theirs to change.
        Err(kube::Error::Api(status)) if whose == Whose::Person && status.is_conflict() => Ok(()),
        Err(error) => Err(ApiError::new(format!("apply {kind} `{name}`"), error).into()),
    }
}
