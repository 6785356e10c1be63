use std::time::Duration;

use anyhow::{Context, Result};
use butler_operator::sandbox::kubelet::StaticPod;
use butler_tests::eventually;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::{
    coordination::v1::Lease,
    core::v1::{Node, Pod},
};
use kube::{
    Api,
    api::{DeleteParams, Patch, PatchParams},
};
use serde_json::{Value, json};

use crate::{
    LIMIT,
    cluster::{Cluster, Spec, at, ready},
    workloads::{pods, workload},
};

#[tokio::test]
async fn a_node_tells_all_about_its_machine() -> Result<()> {
    let cluster = Cluster::shared().await?;
    let mut spec = Spec::reserved("full-1");
    spec.labels.insert("example.com/disk".into(), "fast".into());
    // Only an administrator may set it: the node registers without.
    spec.labels.insert("node-role.kubernetes.io/control-plane".into(), String::new());
    let machine = cluster.add(spec)?;
    cluster.until_ready("full-1", "True").await?;
    let node: Value = serde_json::from_str(&cluster.kubectl(["get", "node", "full-1", "-o", "json"])?)?;
    let address = machine.address().context("an address")?;
    assert_eq!(
        node["status"]["addresses"],
        json!([{"type": "InternalIP", "address": address.ip()}, {"type": "Hostname", "address": "full-1"}])
    );
    let labels = at(&node, "/metadata/labels")?;
    assert_eq!(labels["kubernetes.io/hostname"], "full-1");
    assert_eq!(labels["kubernetes.io/os"], "linux");
    assert_eq!(labels["example.com/disk"], "fast");
    assert!(labels["kubernetes.io/arch"].is_string());
    assert!(labels["node-role.kubernetes.io/control-plane"].is_null());
    assert_eq!(node["metadata"]["annotations"]["example.com/rack"], "7");
    assert_eq!(node["spec"]["providerID"], "sandbox://full-1");
    assert_eq!(node["spec"]["taints"][0]["key"], "reserved");
    let capacity = at(&node, "/status/capacity")?;
    assert_eq!(capacity, &json!({"cpu": "4", "memory": "8Gi", "ephemeral-storage": "40Gi", "pods": "110"}));
    assert_eq!(node["status"]["allocatable"]["cpu"], "3950m");
    assert_eq!(node["status"]["daemonEndpoints"]["kubeletEndpoint"]["Port"], address.port());
    let info = at(&node, "/status/nodeInfo")?;
    assert_eq!(info["kubeletVersion"], "v1.34.4");
    assert_eq!(info["osImage"], "Talos (v1.11.5)");
    assert_eq!(info["machineID"], "machine-full-1");
    let conditions = at(&node, "/status/conditions")?.as_array().context("a list")?;
    let kinds: Vec<_> = conditions.iter().filter_map(|condition| condition["type"].as_str()).collect();
    assert_eq!(kinds, ["MemoryPressure", "DiskPressure", "PIDPressure", "Ready"]);
    let table = cluster.kubectl(["get", "node", "full-1", "-o", "wide", "--no-headers"])?;
    assert!(table.contains("Ready") && table.contains("containerd://2.1.5"), "{table}");
    Ok(())
}

#[tokio::test]
async fn a_lease_is_renewed_and_a_deleted_node_registers_again() -> Result<()> {
    let cluster = Cluster::shared().await?;
    let client = cluster.plane.client().await?;
    let _machine = cluster.add(Spec::reserved("again-1"))?;
    cluster.until_ready("again-1", "True").await?;
    let leases: Api<Lease> = Api::namespaced(client.clone(), "kube-node-lease");
    let renewed = || async {
        let lease = leases.get("again-1").await?;
        Ok(lease.spec.and_then(|spec| spec.renew_time).context("renewed")?.0)
    };
    eventually("there is a lease", LIMIT, || async { renewed().await.map(|_| true) }).await?;
    let lease = leases.get("again-1").await?;
    let first = renewed().await?;
    let owner = lease.metadata.owner_references.context("an owner")?.remove(0);
    let nodes: Api<Node> = Api::all(client.clone());
    let uid = nodes.get("again-1").await?.metadata.uid.context("a uid")?;
    assert_eq!((owner.kind.as_str(), &owner.uid), ("Node", &uid));
    let next = || async { Ok(renewed().await? > first) };
    eventually("the lease is renewed", Duration::from_secs(30), next).await?;
    let pause = renewed().await?.duration_since(first);
    assert!(pause >= SignedDuration::from_secs(9), "not too often: {pause:?}");

    // Besides its leases, a node at rest says nothing.
    let said = || -> Result<Vec<String>> {
        let own =
            cluster.plane.audited()?.into_iter().filter(|request| request.user == "system:node:again-1");
        let texts = own.map(|request| format!("{} {}", request.verb, request.uri));
        Ok(texts.filter(|text| !text.contains("/leases/") && !text.starts_with("watch ")).collect())
    };
    let (before, since) = (said()?.len(), renewed().await?);
    let twice = || async { Ok(renewed().await? > since + SignedDuration::from_secs(12)) };
    eventually("the lease is renewed twice", Duration::from_secs(40), twice).await?;
    assert_eq!(said()?[before..], [] as [String; 0]);

    nodes.delete("again-1", &DeleteParams::default()).await?;
    let back = || async {
        let node = nodes.get("again-1").await?;
        Ok(node.metadata.uid.as_ref() != Some(&uid) && ready(&node).as_deref() == Some("True"))
    };
    eventually("the node is back", LIMIT, back).await
}

