//! The kubelet of a node: its identity, what it is told, and whether Kubernetes finds it ready.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use futures::StreamExt;
use jiff::SignedDuration;
use k8s_openapi::api::core::v1::{Node as KubernetesNode, Taint};
use kube::{
    Api,
    api::{Patch, PatchParams},
    runtime::{WatchStreamExt, watcher},
};
use ring::digest::{SHA256, digest};
use serde_json::json;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::{
    balance,
    config::{Config, full},
    context::{Node, format_uuid},
    kubernetes::{join, pki, pods},
    services::State,
};
use crate::sandbox::kubelet::{self, KubeletOptions, StaticPod};

const ID: &str = "kubelet";
/// What a node without an image for it runs.
pub(super) const VERSION: &str = "v1.34.4";
const RETRY: Duration = Duration::from_secs(2);
const LABEL_RETRY: Duration = Duration::from_millis(500);

/// Runs the kubelet until the workload ends; a change of the configuration begins it anew.
pub(super) async fn run(node: Arc<Node>) {
    node.services.set(ID, State::Starting, "Starting service");
    node.services.set(ID, State::Preparing, "Running pre state");
    let way = loop {
        match balance::way_to_api(node.clone()).await {
            Ok(way) => break way,
            Err(error) => node.services.set(ID, State::Failed, &full(&error)),
        }
        tokio::time::sleep(RETRY).await;
    };
    let mut held = node.held.subscribe();
    let mut restarts = node.restarts.subscribe();
    let mut config = node.config.subscribe();
    loop {
        tokio::select! {
            () = node.workload.cancelled() => break,
            _ = held.wait_for(|held| !held.contains(ID)) => {}
        }
        let wanted = restarts.borrow_and_update().get(ID).copied();
        let Some(current) = config.borrow_and_update().clone() else { break };
        node.services.set(ID, State::Running, "Started task kubelet (PID 1200) for container kubelet");
        node.services.health(ID, true, "");
        let stop = CancellationToken::new();
        let task = live(node.clone(), current.clone(), way, stop.clone());
        tokio::pin!(task);
        let changed = async {
            loop {
                if config.changed().await.is_err() {
                    return;
                }
                let new = config.borrow().clone();
                if new.is_none_or(|new| differs(&current, &new)) {
                    return;
                }
            }
        };
        let over = tokio::select! {
            () = node.workload.cancelled() => true,
            _ = held.wait_for(|held| held.contains(ID)) => false,
            _ = restarts.wait_for(|all| all.get(ID).copied() != wanted) => false,
            () = changed => false,
            () = &mut task => false,
        };
        stop.cancel();
        // It has a moment to end its answers; what does not end is dropped.
        let _ = tokio::time::timeout(Duration::from_secs(2), &mut task).await;
        node.node_ready.store(false, Ordering::Relaxed);
        node.services.set(ID, State::Finished, "Service finished successfully");
        if over {
            break;
        }
    }
}

/// True when the kubelet has to begin anew for this change.
fn differs(old: &Config, new: &Config) -> bool {
    let (one, two) = (&old.machine.main.machine, &new.machine.main.machine);
    one.kubelet != two.kubelet
        || one.node_labels != two.node_labels
        || one.node_annotations != two.node_annotations
        || one.node_taints != two.node_taints
        || old.machine.node_name() != new.machine.node_name()
}

async fn live(node: Arc<Node>, config: Arc<Config>, way: SocketAddr, stop: CancellationToken) {
    let joined = tokio::select! {
        () = stop.cancelled() => return,
        joined = join::identity(&node, &config, way) => joined,
    };
    node.machine.logs.service(ID, "has a certificate of the cluster");
    if config.machine.main.machine.kubelet.skip_node_registration {
        node.node_ready.store(true, Ordering::Relaxed);
        node.changed.notify_one();
        return stop.cancelled().await;
    }
    let client = match join::client(&config, &joined, way).await {
        Ok(client) => client,
        Err(error) => {
            node.machine.logs.service(ID, error);
            return tokio::time::sleep(RETRY).await;
        }
    };
    let (pods, receiver) = watch::channel(Vec::new());
    let options = options(&node, &config, client.clone());
    tokio::select! {
        ended = kubelet::run(options, receiver, stop.clone()) => {
            if let Err(error) = ended {
                node.machine.logs.service(ID, full(&error));
                node.services.health(ID, false, &full(&error));
                tokio::time::sleep(RETRY).await;
            }
        }
        () = mirror(&node, pods) => {}
        () = watch_ready(&node, client) => {}
        () = label(&node, &config) => {}
    }
}

/// Sets the labels that a kubelet may not set itself, where there is an administrator's identity: on
/// control planes. Workers cannot have them, as on Talos.
async fn label(node: &Arc<Node>, config: &Config) {
    let labels: BTreeMap<_, _> = labels(config).into_iter().filter(|(key, _)| is_restricted(key)).collect();
    let patch = Patch::Merge(json!({ "metadata": { "labels": labels } }));
    while config.is_control_plane() && !labels.is_empty() {
        let patched = async {
            let api: Api<KubernetesNode> = Api::all(pki::admin_client(node).await?);
            let patched = api.patch_metadata(&node.hostname(), &PatchParams::default(), &patch).await;
            patched.map_err(|error| full(&error))
        };
        if patched.await.is_ok() {
            break;
        }
        tokio::time::sleep(LABEL_RETRY).await;
    }
    std::future::pending::<()>().await;
}

