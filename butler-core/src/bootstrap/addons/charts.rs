//! What other people publish: their charts with our values, and their manifests.

use std::net::Ipv4Addr;

use serde_json::{Value, json};

use super::{AddonAction, AddonInput, AddonStep, ChartRelease, ChartSource, PublishedManifests, versions};
use crate::api::common::ProviderKind;

/// Registry of Butler's charts.
pub(super) const BUTLER_REGISTRY: &str = "oci://ghcr.io/butlerdotdev/charts";

/// MetalLB's kind for addresses that it gives out.
const POOL: &str = "IPAddressPool";

/// A release in a namespace of its own name.
pub(super) fn release(
    name: &str,
    namespace: &str,
    source: ChartSource,
    version: &str,
    values: Value,
) -> ChartRelease {
    ChartRelease {
        release: name.to_owned(),
        namespace: namespace.to_owned(),
        pod_security: None,
        source,
        chart: name.to_owned(),
        version: version.to_owned(),
        values,
        wait: true,
        then: Vec::new(),
    }
}

fn repository(url: &str) -> ChartSource {
    ChartSource::Repository(url.to_owned())
}

/// What was asked for, or the pinned one.
pub(super) fn version<'a>(asked: Option<&'a String>, pinned: &'a str) -> &'a str {
    asked.map(String::as_str).filter(|version| !version.is_empty() && *version != "latest").unwrap_or(pinned)
}

pub(super) fn cilium(input: &AddonInput) -> AddonAction {
    let cni = input.addons().cni.as_ref();
    let hubble = cni.and_then(|cni| cni.hubble_enabled).unwrap_or(true);
    let mut values = json!({
        "ipam": { "mode": "kubernetes" },
        "kubeProxyReplacement": true,
        "securityContext": { "capabilities": {
            // Talos lets nobody load kernel modules, so SYS_MODULE is not among them.
            "ciliumAgent": ["CHOWN", "KILL", "NET_ADMIN", "NET_RAW", "IPC_LOCK", "SYS_ADMIN", "SYS_RESOURCE",
                            "DAC_OVERRIDE", "FOWNER", "SETGID", "SETUID"],
            "cleanCiliumState": ["NET_ADMIN", "SYS_ADMIN", "SYS_RESOURCE"],
        }},
        "cgroup": { "autoMount": { "enabled": false }, "hostRoot": "/sys/fs/cgroup" },
        // KubePrism: every node reaches the API through itself.
        "k8sServiceHost": "localhost",
        "k8sServicePort": 7445,
        "hubble": { "enabled": hubble, "relay": { "enabled": hubble }, "ui": { "enabled": hubble } },
        "gatewayAPI": { "enabled": input.exposes_by_gateway() },
    });
    if input.is_single_node() {
        // The second would wait for a second node.
        values["operator"] = json!({ "replicas": 1 });
    }
    let version = version(cni.and_then(|cni| cni.version.as_ref()), versions::CILIUM);
    AddonAction::Chart(ChartRelease {
        // On a cloud nothing but the agents can start before the cloud controller manager has come.
        wait: !input.is_cloud(),
        ..release("cilium", "kube-system", repository("https://helm.cilium.io/"), version, values)
    })
}

pub(super) fn cert_manager(input: &AddonInput) -> AddonAction {
    let block = input.addons().cert_manager.as_ref();
    let version = version(block.and_then(|block| block.version.as_ref()), versions::CERT_MANAGER);
    let values = json!({ "crds": { "enabled": true } });
    AddonAction::Chart(ChartRelease {
        pod_security: Some("baseline".to_owned()),
        ..release("cert-manager", "cert-manager", repository("https://charts.jetstack.io"), version, values)
    })
}

