use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use butler_core::{
    api::{KINDS, names::namespaces},
    cluster::crds,
};
use butler_tests::{ControlPlane, Env, Output, part};
use kube::Client;
use serde_json::Value;

use crate::{LIMIT, with_definitions};

fn manifests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/manifests")
}

fn apply(plane: &ControlPlane, file: &Path, env: &Env) -> Result<Output> {
    env.command(part("kubectl")?)
        .arg("--kubeconfig")
        .arg(plane.kubeconfig())
        .args(["apply", "--server-side", "--validate=strict", "-o", "json", "-f"])
        .arg(file)
        .run()
}

async fn make_namespaces(client: &Client) -> Result<()> {
    for name in [namespaces::SYSTEM, namespaces::TENANTS] {
        let namespace =
            serde_json::json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
        butler_tests::create(client, None, &namespace).await?;
    }
    Ok(())
}

#[tokio::test]
async fn examples_of_all_kinds_are_accepted_with_strict_validation() -> Result<()> {
    // Namespaces have fixed names here, so the plane is private.
    let plane = ControlPlane::start().await?;
    let client = plane.client().await?;
    let names = crds::apply(&client, false).await?;
    crds::established(&client, &names, LIMIT).await?;
    make_namespaces(&client).await?;

    let output = apply(&plane, &manifests(), &Env::new()?)?.success()?.json()?;
    let objects = output["items"].as_array().context("no items")?;
    let kinds: BTreeSet<_> = objects.iter().filter_map(|object| object["kind"].as_str()).collect();
    assert_eq!(kinds, KINDS.iter().copied().collect());

    // What the server stored, defaults included, is what our types read and write.
    for object in objects {
        let kind = object["kind"].as_str().context("no kind")?;
        let name = object["metadata"]["name"].as_str().context("no name")?;
        let spec = typed_spec(kind, object).with_context(|| format!("{kind} {name}"))?;
        assert_eq!(spec, object["spec"], "{kind} {name}");
    }
    Ok(())
}

/// The spec after a trip through the Rust type of its kind.
fn typed_spec(kind: &str, object: &Value) -> Result<Value> {
    use butler_core::api::*;
    macro_rules! trip {
        ($($kind:ident)+) => {
            match kind {
                $(stringify!($kind) => serde_json::to_value(serde_json::from_value::<$kind>(object.clone())?.spec)?,)+
                other => anyhow::bail!("no type for {other}"),
            }
        };
    }
    Ok(trip!(
        AddonDefinition ButlerConfig ClusterBootstrap ClusterCreationPolicy IPAllocation IdentityProvider
        ImageSync LoadBalancerRequest MachineRequest ManagementAddon NetworkPool ProviderConfig Team
        TenantAddon TenantCluster User Workspace WorkspaceTemplate
    ))
}

#[tokio::test]
async fn a_field_that_does_not_exist_is_refused_under_strict_validation() -> Result<()> {
    let (plane, _) = with_definitions().await?;
    let env = Env::new()?;
    let file = env.work_dir().join("team.yaml");
    let text = std::fs::read_to_string(manifests().join("team.yaml"))?;
    std::fs::write(&file, text.replace("  displayName:", "  displayname:"))?;
    let refused = apply(plane, &file, &env)?.failed_with(1)?;
    assert!(refused.stderr.contains(".spec.displayname: field not declared in schema"), "{refused}");
    Ok(())
}
