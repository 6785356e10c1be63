//! Butler's own: the provider for tenants, settings, catalog, controllers, console.

use serde_json::{Value, json};

use super::{
    AddonAction, AddonInput, ChartRelease, ChartSource,
    charts::{BUTLER_REGISTRY, release, version},
    versions,
};
use crate::api::{
    API_VERSION, GROUP,
    butler_config::MultiTenancyMode,
    common::{ExposureMode, ExposureSpec, ProviderKind},
    names::{labels, namespaces},
};

/// The image that the definition of ClusterBootstrap fills in: another program of that name.
const OLDER_IMAGE: &str = "ghcr.io/butlerdotdev/butler-controller";

fn butler(kind: &str, namespace: Option<&str>, name: &str, spec: Value) -> Value {
    let mut object =
        json!({ "apiVersion": API_VERSION, "kind": kind, "metadata": { "name": name }, "spec": spec });
    if let Some(namespace) = namespace {
        object["metadata"]["namespace"] = json!(namespace);
    }
    object
}

/// Our own Pods keep every rule; the console's may not.
fn level(input: &AddonInput) -> &'static str {
    if input.wants_console() { "baseline" } else { "restricted" }
}

fn namespace(name: &str, level: Option<&str>) -> Value {
    let mut object = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": {
        "name": name, "labels": { labels::MANAGED_BY: labels::MANAGED_BY_BUTLER },
    }});
    if let Some(level) = level {
        for mode in ["enforce", "warn", "audit"] {
            object["metadata"]["labels"][format!("pod-security.kubernetes.io/{mode}")] = json!(level);
        }
    }
    object
}

/// The namespace of the platform.
pub(super) fn namespaces(input: &AddonInput) -> AddonAction {
    let mut system = namespace(namespaces::SYSTEM, Some(level(input)));
    if *input.kind() == ProviderKind::Sandbox {
        // There our controllers are processes, so nobody misses their Pods.
        system["metadata"]["labels"][labels::SANDBOX] = json!("true");
    }
    AddonAction::Objects { objects: vec![system], wait_for: Vec::new() }
}

/// The name of the ProviderConfig on the management cluster. Where the temporary cluster becomes that
/// cluster it is there already.
fn provider_name(input: &AddonInput) -> &str {
    if input.is_local() { &input.bootstrap.provider_ref.name } else { input.kind().as_str() }
}

/// None for `local`, whose ProviderConfig is there already.
pub(super) fn provider_config(input: &AddonInput) -> Option<AddonAction> {
    let name = provider_name(input);
    let required = |keys: &[&str]| -> Value {
        keys.iter().map(|key| ((*key).to_owned(), json!({ "fromCredentials": key }))).collect()
    };
    let optional = |key: &str| json!({ "fromCredentials": key, "optional": true });
    let (secret, data) = match input.kind() {
        ProviderKind::Nutanix => ("nutanix-credentials", required(&["username", "password"])),
        ProviderKind::Harvester => ("harvester-kubeconfig", required(&["kubeconfig"])),
        ProviderKind::Gcp => ("gcp-credentials", required(&["serviceAccountKey"])),
        ProviderKind::Aws => ("aws-credentials", required(&["accessKeyID", "secretAccessKey"])),
        ProviderKind::Sandbox => ("sandbox-credentials", required(&["socket"])),
        ProviderKind::Azure => {
            let mut data = required(&["clientID", "clientSecret", "tenantID"]);
            data["securityGroupName"] = optional("securityGroupName");
            let settings = input.provider.azure.as_ref();
            data["subscriptionID"] = json!(settings.map_or("", |settings| &settings.subscription_id));
            ("azure-credentials", data)
        }
        ProviderKind::Proxmox => {
            let keys = ["username", "password", "token", "tokenSecret"];
            let data = keys.iter().map(|key| ((*key).to_owned(), optional(key))).collect();
            ("proxmox-credentials", data)
        }
        _ => return None,
    };
    let mut spec = input.provider.clone();
    spec.credentials_ref = None;
    let mut spec = serde_json::to_value(spec).unwrap_or_default();
    spec["credentialsRef"] = json!({ "name": secret, "namespace": namespaces::SYSTEM });
    if spec["scope"].is_null() {
        spec["scope"] = json!({ "type": "platform" });
    }
    let mut objects = vec![
        namespace(namespaces::SYSTEM, Some(level(input))),
        json!({ "apiVersion": "v1", "kind": "Secret", "type": "Opaque",
                "metadata": { "name": secret, "namespace": namespaces::SYSTEM }, "stringData": data }),
    ];
    objects.extend(network_pool(input));
    objects.push(butler("ProviderConfig", Some(namespaces::SYSTEM), name, spec));
    Some(AddonAction::Objects { objects, wait_for: Vec::new() })
}

