//! `TenantCluster`: a Kubernetes cluster of a tenant: a control plane hosted by Butler, and workers.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

mod addons;

pub use addons::*;

use super::{
    common::{AddressRange, ControlPlaneResources, LocalRef, ProviderRef, Quantity, Time, without_format},
    conditions,
    text_enum::text_enum,
};

/// What the cluster should be.
#[skip_serializing_none]
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "butler.butlerlabs.dev",
    version = "v1alpha1",
    kind = "TenantCluster",
    namespaced,
    status = "TenantClusterStatus",
    shortname = "tc",
    doc = "A Kubernetes cluster of a tenant: a control plane hosted by Butler, and workers.",
    derive = "PartialEq",
    derive = "Default",
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "K8s Version", type_ = "string", json_path = ".spec.kubernetesVersion"),
    printcolumn(name = "Workers", type_ = "string", json_path = ".status.observedState.workers.ready"),
    printcolumn(name = "Endpoint", type_ = "string", json_path = ".status.controlPlaneEndpoint"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(name = "Namespace", type_ = "string", json_path = ".metadata.namespace", priority = 1),
    printcolumn(
        name = "Environment",
        type_ = "string",
        json_path = r".metadata.labels['butler\.butlerlabs\.dev/environment']",
        priority = 1
    ),
    printcolumn(
        name = "Ready Workers",
        type_ = "integer",
        json_path = ".status.workerNodesReady",
        priority = 1
    ),
    printcolumn(
        name = "Desired Workers",
        type_ = "integer",
        json_path = ".status.workerNodesDesired",
        priority = 1
    ),
    printcolumn(
        name = "Spec Workers",
        type_ = "integer",
        json_path = ".spec.workers.replicas",
        priority = 1
    ),
    printcolumn(
        name = "Provider",
        type_ = "string",
        json_path = ".spec.providerConfigRef.name",
        priority = 1
    ),
    printcolumn(
        name = "Tenant Namespace",
        type_ = "string",
        json_path = ".status.tenantNamespace",
        priority = 1
    ),
    printcolumn(name = "Created", type_ = "string", json_path = ".metadata.creationTimestamp", priority = 1)
)]
#[serde(rename_all = "camelCase")]
pub struct TenantClusterSpec {
    /// Kubernetes version, such as `v1.34.2`.
    #[schemars(regex(pattern = r"^v\d+\.\d+\.\d+$"))]
    pub kubernetes_version: String,
    /// Where workers run; in `butler-system` unless a namespace is named, the platform's default when unset.
    pub provider_config_ref: Option<ProviderRef>,
    /// Team it belongs to; must be set where teams are enforced.
    pub team_ref: Option<LocalRef>,
    /// The workers.
    pub workers: WorkersSpec,
    /// The hosted control plane.
    pub control_plane: Option<ControlPlaneSpec>,
    /// Networks inside the cluster and load balancer addresses.
    pub networking: Option<NetworkingSpec>,
    /// Base addons that come with the cluster.
    pub addons: Option<BaseAddons>,
    /// Settings that replace those of the provider for this cluster.
    pub infrastructure_override: Option<InfrastructureOverride>,
    /// How far Butler manages the cluster.
    pub management_policy: Option<ManagementPolicy>,
    /// NTP servers of Talos workers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub time_servers: Vec<String>,
    /// Development workspaces inside the cluster.
    pub workspaces: Option<WorkspacesSpec>,
}

/// The workers.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkersSpec {
    /// How many.
    #[schemars(range(min = 1))]
    pub replicas: i32,
    /// What each one is like.
    pub machine_template: Option<MachineTemplate>,
}

/// What a worker is like.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineTemplate {
    /// Cores.
    #[schemars(range(min = 1), extend("default" = 4))]
    pub cpu: Option<i32>,
    /// Memory.
    #[schemars(extend("default" = "16Gi"))]
    pub memory: Option<Quantity>,
    /// Root disk.
    #[schemars(extend("default" = "100Gi"))]
    pub disk_size: Option<Quantity>,
    /// Operating system.
    pub os: Option<WorkerOs>,
}

/// Operating system of a worker.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkerOs {
    /// Which one.
    #[serde(rename = "type")]
    #[schemars(extend("default" = "rocky"))]
    pub type_: Option<WorkerOsType>,
    /// Its version; also that of the image to copy.
    #[schemars(extend("default" = "9.5"))]
    pub version: Option<String>,
    /// A certain image; preferred over the provider's.
    pub image_ref: Option<String>,
    /// Schematic of the image factory.
    #[serde(rename = "schematicID")]
    pub schematic_id: Option<String>,
    /// Public SSH key, where the system is not Talos.
    pub ssh_authorized_key: Option<String>,
    /// Settings for Talos.
    pub talos: Option<WorkerTalos>,
}

