use std::time::{Duration, Instant};

use anyhow::Result;
use butler_tests::{Signal, eventually};
use serde_json::json;

use crate::{
    LIMIT,
    cluster::{Cluster, Spec, at},
    workloads::{merge, pods, workload},
};

const ANNOTATION: &str = "sandbox.butler.butlerlabs.dev/";

#[tokio::test]
async fn drain_empties_a_node_and_uncordon_fills_it_again() -> Result<()> {
    let cluster = Cluster::shared().await?;
    let ns = cluster.namespace().await?;
    let (one, two) = (cluster.add(Spec::reserved("drain-1"))?, cluster.add(Spec::reserved("drain-2"))?);
    for node in [&one.name, &two.name] {
        cluster.until_ready(node, "True").await?;
        cluster.kubectl(["label", "node", node, &format!("for={ns}")])?;
    }
    let pod = json!({
        "nodeSelector": {"for": ns},
        "tolerations": [{"key": "reserved", "operator": "Exists"}],
        "topologySpreadConstraints": [{
            "maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": {"app": "web"}},
        }],
    });
    cluster.apply(&ns, &workload("Deployment", "web", json!({}), json!({"replicas": 4}), pod.clone()))?;
    cluster.apply(&ns, &workload("DaemonSet", "agent", json!({}), json!({}), pod))?;
    cluster.kubectl(["-n", &ns, "rollout", "status", "deployment/web", "--timeout=90s"])?;
    cluster.kubectl(["-n", &ns, "rollout", "status", "daemonset/agent", "--timeout=90s"])?;
    let on = |node: &str| -> Result<usize> {
        let all = pods(cluster, &ns)?;
        let here = all.iter().filter(|pod| pod["spec"]["nodeName"] == node);
        Ok(here.filter(|pod| pod["metadata"]["labels"]["app"] == "web").count())
    };
    assert!(on("drain-1")? > 0, "spread over both");

    cluster.kubectl(["drain", "drain-1", "--ignore-daemonsets", "--timeout=90s"])?;
    assert_eq!(on("drain-1")?, 0);
    cluster.kubectl(["-n", &ns, "rollout", "status", "deployment/web", "--timeout=90s"])?;
    assert_eq!(on("drain-2")?, 4);

    cluster.kubectl(["uncordon", "drain-1"])?;
    cluster.kubectl(["cordon", "drain-2"])?;
    cluster.kubectl(["-n", &ns, "rollout", "restart", "deployment/web"])?;
    cluster.kubectl(["-n", &ns, "rollout", "status", "deployment/web", "--timeout=90s"])?;
    eventually("all Pods are on the first node", LIMIT, || async { Ok(on("drain-1")? == 4) }).await
}

#[tokio::test]
async fn logs_are_read_cut_and_followed() -> Result<()> {
    let cluster = Cluster::shared().await?;
    let ns = cluster.namespace().await?;
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "talk", "annotations": {format!("{ANNOTATION}log"): "one\ntwo\nthree"}},
        "spec": {"containers": [{"name": "main", "image": "web"}]},
    });
    cluster.apply(&ns, &pod)?;
    cluster.kubectl(["-n", &ns, "wait", "pod/talk", "--for=condition=Ready", "--timeout=90s"])?;
    let logs =
        |more: &[&str]| cluster.kubectl(["-n", &ns, "logs", "talk"].into_iter().chain(more.iter().copied()));
    assert_eq!(logs(&[])?, "one\ntwo\nthree\n");
    assert_eq!(logs(&["--tail=1"])?, "three\n");
    assert_eq!(logs(&["--limit-bytes=5"])?, "one\nt");
    assert_eq!(logs(&["--since-time=2100-01-01T00:00:00Z"])?, "");
    assert_eq!(logs(&["--since=1h"])?, "one\ntwo\nthree\n");
    let line = logs(&["--timestamps", "--tail=1"])?;
    let (time, text) = line.trim().split_once(' ').unwrap_or_default();
    assert!(time.parse::<jiff::Timestamp>().is_ok() && text == "three", "{line}");
    let error = cluster.kubectl_fails(["-n", &ns, "logs", "talk", "--previous"])?;
    assert!(error.contains("previous terminated container"), "{error}");

    let mut follower = cluster.kubectl_runs(["-n", &ns, "logs", "-f", "talk", "--tail=2"])?;
    assert_eq!(follower.line(LIMIT)?, "two");
    assert_eq!(follower.line(LIMIT)?, "three");
    follower.line_with("still at work", LIMIT)?;
    cluster.kubectl(["-n", &ns, "delete", "pod", "talk", "--wait=false"])?;
    follower.line_with("asked to stop", LIMIT)?;
    // It ends with the container, by itself.
    let output = follower.wait(LIMIT)?.success()?;
    assert!(output.stdout.contains("msg=done"), "{output}");

    let error = cluster.kubectl_fails(["-n", &ns, "exec", "no-such-pod", "--", "true"])?;
    assert!(error.contains("not found"), "{error}");
    Ok(())
}

