//! `cluster watch` on a real API server that comes and goes.

use anyhow::Result;
use butler_core::api::TenantCluster;
use butler_tests::{
    ControlPlane, Signal,
    http::{HttpServer, Reply},
};
use kube::{Api, CustomResourceExt, api::DeleteParams};
use serde_json::{Value, json};

use crate::support::{Butlerctl, LIMIT, install, plane, put, status, tenant_cluster};

fn condition(status: &str) -> Value {
    json!([{"type": "Ready", "status": status, "reason": "Because", "message": "of that",
        "lastTransitionTime": "2026-01-01T00:00:00Z"}])
}

#[tokio::test]
async fn changes_of_a_cluster_are_told_until_it_is_deleted() -> Result<()> {
    let plane = plane().await?;
    let client = plane.client().await?;
    let namespace = plane.namespace().await?;
    put(&client, &namespace, &tenant_cluster("dev")).await?;
    put(&client, &namespace, &tenant_cluster("other")).await?;
    let program = Butlerctl::new(plane.kubeconfig())?;
    let mut watch = program.run(["cluster", "watch", "dev", "-n", &namespace]).spawn()?;

    assert_eq!(watch.line(LIMIT)?, "[12:00:00] dev: phase Pending");
    status(&client, &namespace, "other", &json!({"phase": "Failed"})).await?;
    status(&client, &namespace, "dev", &json!({"phase": "Ready", "conditions": condition("False")})).await?;
    assert_eq!(watch.line(LIMIT)?, "[12:00:00] dev: phase Pending -> Ready");
    assert_eq!(watch.line(LIMIT)?, "[12:00:00] dev: condition Ready False (Because: of that)");
    status(&client, &namespace, "dev", &json!({"conditions": condition("True")})).await?;
    assert_eq!(watch.line(LIMIT)?, "[12:00:00] dev: condition Ready False -> True (Because: of that)");
    let clusters: Api<TenantCluster> = Api::namespaced(client, &namespace);
    clusters.delete("dev", &DeleteParams::default()).await?;
    let output = watch.wait(LIMIT)?.success()?;
    assert!(output.stdout.ends_with("[12:00:00] dev: deleted\n") && output.stderr.is_empty(), "{output}");
    Ok(())
}

#[tokio::test]
async fn a_watch_outlives_the_api_server_and_repeats_nothing() -> Result<()> {
    let plane = ControlPlane::start().await?;
    let client = plane.client().await?;
    install(&client, TenantCluster::crd()).await?;
    put(&client, "default", &tenant_cluster("a")).await?;
    put(&client, "default", &tenant_cluster("b")).await?;
    let program = Butlerctl::new(plane.kubeconfig())?;
    let mut watch = program.run(["cluster", "watch", "-A", "-o", "json"]).spawn()?;
    for name in ["a", "b"] {
        let change: Value = serde_json::from_str(&watch.line(LIMIT)?)?;
        assert_eq!(
            change,
            json!({"time": "2030-01-01T12:00:00Z", "namespace": "default", "name": name,
            "change": "phase", "from": null, "to": "Pending"})
        );
    }
    plane.kill_api_server().await;
    let lost = watch.stderr_line(LIMIT)?;
    assert!(lost.starts_with("warning: the connection is lost (BTL-1001)"), "{lost}");
    plane.start_api_server().await?;
    let client = plane.client().await?;
    status(&client, "default", "b", &json!({"phase": "Ready"})).await?;
    let change: Value = serde_json::from_str(&watch.line(LIMIT)?)?;
    assert_eq!((&change["name"], &change["to"]), (&json!("b"), &json!("Ready")));
    watch.signal(Signal::INT);
    let output = watch.wait(LIMIT)?.failed_with(130)?;
    assert_eq!(output.stdout.lines().count(), 3, "{output}");
    assert_eq!(output.stderr.matches("the connection is lost").count(), 1, "{output}");
    assert_eq!(output.stderr.matches("the connection is back").count(), 1, "{output}");
    assert!(!output.stderr.contains("error"), "Ctrl-C is how a watch ends: {output}");
    Ok(())
}

/// A list of one cluster in this phase.
fn list(phase: &str) -> Reply {
    let mut cluster = tenant_cluster("dev");
    cluster["metadata"] = json!({"name": "dev", "namespace": "default", "uid": "1", "resourceVersion": "1"});
    cluster["status"] = json!({"phase": phase});
    let list = json!({"apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "TenantClusterList",
        "metadata": {"resourceVersion": "1"}, "items": [cluster]});
    Reply::json(&list)
}

#[test]
fn a_forgotten_resource_version_means_a_new_list_without_repetitions() -> Result<()> {
    let lists = std::sync::atomic::AtomicUsize::new(0);
    let gone = json!({"type": "ERROR", "object": {"kind": "Status", "apiVersion": "v1", "status": "Failure",
        "code": 410, "reason": "Expired", "message": "too old resource version: 1 (9)"}});
    // The first watch ends with an event, the second with an answer; both happen.
    let server = HttpServer::start(move |request| {
        let number = lists.load(std::sync::atomic::Ordering::SeqCst);
        match (request.path.contains("watch=true"), number) {
            (false, _) => {
                lists.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                list(["Pending", "Pending", "Ready"][number.min(2)])
            }
            (true, 1) => Reply::json(&gone),
            (true, 2) => Reply::typed(410, "application/json", gone["object"].to_string()),
            (true, _) => Reply::Hang,
        }
    })?;
    let program = Butlerctl::with_server(&server.url())?;
    let mut watch = program.run(["cluster", "watch", "-n", "default"]).spawn()?;
    assert_eq!(watch.line(LIMIT)?, "[12:00:00] dev: phase Pending");
    assert_eq!(watch.line(LIMIT)?, "[12:00:00] dev: phase Pending -> Ready");
    watch.signal(Signal::TERM);
    let output = watch.wait(LIMIT)?.failed_with(130)?;
    assert!(!output.stderr.contains("lost"), "{output}");
    Ok(())
}

/// An expired token in the middle of a list: the server names where to go on.
#[test]
fn an_expired_list_goes_on_without_repetitions() -> Result<()> {
    let page = |name: &str, next: &str| {
        let mut cluster = tenant_cluster(name);
        cluster["metadata"]["namespace"] = json!("default");
        Reply::json(&json!({"metadata": {"continue": next}, "items": [cluster]}))
    };
    let expired = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 410,
        "reason": "Expired", "message": "The provided continue parameter is too old",
        "metadata": {"continue": "anew"}});
    let server = HttpServer::start(move |request| match request.path.split_once("continue=") {
        None => page("a", "old"),
        Some((_, token)) if token.starts_with("old") => {
            Reply::typed(410, "application/json", expired.to_string())
        }
        Some(_) => page("b", ""),
    })?;
    let program = Butlerctl::with_server(&server.url())?;
    let output = program.run(["cluster", "list", "-o", "json"]).timeout(LIMIT).run()?.success()?;
    let names: Vec<Value> = output.json()?["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["metadata"]["name"].clone())
        .collect();
    assert_eq!(names, ["a", "b"]);
    assert!(output.stderr.contains("changed during the list"), "{output}");
    Ok(())
}
