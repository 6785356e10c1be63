//! Definitions that are older or looser than ours, and objects that do not fit.

use anyhow::Result;
use butler_core::api::TenantCluster;
use butler_tests::{ControlPlane, create};
use insta::assert_snapshot;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps,
};
use kube::CustomResourceExt;
use serde_json::{Value, json};

use crate::support::{Butlerctl, LIMIT, install, tenant_cluster};

/// Our definition, with a schema that accepts anything.
fn loose() -> CustomResourceDefinition {
    let mut crd = TenantCluster::crd();
    let anything = JSONSchemaProps {
        type_: Some("object".to_owned()),
        x_kubernetes_preserve_unknown_fields: Some(true),
        ..JSONSchemaProps::default()
    };
    let version = &mut crd.spec.versions[0];
    version.subresources = None;
    if let Some(schema) = version.schema.as_mut() {
        schema.open_api_v3_schema = Some(anything);
    }
    crd
}

/// The same with the columns an older Butler has.
fn older() -> CustomResourceDefinition {
    let mut crd = loose();
    if let Some(columns) = crd.spec.versions[0].additional_printer_columns.as_mut() {
        columns.retain(|column| column.priority.unwrap_or(0) == 0);
    }
    crd
}

fn with(name: &str, pointer: &str, value: Value) -> Value {
    let mut cluster = tenant_cluster(name);
    cluster["status"] = json!({"phase": "Ready", "workerNodesReady": 3, "workerNodesDesired": 3});
    if let Some(place) = cluster.pointer_mut(pointer) {
        *place = value;
    }
    cluster
}

#[tokio::test]
async fn one_bad_object_is_shown_as_such_and_the_rest_are_listed() -> Result<()> {
    let plane = ControlPlane::start().await?;
    let client = plane.client().await?;
    let program = Butlerctl::new(plane.kubeconfig())?;
    let run = |args: &str| program.run(args.split(' ').chain(["-n", "default"])).timeout(LIMIT).run();

    assert_snapshot!(run("cluster list")?, @r"
    exit 3
    [stderr]
    error[BTL-1102]: cannot list tenant clusters in namespace `default`
      1: 404 page not found

    hint: butleradm doctor
    hint: butleradm crds apply
    hint: kubectl config get-contexts
    ");

    install(&client, loose()).await?;
    for cluster in [
        with("good", "/status/phase", json!("Ready")),
        with("bad-phase", "/status/phase", json!({"is": "an object"})),
        with("bad-version", "/spec/kubernetesVersion", Value::Null),
        with("bad-workers", "/spec/workers", json!("three")),
    ] {
        create(&client, Some("default"), &cluster).await?;
    }
    let listed = run("cluster list")?;
    assert_snapshot!(mask(&listed.to_string()), @r"
    exit 0
    [stdout]
    NAME         PHASE         K8S VERSION  WORKERS  AGE
    bad-phase    <unreadable>  v1.33.4      3/3      AGE
    bad-version  <unreadable>  -            3/3      AGE
    bad-workers  <unreadable>  v1.33.4      3/3      AGE
    good         Ready         v1.33.4      3/3      AGE
    [stderr]
    warning: tenant cluster `bad-phase` in namespace `default` cannot be read: see its field `status.phase`
    warning: tenant cluster `bad-version` in namespace `default` cannot be read: see its field `spec.kubernetesVersion`
    warning: tenant cluster `bad-workers` in namespace `default` cannot be read: see its field `spec.workers.replicas`
    ");
    let whole = run("cluster list -o jsonpath={.items[*].spec.workers}")?.success()?;
    assert!(whole.stdout.contains("three"), "{whole}");
    let _ = run("cluster get bad-workers")?.success()?;

    install(&client, older()).await?;
    let paged = run("cluster list")?;
    assert_eq!(paged.to_string(), listed.to_string());
    Ok(())
}

/// Ages depend on the day the test runs.
fn mask(text: &str) -> String {
    text.lines()
        .map(|line| match line.rsplit_once(' ') {
            Some((start, age)) if age.ends_with('w') => format!("{start} AGE\n"),
            _ => format!("{line}\n"),
        })
        .collect()
}
