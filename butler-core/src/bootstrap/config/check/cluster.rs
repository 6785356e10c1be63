//! Names, topology, versions, addons, exposure.

use super::Check;
use crate::{
    api::{cluster_bootstrap::Topology, common::ProviderKind},
    bootstrap::config::{
        build::split_image,
        defaults,
        versions::{self, Known},
    },
};

/// Longest name of a machine: a DNS label.
const LONGEST_LABEL: usize = 63;
/// Longest name of a cluster whose load balancer Amazon accepts.
const LONGEST_AWS_HA: usize = 25;

pub(super) fn names(check: &mut Check<'_, '_>) {
    const PATH: &str = "cluster.name";
    let Some(name) = check.root.owned(PATH) else { return };
    let (control_planes, workers) = defaults::machines(check.root);
    let machine = if workers > 0 {
        format!("{name}-worker-{}", workers - 1)
    } else {
        format!("{name}-cp-{}", control_planes - 1)
    };
    if machine.len() > LONGEST_LABEL {
        let most = LONGEST_LABEL - (machine.len() - name.len());
        let message = format!("`{PATH}` is too long: `{machine}` would be no name of a machine");
        check.error(PATH, message, format!("use at most {most} characters"));
    }
    let is_ha = defaults::topology(check.root) == Topology::Ha;
    if *check.provider == ProviderKind::Aws && is_ha && name.len() > LONGEST_AWS_HA {
        let message =
            format!("`{PATH}` has {} characters; with `ha` on AWS it may have {LONGEST_AWS_HA}", name.len());
        check.error(PATH, message, "use a shorter name: it becomes part of the load balancer's");
    }
    if *check.provider == ProviderKind::Gcp && name.starts_with(|c: char| c.is_ascii_digit()) {
        check.error(
            PATH,
            format!("`{PATH}` begins with a digit, which Google Cloud refuses"),
            "begin with a letter",
        );
    }
}

/// Keys of machines that are needed only where there are such machines.
pub(super) fn sizes(check: &mut Check<'_, '_>) {
    if defaults::topology(check.root) != Topology::Ha {
        return;
    }
    let workers = check.root.int32("cluster.workers.replicas").is_some_and(|replicas| replicas > 0);
    let needed = [
        ("cluster.controlPlane.replicas", "replicas: 1", check.root.object("cluster.controlPlane").is_some()),
        ("cluster.workers.cpu", "cpu: 1", workers),
        ("cluster.workers.memoryMB", "memoryMB: 2048", workers),
        ("cluster.workers.diskGB", "diskGB: 20", workers),
    ];
    for (path, example, _) in
        needed.into_iter().filter(|(path, _, is_needed)| *is_needed && !check.root.has(path))
    {
        check.error(path, format!("`{path}` is missing"), format!("add `{example}` or more"));
    }
}

pub(super) fn topology(check: &mut Check<'_, '_>) {
    const REPLICAS: &str = "cluster.controlPlane.replicas";
    let replicas = check.root.int32(REPLICAS);
    if defaults::topology(check.root) == Topology::SingleNode {
        if let Some(replicas) = replicas.filter(|replicas| *replicas > 1) {
            let message =
                format!("`single-node` has one control plane; `{REPLICAS}: {replicas}` is not looked at");
            check.warning(REPLICAS, message, "write 1, or `topology: ha`");
        }
        if check.root.int32("cluster.workers.replicas").is_some_and(|workers| workers > 0) {
            let message = "`single-node` has no workers; `cluster.workers` is not looked at";
            check.warning("cluster.workers", message, "remove it, or write `topology: ha`");
        }
        return;
    }
    match replicas {
        Some(even) if even % 2 == 0 => {
            let message = format!("`{REPLICAS}` is {even}: etcd needs an odd number to outlive a failure");
            check.error(REPLICAS, message, format!("write {} or {}", even - 1, even + 1));
        }
        Some(1) => {
            let message = "`ha` with one control plane stops when that machine stops";
            check.warning(REPLICAS, message, "write 3");
        }
        Some(9) => {
            let message = "etcd becomes slow with more than 7 members";
            check.warning(REPLICAS, message, "write 7 or fewer");
        }
        _ => {}
    }
    let shares_address =
        defaults::is_on_prem(check.provider) && replicas.is_some_and(|replicas| replicas > 1);
    if shares_address && !check.root.has("network.vip") {
        let message = "`network.vip` is missing: control planes of `ha` share an address";
        check.error("network.vip", message, "add `vip:` with a free address of the machines' network");
    }
}

