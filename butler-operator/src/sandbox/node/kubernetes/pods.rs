//! The three programs as static Pods.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use super::{API_SERVER, CONTROLLER_MANAGER, Component};
use crate::sandbox::{kubelet::StaticPod, node::context::Node};

/// The Pods as they are now.
pub(in super::super) fn all(node: &Node) -> Vec<StaticPod> {
    let Some(config) = node.current() else { return Vec::new() };
    let cluster = &config.machine.main.cluster;
    let image = |name: &str| {
        let given = match name {
            API_SERVER => cluster.api_server.as_ref().map(|server| server.image.clone()),
            CONTROLLER_MANAGER => cluster.controller_manager.as_ref().map(|part| part.image.clone()),
            _ => cluster.scheduler.as_ref().map(|part| part.image.clone()),
        };
        given
            .filter(|image| !image.is_empty())
            .unwrap_or_else(|| format!("registry.k8s.io/{name}:{}", super::super::kubelet::VERSION))
    };
    let components = node.components.borrow();
    let pods =
        components.iter().filter(|(_, component)| component.restarts >= 0).filter_map(|(name, component)| {
            let pod = json!({
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {
                    "name": format!("{name}-{}", node.hostname()),
                    "namespace": "kube-system",
                    "labels": { "k8s-app": name, "tier": "control-plane", "component": name },
                },
                "spec": {
                    "nodeName": node.hostname(),
                    "hostNetwork": true,
                    "priorityClassName": "system-cluster-critical",
                    "priority": 2_000_000_000,
                    "tolerations": [{ "operator": "Exists", "effect": "NoExecute" }],
                    "containers": [{ "name": name, "image": image(name) }],
                },
                "status": status(node, name, component),
            });
            serde_json::from_value::<Pod>(pod).ok().map(StaticPod)
        });
    pods.collect()
}

/// The state of one of them, as a Pod's status.
pub(in super::super) fn status(node: &Node, name: &str, component: &Component) -> Value {
    let started = component.started.unwrap_or(node.booted);
    let time = |time: Timestamp| format!("{time:.0}");
    let word = |yes: bool| if yes { "True" } else { "False" };
    let condition = |kind: &str, yes: bool| json!({ "type": kind, "status": word(yes), "lastTransitionTime": time(started) });
    let state = match component.pid {
        Some(_) => json!({ "running": { "startedAt": time(started) } }),
        None => json!({ "waiting": { "reason": "CrashLoopBackOff" } }),
    };
    let address = node.machine.file.address.to_string();
    json!({
        "phase": if component.pid.is_some() { "Running" } else { "Pending" },
        "conditions": [
            condition("Initialized", true),
            condition("Ready", component.ready),
            condition("ContainersReady", component.ready),
            condition("PodScheduled", true),
        ],
        "hostIP": address,
        "podIP": address,
        "podIPs": [{ "ip": address }],
        "startTime": time(node.booted),
        "containerStatuses": [{
            "name": name,
            "image": name,
            "imageID": "",
            "ready": component.ready,
            "started": component.pid.is_some(),
            "restartCount": component.restarts.max(0),
            "state": state,
        }],
    })
}