text_enum! {
    /// Operating systems of workers.
    WorkerOsType {
        Rocky = "rocky",
        Flatcar = "flatcar",
        Talos = "talos",
        Kairos = "kairos",
        Bottlerocket = "bottlerocket",
    }
}

/// Talos on a worker.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkerTalos {
    /// Version of Talos.
    #[schemars(extend("default" = "v1.9.3"))]
    pub version: Option<String>,
    /// Image of the installer.
    pub installer_image: Option<String>,
    /// Disk to install to.
    #[schemars(extend("default" = "/dev/vda"))]
    pub install_disk: Option<String>,
}

/// A hosted control plane.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ControlPlaneSpec {
    /// Replicas of the API server.
    #[schemars(range(min = 1, max = 3), extend("default" = 1))]
    pub replicas: Option<i32>,
    /// Where its data is kept; `default` when unset.
    pub data_store_ref: Option<LocalRef>,
    /// Type of its Service; follows from the exposure mode when unset.
    pub service_type: Option<ServiceType>,
    /// Further names in the API server's certificate.
    #[serde(rename = "certSANs", default, skip_serializing_if = "Vec::is_empty")]
    pub cert_sans: Vec<String>,
    /// Nodes are set up by a cloud controller outside.
    #[schemars(extend("default" = true))]
    pub external_cloud_provider: Option<bool>,
    /// Compute; a component named here replaces the platform's default for it.
    pub resources: Option<ControlPlaneResources>,
}

text_enum! {
    /// Types of Service for a control plane.
    ServiceType {
        LoadBalancer = "LoadBalancer",
        NodePort = "NodePort",
        ClusterIP = "ClusterIP",
    }
}

/// Networks of a cluster.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NetworkingSpec {
    /// Network of pods.
    #[serde(rename = "podCIDR")]
    #[schemars(extend("default" = "10.244.0.0/16"))]
    pub pod_cidr: Option<String>,
    /// Network of services.
    #[serde(rename = "serviceCIDR")]
    #[schemars(extend("default" = "10.96.0.0/12"))]
    pub service_cidr: Option<String>,
    /// Number of load balancer addresses, where pools are used.
    #[schemars(range(min = 1))]
    pub lb_pool_size: Option<i32>,
    /// Load balancer addresses given by hand, where no pool is used.
    pub load_balancer_pool: Option<AddressRange>,
}

/// Settings that replace those of the provider.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InfrastructureOverride {
    /// On Harvester.
    pub harvester: Option<HarvesterOverride>,
    /// On Nutanix.
    pub nutanix: Option<NutanixOverride>,
    /// On Proxmox VE.
    pub proxmox: Option<ProxmoxOverride>,
    /// On Google Cloud.
    pub gcp: Option<GcpOverride>,
}

/// Replacements on Harvester.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HarvesterOverride {
    /// Namespace for machines.
    pub namespace: Option<String>,
    /// Network of machines, as `namespace/name`.
    pub network_name: Option<String>,
    /// Image of machines, as `namespace/name`.
    pub image_name: Option<String>,
}

/// Replacements on Nutanix.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NutanixOverride {
    /// Cluster that runs the machines.
    #[serde(rename = "clusterUUID")]
    pub cluster_uuid: Option<String>,
    /// Subnet of machines.
    #[serde(rename = "subnetUUID")]
    pub subnet_uuid: Option<String>,
    /// Image of machines.
    #[serde(rename = "imageUUID")]
    pub image_uuid: Option<String>,
    /// Storage container of disks.
    #[serde(rename = "storageContainerUUID")]
    pub storage_container_uuid: Option<String>,
}

/// Replacements on Proxmox VE.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProxmoxOverride {
    /// Node that machines are placed on.
    pub node: Option<String>,
    /// Storage of disks.
    pub storage: Option<String>,
    /// Template that machines are cloned from.
    #[serde(rename = "templateID")]
    #[schemars(transform = without_format)]
    pub template_id: Option<i64>,
}

/// Replacements on Google Cloud.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GcpOverride {
    /// The zone.
    pub zone: Option<String>,
    /// The subnetwork.
    pub subnetwork: Option<String>,
    /// Type of machines.
    pub machine_type: Option<String>,
    /// Image of machines.
    pub image: Option<String>,
    /// Family whose newest image is used.
    pub image_family: Option<String>,
}

