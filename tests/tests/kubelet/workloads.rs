use anyhow::Result;
use butler_tests::eventually;
use serde_json::{Value, json};

use crate::{
    LIMIT,
    cluster::{Cluster, at},
};

/// A Deployment, Job, … of one container with these Pod annotations and more of a Pod's spec.
pub(crate) fn workload(kind: &str, name: &str, annotations: Value, spec: Value, pod: Value) -> Value {
    let labels = json!({"app": name});
    let mut object = json!({
        "apiVersion": if kind == "Job" { "batch/v1" } else { "apps/v1" },
        "kind": kind,
        "metadata": {"name": name},
        "spec": {"template": {
            "metadata": {"labels": labels, "annotations": annotations},
            "spec": {"containers": [{"name": "main", "image": "registry.example.com/main:1"}]},
        }},
    });
    if kind != "Job" {
        object["spec"]["selector"] = json!({"matchLabels": labels});
    }
    merge(&mut object["spec"], spec);
    merge(&mut object["spec"]["template"]["spec"], pod);
    object
}

pub(crate) fn merge(object: &mut Value, more: Value) {
    if let (Value::Object(object), Value::Object(more)) = (object, more) {
        object.extend(more);
    }
}

pub(crate) fn pods(cluster: &Cluster, namespace: &str) -> Result<Vec<Value>> {
    let text = cluster.kubectl(["-n", namespace, "get", "pods", "-o", "json"])?;
    let list: Value = serde_json::from_str(&text)?;
    Ok(at(&list, "/items")?.as_array().cloned().unwrap_or_default())
}

#[tokio::test]
async fn a_deployment_becomes_available_and_a_rollout_ends() -> Result<()> {
    let cluster = Cluster::shared().await?;
    let ns = cluster.namespace().await?;
    let probe = json!({"initialDelaySeconds": 1, "tcpSocket": {"port": 80}});
    let pod = json!({"containers": [{
        "name": "main", "image": "web:1", "readinessProbe": probe, "ports": [{"containerPort": 80}],
    }]});
    cluster.apply(&ns, &workload("Deployment", "web", json!({}), json!({"replicas": 4}), pod))?;
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"},
        "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]},
    });
    cluster.apply(&ns, &service)?;
    cluster.kubectl(["-n", &ns, "wait", "deployment/web", "--for=condition=Available", "--timeout=90s"])?;
    cluster.kubectl(["-n", &ns, "rollout", "status", "deployment/web", "--timeout=90s"])?;

    let pods = pods(cluster, &ns)?;
    assert_eq!(pods.len(), 4);
    let mut addresses = Vec::new();
    for pod in &pods {
        let status = at(pod, "/status")?;
        assert_eq!(status["phase"], "Running");
        assert_eq!(status["qosClass"], "BestEffort");
        let container = at(status, "/containerStatuses/0")?;
        assert_eq!((&container["ready"], &container["started"]), (&json!(true), &json!(true)));
        assert_eq!(container["image"], "docker.io/library/web:1");
        assert!(container["imageID"].as_str().is_some_and(|id| id.contains("@sha256:")), "{container}");
        assert!(container["containerID"].as_str().is_some_and(|id| id.starts_with("containerd://")));
        assert!(container["state"]["running"]["startedAt"].is_string(), "{container}");
        let ip = at(status, "/podIP")?.as_str().unwrap_or_default().to_owned();
        assert!(ip.starts_with("10.244."), "from the range of the node: {ip}");
        assert_eq!(status["podIPs"], json!([{"ip": ip}]));
        addresses.push(ip);
    }
    addresses.sort();
    addresses.dedup();
    assert_eq!(addresses.len(), 4, "{addresses:?}");
    let endpoints = || async {
        let text = cluster.kubectl([
            "-n",
            &ns,
            "get",
            "endpointslices",
            "-o",
            "jsonpath={.items[*].endpoints[*].addresses[0]}",
        ])?;
        Ok(text.split_whitespace().count() == 4)
    };
    eventually("the Service has its endpoints", LIMIT, endpoints).await?;

    cluster.kubectl(["-n", &ns, "rollout", "restart", "deployment/web"])?;
    cluster.kubectl(["-n", &ns, "rollout", "status", "deployment/web", "--timeout=120s"])?;
    let old: Vec<String> = pods.iter().map(|pod| pod["metadata"]["name"].to_string()).collect();
    let replaced = || async {
        let new = self::pods(cluster, &ns)?;
        Ok(new.len() == 4 && new.iter().all(|pod| !old.contains(&pod["metadata"]["name"].to_string())))
    };
    eventually("all Pods are new", LIMIT, replaced).await
}