fn network_pool(input: &AddonInput) -> Option<Value> {
    let (name, pool) = input.network_pool.as_ref()?;
    let spec = serde_json::to_value(pool).unwrap_or_default();
    Some(butler("NetworkPool", Some(namespaces::SYSTEM), name, spec))
}

/// What the console's administrator may do on a local cluster: everything with Butler's own objects, and
/// see what runs. No Secret, no role and nobody else's name: the programs of the platform bring the rights
/// they need with their charts, and the person has the administrator's kubeconfig.
fn local_administrator() -> Vec<Value> {
    const NAME: &str = "butler-local-admin-user";
    let rbac = "rbac.authorization.k8s.io";
    let seen = ["namespaces", "nodes", "pods", "pods/log", "services", "events", "persistentvolumeclaims"];
    vec![
        json!({ "apiVersion": format!("{rbac}/v1"), "kind": "ClusterRole", "metadata": { "name": NAME },
                "rules": [
                    { "apiGroups": [GROUP], "resources": ["*"], "verbs": ["*"] },
                    { "apiGroups": [""], "resources": seen, "verbs": ["get", "list", "watch"] },
                    { "apiGroups": ["apps"], "resources": ["*"], "verbs": ["get", "list", "watch"] },
                ] }),
        json!({ "apiVersion": format!("{rbac}/v1"), "kind": "ClusterRoleBinding", "metadata": { "name": NAME },
                "roleRef": { "apiGroup": rbac, "kind": "ClusterRole", "name": NAME },
                "subjects": [{ "apiGroup": rbac, "kind": "User", "name": "admin@butler.local" }] }),
    ]
}

/// Settings of the platform, and outside the sandbox the catalog unless it is left out.
pub(super) fn addons(input: &AddonInput) -> AddonAction {
    let mode = input.multi_tenancy.as_ref().unwrap_or(&MultiTenancyMode::Optional);
    let mut spec = json!({
        "multiTenancy": { "mode": mode },
        "defaultNamespace": namespaces::TENANTS,
    });
    spec["defaultProviderConfigRef"] = json!({ "name": provider_name(input) });
    if input.is_local() {
        // One computer carries everything: an API server without a limit would starve the others.
        spec["defaultControlPlaneResources"] = json!({
            "apiServer": { "requests": { "cpu": "250m", "memory": "512Mi" },
                           "limits": { "cpu": "2", "memory": "1Gi" } },
            "controllerManager": { "requests": { "cpu": "100m", "memory": "128Mi" } },
            "scheduler": { "requests": { "cpu": "50m", "memory": "64Mi" } },
        });
    }
    let mut objects =
        vec![namespace(namespaces::TENANTS, None), butler("ButlerConfig", None, "butler", spec)];
    if input.is_local() {
        objects.extend(network_pool(input));
        objects.extend(local_administrator());
    }
    if input.is_sandbox() || input.no_catalog {
        return AddonAction::Objects { objects, wait_for: Vec::new() };
    }
    AddonAction::Chart(ChartRelease {
        pod_security: Some(level(input).to_owned()),
        // The chart makes a ButlerConfig of its own, so ours goes over it and not before it.
        then: objects,
        ..release(
            "butler-addons",
            namespaces::SYSTEM,
            ChartSource::Oci(BUTLER_REGISTRY.to_owned()),
            versions::BUTLER_ADDONS,
            json!({}),
        )
    })
}

