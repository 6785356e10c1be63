use anyhow::{Context, Result};
use butler_core::api::names::labels;
use butler_tests::create;
use http::Request;
use serde_json::{Value, json};

use crate::with_definitions;

/// One table without objects must hold all that `butlerctl cluster list` shows.
#[tokio::test]
async fn a_table_without_objects_says_all_about_tenant_clusters() -> Result<()> {
    let (plane, client) = with_definitions().await?;
    let namespace = plane.namespace().await?;
    let cluster = json!({
        "apiVersion": "butler.butlerlabs.dev/v1alpha1",
        "kind": "TenantCluster",
        "metadata": { "name": "checkout", "labels": { labels::ENVIRONMENT: "prod" } },
        "spec": {
            "kubernetesVersion": "v1.34.2",
            "providerConfigRef": { "name": "harvester-lab" },
            "workers": { "replicas": 3 },
        },
    });
    let created = create(&client, Some(&namespace), &cluster).await?;
    let path = format!("/apis/butler.butlerlabs.dev/v1alpha1/namespaces/{namespace}/tenantclusters");
    let status = json!({ "status": {
        "phase": "Ready",
        "tenantNamespace": "checkout-1234abcd",
        "workerNodesReady": 0,
        "workerNodesDesired": 3,
    }});
    let request = Request::patch(format!("{path}/checkout/status"))
        .header("content-type", "application/merge-patch+json")
        .body(serde_json::to_vec(&status)?)?;
    client.request::<Value>(request).await?;

    let request = Request::get(format!("{path}?includeObject=None"))
        .header("accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
        .body(Vec::new())?;
    let table: Value = client.request(request).await?;
    let names = table["columnDefinitions"].as_array().context("no columns")?.iter();
    let cells = table["rows"][0]["cells"].as_array().context("no cells")?;
    let mut row: Value = names.map(|column| column["name"].as_str().unwrap()).zip(cells.clone()).collect();
    let created = created.metadata.creation_timestamp.context("no creation time")?.0.to_string();
    // A second or two.
    row.as_object_mut().unwrap().remove("Age").unwrap();
    assert_eq!(
        row,
        json!({
            "Name": "checkout",
            "Phase": "Ready",
            "K8s Version": "v1.34.2",
            "Workers": null,
            "Endpoint": null,
            "Namespace": namespace,
            "Environment": "prod",
            "Ready Workers": 0,
            "Desired Workers": 3,
            "Spec Workers": 3,
            "Provider": "harvester-lab",
            "Tenant Namespace": "checkout-1234abcd",
            "Created": created,
        })
    );
    assert!(table["rows"][0]["object"].is_null(), "{table}");
    Ok(())
}
