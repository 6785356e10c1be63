//! Shapes that several kinds share: references, quantities, times, free objects, access, exposure.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::api::resource;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::text_enum::text_enum;

/// A DNS label, which is what names of machines and clusters are.
pub(super) const DNS_LABEL: &str = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$";
/// The beginning of an HTTP or HTTPS URL.
pub(super) const HTTP_URL: &str = "^https?://";
/// Something like an IPv4 address.
pub(super) const IPV4: &str = r"^(\d{1,3}\.){3}\d{1,3}$";
/// Something like an IPv4 network.
pub(super) const IPV4_CIDR: &str = r"^(\d{1,3}\.){3}\d{1,3}/\d{1,2}$";

/// Takes `format` from the schema of an integer whose size the API leaves open.
pub(super) fn without_format(schema: &mut Schema) {
    schema.remove("format");
}

/// An amount such as `4`, `500m` or `16Gi`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Quantity(pub resource::Quantity);

impl From<&str> for Quantity {
    fn from(text: &str) -> Self {
        Self(resource::Quantity(text.to_owned()))
    }
}

impl std::fmt::Display for Quantity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(&self.0.0)
    }
}

impl JsonSchema for Quantity {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Quantity".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "pattern": r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$",
            "x-kubernetes-int-or-string": true,
        })
    }
}

/// A moment, to the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Time(pub Timestamp);

impl JsonSchema for Time {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Time".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "date-time" })
    }
}

/// An object of any shape, such as the values of a Helm chart. None at all and `{}` are the same.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FreeObject(pub serde_json::Map<String, serde_json::Value>);

impl FreeObject {
    /// True when there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl JsonSchema for FreeObject {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "FreeObject".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true })
    }
}

/// Names an object in the same namespace, or a cluster scoped one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LocalRef {
    /// Name of the object.
    #[schemars(length(min = 1))]
    pub name: String,
}

/// Names an object in a given namespace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NsRef {
    /// Name of the object.
    #[schemars(length(min = 1))]
    pub name: String,
    /// Namespace of the object.
    #[schemars(length(min = 1))]
    pub namespace: String,
}

/// Names a ProviderConfig.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProviderRef {
    /// Name of the ProviderConfig.
    #[schemars(length(min = 1))]
    pub name: String,
    /// Its namespace; what an empty one means is said where the reference stands.
    pub namespace: Option<String>,
}

/// Names a Secret, or one key of it.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecretRef {
    /// Name of the Secret.
    #[schemars(length(min = 1))]
    pub name: String,
    /// Namespace of the Secret; that of the referring object when empty.
    pub namespace: Option<String>,
    /// Key inside the Secret, when one value is meant.
    pub key: Option<String>,
}

/// Compute for the three components of a hosted control plane.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ControlPlaneResources {
    /// For kube-apiserver.
    pub api_server: Option<ComponentResources>,
    /// For kube-controller-manager.
    pub controller_manager: Option<ComponentResources>,
    /// For kube-scheduler.
    pub scheduler: Option<ComponentResources>,
}

/// Compute of one component.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ComponentResources {
    /// What the scheduler sets aside.
    pub requests: Option<ComputeAmounts>,
    /// What may not be exceeded.
    pub limits: Option<ComputeAmounts>,
}

/// An amount of processor time and memory.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ComputeAmounts {
    /// Processor time, in cores.
    pub cpu: Option<Quantity>,
    /// Memory, in bytes.
    pub memory: Option<Quantity>,
}

/// How the API servers of tenants are reached from outside.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExposureSpec {
    /// One address for each tenant, or one shared address with routing by server name.
    #[schemars(extend("default" = "LoadBalancer"))]
    pub mode: Option<ExposureMode>,
    /// Wildcard such as `*.k8s.example.com` from which tenant names are made; needed unless the mode is
    /// LoadBalancer.
    pub hostname: Option<String>,
    /// Ingress class to use; Ingress mode only.
    pub ingress_class_name: Option<String>,
    /// Which ingress controller answers, as each wants TLS pass-through asked for in its own way; Ingress
    /// mode only.
    pub controller_type: Option<IngressControllerType>,
    /// The Gateway to attach to, as `namespace/name`; Gateway mode only.
    pub gateway_ref: Option<String>,
}

text_enum! {
    /// Ways to publish the API servers of tenants.
    ExposureMode {
        /// A load balancer address for each tenant.
        LoadBalancer = "LoadBalancer",
        /// One shared address, routed by server name through an Ingress.
        Ingress = "Ingress",
        /// One shared address, routed by server name through a Gateway.
        Gateway = "Gateway",
    }
}

text_enum! {
    /// Ingress controllers Butler can set up for TLS pass-through.
    IngressControllerType {
        /// Asks by annotation.
        Haproxy = "haproxy",
        /// Asks by annotation.
        Nginx = "nginx",
        /// Asks with an IngressRouteTCP.
        Traefik = "traefik",
        /// Needs nothing extra.
        Generic = "generic",
    }
}

