//! Cloud controller managers: what tells the nodes of a cloud apart and makes its load balancers.

use serde_json::{Value, json};

use super::{
    AddonAction, AddonInput, BackendPool, ChartRelease, ChartSource,
    charts::{account, release},
    versions,
};
use crate::api::common::ProviderKind;

const NAME: &str = "cloud-controller-manager";

/// The steps of a cloud: key, title, action.
pub(super) fn controller_manager(input: &AddonInput) -> Vec<(&'static str, &'static str, AddonAction)> {
    let title = "the cloud knows the nodes";
    match input.kind() {
        ProviderKind::Aws => {
            vec![
                ("cloud-credentials", "the cloud controller manager may sign in", aws_credentials()),
                (NAME, title, aws(input)),
            ]
        }
        ProviderKind::Gcp => vec![(NAME, title, gcp(input))],
        ProviderKind::Azure => vec![(NAME, title, azure(input))],
        _ => Vec::new(),
    }
}

/// The load balancer that Azure's cloud controller manager makes for Services is named after the cluster,
/// and so is its backend pool.
pub(super) fn backend_pool(input: &AddonInput) -> AddonAction {
    let settings = input.provider.azure.clone().unwrap_or_default();
    AddonAction::BackendPool(BackendPool {
        login: "https://login.microsoftonline.com".to_owned(),
        management: "https://management.azure.com".to_owned(),
        subscription: settings.subscription_id,
        resource_group: settings.resource_group,
        name: input.cluster().to_owned(),
    })
}

fn aws_credentials() -> AddonAction {
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "Opaque",
        "metadata": { "name": "aws-cloud-credentials", "namespace": "kube-system" },
        "stringData": {
            "access-key-id": { "fromCredentials": "accessKeyID" },
            "secret-access-key": { "fromCredentials": "secretAccessKey" },
        },
    });
    AddonAction::Objects { objects: vec![secret], wait_for: Vec::new() }
}

fn aws(input: &AddonInput) -> AddonAction {
    let region = input.provider.aws.as_ref().map_or("", |settings| settings.region.as_str());
    let from = |name: &str, key: &str| json!({ "name": name, "valueFrom": { "secretKeyRef": { "name": "aws-cloud-credentials", "key": key } } });
    let values = json!({
        "args": ["--v=2", "--cloud-provider=aws", "--configure-cloud-routes=false"],
        "env": [
            from("AWS_ACCESS_KEY_ID", "access-key-id"),
            from("AWS_SECRET_ACCESS_KEY", "secret-access-key"),
            { "name": "AWS_DEFAULT_REGION", "value": region },
        ],
        // Helm merges maps; only a null takes the chart's own selector away.
        "nodeSelector": { "node-role.kubernetes.io/control-plane": null },
        "tolerations": [{ "operator": "Exists" }],
    });
    let source = ChartSource::Repository("https://kubernetes.github.io/cloud-provider-aws".to_owned());
    let name = "aws-cloud-controller-manager";
    AddonAction::Chart(ChartRelease { ..release(name, "kube-system", source, versions::AWS_CCM, values) })
}

fn gcp(input: &AddonInput) -> AddonAction {
    let settings = input.provider.gcp.clone().unwrap_or_default();
    let network = settings.network.as_deref().filter(|name| !name.is_empty()).unwrap_or("default");
    let entries = [
        ("project-id", settings.project_id.as_str()),
        ("network-name", network),
        ("regional", "true"),
        ("node-tags", input.cluster()),
    ];
    // A line break would begin an entry of its own.
    let clean = |text: &str| text.chars().filter(|c| !c.is_control()).collect::<String>();
    let lines = entries.map(|(key, value)| format!("{key} = {}\n", clean(value)));
    let config = format!("[Global]\n{}", lines.concat());
    let mut objects = vec![
        json!({ "apiVersion": "v1", "kind": "ConfigMap",
                "metadata": { "name": "gcp-cloud-config", "namespace": "kube-system" },
                "data": { "gce.conf": config } }),
        json!({ "apiVersion": "v1", "kind": "Secret", "type": "Opaque",
                "metadata": { "name": "gcp-cloud-credentials", "namespace": "kube-system" },
                "stringData": { "key.json": { "fromCredentials": "serviceAccountKey" } } }),
    ];
    objects.extend(identity());
    let container = json!({
        "name": NAME,
        "image": format!("registry.k8s.io/cloud-provider-gcp/cloud-controller-manager:{}", versions::GCP_CCM),
        "args": [
            "--cloud-provider=gce", "--cloud-config=/etc/gce/gce.conf", "--configure-cloud-routes=false",
            "--allocate-node-cidrs=false", "--controllers=*,-nodeipam", "--use-service-account-credentials=false",
            "--leader-elect=true",
        ],
        "env": [{ "name": "GOOGLE_APPLICATION_CREDENTIALS", "value": "/etc/gcp/key.json" }],
        "resources": { "requests": { "cpu": "100m", "memory": "128Mi" } },
        "volumeMounts": [
            { "name": "config", "mountPath": "/etc/gce", "readOnly": true },
            { "name": "credentials", "mountPath": "/etc/gcp", "readOnly": true },
        ],
    });
    let volumes = json!([
        { "name": "config", "configMap": { "name": "gcp-cloud-config" } },
        { "name": "credentials", "secret": { "secretName": "gcp-cloud-credentials" } },
    ]);
    objects.push(workload("DaemonSet", &container, &volumes));
    AddonAction::Objects { objects, wait_for: vec![format!("daemonset/kube-system/{NAME}")] }
}