#[tokio::test]
async fn a_job_completes_and_a_failing_one_fails() -> Result<()> {
    let cluster = Cluster::shared().await?;
    let ns = cluster.namespace().await?;
    let never = json!({"restartPolicy": "Never"});
    let init = json!({
        "restartPolicy": "Never",
        "initContainers": [
            {"name": "first", "image": "init:1"},
            {"name": "proxy", "image": "proxy:1", "restartPolicy": "Always"},
            {"name": "second", "image": "init:1"},
        ],
    });
    let job = workload("Job", "good", json!({}), json!({"completions": 2, "parallelism": 2}), init);
    cluster.apply(&ns, &job)?;
    let key = |name: &str| format!("sandbox.butler.butlerlabs.dev/{name}");
    let annotations = json!({key("fail"): "no luck today", key("run-seconds"): "0.2"});
    cluster.apply(&ns, &workload("Job", "bad", annotations, json!({"backoffLimit": 1}), never))?;
    let slow = json!({"restartPolicy": "Never", "activeDeadlineSeconds": 1});
    let annotations = json!({key("run-seconds"): "600"});
    cluster.apply(&ns, &workload("Job", "slow", annotations, json!({"backoffLimit": 0}), slow))?;

    cluster.kubectl(["-n", &ns, "wait", "job/good", "--for=condition=Complete", "--timeout=90s"])?;
    cluster.kubectl(["-n", &ns, "wait", "job/bad", "job/slow", "--for=condition=Failed", "--timeout=90s"])?;
    for pod in pods(cluster, &ns)? {
        let status = at(&pod, "/status")?;
        let end = &status["containerStatuses"][0]["state"]["terminated"];
        match pod["metadata"]["labels"]["app"].as_str() {
            Some("good") => {
                assert_eq!(status["phase"], "Succeeded");
                assert_eq!((&end["exitCode"], &end["reason"]), (&json!(0), &json!("Completed")));
                let init = at(status, "/initContainerStatuses")?;
                let reasons = [0, 1, 2].map(|n| init[n]["state"]["terminated"]["reason"].clone());
                assert_eq!(reasons, ["Completed", "Completed", "Completed"], "{init:#}");
                let finished = &init[0]["state"]["terminated"]["finishedAt"];
                let began = &init[2]["state"]["terminated"]["startedAt"];
                assert!(finished.as_str() <= began.as_str(), "in order: {finished} {began}");
            }
            Some("bad") => {
                assert_eq!(status["phase"], "Failed");
                assert_eq!((&end["exitCode"], &end["message"]), (&json!(1), &json!("no luck today")));
            }
            _ => assert_eq!(
                (&status["phase"], &status["reason"]),
                (&json!("Failed"), &json!("DeadlineExceeded"))
            ),
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_daemon_set_lands_on_every_node() -> Result<()> {
    let cluster = Cluster::shared().await?;
    let ns = cluster.namespace().await?;
    let shared = json!({"nodeSelector": {"pool": "shared"}, "hostNetwork": true});
    cluster.apply(&ns, &workload("DaemonSet", "agent", json!({}), json!({}), shared))?;
    cluster.kubectl(["-n", &ns, "rollout", "status", "daemonset/agent", "--timeout=90s"])?;
    let mut nodes = Vec::new();
    for pod in pods(cluster, &ns)? {
        assert_eq!(pod["status"]["podIP"], pod["status"]["hostIP"], "on the host's network");
        nodes.push(pod["spec"]["nodeName"].as_str().unwrap_or_default().to_owned());
    }
    nodes.sort();
    assert_eq!(nodes, ["worker-1", "worker-2", "worker-3"]);
    Ok(())
}

#[tokio::test]
async fn a_stateful_set_starts_in_order_and_a_pod_comes_back_by_its_name() -> Result<()> {
    let cluster = Cluster::shared().await?;
    let ns = cluster.namespace().await?;
    let spec = json!({"replicas": 3, "serviceName": "db"});
    cluster.apply(&ns, &workload("StatefulSet", "db", json!({}), spec, json!({})))?;
    cluster.kubectl(["-n", &ns, "rollout", "status", "statefulset/db", "--timeout=90s"])?;
    let list = pods(cluster, &ns)?;
    let names: Vec<_> = list.iter().filter_map(|pod| pod["metadata"]["name"].as_str()).collect();
    assert_eq!(names, ["db-0", "db-1", "db-2"]);
    let ready = |pod: &Value| -> Option<String> {
        let conditions = pod["status"]["conditions"].as_array()?;
        let ready = conditions.iter().find(|condition| condition["type"] == "Ready")?;
        ready["lastTransitionTime"].as_str().map(str::to_owned)
    };
    for (one, next) in list.iter().zip(&list[1..]) {
        let created = next["metadata"]["creationTimestamp"].as_str().map(str::to_owned);
        assert!(ready(one) <= created, "the next one is made when one is ready: {one:#}");
    }
    let uid = list[1]["metadata"]["uid"].clone();
    cluster.kubectl(["-n", &ns, "delete", "pod", "db-1"])?;
    let back = || async {
        let list = pods(cluster, &ns)?;
        let pod = list.iter().find(|pod| pod["metadata"]["name"] == "db-1");
        Ok(pod.is_some_and(|pod| pod["metadata"]["uid"] != uid && pod["status"]["phase"] == "Running"))
    };
    eventually("db-1 is back", LIMIT, back).await
}

#[tokio::test]
async fn a_crash_loop_and_a_missing_image_can_be_seen() -> Result<()> {
    let cluster = Cluster::shared().await?;
    let ns = cluster.namespace().await?;
    let key = |name: &str| format!("sandbox.butler.butlerlabs.dev/{name}");
    let annotations =
        json!({key("crash-loop"): "true", key("run-seconds"): "0.2", key("log"): "hello\nand bye"});
    cluster.apply(&ns, &workload("Deployment", "crash", annotations, json!({}), json!({})))?;
    let missing = json!({"containers": [{"name": "main", "image": "shop/web:missing"}]});
    cluster.apply(&ns, &workload("Deployment", "missing", json!({}), json!({}), missing))?;
    let seen = || async {
        let text = cluster.kubectl(["-n", &ns, "get", "pods", "--no-headers"])?;
        Ok(text.contains("CrashLoopBackOff") && text.contains("ImagePullBackOff"))
    };
    eventually("kubectl shows both", LIMIT, seen).await?;
    for pod in pods(cluster, &ns)? {
        let container = at(&pod, "/status/containerStatuses/0")?;
        if pod["metadata"]["labels"]["app"] == "crash" {
            assert!(container["restartCount"].as_i64() >= Some(1), "{container:#}");
            assert_eq!(container["lastState"]["terminated"]["exitCode"], 1);
            assert_eq!(pod["status"]["phase"], "Running");
        } else {
            assert_eq!(pod["status"]["phase"], "Pending");
        }
    }
    let log = cluster.kubectl(["-n", &ns, "logs", "deployment/crash", "--previous"])?;
    assert_eq!(log.lines().take(2).collect::<Vec<_>>(), ["hello", "and bye"], "{log}");
    let told = || async {
        let text = cluster.kubectl(["-n", &ns, "get", "events", "-o", "jsonpath={.items[*].reason}"])?;
        let all = ["Pulled", "Created", "Started", "BackOff", "Failed"];
        Ok(all.iter().all(|reason| text.split(' ').any(|word| word == *reason)))
    };
    eventually("events tell of it", LIMIT, told).await
}

#[tokio::test]
async fn a_readiness_gate_is_respected() -> Result<()> {
    let cluster = Cluster::shared().await?;
    let ns = cluster.namespace().await?;
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "gated"},
        "spec": {
            "readinessGates": [{"conditionType": "example.com/open"}],
            "containers": [{"name": "main", "image": "web"}],
        },
    });
    cluster.apply(&ns, &pod)?;
    cluster.kubectl(["-n", &ns, "wait", "pod/gated", "--for=condition=ContainersReady", "--timeout=90s"])?;
    let ready =
        ["-n", &ns, "get", "pod", "gated", "-o", "jsonpath={.status.conditions[?(@.type=='Ready')].reason}"];
    assert_eq!(cluster.kubectl(ready)?, "ReadinessGatesNotReady");
    let open =
        json!({"status": {"conditions": [{"type": "example.com/open", "status": "True"}]}}).to_string();
    cluster.kubectl(["-n", &ns, "patch", "pod", "gated", "--subresource=status", "-p", &open])?;
    cluster.kubectl(["-n", &ns, "wait", "pod/gated", "--for=condition=Ready", "--timeout=90s"])?;
    let text =
        cluster.kubectl(["-n", &ns, "get", "pod", "gated", "-o", "jsonpath={.status.conditions[*].type}"])?;
    assert!(text.contains("example.com/open"), "the other's condition stays: {text}");
    Ok(())
}
