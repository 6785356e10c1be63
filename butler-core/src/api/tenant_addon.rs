//! `TenantAddon`: an addon on a tenant cluster, from the catalog or from any Helm chart.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::{
    common::{FreeObject, HelmReleaseStatus, LocalRef, Time},
    conditions,
    text_enum::text_enum,
};

/// Which addon, in which version, on which cluster.
#[skip_serializing_none]
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "butler.butlerlabs.dev",
    version = "v1alpha1",
    kind = "TenantAddon",
    namespaced,
    status = "TenantAddonStatus",
    shortname = "ta",
    doc = "An addon on a tenant cluster, from the catalog or from any Helm chart.",
    derive = "PartialEq",
    derive = "Default",
    printcolumn(name = "Cluster", type_ = "string", json_path = ".spec.clusterRef.name"),
    printcolumn(name = "Addon", type_ = "string", json_path = ".spec.addon"),
    printcolumn(name = "Version", type_ = "string", json_path = ".spec.version"),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "Installed", type_ = "string", json_path = ".status.installedVersion"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct TenantAddonSpec {
    /// TenantCluster of the same namespace.
    pub cluster_ref: LocalRef,
    /// Name of an AddonDefinition; use this or `helm`.
    pub addon: Option<String>,
    /// A chart that is not in the catalog.
    pub helm: Option<HelmSource>,
    /// Version of the chart; an empty text means the catalog's default.
    pub version: String,
    /// Chart values, over those of the catalog.
    #[serde(default, skip_serializing_if = "FreeObject::is_empty")]
    pub values: FreeObject,
    /// TenantAddons to wait for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<LocalRef>,
}

/// A chart that is not in the catalog.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HelmSource {
    /// URL of the Helm repository.
    pub repository: String,
    /// Name of the chart.
    pub chart: String,
    /// Name of the release; that of this object when empty.
    pub release_name: Option<String>,
    /// Namespace of the release.
    pub namespace: Option<String>,
    /// Create that namespace when it is missing.
    #[schemars(extend("default" = true))]
    pub create_namespace: Option<bool>,
}

/// What became of the addon.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TenantAddonStatus {
    /// Generation this status speaks of.
    pub observed_generation: Option<i64>,
    /// Where the addon is in its life.
    pub phase: Option<TenantAddonPhase>,
    /// When the phase last changed.
    pub last_transition_time: Option<Time>,
    /// Version in place.
    pub installed_version: Option<String>,
    /// The release behind it.
    pub helm_release: Option<HelmReleaseStatus>,
    /// What is going on or went wrong.
    pub message: Option<String>,
    /// `ClusterReady`, `DependenciesMet`, `Installed`, `Healthy` and `Ready`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "conditions::keyed_list")]
    pub conditions: Vec<Condition>,
}

text_enum! {
    /// Life of an addon on a tenant cluster.
    TenantAddonPhase {
        Pending = "Pending",
        Installing = "Installing",
        Installed = "Installed",
        Upgrading = "Upgrading",
        Degraded = "Degraded",
        Failed = "Failed",
        Deleting = "Deleting",
    }
}
