//! `ClusterBootstrap`: a management cluster in the making.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

mod addons;

pub use addons::*;

use super::{
    common::{DNS_LABEL, DiskSpec, ExposureSpec, MachineRole, ProviderKind, ProviderRef, Time},
    conditions,
    machine_request::MachineRequestPhase,
    text_enum::text_enum,
};

/// What the management cluster should be.
#[skip_serializing_none]
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "butler.butlerlabs.dev",
    version = "v1alpha1",
    kind = "ClusterBootstrap",
    namespaced,
    status = "ClusterBootstrapStatus",
    shortname = "cb",
    doc = "A management cluster in the making.",
    derive = "PartialEq",
    validation = Rule::new("!has(self.spec.controlPlaneExposure) || self.spec.controlPlaneExposure.mode != 'Ingress' || self.spec.controlPlaneExposure.hostname != ''")
            .message("hostname is required when controlPlaneExposure.mode is Ingress"),
    validation = Rule::new("!has(self.spec.controlPlaneExposure) || self.spec.controlPlaneExposure.mode != 'Gateway' || self.spec.controlPlaneExposure.hostname != ''")
            .message("hostname is required when controlPlaneExposure.mode is Gateway"),
    validation = Rule::new("!has(self.spec.controlPlaneExposure) || self.spec.controlPlaneExposure.mode != 'Gateway' || self.spec.controlPlaneExposure.gatewayRef != ''")
            .message("gatewayRef is required when controlPlaneExposure.mode is Gateway"),
    printcolumn(name = "Cluster", type_ = "string", json_path = ".spec.cluster.name"),
    printcolumn(name = "Topology", type_ = "string", json_path = ".spec.cluster.topology"),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "Endpoint", type_ = "string", json_path = ".status.controlPlaneEndpoint"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct ClusterBootstrapSpec {
    /// Infrastructure it runs on.
    pub provider: ProviderKind,
    /// ProviderConfig with the credential.
    pub provider_ref: ProviderRef,
    /// Its machines.
    pub cluster: BootstrapCluster,
    /// Its networks.
    pub network: BootstrapNetwork,
    /// Talos on its machines.
    pub talos: BootstrapTalos,
    /// What is installed on it.
    pub addons: Option<BootstrapAddons>,
    /// How tenants will be published; goes into the ButlerConfig.
    pub control_plane_exposure: Option<ExposureSpec>,
    /// Do nothing for now.
    pub paused: Option<bool>,
}

/// The machines of a management cluster.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BootstrapCluster {
    /// Name of the cluster, and the first part of its machines' names.
    #[schemars(length(min = 1, max = 63), regex(pattern = DNS_LABEL))]
    pub name: String,
    /// One node, or several.
    #[schemars(extend("default" = "ha"))]
    pub topology: Option<Topology>,
    /// Control plane nodes; one with a single node topology.
    pub control_plane: NodePool,
    /// Workers; none with a single node topology.
    pub workers: Option<NodePool>,
}

text_enum! {
    /// Shapes of a management cluster.
    Topology {
        /// One node does everything.
        SingleNode = "single-node",
        /// Control plane and workers apart.
        Ha = "ha",
    }
}

/// Nodes of one kind.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodePool {
    /// How many.
    #[schemars(range(min = 1, max = 10))]
    pub replicas: i32,
    /// Cores.
    #[schemars(range(min = 1, max = 128))]
    pub cpu: i32,
    /// Memory in MB.
    #[serde(rename = "memoryMB")]
    #[schemars(range(min = 2048))]
    pub memory_mb: i32,
    /// Root disk in GB.
    #[serde(rename = "diskGB")]
    #[schemars(range(min = 20))]
    pub disk_gb: i32,
    /// Further disks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra_disks: Vec<DiskSpec>,
    /// Labels of the nodes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
}