pub(super) fn longhorn(input: &AddonInput) -> AddonAction {
    let block = input.addons().storage.as_ref();
    let version = version(block.and_then(|block| block.version.as_ref()), versions::LONGHORN);
    let replicas = match block.and_then(|block| block.replica_count) {
        _ if input.is_single_node() => 1,
        count => count.unwrap_or(3),
    };
    let values = json!({
        "defaultSettings": { "defaultReplicaCount": replicas, "defaultDataPath": "/var/lib/longhorn" },
        // The storage class has a count of its own.
        "persistence": { "defaultClassReplicaCount": replicas },
    });
    AddonAction::Chart(ChartRelease {
        pod_security: Some("privileged".to_owned()),
        ..release("longhorn", "longhorn-system", repository("https://charts.longhorn.io"), version, values)
    })
}

pub(super) fn metallb(input: &AddonInput, addresses: Option<&str>) -> AddonAction {
    let mut values = match input.is_single_node() || input.bootstrap.cluster.workers.is_none() {
        // Control planes carry a label that keeps load balancers away from them.
        true => json!({ "speaker": { "ignoreExcludeLB": true } }),
        false => json!({}),
    };
    if input.is_local() {
        // There is no router to talk to, and the daemons for that are four more containers.
        values["speaker"]["frr"] = json!({ "enabled": false });
    }
    let object = |kind: &str, name: &str, spec: Value| {
        json!({ "apiVersion": "metallb.io/v1beta1", "kind": kind,
                "metadata": { "name": name, "namespace": "metallb-system" }, "spec": spec })
    };
    AddonAction::Chart(ChartRelease {
        pod_security: Some("privileged".to_owned()),
        then: vec![
            object(POOL, "default-pool", json!({ "addresses": addresses.as_slice() })),
            object("L2Advertisement", "default", json!({ "ipAddressPools": ["default-pool"] })),
        ],
        ..release(
            "metallb",
            "metallb-system",
            repository("https://metallb.github.io/metallb"),
            versions::METALLB,
            values,
        )
    })
}

/// Writes down which addresses MetalLB gives out, where that was not known when the steps were made.
pub fn set_addresses(steps: &mut [AddonStep], first: Ipv4Addr, last: Ipv4Addr) {
    for step in steps {
        let AddonAction::Chart(release) = &mut step.action else { continue };
        for object in release.then.iter_mut().filter(|object| object["kind"] == POOL) {
            if object["spec"]["addresses"].as_array().is_some_and(Vec::is_empty) {
                object["spec"]["addresses"] = json!([format!("{first}-{last}")]);
            }
        }
    }
}

pub(super) fn traefik(input: &AddonInput, has_addresses: bool) -> AddonAction {
    let block = input.addons().ingress.as_ref();
    let version = version(block.and_then(|block| block.version.as_ref()), versions::TRAEFIK);
    let values = json!({
        "ingressClass": { "enabled": true, "isDefaultClass": true },
        "service": { "type": "LoadBalancer" },
    });
    AddonAction::Chart(ChartRelease {
        pod_security: Some("baseline".to_owned()),
        // Helm waits for the address of a LoadBalancer too, and nobody would give it one.
        wait: has_addresses && !input.is_sandbox(),
        ..release("traefik", "traefik", repository("https://traefik.github.io/charts"), version, values)
    })
}

pub(super) fn steward(input: &AddonInput) -> AddonAction {
    let block = input.addons().control_plane_provider.as_ref();
    let version = version(block.and_then(|block| block.version.as_ref()), versions::STEWARD);
    let values = json!({
        "image": { "repository": "ghcr.io/butlerdotdev/steward", "tag": version },
        "steward-etcd": { "deploy": true },
    });
    AddonAction::Chart(ChartRelease {
        pod_security: Some("baseline".to_owned()),
        ..release("steward", "steward-system", ChartSource::Oci(BUTLER_REGISTRY.to_owned()), version, values)
    })
}

pub(super) fn gateway_api() -> AddonAction {
    let version = versions::GATEWAY_API;
    let definitions = ["gatewayclasses", "gateways", "httproutes", "tlsroutes"];
    AddonAction::Manifests(PublishedManifests {
        name: format!("gateway-api-{version}"),
        // TLSRoute is only in the experimental channel.
        url: format!(
            "https://github.com/kubernetes-sigs/gateway-api/releases/download/{version}/experimental-install.yaml"
        ),
        sha256: None,
        variables: Vec::new(),
        established: definitions.map(|name| format!("{name}.gateway.networking.k8s.io")).into(),
        available: Vec::new(),
    })
}