fn azure(input: &AddonInput) -> AddonAction {
    let settings = input.provider.azure.clone().unwrap_or_default();
    let config = json!({
        "cloud": "AzurePublicCloud",
        "tenantId": { "fromCredentials": "tenantID" },
        "subscriptionId": settings.subscription_id,
        "aadClientId": { "fromCredentials": "clientID" },
        "aadClientSecret": { "fromCredentials": "clientSecret" },
        "resourceGroup": settings.resource_group,
        "location": settings.location.unwrap_or_default(),
        "vnetName": settings.vnet_name.unwrap_or_default(),
        "subnetName": settings.subnet_name.unwrap_or_default(),
        "securityGroupName": { "fromCredentials": "securityGroupName", "optional": true },
        "primaryAvailabilitySetName": format!("{}-avset", input.cluster()),
        "vmType": "standard",
        "loadBalancerSku": "Standard",
        "useInstanceMetadata": true,
    });
    let mut objects = vec![json!({
        "apiVersion": "v1", "kind": "Secret", "type": "Opaque",
        "metadata": { "name": "azure-cloud-config", "namespace": "kube-system" },
        "stringData": { "azure.json": { "asJson": config } },
    })];
    objects.extend(identity());
    let container = json!({
        "name": NAME,
        "image": format!("mcr.microsoft.com/oss/kubernetes/azure-cloud-controller-manager:{}", versions::AZURE_CCM),
        "command": ["cloud-controller-manager"],
        "args": [
            "--cloud-provider=azure", "--cloud-config=/etc/azure/azure.json",
            "--configure-cloud-routes=false", "--allocate-node-cidrs=false",
            "--controllers=*,-node-route-controller", format!("--cluster-name={}", input.cluster()),
            "--leader-elect=true",
        ],
        "resources": { "requests": { "cpu": "100m", "memory": "128Mi" }, "limits": { "cpu": "4", "memory": "2Gi" } },
        "volumeMounts": [{ "name": "config", "mountPath": "/etc/azure", "readOnly": true }],
    });
    let volumes = json!([{ "name": "config", "secret": { "secretName": "azure-cloud-config" } }]);
    objects.push(workload("Deployment", &container, &volumes));
    AddonAction::Objects { objects, wait_for: vec![format!("deployment/kube-system/{NAME}")] }
}

/// A cloud controller manager runs before there is a Pod network, on nodes that nobody else may use yet.
fn workload(kind: &str, container: &Value, volumes: &Value) -> Value {
    let labels = json!({ "app.kubernetes.io/name": NAME });
    let mut spec = json!({
        "selector": { "matchLabels": labels },
        "template": {
            "metadata": { "labels": labels },
            "spec": {
                "serviceAccountName": NAME,
                "hostNetwork": true,
                "nodeSelector": { "node-role.kubernetes.io/control-plane": "" },
                "tolerations": [{ "operator": "Exists" }],
                "priorityClassName": "system-cluster-critical",
                "containers": [container],
                "volumes": volumes,
            },
        },
    });
    if kind == "Deployment" {
        spec["replicas"] = json!(1);
    }
    json!({ "apiVersion": "apps/v1", "kind": kind,
            "metadata": { "name": NAME, "namespace": "kube-system", "labels": labels }, "spec": spec })
}

/// What a cloud controller manager may do: upstream gives it everything, it needs this.
fn identity() -> Vec<Value> {
    let rule = |group: &str, resources: &[&str], verbs: &[&str]| json!({ "apiGroups": [group], "resources": resources, "verbs": verbs });
    let rules = json!([
        rule("", &["events"], &["create", "patch", "update"]),
        rule("events.k8s.io", &["events"], &["create", "patch", "update"]),
        rule("", &["nodes"], &["get", "list", "watch", "patch", "update", "delete"]),
        rule("", &["nodes/status", "services/status"], &["patch", "update"]),
        rule("", &["services"], &["get", "list", "watch", "patch", "update"]),
        rule("", &["endpoints"], &["get", "list", "watch", "create", "update", "patch"]),
        rule("discovery.k8s.io", &["endpointslices"], &["get", "list", "watch"]),
        rule("", &["configmaps", "persistentvolumes"], &["get", "list", "watch"]),
        rule("", &["serviceaccounts"], &["get", "create"]),
        rule("coordination.k8s.io", &["leases"], &["get", "create", "update", "patch", "watch", "list"]),
    ]);
    let mut objects = account(NAME, NAME, &rules);
    // How it lets its own callers in.
    objects.push(json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
        "metadata": { "name": format!("{NAME}-authentication"), "namespace": "kube-system" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role",
                     "name": "extension-apiserver-authentication-reader" },
        "subjects": [{ "kind": "ServiceAccount", "name": NAME, "namespace": "kube-system" }],
    }));
    objects
}