/// Networks of a management cluster.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BootstrapNetwork {
    /// Network of pods.
    #[serde(rename = "podCIDR")]
    #[schemars(regex(pattern = r"^([0-9]{1,3}\.){3}[0-9]{1,3}/[0-9]{1,2}$"))]
    pub pod_cidr: String,
    /// Network of services.
    #[serde(rename = "serviceCIDR")]
    #[schemars(regex(pattern = r"^([0-9]{1,3}\.){3}[0-9]{1,3}/[0-9]{1,2}$"))]
    pub service_cidr: String,
    /// Address of the API: a virtual IP, or IP or name of a cloud's load balancer; a cloud may leave it out.
    pub vip: Option<String>,
    /// Interface that holds the virtual IP; the provider's usual one when empty.
    pub vip_interface: Option<String>,
    /// Addresses for load balancers.
    pub load_balancer_pool: Option<LoadBalancerPool>,
}

/// Addresses for load balancers, both ends included.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoadBalancerPool {
    /// First address.
    #[schemars(regex(pattern = r"^([0-9]{1,3}\.){3}[0-9]{1,3}$"))]
    pub start: String,
    /// Last address.
    #[schemars(regex(pattern = r"^([0-9]{1,3}\.){3}[0-9]{1,3}$"))]
    pub end: String,
}

/// Talos on the machines of a management cluster.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BootstrapTalos {
    /// Version of Talos.
    #[schemars(regex(pattern = r"^v[0-9]+\.[0-9]+\.[0-9]+$"))]
    pub version: String,
    /// Schematic of the image factory.
    pub schematic: String,
    /// Disk to install to.
    #[schemars(extend("default" = "/dev/vda"))]
    pub install_disk: Option<String>,
    /// Changes to the machine configuration.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub config_patches: Vec<ConfigPatch>,
}

/// One JSON patch operation.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigPatch {
    /// What to do.
    pub op: PatchOp,
    /// JSON pointer to the place.
    pub path: String,
    /// The value, as text.
    pub value: Option<String>,
}

text_enum! {
    /// Operations of a JSON patch.
    PatchOp {
        Add = "add",
        Remove = "remove",
        Replace = "replace",
    }
}

/// How far the bootstrap is.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterBootstrapStatus {
    /// Generation this status speaks of.
    pub observed_generation: Option<i64>,
    /// How far it is.
    #[schemars(with = "Option<String>")]
    pub phase: Option<ClusterBootstrapPhase>,
    /// Address of the API.
    pub control_plane_endpoint: Option<String>,
    /// The machines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub machines: Vec<BootstrapMachine>,
    /// Which installing steps are done.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub addons_installed: BTreeMap<String, bool>,
    /// URL of the console.
    #[serde(rename = "consoleURL")]
    pub console_url: Option<String>,
    /// Kubeconfig of the cluster in base64. A secret: whoever can read this object can use it.
    pub kubeconfig: Option<String>,
    /// Talos client configuration in base64. A secret: whoever can read this object can use it.
    pub talosconfig: Option<String>,
    /// Why it failed, in one word.
    pub failure_reason: Option<String>,
    /// Why it failed.
    pub failure_message: Option<String>,
    /// When this status last changed.
    pub last_updated: Option<Time>,
    /// Steps on the way, and `Ready`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "conditions::plain_list")]
    pub conditions: Vec<Condition>,
}

text_enum! {
    /// How far a bootstrap is.
    ClusterBootstrapPhase {
        Pending = "Pending",
        ProvisioningMachines = "ProvisioningMachines",
        ConfiguringTalos = "ConfiguringTalos",
        BootstrappingCluster = "BootstrappingCluster",
        InstallingAddons = "InstallingAddons",
        Pivoting = "Pivoting",
        Ready = "Ready",
        Failed = "Failed",
    }
}

/// A machine of the cluster in the making.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BootstrapMachine {
    /// Name of its MachineRequest.
    pub name: String,
    /// What it does.
    #[schemars(with = "String")]
    pub role: MachineRole,
    /// Phase of its MachineRequest.
    #[schemars(with = "String")]
    pub phase: MachineRequestPhase,
    /// Its address.
    pub ip_address: Option<String>,
    /// It has its configuration.
    pub talos_configured: Option<bool>,
    /// It is a node of the cluster.
    pub ready: Option<bool>,
}