pub(super) fn flux() -> AddonAction {
    let version = versions::FLUX;
    AddonAction::Manifests(PublishedManifests {
        name: format!("flux-{version}"),
        url: format!("https://github.com/fluxcd/flux2/releases/download/{version}/install.yaml"),
        sha256: None,
        variables: Vec::new(),
        established: Vec::new(),
        available: vec!["flux-system".to_owned()],
    })
}

/// The DaemonSet that holds the virtual address; services are MetalLB's.
pub(super) fn kube_vip(input: &AddonInput, vip: &str) -> AddonAction {
    let (address, bits) = vip.split_once('/').unwrap_or((vip, "24"));
    let interface = input.bootstrap.network.vip_interface.as_deref().filter(|name| !name.is_empty());
    let interface = interface.unwrap_or(match input.kind() {
        ProviderKind::Nutanix => "ens3",
        ProviderKind::Harvester => "enp1s0",
        _ => "eth0",
    });
    let block = input.addons().control_plane_ha.as_ref();
    let version = version(block.and_then(|block| block.version.as_ref()), versions::KUBE_VIP);
    let env: Vec<_> = [
        ("vip_arp", "true"),
        ("port", "6443"),
        ("vip_interface", interface),
        ("vip_address", address),
        ("vip_cidr", bits),
        ("cp_enable", "true"),
        ("cp_namespace", "kube-system"),
        ("vip_leaderelection", "true"),
        ("vip_leasename", "kube-vip-lease"),
        ("vip_leaseduration", "5"),
        ("vip_renewdeadline", "3"),
        ("vip_retryperiod", "1"),
    ]
    .into_iter()
    .map(|(name, value)| json!({ "name": name, "value": value }))
    .collect();
    let labels = json!({ "app.kubernetes.io/name": "kube-vip" });
    let daemon = json!({
        "apiVersion": "apps/v1", "kind": "DaemonSet",
        "metadata": { "name": "kube-vip", "namespace": "kube-system", "labels": labels },
        "spec": {
            "selector": { "matchLabels": labels },
            "template": {
                "metadata": { "labels": labels },
                "spec": {
                    "serviceAccountName": "kube-vip",
                    "hostNetwork": true,
                    "nodeSelector": { "node-role.kubernetes.io/control-plane": "" },
                    "tolerations": [
                        { "effect": "NoSchedule", "operator": "Exists" },
                        { "effect": "NoExecute", "operator": "Exists" },
                    ],
                    "containers": [{
                        "name": "kube-vip",
                        "image": format!("ghcr.io/kube-vip/kube-vip:{version}"),
                        "args": ["manager"],
                        "env": env,
                        "securityContext": { "capabilities": { "add": ["NET_ADMIN", "NET_RAW"] } },
                    }],
                },
            },
        },
    });
    let rules = json!([
        { "apiGroups": [""], "resources": ["services", "services/status", "nodes", "endpoints"],
          "verbs": ["list", "get", "watch", "update"] },
        { "apiGroups": ["coordination.k8s.io"], "resources": ["leases"],
          "verbs": ["list", "get", "watch", "update", "create"] },
    ]);
    let mut objects = account("kube-vip", "kube-vip", &rules);
    objects.push(daemon);
    AddonAction::Objects { objects, wait_for: vec!["daemonset/kube-system/kube-vip".to_owned()] }
}

/// A service account in kube-system with a role of its own.
pub(super) fn account(name: &str, role: &str, rules: &Value) -> Vec<Value> {
    vec![
        json!({ "apiVersion": "v1", "kind": "ServiceAccount",
                "metadata": { "name": name, "namespace": "kube-system" } }),
        json!({ "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
                "metadata": { "name": format!("system:{role}") }, "rules": rules }),
        json!({ "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
                "metadata": { "name": format!("system:{role}") },
                "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole",
                             "name": format!("system:{role}") },
                "subjects": [{ "kind": "ServiceAccount", "name": name, "namespace": "kube-system" }] }),
    ]
}