pub(super) fn versions(check: &mut Check<'_, '_>) {
    const TALOS: &str = "talos.version";
    const KUBERNETES: &str = "talos.kubernetesVersion";
    let talos = defaults::talos_version(check.root, check.provider);
    let supported = match versions::known(&talos) {
        Known::Yes(supported) => supported,
        Known::TooOld => {
            let message =
                format!("`{TALOS}` v{talos} is too old: this version knows {}", versions::talos_range());
            let advice = format!("write v{}", versions::DEFAULT_TALOS);
            check.error(TALOS, message, advice);
            return;
        }
        Known::TooNew => {
            let message =
                format!("`{TALOS}` v{talos} is newer than this version knows ({})", versions::talos_range());
            check.warning(TALOS, message, "see that it accepts the version of Kubernetes");
            if !check.root.has(KUBERNETES) {
                let message =
                    format!("`{KUBERNETES}` is missing: nobody knows what goes with Talos v{talos}");
                check.error(KUBERNETES, message, "add `kubernetesVersion:` under `talos:`");
            }
            return;
        }
    };
    let Some(kubernetes) = defaults::kubernetes_version(check.root, check.provider) else { return };
    if kubernetes.major != 1 || !(supported.oldest..=supported.newest).contains(&kubernetes.minor) {
        let message = format!("Talos v{talos} does not run Kubernetes v{kubernetes}");
        let advice = format!("write a version from v1.{}.0 to v1.{}.x", supported.oldest, supported.newest);
        check.error(KUBERNETES, message, advice);
    } else if *check.provider == ProviderKind::Sandbox
        && kubernetes.minor != versions::SANDBOX_KUBERNETES.minor
    {
        let message = format!(
            "simulated machines run Kubernetes v{} whatever the file says",
            versions::SANDBOX_KUBERNETES
        );
        check.warning(KUBERNETES, message, "remove it");
    }
}

pub(super) fn addons(check: &mut Check<'_, '_>) {
    const OLD_POOL: &str = "addons.loadBalancer.addressPool";
    if check.root.has(OLD_POOL) {
        let both = check.root.has("network.loadBalancerPool");
        let message = if both {
            format!("`{OLD_POOL}` is not looked at, because `network.loadBalancerPool` is there")
        } else {
            format!("`{OLD_POOL}` is the old spelling of `network.loadBalancerPool`")
        };
        let advice = match (both, defaults::load_balancer_pool(check.root)) {
            (false, Some((_, start, end))) => {
                format!("write `loadBalancerPool: {{start: {start}, end: {end}}}` under `network:`")
            }
            _ => "remove it".to_owned(),
        };
        check.warning(OLD_POOL, message, advice);
    }
    for (block, installed) in [("ingress", "traefik"), ("controlPlaneProvider", "steward")] {
        let path = format!("addons.{block}.type");
        let is_on = check.root.flag(&format!("addons.{block}.enabled")) != Some(false);
        if let Some(kind) = check.root.text(&path).filter(|kind| is_on && ![installed, "none"].contains(kind))
        {
            let message = format!("`{path}: {kind}` is not installed by this version");
            check.error(&path, message, format!("write `{installed}`, or `none` and install it yourself"));
        }
    }
    idle(check);
    const IMAGE: &str = "addons.butlerController.image";
    if let Some((_, Some(tag))) = check.root.text(IMAGE).map(split_image)
        && let Some(version) = check.root.text("addons.butlerController.version")
        && version != tag
    {
        let message =
            format!("`{IMAGE}` has tag `{tag}`, and `addons.butlerController.version` is `{version}`");
        check.error(IMAGE, message, "keep one of them");
    }
    if *check.provider == ProviderKind::Local {
        return;
    }
    if check.root.flag("addons.butlerController.enabled") == Some(false)
        && check.root.flag("addons.console.enabled") == Some(true)
    {
        let message = "the console needs Butler's controllers, which are switched off";
        check.error("addons.console.enabled", message, "switch both on, or both off");
    }
}

