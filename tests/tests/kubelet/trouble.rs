use anyhow::{Context, Result};
use butler_tests::eventually;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::{
    Api,
    api::{DeleteParams, Patch, PatchParams},
};
use serde_json::json;

use crate::{
    LIMIT,
    cluster::{Cluster, Spec},
    workloads::{merge, pods, workload},
};

#[tokio::test]
async fn nodes_survive_a_restart_of_the_api_server() -> Result<()> {
    let cluster = Cluster::start(2).await?;
    let ns = cluster.namespace().await?;
    cluster.apply(&ns, &workload("Deployment", "web", json!({}), json!({"replicas": 3}), json!({})))?;
    cluster.kubectl(["-n", &ns, "rollout", "status", "deployment/web", "--timeout=90s"])?;
    let before = pods(&cluster, &ns)?;
    let seconds = json!({"sandbox.butler.butlerlabs.dev/run-seconds": "2"});
    let job = workload("Job", "meanwhile", seconds, json!({}), json!({"restartPolicy": "Never"}));
    cluster.apply(&ns, &job)?;
    cluster.kubectl([
        "-n",
        &ns,
        "wait",
        "pod",
        "-l",
        "app=meanwhile",
        "--for=condition=Ready",
        "--timeout=90s",
    ])?;

    cluster.plane.kill_api_server().await;
    cluster.plane.start_api_server().await?;
    cluster.kubectl(["-n", &ns, "wait", "job/meanwhile", "--for=condition=Complete", "--timeout=90s"])?;
    cluster.kubectl(["-n", &ns, "scale", "deployment/web", "--replicas=5"])?;
    cluster.kubectl(["-n", &ns, "rollout", "status", "deployment/web", "--timeout=120s"])?;
    let after = pods(&cluster, &ns)?;
    for pod in &before {
        let same = after.iter().find(|other| other["metadata"]["uid"] == pod["metadata"]["uid"]);
        assert_eq!(
            same.context("the Pod is still there")?["status"],
            pod["status"],
            "nothing happened to it"
        );
    }
    let leases = cluster.kubectl(["-n", "kube-node-lease", "get", "leases", "--no-headers"])?;
    assert_eq!(leases.lines().count(), 2, "{leases}");
    Ok(())
}

#[tokio::test]
async fn an_object_that_cannot_be_read_stops_nobody() -> Result<()> {
    let cluster = Cluster::shared().await?;
    let ns = cluster.namespace().await?;
    let spec = Spec::reserved("odd-1");
    let machine = cluster.add(spec.clone())?;
    cluster.until_ready("odd-1", "True").await?;
    let pod = |name: &str| {
        let mut pod = json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
            "spec": {"containers": [{"name": "main", "image": "web"}]},
        });
        merge(&mut pod["spec"], Cluster::only_on("odd-1"));
        pod
    };
    let wait = |name: &str| {
        cluster.kubectl(["-n", &ns, "wait", &format!("pod/{name}"), "--for=condition=Ready", "--timeout=90s"])
    };
    cluster.apply(&ns, &pod("odd"))?;
    wait("odd")?;
    // A moment that Go's calendar has and ours does not.
    let end_of_time = json!({"status": {"conditions": [
        {"type": "example.com/odd", "status": "True", "lastTransitionTime": "9999-12-31T23:59:59Z"},
    ]}});
    let client = cluster.plane.client().await?;
    let raw = http::Request::patch(format!("/api/v1/namespaces/{ns}/pods/odd/status"))
        .header("content-type", "application/strategic-merge-patch+json")
        .body(serde_json::to_vec(&end_of_time)?)?;
    client.request_text(raw).await?;
    let list: Api<Pod> = Api::namespaced(client.clone(), &ns);
    list.get("odd").await.expect_err("our types cannot read it");

    cluster.apply(&ns, &pod("even"))?;
    wait("even")?;
    // Neither can a kubelet that only comes now.
    let port = machine.stop()?;
    let _machine = cluster.add_at(spec, port)?;
    cluster.apply(&ns, &pod("later"))?;
    wait("later")?;
    let nodes: Api<Node> = Api::all(client.clone());
    let odd = json!({"metadata": {"annotations": {"example.com/note": "fine"}}});
    nodes.patch("odd-1", &PatchParams::default(), &Patch::Merge(odd)).await?;
    cluster.kubectl(["-n", &ns, "delete", "pod", "odd", "--grace-period=0", "--force", "--timeout=60s"])?;
    let gone = || async { Ok(list.get_opt("odd").await?.is_none()) };
    eventually("the odd Pod is gone", LIMIT, gone).await?;
    list.delete("even", &DeleteParams::default()).await?;
    let gone = || async { Ok(list.get_opt("even").await?.is_none()) };
    eventually("the other one too", LIMIT, gone).await
}