/// Our controllers, by the chart that this program carries.
pub(super) fn controller(input: &AddonInput) -> AddonAction {
    let block = input.addons().butler_controller.clone().unwrap_or_default();
    let mut values = json!({ "profile": if input.is_single_node() { "edge" } else { "core" } });
    let image = block.image.as_deref().filter(|image| !image.is_empty() && *image != OLDER_IMAGE);
    let tag = block.version.as_deref().filter(|tag| !tag.is_empty() && *tag != "latest");
    let (repository, own_tag) = image.map_or((None, None), |image| {
        let (repository, tag) = split_image(image);
        (Some(repository), tag)
    });
    if let Some(repository) = repository {
        values["image"]["repository"] = json!(repository);
    }
    if let Some(tag) = own_tag.or(tag) {
        values["image"]["tag"] = json!(tag);
    }
    AddonAction::Chart(ChartRelease {
        chart: "butler".to_owned(),
        pod_security: Some(level(input).to_owned()),
        ..release("butler-controller", namespaces::SYSTEM, ChartSource::Embedded, versions::BUTLER, values)
    })
}

/// Splits at the last colon after the last slash: a registry may have a port.
fn split_image(image: &str) -> (&str, Option<&str>) {
    let name = image.rfind('/').map_or(0, |slash| slash + 1);
    match image[name..].rfind(':') {
        Some(colon) => (&image[..name + colon], Some(&image[name + colon + 1..])),
        None => (image, None),
    }
}

pub(super) fn exposure(exposure: &ExposureSpec) -> AddonAction {
    let mode = exposure.mode.clone().unwrap_or(ExposureMode::LoadBalancer);
    let spec = json!({ "controlPlaneExposure": exposure });
    let mut config = butler("ButlerConfig", None, "butler", spec);
    config["status"] = json!({
        "controlPlaneExposureMode": mode,
        "tcpProxyRequired": matches!(mode, ExposureMode::Ingress | ExposureMode::Gateway),
    });
    AddonAction::Objects { objects: vec![config], wait_for: Vec::new() }
}

pub(super) fn console(input: &AddonInput) -> AddonAction {
    let block = input.addons().console.clone().unwrap_or_default();
    let ingress = block.ingress.unwrap_or_default();
    let mut values = json!({});
    if ingress.enabled.unwrap_or(false) {
        let default = format!("butler.{}.local", input.cluster());
        let host = ingress.host.filter(|host| !host.is_empty()).unwrap_or(default);
        let path =
            |path: &str, service: &str| json!({ "path": path, "pathType": "Prefix", "service": service });
        let paths = [path("/api", "server"), path("/ws", "server"), path("/", "frontend")];
        values["ingress"] = json!({ "enabled": true, "hosts": [{ "host": host, "paths": paths }] });
        if let Some(class) = ingress.class_name.filter(|class| !class.is_empty()) {
            values["ingress"]["className"] = json!(class);
        }
        if ingress.tls.unwrap_or(false) {
            let secret = ingress.tls_secret_name.filter(|name| !name.is_empty());
            let secret = secret.unwrap_or_else(|| "butler-console-tls".to_owned());
            values["ingress"]["tls"] = json!([{ "secretName": secret, "hosts": [host] }]);
        }
    }
    let mut then = Vec::new();
    let service = |spec: Value| {
        json!({ "apiVersion": "v1", "kind": "Service",
                "metadata": { "name": "butler-console-frontend", "namespace": namespaces::SYSTEM }, "spec": spec })
    };
    if input.is_cloud() {
        let mut service = service(json!({ "type": "LoadBalancer" }));
        if *input.kind() == ProviderKind::Aws {
            service["metadata"]["annotations"] =
                json!({ "service.beta.kubernetes.io/aws-load-balancer-type": "nlb" });
        }
        then.push(service);
    } else if input.is_local() {
        let ports = json!([{ "port": 80, "protocol": "TCP", "nodePort": 30080 }]);
        then.push(service(json!({ "type": "NodePort", "ports": ports })));
    }
    AddonAction::Chart(ChartRelease {
        pod_security: Some(level(input).to_owned()),
        then,
        ..release(
            "butler-console",
            namespaces::SYSTEM,
            ChartSource::Oci(BUTLER_REGISTRY.to_owned()),
            version(block.version.as_ref(), versions::BUTLER_CONSOLE),
            values,
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_begins_after_the_last_slash() {
        let table = [
            ("butler", ("butler", None)),
            ("registry:5000/butler", ("registry:5000/butler", None)),
            ("registry:5000/a/butler:1.2", ("registry:5000/a/butler", Some("1.2"))),
            ("butler:dev", ("butler", Some("dev"))),
        ];
        for (image, parts) in table {
            assert_eq!(split_image(image), parts);
        }
    }
}
