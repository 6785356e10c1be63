//! `NetworkPool`: a network whose addresses Butler gives to tenant clusters.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::{
    common::{AddressRange, IPV4, IPV4_CIDR, LocalRef, NsRef},
    conditions,
};

/// The network and the part of it tenants get.
#[skip_serializing_none]
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "butler.butlerlabs.dev",
    version = "v1alpha1",
    kind = "NetworkPool",
    namespaced,
    status = "NetworkPoolStatus",
    shortname = "np",
    doc = "A network whose addresses Butler gives to tenant clusters.",
    derive = "PartialEq",
    derive = "Default",
    printcolumn(name = "CIDR", type_ = "string", json_path = ".spec.cidr"),
    printcolumn(name = "Available", type_ = "integer", json_path = ".status.availableIPs"),
    printcolumn(name = "Allocated", type_ = "integer", json_path = ".status.allocatedIPs"),
    printcolumn(name = "Total", type_ = "integer", json_path = ".status.totalIPs"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct NetworkPoolSpec {
    /// The whole network; IPv4.
    #[schemars(regex(pattern = IPV4_CIDR))]
    pub cidr: String,
    /// Blocks that tenants never get.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reserved: Vec<ReservedBlock>,
    /// The part that tenants get.
    pub tenant_allocation: Option<TenantAllocation>,
}

/// A block kept back.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReservedBlock {
    /// The block.
    #[schemars(regex(pattern = IPV4_CIDR))]
    pub cidr: String,
    /// Why it is kept back.
    pub description: Option<String>,
}

/// The part of a pool that tenants get.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TenantAllocation {
    /// Ranges to give out: ascending, apart from each other, inside the network.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub ranges: Vec<AddressRange>,
    /// First address, when there is one range; `ranges` is preferred.
    pub start: Option<String>,
    /// Last address, when there is one range; `ranges` is preferred.
    pub end: Option<String>,
    /// Sizes of allocations that ask for none.
    pub defaults: Option<AllocationDefaults>,
}

/// Sizes of allocations that ask for none.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AllocationDefaults {
    /// Addresses of nodes.
    #[schemars(range(min = 1), extend("default" = 5))]
    pub nodes_per_tenant: Option<i32>,
    /// Addresses of load balancers.
    #[schemars(range(min = 1), extend("default" = 8))]
    pub lb_pool_per_tenant: Option<i32>,
}

/// How full the pool is.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NetworkPoolStatus {
    /// Generation this status speaks of.
    pub observed_generation: Option<i64>,
    /// Addresses in the whole network.
    #[serde(rename = "poolSizeIPs")]
    pub pool_size_ips: Option<i32>,
    /// Addresses that can be given out.
    #[serde(rename = "totalIPs")]
    pub total_ips: Option<i32>,
    /// Addresses given out.
    #[serde(rename = "allocatedIPs")]
    pub allocated_ips: Option<i32>,
    /// Addresses still free.
    #[serde(rename = "availableIPs")]
    pub available_ips: Option<i32>,
    /// Addresses kept back.
    #[serde(rename = "reservedIPs")]
    pub reserved_ips: Option<i32>,
    /// Number of allocations.
    pub allocation_count: Option<i32>,
    /// Length of the longest free run.
    pub largest_free_block: Option<i32>,
    /// How far free addresses are scattered.
    #[schemars(range(min = 0, max = 100))]
    pub fragmentation_percent: Option<i32>,
    /// Addresses the platform itself uses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["ip"]))]
    pub infrastructure_allocations: Vec<InfrastructureAllocation>,
    /// Number of those.
    #[serde(rename = "infrastructureConsumedIPs")]
    pub infrastructure_consumed_ips: Option<i32>,
    /// Runs that are neither kept back nor given to tenants.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unmanaged_ranges: Vec<AddressRange>,
    /// Addresses in those runs.
    #[serde(rename = "unmanagedScopeIPs")]
    pub unmanaged_scope_ips: Option<i32>,
    /// `Ready`, `CapacityWarning`, `CapacityCritical` and `CapacityExhausted`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "conditions::keyed_list")]
    pub conditions: Vec<Condition>,
}

/// An address the platform itself uses.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InfrastructureAllocation {
    /// The address.
    #[schemars(regex(pattern = IPV4))]
    pub ip: String,
    /// What uses it: `metallb`, `node` or `machine`.
    pub source: String,
    /// The Service that uses it.
    pub service_ref: Option<NsRef>,
    /// The Node that uses it.
    pub node_ref: Option<LocalRef>,
    /// The Machine that uses it.
    pub machine_ref: Option<NsRef>,
}
