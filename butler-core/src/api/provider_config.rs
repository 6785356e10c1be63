//! `ProviderConfig`: an infrastructure where machines can be made: a hypervisor, a cloud, or this machine.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::{
    common::{HTTP_URL, LocalRef, ProviderKind, SecretRef, Time},
    conditions,
    text_enum::text_enum,
};

/// Which infrastructure, with which credential, for whom.
#[skip_serializing_none]
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "butler.butlerlabs.dev",
    version = "v1alpha1",
    kind = "ProviderConfig",
    namespaced,
    status = "ProviderConfigStatus",
    shortname = "pc",
    doc = "An infrastructure where machines can be made: a hypervisor, a cloud, or this machine.",
    derive = "PartialEq",
    printcolumn(name = "Provider", type_ = "string", json_path = ".spec.provider"),
    printcolumn(name = "Scope", type_ = "string", json_path = ".spec.scope.type"),
    printcolumn(name = "Ready", type_ = "boolean", json_path = ".status.ready"),
    printcolumn(name = "Validated", type_ = "boolean", json_path = ".status.validated"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[schemars(extend("x-kubernetes-validations" = [
    { "rule": "self.provider == 'local' || (has(self.credentialsRef) && self.credentialsRef.name != '')", "message": "credentialsRef with a non-empty name is required for all providers except local" },
]))]
#[serde(rename_all = "camelCase")]
pub struct ProviderConfigSpec {
    /// Which infrastructure; the block of the same name holds its settings.
    pub provider: ProviderKind,
    /// Secret with the provider's credential, in this namespace unless named; not needed for `local`.
    pub credentials_ref: Option<SecretRef>,
    /// Who may use it.
    pub scope: Option<ProviderScope>,
    /// Limits for each team.
    pub limits: Option<ProviderLimits>,
    /// How machines get addresses.
    pub network: Option<ProviderNetwork>,
    /// Settings for Harvester.
    pub harvester: Option<HarvesterSettings>,
    /// Settings for Nutanix.
    pub nutanix: Option<NutanixSettings>,
    /// Settings for Proxmox VE.
    pub proxmox: Option<ProxmoxSettings>,
    /// Settings for AWS.
    pub aws: Option<AwsSettings>,
    /// Settings for Azure.
    pub azure: Option<AzureSettings>,
    /// Settings for Google Cloud.
    pub gcp: Option<GcpSettings>,
    /// Settings for KIND on this machine.
    pub local: Option<LocalSettings>,
}

/// Who may use a provider.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProviderScope {
    /// Everybody, or one team.
    #[serde(rename = "type")]
    #[schemars(extend("default" = "platform"))]
    pub type_: Option<ProviderScopeType>,
    /// The team, when it is for one.
    pub team_ref: Option<LocalRef>,
}

text_enum! {
    /// Who may use a provider.
    ProviderScopeType {
        /// Every team.
        Platform = "platform",
        /// One team.
        Team = "team",
    }
}

/// Limits for each team on a provider.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProviderLimits {
    /// Clusters of a team.
    #[schemars(range(min = 1))]
    pub max_clusters_per_team: Option<i32>,
    /// Workers of a team.
    #[schemars(range(min = 1))]
    pub max_nodes_per_team: Option<i32>,
}

/// How machines and load balancers get addresses.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProviderNetwork {
    /// Addresses from Butler's pools, or from the provider.
    #[schemars(extend("default" = "cloud"))]
    pub mode: Option<ProviderNetworkMode>,
    /// Pools to take addresses from; needed in `ipam` mode.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pool_refs: Vec<PoolRef>,
    /// Name of the machines' network.
    pub subnet: Option<String>,
    /// Gateway of the machines' network.
    pub gateway: Option<String>,
    /// DNS servers of machines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dns_servers: Vec<String>,
    /// NTP servers of Talos workers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub time_servers: Vec<String>,
    /// How many load balancer addresses a tenant gets.
    pub load_balancer: Option<ProviderLoadBalancer>,
    /// Limits for each tenant cluster.
    pub quota_per_tenant: Option<TenantAddressQuota>,
}

text_enum! {
    /// Where addresses come from.
    ProviderNetworkMode {
        /// From Butler's pools.
        Ipam = "ipam",
        /// From the provider.
        Cloud = "cloud",
    }
}

/// A pool and its turn.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PoolRef {
    /// Name of the NetworkPool.
    pub name: String,
    /// Lower ones are used first.
    #[schemars(extend("default" = 0))]
    pub priority: Option<i32>,
}

/// Load balancer addresses of a tenant.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProviderLoadBalancer {
    /// A fixed block, or one that grows.
    #[schemars(extend("default" = "static"))]
    pub allocation_mode: Option<AllocationMode>,
    /// Size of the fixed block.
    #[schemars(range(min = 1), extend("default" = 8))]
    pub default_pool_size: Option<i32>,
    /// Size of the first block when blocks grow.
    #[schemars(range(min = 1), extend("default" = 2))]
    pub initial_pool_size: Option<i32>,
    /// Smallest step of growth.
    #[schemars(range(min = 1), extend("default" = 2))]
    pub growth_increment: Option<i32>,
}

text_enum! {
    /// How load balancer addresses are given out.
    AllocationMode {
        /// A block of fixed size.
        Static = "static",
        /// Blocks added as they are needed.
        Elastic = "elastic",
    }
}