/// True for labels that the API server does not take from a node about itself.
fn is_restricted(key: &str) -> bool {
    let Some((domain, _)) = key.split_once('/') else { return false };
    let within = |parent: &str| domain == parent || domain.ends_with(&format!(".{parent}"));
    (within("kubernetes.io") || within("k8s.io"))
        && !within("kubelet.kubernetes.io")
        && !within("node.kubernetes.io")
}

/// Keeps the kubelet informed of static Pods.
async fn mirror(node: &Arc<Node>, pods: watch::Sender<Vec<StaticPod>>) {
    let mut components = node.components.subscribe();
    loop {
        let now = pods::all(node);
        pods.send_if_modified(|old| {
            let changed = *old != now;
            *old = now;
            changed
        });
        if components.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// Follows what Kubernetes says of this node.
async fn watch_ready(node: &Arc<Node>, client: kube::Client) {
    let api: Api<KubernetesNode> = Api::all(client);
    let only = watcher::Config::default().fields(&format!("metadata.name={}", node.hostname()));
    let mut nodes = watcher(api, only).default_backoff().applied_objects().boxed();
    while let Some(seen) = nodes.next().await {
        let Ok(seen) = seen else { continue };
        let conditions = seen.status.and_then(|status| status.conditions).unwrap_or_default();
        let ready = conditions.iter().any(|one| one.type_ == "Ready" && one.status == "True");
        if node.node_ready.swap(ready, Ordering::Relaxed) != ready {
            node.changed.notify_one();
        }
    }
    std::future::pending::<()>().await;
}

fn options(node: &Node, config: &Config, client: kube::Client) -> KubeletOptions {
    let file = &node.machine.file;
    let main = &config.machine.main;
    let machine = &main.machine;
    KubeletOptions {
        node_name: node.hostname(),
        address: file.address,
        port: file.ports.kubelet,
        cpu: file.cpu,
        memory_mb: file.memory_mb,
        disk_gb: file.disk_gb,
        labels: labels(config).into_iter().filter(|(key, _)| !is_restricted(key)).collect(),
        annotations: machine.node_annotations.clone(),
        taints: taints(config),
        provider_id: Some(format!("sandbox://{}", file.id)),
        kubelet_version: version(config),
        os_image: node.os(),
        kernel_version: super::KERNEL.to_owned(),
        container_runtime: "containerd://2.1.5".to_owned(),
        machine_id: machine_id(node),
        system_uuid: system_uuid(node),
        boot_id: node.boot_id.clone(),
        client,
        client_ca: main.cluster.ca.as_ref().map(|ca| ca.crt.clone()).unwrap_or_default(),
        serving: None,
        network_ready: main.cluster.network.cni.as_ref().is_none_or(|cni| cni.name != "none"),
        log_dir: node.machine.disk.logs().join("containers"),
        clock_skew: SignedDuration::from_secs(node.faults().clock_skew_seconds),
    }
}

/// The version in the image's tag.
pub(super) fn version(config: &Config) -> String {
    let image = &config.machine.main.machine.kubelet.image;
    image.rsplit_once(":v").map_or_else(|| VERSION.to_owned(), |(_, tag)| format!("v{tag}"))
}

fn labels(config: &Config) -> BTreeMap<String, String> {
    let mut labels = config.machine.main.machine.node_labels.clone();
    if config.is_control_plane() {
        labels.insert("node-role.kubernetes.io/control-plane".to_owned(), String::new());
    }
    labels
}

/// `value:Effect` or `Effect` by key, and what keeps Pods off control planes.
fn taints(config: &Config) -> Vec<Taint> {
    let main = &config.machine.main;
    let own = main.machine.node_taints.iter().map(|(key, text)| {
        let (value, effect) = match text.split_once(':') {
            Some((value, effect)) => (Some(value.to_owned()), effect),
            None => (None, text.as_str()),
        };
        Taint { key: key.clone(), value, effect: effect.to_owned(), ..Taint::default() }
    });
    let mut taints: Vec<Taint> = own.collect();
    if config.is_control_plane() && !main.cluster.allow_scheduling_on_control_planes {
        taints.push(Taint {
            key: "node-role.kubernetes.io/control-plane".to_owned(),
            effect: "NoSchedule".to_owned(),
            ..Taint::default()
        });
    }
    taints
}

/// The machine's UUID: the same for the same machine.
pub(super) fn system_uuid(node: &Node) -> String {
    let hash = digest(&SHA256, format!("machine {}", node.machine.file.id).as_bytes());
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hash.as_ref()[..16]);
    format_uuid(bytes)
}

fn machine_id(node: &Node) -> String {
    let hash = digest(&SHA256, node.identity.as_bytes());
    hash.as_ref()[..16].iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::is_restricted;

    #[rstest]
    #[case("node-role.kubernetes.io/control-plane", true)]
    #[case("kubernetes.io/anything", true)]
    #[case("node.kubernetes.io/exclude-from-external-load-balancers", false)]
    #[case("example.com/kubernetes.io", false)]
    #[case("plain", false)]
    fn only_some_labels_need_an_administrator(#[case] key: &str, #[case] restricted: bool) {
        assert_eq!(is_restricted(key), restricted);
    }
}
