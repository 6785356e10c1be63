//! The block of the provider, and the runtime that goes with it.

use super::Check;
use crate::{
    api::{cluster_bootstrap::Topology, common::ProviderKind},
    bootstrap::config::{defaults, format},
};

pub(super) fn block(check: &mut Check<'_, '_>) {
    let provider = check.provider;
    let path = format!("providerConfig.{provider}");
    if !check.root.has(&path) {
        let is_optional = matches!(provider, ProviderKind::Local | ProviderKind::Sandbox);
        if !is_optional {
            let message = format!("`{path}` is missing");
            check.error(&path, message, format!("add `{provider}:` and its keys under `providerConfig:`"));
        }
        return;
    }
    endpoint(check, &path);
    match provider {
        ProviderKind::Harvester => one_of(check, &path, "kubeconfigPath", "kubeconfig"),
        ProviderKind::Gcp => one_of(check, &path, "serviceAccountKeyPath", "serviceAccountKey"),
        ProviderKind::Proxmox => proxmox(check),
        ProviderKind::Aws if defaults::topology(check.root) == Topology::Ha => {
            for key in ["vpcID", "subnetID"] {
                let path = format!("{path}.{key}");
                if !check.root.has(&path) {
                    let message = format!("`{path}` is missing: the load balancer of `ha` needs it");
                    check.error(&path, message, format!("add `{key}:`"));
                }
            }
        }
        _ => {}
    }
}

/// An API to which credentials are sent.
fn endpoint(check: &mut Check<'_, '_>, block: &str) {
    let path = format!("{block}.endpoint");
    let Some(text) = check.root.owned(&path) else { return };
    if format::is_in_clear(&text) {
        let message = format!("`{path}` is plain HTTP: whoever is on the way reads the credentials");
        check.warning(&path, message, "write https://");
    }
    let port = check.root.int32(&format!("{block}.port"));
    if let (ProviderKind::Nutanix, Some(port), (_, Some(own))) =
        (check.provider, port, format::split_port(&text))
        && port != i32::from(own)
    {
        let message = format!("`{path}` has port {own}, and `{block}.port` is {port}");
        check.error(&path, message, "keep one of them");
    }
}

fn one_of(check: &mut Check<'_, '_>, block: &str, path: &str, value: &str) {
    let (by_path, by_value) = (format!("{block}.{path}"), format!("{block}.{value}"));
    match (check.root.has(&by_path), check.root.has(&by_value)) {
        (true, true) => {
            check.error(
                &by_value,
                format!("`{by_path}` and `{by_value}` are both given"),
                "keep one of them",
            );
        }
        (false, false) => {
            check.error(
                &by_path,
                format!("`{by_path}` is missing"),
                format!("add `{path}:` with the path of the file"),
            );
        }
        _ => {}
    }
}

fn proxmox(check: &mut Check<'_, '_>) {
    const BLOCK: &str = "providerConfig.proxmox";
    let has = |key: &str| check.root.has(&format!("{BLOCK}.{key}"));
    let pairs = [("username", "password"), ("token", "tokenSecret")];
    let halves: Vec<(&str, &str)> = pairs
        .iter()
        .flat_map(|(one, other)| [(*one, *other), (*other, *one)])
        .filter(|(there, missing)| has(there) && !has(missing))
        .collect();
    let none = pairs.iter().all(|(one, other)| !has(one) && !has(other));
    let both = pairs.iter().all(|(one, other)| has(one) && has(other));
    for (there, missing) in halves {
        let path = format!("{BLOCK}.{missing}");
        check.error(
            &path,
            format!("`{path}` is missing: `{there}` is of no use without it"),
            format!("add `{missing}:`"),
        );
    }
    if none {
        let message = format!("`{BLOCK}` does not say how to sign in");
        check.error(BLOCK, message, "add `token:` and `tokenSecret:`, or `username:` and `password:`");
    }
    if both {
        let message = "the token is used, and `username` and `password` are not";
        check.warning("providerConfig.proxmox.username", message, "remove them");
    }
    let ids = (
        check.root.int32("providerConfig.proxmox.vmidStart"),
        check.root.int32("providerConfig.proxmox.vmidEnd"),
    );
    let (control_planes, workers) = defaults::machines(check.root);
    match ids {
        (Some(start), Some(end)) if start > end => {
            let message = format!("`vmidEnd` {end} comes before `vmidStart` {start}");
            check.error("providerConfig.proxmox.vmidEnd", message, "swap them");
        }
        (Some(start), Some(end))
            if i64::from(end) - i64::from(start) + 1 < i64::from(control_planes + workers) =>
        {
            let message =
                format!("{} ids are too few for {} machines", end - start + 1, control_planes + workers);
            check.error("providerConfig.proxmox.vmidEnd", message, "make the range larger");
        }
        (Some(_), None) | (None, Some(_)) => {
            let message = "`vmidStart` and `vmidEnd` go together";
            check.error(BLOCK, message, "add the other one, or remove both");
        }
        _ => {}
    }
}

pub(super) fn runtime(check: &mut Check<'_, '_>) {
    const RUNTIME: &str = "bootstrapCluster.runtime";
    let runtime = check.root.text(RUNTIME).unwrap_or("kind");
    if *check.provider == ProviderKind::Local {
        if runtime == "process" {
            let message = "provider `local` needs runtime `kind`: that cluster is the management cluster";
            check.error(RUNTIME, message, "write `kind`, or use provider `sandbox`");
        }
        if defaults::topology(check.root) == Topology::Ha {
            let message = "provider `local` has one node";
            check.error("cluster.topology", message, "write `topology: single-node`");
        }
    }
    if runtime == "process" && check.root.has("bootstrapCluster.kind") {
        let message = "`bootstrapCluster.kind` is not looked at with runtime `process`";
        check.warning("bootstrapCluster.kind", message, "remove it");
    }
}
