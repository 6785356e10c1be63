use anyhow::{Context, Result};
use butler_core::{
    api::{
        TenantCluster,
        tenant_cluster::{TenantClusterPhase, TenantClusterStatus},
    },
    cluster::{
        change::{apply_status, merge},
        crds,
    },
    error::{Code, Diagnose},
};
use butler_tests::{ControlPlane, create, eventually};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api,
    api::{ApiResource, DynamicObject, Patch, PatchParams},
};
use serde_json::json;

use crate::{LIMIT, with_definitions};

const MANAGER: &str = "butler-test";

/// A newer Butler has fields and values that our types do not know. Whatever we change, they stay.
#[tokio::test]
async fn fields_of_a_newer_butler_survive_our_changes() -> Result<()> {
    // The definition itself is changed, so the plane is private.
    let plane = ControlPlane::start().await?;
    let client = plane.client().await?;
    let names = crds::apply(&client, false).await?;
    crds::established(&client, &names, LIMIT).await?;

    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let schema = "/spec/versions/0/schema/openAPIV3Schema/properties";
    let newer = json!([
        { "op": "add", "path": format!("{schema}/spec/properties/hibernation"), "value": { "type": "string" } },
        { "op": "add", "path": format!("{schema}/status/properties/mood"), "value": { "type": "string" } },
        { "op": "add", "path": format!("{schema}/status/properties/phase/enum/-"), "value": "Hibernating" },
    ]);
    let newer: Patch<()> = Patch::Json(serde_json::from_value(newer)?);
    definitions.patch("tenantclusters.butler.butlerlabs.dev", &PatchParams::default(), &newer).await?;

    let raw = Api::<DynamicObject>::namespaced_with(
        client.clone(),
        "default",
        &ApiResource::erase::<TenantCluster>(&()),
    );
    let object = json!({
        "apiVersion": "butler.butlerlabs.dev/v1alpha1",
        "kind": "TenantCluster",
        "metadata": { "name": "dev" },
        "spec": { "kubernetesVersion": "v1.34.2", "workers": { "replicas": 1 }, "hibernation": "nightly" },
    });
    create(&client, Some("default"), &object).await?;
    // The server takes up a changed definition a moment later.
    eventually("the new fields are served", LIMIT, async || {
        let status = json!({ "spec": { "hibernation": "nightly" }, "status": { "mood": "calm", "phase": "Hibernating" } });
        let params = PatchParams::default();
        raw.patch("dev", &params, &Patch::Merge(&status)).await?;
        raw.patch_status("dev", &params, &Patch::Merge(&status)).await?;
        let stored = raw.get("dev").await?.data;
        Ok(stored["spec"]["hibernation"] == "nightly" && stored["status"]["mood"] == "calm")
    })
    .await?;

    // Ours reads it, keeps the value it does not know, and changes what it means to change.
    let api: Api<TenantCluster> = Api::namespaced(client, "default");
    let status = api.get("dev").await?.status.context("no status")?;
    assert_eq!(status.phase, Some(TenantClusterPhase::Unrecognized("Hibernating".into())));

    let scaled = merge(&api, "dev", MANAGER, &json!({ "spec": { "workers": { "replicas": 3 } } })).await?;
    assert_eq!(scaled.spec.workers.replicas, 3);
    let status = TenantClusterStatus { worker_nodes_ready: Some(0), ..TenantClusterStatus::default() };
    apply_status(&api, "dev", MANAGER, &status).await?;

    let stored = raw.get("dev").await?.data;
    assert_eq!(stored["spec"]["hibernation"], "nightly");
    assert_eq!(stored["spec"]["workers"]["replicas"], 3);
    assert_eq!(stored["status"], json!({ "mood": "calm", "phase": "Hibernating", "workerNodesReady": 0 }));
    Ok(())
}

#[tokio::test]
async fn changing_what_is_not_there_names_the_object() -> Result<()> {
    let (plane, client) = with_definitions().await?;
    let api: Api<TenantCluster> = Api::namespaced(client, &plane.namespace().await?);
    let error = merge(&api, "gone", MANAGER, &json!({})).await.unwrap_err();
    assert_eq!(error.to_string(), "cannot change TenantCluster `gone`");
    assert_eq!(error.code(), Code::ObjectNotFound);
    Ok(())
}
