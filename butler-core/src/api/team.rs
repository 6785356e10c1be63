//! `Team`: a team: its people, its limits, its environments. Its name is also that of its namespace.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::{
    common::{ClusterDefaults, LocalRef, Quantity, TeamAccess},
    conditions,
    text_enum::text_enum,
};

/// Members, limits and environments.
#[skip_serializing_none]
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "butler.butlerlabs.dev",
    version = "v1alpha1",
    kind = "Team",
    status = "TeamStatus",
    shortname = "tm",
    doc = "A team: its people, its limits, its environments. Its name is also that of its namespace.",
    derive = "PartialEq",
    derive = "Default",
    printcolumn(name = "Display Name", type_ = "string", json_path = ".spec.displayName"),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "Namespace", type_ = "string", json_path = ".status.namespace"),
    printcolumn(name = "Clusters", type_ = "integer", json_path = ".status.clusterCount"),
    printcolumn(name = "Quota", type_ = "string", json_path = ".status.quotaStatus"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct TeamSpec {
    /// Name shown to people.
    pub display_name: Option<String>,
    /// What the team does.
    pub description: Option<String>,
    /// Members and their roles.
    pub access: Option<TeamAccess>,
    /// Parts of the team's clusters with rights, limits and defaults of their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub environments: Vec<TeamEnvironment>,
    /// What all clusters of the team together may use.
    pub resource_limits: Option<TeamResourceLimits>,
    /// Values proposed for new clusters.
    pub cluster_defaults: Option<ClusterDefaults>,
    /// Provider meant for the team's clusters.
    pub provider_config_ref: Option<LocalRef>,
}

/// A named part of a team's clusters.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TeamEnvironment {
    /// Value of the environment label.
    #[schemars(length(min = 1, max = 63), regex(pattern = "^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$"))]
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// Rights on top of those in the team; nothing is taken away.
    pub access: Option<TeamAccess>,
    /// Limits that hold inside it.
    pub limits: Option<EnvironmentLimits>,
    /// Take the place of the team's, field by field.
    pub cluster_defaults: Option<ClusterDefaults>,
}

/// Limits of an environment; zero or unset means none.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EnvironmentLimits {
    /// Clusters in the environment.
    #[schemars(range(min = 0))]
    pub max_clusters: Option<i32>,
    /// Clusters of one owner in the environment.
    #[schemars(range(min = 0))]
    pub max_clusters_per_member: Option<i32>,
}

/// What a team may use.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TeamResourceLimits {
    /// Number of clusters.
    #[schemars(range(min = 0))]
    pub max_clusters: Option<i32>,
    /// Workers of one cluster.
    #[schemars(range(min = 0))]
    pub max_nodes_per_cluster: Option<i32>,
    /// Workers of all clusters.
    #[schemars(range(min = 0))]
    pub max_total_nodes: Option<i32>,
    /// Cores of all workers.
    #[serde(rename = "maxCPUCores")]
    pub max_cpu_cores: Option<Quantity>,
    /// Memory of all workers.
    pub max_memory: Option<Quantity>,
    /// Disk of all workers.
    pub max_storage: Option<Quantity>,
    /// Kubernetes versions the team may use.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed_kubernetes_versions: Vec<String>,
    /// Providers the team may use.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed_providers: Vec<String>,
    /// Addons the team may install.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed_addons: Vec<String>,
    /// Addons the team may not install; stronger than the allowed ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub denied_addons: Vec<String>,
    /// Workers proposed for a new cluster.
    #[schemars(range(min = 0), extend("default" = 3))]
    pub default_node_count: Option<i32>,
    /// Cores proposed for a worker.
    #[serde(rename = "defaultCPUPerNode")]
    pub default_cpu_per_node: Option<Quantity>,
    /// Memory proposed for a worker.
    pub default_memory_per_node: Option<Quantity>,
}

/// What became of the team.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TeamStatus {
    /// Generation this status speaks of.
    pub observed_generation: Option<i64>,
    /// Where the team is in its life.
    pub phase: Option<TeamPhase>,
    /// The team's namespace.
    pub namespace: Option<String>,
    /// Tenant clusters in that namespace.
    pub cluster_count: Option<i32>,
    /// Number of members.
    pub member_count: Option<i32>,
    /// What the clusters use now.
    pub resource_usage: Option<TeamResourceUsage>,
    /// How use stands against the limits.
    pub quota_status: Option<QuotaStatus>,
    /// Which limit is near or passed.
    pub quota_message: Option<String>,
    /// `NamespaceReady`, `RBACReady`, `Ready` and `QuotaExceeded`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "conditions::keyed_list")]
    pub conditions: Vec<Condition>,
}

text_enum! {
    /// Life of a team.
    TeamPhase {
        Pending = "Pending",
        Ready = "Ready",
        Terminating = "Terminating",
        Failed = "Failed",
    }
}

text_enum! {
    /// How use stands against the limits.
    QuotaStatus {
        Ok = "OK",
        Warning = "Warning",
        Exceeded = "Exceeded",
    }
}

/// What the clusters of a team use.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TeamResourceUsage {
    /// Number of clusters.
    pub clusters: Option<i32>,
    /// Workers of all clusters.
    pub total_nodes: Option<i32>,
    /// Cores of all workers.
    #[serde(rename = "totalCPU")]
    pub total_cpu: Option<Quantity>,
    /// Memory of all workers.
    pub total_memory: Option<Quantity>,
    /// Disk of all workers.
    pub total_storage: Option<Quantity>,
    /// Percent of the cluster limit.
    #[schemars(range(min = 0, max = 100))]
    pub cluster_utilization: Option<i32>,
    /// Percent of the worker limit.
    #[schemars(range(min = 0, max = 100))]
    pub node_utilization: Option<i32>,
    /// Percent of the core limit.
    #[schemars(range(min = 0, max = 100))]
    pub cpu_utilization: Option<i32>,
    /// Percent of the memory limit.
    #[schemars(range(min = 0, max = 100))]
    pub memory_utilization: Option<i32>,
}