/// How far Butler manages a cluster.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ManagementPolicy {
    /// The mode.
    #[schemars(extend("default" = "Active"))]
    pub mode: Option<ManagementMode>,
}

text_enum! {
    /// How far Butler manages a cluster.
    ManagementMode {
        /// Keeps it as described.
        Active = "Active",
        /// Installs it, then only looks.
        Observe = "Observe",
        /// Installs it, then leaves it to a GitOps engine.
        GitOps = "GitOps",
    }
}

/// Development workspaces in a cluster.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkspacesSpec {
    /// Allow them.
    #[schemars(extend("default" = false))]
    pub enabled: bool,
    /// Image of workspaces that name none.
    #[schemars(extend("default" = "ghcr.io/butlerdotdev/workspace-base:latest"))]
    pub default_image: Option<String>,
    /// How many there may be; zero means any number.
    #[schemars(extend("default" = 20))]
    pub max_workspaces: Option<i32>,
    /// What they may use together.
    pub resource_quota: Option<WorkspaceQuota>,
    /// Delete stopped ones after this time, as a Go duration; `0` means never.
    #[schemars(extend("default" = "720h"))]
    pub auto_delete_after: Option<String>,
}

/// What all workspaces together may use.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceQuota {
    /// Processor limit.
    #[serde(rename = "maxCPU")]
    #[schemars(extend("default" = "16"))]
    pub max_cpu: Option<String>,
    /// Memory limit.
    #[schemars(extend("default" = "32Gi"))]
    pub max_memory: Option<String>,
    /// Storage requests.
    #[schemars(extend("default" = "500Gi"))]
    pub max_storage: Option<String>,
}

/// What the cluster is.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TenantClusterStatus {
    /// Generation this status speaks of.
    pub observed_generation: Option<i64>,
    /// Where the cluster is in its life.
    pub phase: Option<TenantClusterPhase>,
    /// When the phase last changed.
    pub last_transition_time: Option<Time>,
    /// Namespace of the objects behind the cluster.
    pub tenant_namespace: Option<String>,
    /// Address of its API server.
    pub control_plane_endpoint: Option<String>,
    /// Workers that are ready; written even when zero.
    pub worker_nodes_ready: Option<i32>,
    /// Workers there should be; written even when zero.
    pub worker_nodes_desired: Option<i32>,
    /// Secret of the tenant namespace with the administrator's kubeconfig.
    pub kubeconfig_secret_ref: Option<LocalRef>,
    /// First block of load balancer addresses, in `butler-system`.
    pub lb_allocation_ref: Option<LocalRef>,
    /// Block of node addresses.
    pub ip_allocation_ref: Option<LocalRef>,
    /// Copy of the workers' image to the provider.
    pub image_sync_ref: Option<LocalRef>,
    /// What was seen inside the cluster.
    pub observed_state: Option<ObservedState>,
    /// Steps on the way to a working cluster, and `Ready`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "conditions::keyed_list")]
    pub conditions: Vec<Condition>,
}

text_enum! {
    /// Life of a tenant cluster.
    TenantClusterPhase {
        Pending = "Pending",
        Provisioning = "Provisioning",
        Installing = "Installing",
        Ready = "Ready",
        Updating = "Updating",
        Deleting = "Deleting",
        Failed = "Failed",
    }
}

/// What was seen inside a cluster.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ObservedState {
    /// Version it runs.
    pub kubernetes_version: Option<String>,
    /// Its workers.
    pub workers: Option<ObservedWorkers>,
    /// Its base addons.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addons: Vec<ObservedAddon>,
}

/// Workers seen in a cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ObservedWorkers {
    /// How many there should be.
    pub desired: i32,
    /// How many are ready.
    pub ready: i32,
    /// Their names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<String>,
}

/// A base addon seen in a cluster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ObservedAddon {
    /// The addon.
    pub name: String,
    /// Its version.
    pub version: String,
    /// How it is.
    pub status: ObservedAddonStatus,
    /// Who manages it.
    pub managed_by: AddonManager,
}

text_enum! {
    /// How an addon is.
    ObservedAddonStatus {
        Pending = "Pending",
        Installing = "Installing",
        Healthy = "Healthy",
        Degraded = "Degraded",
        Failed = "Failed",
    }
}

text_enum! {
    /// Who manages an addon.
    AddonManager {
        Butler = "butler",
        Flux = "flux",
        ArgoCd = "argocd",
        Manual = "manual",
    }
}
