//! `IPAllocation`: addresses of a pool, given to one tenant cluster.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::{
    common::{IPV4, LocalRef, NsRef, Time},
    conditions,
    text_enum::text_enum,
};

/// Who wants how many addresses of which pool.
#[skip_serializing_none]
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "butler.butlerlabs.dev",
    version = "v1alpha1",
    kind = "IPAllocation",
    namespaced,
    status = "IPAllocationStatus",
    shortname = "ipa",
    doc = "Addresses of a pool, given to one tenant cluster.",
    derive = "PartialEq",
    printcolumn(name = "Pool", type_ = "string", json_path = ".spec.poolRef.name"),
    printcolumn(name = "Cluster", type_ = "string", json_path = ".spec.tenantClusterRef.name"),
    printcolumn(name = "Type", type_ = "string", json_path = ".spec.type"),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "Start", type_ = "string", json_path = ".status.startAddress"),
    printcolumn(name = "End", type_ = "string", json_path = ".status.endAddress"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct IPAllocationSpec {
    /// NetworkPool of the same namespace.
    pub pool_ref: LocalRef,
    /// Cluster the addresses are for.
    pub tenant_cluster_ref: NsRef,
    /// What they are for.
    #[serde(rename = "type")]
    pub type_: AllocationType,
    /// How many; the pool's default when unset, not looked at with a pinned range.
    #[schemars(range(min = 1))]
    pub count: Option<i32>,
    /// Exactly these addresses.
    pub pinned_range: Option<PinnedRange>,
}

text_enum! {
    /// What addresses are for.
    AllocationType {
        Nodes = "nodes",
        LoadBalancer = "loadbalancer",
    }
}

/// Addresses asked for one by one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PinnedRange {
    /// First address.
    #[schemars(regex(pattern = IPV4))]
    pub start_address: String,
    /// Last address.
    #[schemars(regex(pattern = IPV4))]
    pub end_address: String,
}

/// Which addresses were given.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IPAllocationStatus {
    /// Generation this status speaks of.
    pub observed_generation: Option<i64>,
    /// Where the allocation is in its life.
    pub phase: Option<IPAllocationPhase>,
    /// First address.
    pub start_address: Option<String>,
    /// Last address.
    pub end_address: Option<String>,
    /// The block as a CIDR, or `start-end` when it is none.
    pub cidr: Option<String>,
    /// Every address of the block.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<String>,
    /// Number of addresses.
    pub allocated_count: Option<i32>,
    /// When they were given.
    pub allocated_at: Option<Time>,
    /// Which controller gave them.
    pub allocated_by: Option<String>,
    /// When giving them back began.
    pub released_at: Option<Time>,
    /// `Ready`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "conditions::keyed_list")]
    pub conditions: Vec<Condition>,
}

text_enum! {
    /// Life of an allocation.
    IPAllocationPhase {
        Pending = "Pending",
        Allocated = "Allocated",
        Released = "Released",
        Failed = "Failed",
    }
}