/// Address limits of one tenant cluster.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TenantAddressQuota {
    /// Addresses of nodes.
    #[serde(rename = "maxNodeIPs")]
    #[schemars(range(min = 1))]
    pub max_node_ips: Option<i32>,
    /// Addresses of load balancers.
    #[serde(rename = "maxLoadBalancerIPs")]
    #[schemars(range(min = 1))]
    pub max_load_balancer_ips: Option<i32>,
}

/// A Harvester cluster.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HarvesterSettings {
    /// URL of its API; taken from the kubeconfig when empty.
    pub endpoint: Option<String>,
    /// Namespace for machines.
    #[schemars(extend("default" = "default"))]
    pub namespace: Option<String>,
    /// Network of machines, as `namespace/name`.
    #[schemars(regex(pattern = "^[a-z0-9-]+/[a-z0-9-]+$"))]
    pub network_name: String,
    /// Image of machines, as `namespace/name`.
    pub image_name: Option<String>,
    /// Storage class of disks.
    pub storage_class_name: Option<String>,
}

/// A Nutanix Prism Central.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NutanixSettings {
    /// URL of Prism Central.
    #[schemars(regex(pattern = HTTP_URL))]
    pub endpoint: String,
    /// Port of Prism Central.
    #[schemars(extend("default" = 9440))]
    pub port: Option<i32>,
    /// Do not check its certificate.
    #[schemars(extend("default" = false))]
    pub insecure: Option<bool>,
    /// Cluster that runs the machines.
    #[serde(rename = "clusterUUID")]
    pub cluster_uuid: String,
    /// Subnet of machines.
    #[serde(rename = "subnetUUID")]
    pub subnet_uuid: String,
    /// Image of machines.
    #[serde(rename = "imageUUID")]
    pub image_uuid: Option<String>,
    /// Storage container of disks.
    #[serde(rename = "storageContainerUUID")]
    pub storage_container_uuid: Option<String>,
}

/// A Proxmox VE cluster.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProxmoxSettings {
    /// URL of its API.
    #[schemars(regex(pattern = HTTP_URL))]
    pub endpoint: String,
    /// Do not check its certificate.
    #[schemars(extend("default" = false))]
    pub insecure: Option<bool>,
    /// Nodes that machines may be placed on.
    #[schemars(length(min = 1))]
    pub nodes: Vec<String>,
    /// Storage of disks.
    pub storage: String,
    /// Template that machines are cloned from.
    #[serde(rename = "templateID")]
    pub template_id: Option<i32>,
    /// Ids that machines may have.
    pub vmid_range: Option<VmidRange>,
}

/// A range of machine ids, both ends included.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VmidRange {
    /// First id.
    #[schemars(range(min = 100))]
    pub start: i32,
    /// Last id.
    #[schemars(range(min = 100))]
    pub end: i32,
}

/// An AWS region.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AwsSettings {
    /// The region.
    pub region: String,
    /// The VPC.
    #[serde(rename = "vpcID")]
    pub vpc_id: Option<String>,
    /// Subnets of machines.
    #[serde(rename = "subnetIDs", default, skip_serializing_if = "Vec::is_empty")]
    pub subnet_ids: Vec<String>,
    /// Security groups of machines.
    #[serde(rename = "securityGroupIDs", default, skip_serializing_if = "Vec::is_empty")]
    pub security_group_ids: Vec<String>,
}

/// An Azure resource group.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AzureSettings {
    /// The subscription.
    #[serde(rename = "subscriptionID")]
    pub subscription_id: String,
    /// The resource group.
    pub resource_group: String,
    /// The region.
    pub location: Option<String>,
    /// The virtual network.
    pub vnet_name: Option<String>,
    /// The subnet.
    pub subnet_name: Option<String>,
    /// Size of machines.
    pub vm_size: Option<String>,
    /// Image of machines: `publisher:offer:sku:version`, or the id of an image.
    #[serde(rename = "imageURN")]
    pub image_urn: Option<String>,
}

/// A Google Cloud project.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GcpSettings {
    /// The project.
    #[serde(rename = "projectID")]
    pub project_id: String,
    /// The region.
    pub region: String,
    /// The zone; the region's `-a` when empty.
    pub zone: Option<String>,
    /// The VPC network.
    pub network: Option<String>,
    /// The subnetwork.
    pub subnetwork: Option<String>,
    /// Type of machines.
    pub machine_type: Option<String>,
    /// Image of machines; preferred over the family.
    pub image: Option<String>,
    /// Family whose newest image is used.
    pub image_family: Option<String>,
    /// Project that holds the image.
    pub image_project: Option<String>,
    /// Service account of machines.
    pub service_account: Option<String>,
    /// Network tags of machines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
}

/// KIND on this machine.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LocalSettings {
    /// Image of nodes; the one of the Kubernetes version when empty.
    pub kind_node_image: Option<String>,
}

/// What is known of the provider.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProviderConfigStatus {
    /// The provider can be used.
    pub ready: Option<bool>,
    /// The credential was accepted.
    pub validated: Option<bool>,
    /// Last time the credential was accepted.
    pub last_validation_time: Option<Time>,
    /// Last look at the provider.
    pub last_probe_time: Option<Time>,
    /// Version the provider reports.
    pub provider_version: Option<String>,
    /// What is left.
    pub capacity: Option<ProviderCapacity>,
    /// `CredentialsValid`, `PoolAvailable`, and `Ready` when the scope is wrong.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "conditions::keyed_list")]
    pub conditions: Vec<Condition>,
}

/// What is left on a provider.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProviderCapacity {
    /// Free addresses in its pools.
    #[serde(rename = "availableIPs")]
    pub available_ips: Option<i32>,
    /// Tenant clusters these may be enough for.
    pub estimated_tenants: Option<i32>,
}