#[tokio::test]
async fn a_restarted_kubelet_keeps_what_others_gave_to_its_node() -> Result<()> {
    let cluster = Cluster::shared().await?;
    let ns = cluster.namespace().await?;
    let spec = Spec::reserved("kept-1");
    let machine = cluster.add(spec.clone())?;
    cluster.until_ready("kept-1", "True").await?;
    cluster.apply(
        &ns,
        &workload("Deployment", "web", json!({}), json!({"replicas": 2}), Cluster::only_on("kept-1")),
    )?;
    cluster.kubectl(["-n", &ns, "rollout", "status", "deployment/web", "--timeout=90s"])?;
    let before = pods(cluster, &ns)?;
    let port = machine.stop()?;

    // Meanwhile an administrator works, one Pod is deleted, and somebody believes the node lost.
    cluster.kubectl([
        "label",
        "node",
        "kept-1",
        "owner=me",
        "kubernetes.io/hostname=other",
        "--overwrite",
    ])?;
    cluster.kubectl(["taint", "node", "kept-1", "mine=1:PreferNoSchedule"])?;
    let name = before[0]["metadata"]["name"].as_str().context("a name")?;
    cluster.kubectl(["-n", &ns, "delete", "pod", name, "--wait=false"])?;
    let nodes: Api<Node> = Api::all(cluster.plane.client().await?);
    let lost = json!({"status": {"conditions": [{"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}]}});
    nodes.patch_status("kept-1", &PatchParams::default(), &Patch::Strategic(lost)).await?;

    let _machine = cluster.add_at(spec, port)?;
    cluster.until_ready("kept-1", "True").await?;
    let settled = || async {
        let node = nodes.get("kept-1").await?;
        let labels = node.metadata.labels.unwrap_or_default();
        Ok(labels.get("kubernetes.io/hostname").is_some_and(|name| name == "kept-1"))
    };
    eventually("the node has its own name again", LIMIT, settled).await?;
    let node = nodes.get("kept-1").await?;
    assert_eq!(node.metadata.labels.context("labels")?["owner"], "me");
    let taints = node.spec.and_then(|spec| spec.taints).context("taints")?;
    assert!(taints.iter().any(|taint| taint.key == "mine"), "{taints:?}");
    let gone = || async { Ok(pods(cluster, &ns)?.iter().all(|pod| pod["metadata"]["name"] != name)) };
    eventually("the Pod that was deleted meanwhile is gone", LIMIT, gone).await?;
    let kept = pods(cluster, &ns)?;
    let same = kept
        .iter()
        .find(|pod| pod["metadata"]["uid"] == before[1]["metadata"]["uid"])
        .context("the other Pod")?;
    assert_eq!(same["status"], before[1]["status"], "the other one goes on as if nothing had been");
    Ok(())
}

#[tokio::test]
async fn without_a_network_plugin_a_node_waits_for_one() -> Result<()> {
    let cluster = Cluster::shared().await?;
    let ns = cluster.namespace().await?;
    let _machine = cluster.add(Spec { network_ready: false, ..Spec::reserved("cni-1") })?;
    cluster.until_ready("cni-1", "False").await?;
    let reason = "jsonpath={.status.conditions[?(@.type=='Ready')].message}";
    let message = cluster.kubectl(["get", "node", "cni-1", "-o", reason])?;
    assert!(message.contains("NetworkPluginNotReady"), "{message}");

    let mut other = Cluster::only_on("cni-1");
    other["tolerations"] = json!([{"operator": "Exists"}]);
    cluster.apply(&ns, &workload("Deployment", "web", json!({}), json!({}), other.clone()))?;
    let waits = || async {
        let text = cluster.kubectl(["-n", &ns, "get", "pods", "--no-headers"])?;
        Ok(text.contains("ContainerCreating"))
    };
    eventually("a Pod waits for its network", LIMIT, waits).await?;
    other["hostNetwork"] = json!(true);
    other["volumes"] = json!([{"name": "cni", "hostPath": {"path": "/opt/cni/bin"}}]);
    cluster.apply(&ns, &workload("DaemonSet", "plugin", json!({}), json!({}), other))?;
    cluster.until_ready("cni-1", "True").await?;
    cluster.kubectl(["-n", &ns, "rollout", "status", "deployment/web", "--timeout=90s"]).map(drop)
}

fn static_pod(image: &str) -> Result<StaticPod> {
    let pod: Pod = serde_json::from_value(json!({
        "metadata": {"name": "kube-apiserver", "labels": {"k8s-app": "kube-apiserver", "tier": "control-plane"}},
        "spec": {
            "hostNetwork": true, "priorityClassName": "system-node-critical",
            "containers": [{"name": "kube-apiserver", "image": image}],
        },
    }))?;
    Ok(StaticPod(pod))
}

#[tokio::test]
async fn static_pods_have_mirrors_that_cannot_be_lost() -> Result<()> {
    let cluster = Cluster::shared().await?;
    let machine = cluster.add(Spec::reserved("static-1"))?;
    let pods: Api<Pod> = Api::namespaced(cluster.plane.client().await?, "kube-system");
    let name = "kube-apiserver-static-1";
    let runs = |image: &'static str| {
        let pods = &pods;
        move || async move {
            let Some(pod) = pods.get_opt(name).await? else { return Ok(false) };
            let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
            let spec = pod.spec.as_ref().context("a spec")?;
            Ok(phase == Some("Running") && spec.containers[0].image.as_deref() == Some(image))
        }
    };
    machine.static_pods.send_replace(vec![static_pod("api:1")?]);
    eventually("there is a mirror", LIMIT, runs("api:1")).await?;
    let first = pods.get(name).await?;
    assert!(first.metadata.annotations.context("annotations")?.contains_key("kubernetes.io/config.mirror"));
    assert_eq!(first.metadata.owner_references.context("an owner")?[0].kind, "Node");
    let started = first.status.and_then(|status| status.start_time).context("it started")?;

    pods.delete(name, &DeleteParams::default()).await?;
    let back = || async {
        let Some(pod) = pods.get_opt(name).await? else { return Ok(false) };
        let status = pod.status.unwrap_or_default();
        Ok(pod.metadata.uid != first.metadata.uid && status.start_time.as_ref() == Some(&started))
    };
    eventually("the mirror is back, and shows the Pod that never stopped", LIMIT, back).await?;
    machine.static_pods.send_replace(vec![static_pod("api:2")?]);
    eventually("the mirror shows the new version", LIMIT, runs("api:2")).await?;
    machine.static_pods.send_replace(Vec::new());
    eventually("the mirror is gone", LIMIT, || async { Ok(pods.get_opt(name).await?.is_none()) }).await
}

#[tokio::test]
async fn a_wrong_clock_shows_and_does_no_harm() -> Result<()> {
    let cluster = Cluster::shared().await?;
    let ns = cluster.namespace().await?;
    let skew = SignedDuration::from_hours(-30);
    let _machine = cluster.add(Spec { clock_skew: skew, ..Spec::reserved("clock-1") })?;
    cluster.until_ready("clock-1", "True").await?;
    cluster.apply(&ns, &workload("Deployment", "web", json!({}), json!({}), Cluster::only_on("clock-1")))?;
    cluster.kubectl(["-n", &ns, "rollout", "status", "deployment/web", "--timeout=90s"])?;
    let list = pods(cluster, &ns)?;
    let started: Timestamp = at(&list[0], "/status/startTime")?.as_str().context("a time")?.parse()?;
    let ago = Timestamp::now().duration_since(started);
    assert!(ago > SignedDuration::from_hours(29), "{ago:?}");
    cluster.kubectl(["-n", &ns, "delete", "deployment", "web", "--cascade=foreground", "--timeout=60s"])?;
    assert!(pods(cluster, &ns)?.is_empty());
    Ok(())
}