/// Tells what is asked for and would not come, because the provider or something else brings it or nothing
/// is left to use it.
fn idle(check: &mut Check<'_, '_>) {
    let (cloud, local) = (defaults::is_cloud(check.provider), *check.provider == ProviderKind::Local);
    let on = |block: &str| {
        check.root.has(&format!("addons.{block}"))
            && check.root.flag(&format!("addons.{block}.enabled")) != Some(false)
            && check.root.text(&format!("addons.{block}.type")) != Some("none")
    };
    let asked = |block: &str| on(block) && check.root.has(&format!("addons.{block}.type"));
    let has_vip = check.root.has("network.vip");
    let mut found: Vec<(String, &str)> = [
        ("loadBalancer", cloud && asked("loadBalancer"), "the cloud has load balancers of its own"),
        ("ingress", cloud && on("ingress"), "no ingress controller is installed on clouds"),
        ("cni", local && asked("cni"), "KIND brings a network of Pods"),
        ("storage", local && asked("storage"), "KIND brings storage"),
        (
            "controlPlaneHA",
            on("controlPlaneHA") && (!defaults::is_on_prem(check.provider) || !has_vip),
            "control planes share no address of a network",
        ),
    ]
    .into_iter()
    .filter(|(_, is_idle, _)| *is_idle)
    .map(|(block, _, why)| (format!("addons.{block}"), why))
    .collect();
    if check.root.flag("addons.butlerController.enabled") == Some(false) {
        let needs = ["controlPlaneExposure", "multiTenancyMode", "networkPool", "providerNetwork"];
        let given = needs.into_iter().filter(|path| check.root.has(path));
        found.extend(given.map(|path| (path.to_owned(), "Butler's controllers are switched off")));
    }
    for (path, why) in found {
        check.warning(&path, format!("`{path}` is not looked at: {why}"), "remove it");
    }
}

pub(super) fn exposure(check: &mut Check<'_, '_>) {
    const BLOCK: &str = "controlPlaneExposure";
    if !check.root.has(BLOCK) {
        return;
    }
    let mode = check.root.owned("controlPlaneExposure.mode").unwrap_or_else(|| "LoadBalancer".to_owned());
    let mut need = |key: &str, advice: &str| {
        let path = format!("{BLOCK}.{key}");
        if !check.root.has(&path) {
            check.error(&path, format!("`{path}` is missing: mode `{mode}` needs it"), advice);
        }
    };
    if mode != "LoadBalancer" {
        need("hostname", "add `hostname:` with a wildcard such as *.k8s.example.org");
    }
    if mode == "Gateway" {
        need("gatewayRef", "add `gatewayRef:` with `namespace/name`");
    }
    let idle: &[&str] = match mode.as_str() {
        "LoadBalancer" => &["hostname", "ingressClassName", "controllerType", "gatewayRef"],
        "Gateway" => &["ingressClassName", "controllerType"],
        _ => &["gatewayRef"],
    };
    for key in idle {
        let path = format!("{BLOCK}.{key}");
        if check.root.has(&path) {
            check.warning(&path, format!("`{path}` is not looked at in mode `{mode}`"), "remove it");
        }
    }
}