text_enum! {
    /// Infrastructure that Butler can drive.
    ProviderKind {
        Harvester = "harvester",
        Nutanix = "nutanix",
        Proxmox = "proxmox",
        Azure = "azure",
        Aws = "aws",
        Gcp = "gcp",
        /// KIND on this machine.
        Local = "local",
        /// Simulated machines on this machine.
        Sandbox = "sandbox",
    }
}

text_enum! {
    /// What a member may do in a team.
    TeamRole {
        /// Everything, members included.
        Admin = "admin",
        /// Clusters and addons.
        Operator = "operator",
        /// Reading.
        Viewer = "viewer",
    }
}

/// Who belongs to a team or environment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TeamAccess {
    /// People, by e-mail address.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub users: Vec<TeamUser>,
    /// Groups of an identity provider.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<TeamGroup>,
}

/// A person and the role given.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TeamUser {
    /// E-mail address.
    #[schemars(length(min = 1))]
    pub name: String,
    /// The role.
    #[schemars(extend("default" = "viewer"))]
    pub role: Option<TeamRole>,
}

/// A group and the role all of its members are given.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TeamGroup {
    /// Identifier of the group, as the identity provider sends it.
    #[schemars(length(min = 1))]
    pub name: String,
    /// The role.
    #[schemars(extend("default" = "viewer"))]
    pub role: Option<TeamRole>,
    /// Only count the group when this IdentityProvider vouches for it.
    pub identity_provider: Option<String>,
}

/// Values proposed for new clusters of a team or environment.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterDefaults {
    /// Kubernetes version.
    pub kubernetes_version: Option<String>,
    /// Number of workers.
    #[schemars(range(min = 0))]
    pub worker_count: Option<i32>,
    /// Cores of each worker.
    #[serde(rename = "workerCPU")]
    #[schemars(range(min = 1))]
    pub worker_cpu: Option<i32>,
    /// Memory of each worker, in GiB.
    #[schemars(range(min = 1))]
    pub worker_memory_gi: Option<i32>,
    /// Disk of each worker, in GiB.
    #[schemars(range(min = 10))]
    pub worker_disk_gi: Option<i32>,
    /// Addons to install at once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub default_addons: Vec<String>,
}

/// A Git repository to clone into a workspace.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceRepository {
    /// Where to clone from.
    pub url: String,
    /// Branch to check out.
    #[schemars(extend("default" = "main"))]
    pub branch: Option<String>,
    /// Directory below `/workspace`; made from the URL when empty.
    pub name: Option<String>,
    /// Secret of the team namespace with the Git credential.
    pub secret_ref: Option<LocalRef>,
}

/// A person's dotfiles repository.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Dotfiles {
    /// Where to clone from.
    pub url: String,
    /// Run after cloning; without it the usual install scripts are looked for.
    pub install_command: Option<String>,
}

/// A workload of the tenant whose plain environment variables a workspace takes over.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkloadEnvSource {
    /// Kind of the workload.
    #[schemars(extend("default" = "Deployment"))]
    pub kind: Option<WorkloadKind>,
    /// Name of the workload.
    pub name: String,
    /// Its namespace inside the tenant.
    #[schemars(extend("default" = "default"))]
    pub namespace: Option<String>,
    /// Which container; the first one when empty.
    pub container: Option<String>,
}

text_enum! {
    /// Kinds of workload to copy from.
    WorkloadKind {
        Deployment = "Deployment",
        StatefulSet = "StatefulSet",
    }
}

/// Limits of a workspace's pod.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PodSize {
    /// Processor limit.
    #[schemars(extend("default" = "2"))]
    pub cpu: Option<String>,
    /// Memory limit.
    #[schemars(extend("default" = "4Gi"))]
    pub memory: Option<String>,
}

/// The Helm release behind an addon.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HelmReleaseStatus {
    /// Name of the release.
    pub name: Option<String>,
    /// Where it is installed.
    pub namespace: Option<String>,
    /// Revision counted by Helm.
    #[schemars(transform = without_format)]
    pub revision: Option<i64>,
    /// State in Helm's words, such as `deployed`.
    pub status: Option<String>,
    /// Version of the chart.
    pub version: Option<String>,
}

/// A disk besides the root disk.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DiskSpec {
    /// Size in GB.
    #[serde(rename = "sizeGB")]
    #[schemars(range(min = 1))]
    pub size_gb: i32,
    /// Storage class of the provider.
    pub storage_class: Option<String>,
}

/// A run of IPv4 addresses, both ends included.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AddressRange {
    /// First address.
    pub start: String,
    /// Last address.
    pub end: String,
}

text_enum! {
    /// What a machine does in its cluster.
    MachineRole {
        ControlPlane = "control-plane",
        Worker = "worker",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantity_may_be_written_as_a_number() {
        let amounts: ComputeAmounts = serde_json::from_str(r#"{ "cpu": 4, "memory": "16Gi" }"#).unwrap();
        assert_eq!(amounts, ComputeAmounts { cpu: Some("4".into()), memory: Some("16Gi".into()) });
    }
}