#[tokio::test]
async fn a_follower_that_leaves_is_no_burden() -> Result<()> {
    let cluster = Cluster::shared().await?;
    let ns = cluster.namespace().await?;
    cluster.kubectl(["-n", &ns, "run", "quiet", "--image=web:1"])?;
    cluster.kubectl(["-n", &ns, "wait", "pod/quiet", "--for=condition=Ready", "--timeout=90s"])?;
    let mut follower = cluster.kubectl_runs(["-n", &ns, "logs", "-f", "quiet"])?;
    follower.line_with("starting", LIMIT)?;
    follower.signal(Signal::KILL);
    let _ = follower.wait(LIMIT)?;
    let exec = cluster.kubectl_fails(["-n", &ns, "exec", "quiet", "--", "true"])?;
    assert!(exec.contains("the containers of this node are simulated"), "{exec}");
    assert!(cluster.kubectl(["-n", &ns, "logs", "quiet"])?.contains("image=docker.io/library/web:1"));
    Ok(())
}

#[tokio::test]
async fn a_deleted_pod_has_its_grace() -> Result<()> {
    let cluster = Cluster::shared().await?;
    let ns = cluster.namespace().await?;
    for (name, stubborn) in [("polite", "false"), ("stubborn", "true"), ("forced", "true")] {
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "annotations": {format!("{ANNOTATION}ignore-term"): stubborn}},
            "spec": {"terminationGracePeriodSeconds": 600, "containers": [{"name": "main", "image": "web"}]},
        });
        cluster.apply(&ns, &pod)?;
    }
    cluster.kubectl(["-n", &ns, "wait", "pod", "--all", "--for=condition=Ready", "--timeout=90s"])?;

    // Long before its ten minutes are over.
    cluster.kubectl(["-n", &ns, "delete", "pod", "polite", "--timeout=60s"])?;
    cluster.kubectl([
        "-n",
        &ns,
        "delete",
        "pod",
        "forced",
        "--grace-period=0",
        "--force",
        "--timeout=60s",
    ])?;
    let start = Instant::now();
    cluster.kubectl(["-n", &ns, "delete", "pod", "stubborn", "--grace-period=3", "--timeout=60s"])?;
    assert!(
        start.elapsed() >= Duration::from_secs(2),
        "it was killed only at the end: {:?}",
        start.elapsed()
    );
    assert!(pods(cluster, &ns)?.is_empty());
    let killing = || async {
        let text = cluster.kubectl(["-n", &ns, "get", "events", "-o", "jsonpath={.items[*].reason}"])?;
        Ok(text.contains("Killing"))
    };
    eventually("an event tells of the end", LIMIT, killing).await
}

#[tokio::test]
async fn a_job_that_is_drained_is_not_done() -> Result<()> {
    let cluster = Cluster::shared().await?;
    let ns = cluster.namespace().await?;
    let mut pod = Cluster::only_on("worker-1");
    merge(&mut pod, json!({"restartPolicy": "Never"}));
    let annotations = json!({format!("{ANNOTATION}run-seconds"): "600"});
    cluster.apply(&ns, &workload("Job", "long", annotations, json!({"backoffLimit": 3}), pod))?;
    cluster.kubectl([
        "-n",
        &ns,
        "wait",
        "pod",
        "-l",
        "app=long",
        "--for=condition=Ready",
        "--timeout=90s",
    ])?;
    cluster.kubectl(["-n", &ns, "delete", "pod", "-l", "app=long", "--timeout=60s"])?;
    let again = || async {
        let text = cluster.kubectl(["-n", &ns, "get", "job", "long", "-o", "json"])?;
        let job: serde_json::Value = serde_json::from_str(&text)?;
        let status = at(&job, "/status")?;
        assert!(status["succeeded"].is_null(), "{status:#}");
        Ok(status["failed"] == 1 && status["active"] == 1)
    };
    eventually("the Job tries again", LIMIT, again).await
}
