//! `ManagementAddon`: an addon on the management cluster itself.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::{
    common::{FreeObject, HelmReleaseStatus},
    conditions,
    text_enum::text_enum,
};

/// Which addon, in which version.
#[skip_serializing_none]
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "butler.butlerlabs.dev",
    version = "v1alpha1",
    kind = "ManagementAddon",
    status = "ManagementAddonStatus",
    shortname = "ma",
    shortname = "maddon",
    doc = "An addon on the management cluster itself.",
    derive = "PartialEq",
    derive = "Default",
    printcolumn(name = "Addon", type_ = "string", json_path = ".spec.addon"),
    printcolumn(name = "Version", type_ = "string", json_path = ".spec.version"),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "Installed", type_ = "string", json_path = ".status.installedVersion"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct ManagementAddonSpec {
    /// Name of an AddonDefinition.
    #[schemars(length(min = 1))]
    pub addon: String,
    /// Version of the chart; the catalog's default when empty.
    pub version: Option<String>,
    /// Chart values, over those of the catalog.
    #[serde(default, skip_serializing_if = "FreeObject::is_empty")]
    pub values: FreeObject,
    /// Leave it as it is for now.
    pub paused: Option<bool>,
}

/// What became of the addon.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ManagementAddonStatus {
    /// Generation this status speaks of.
    pub observed_generation: Option<i64>,
    /// Where the addon is in its life.
    pub phase: Option<ManagementAddonPhase>,
    /// Version in place.
    pub installed_version: Option<String>,
    /// Version tried last.
    pub last_attempted_version: Option<String>,
    /// The release behind it.
    pub helm_release: Option<HelmReleaseStatus>,
    /// What is going on or went wrong.
    pub message: Option<String>,
    /// Conditions, of which none is promised.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "conditions::plain_list")]
    pub conditions: Vec<Condition>,
}

text_enum! {
    /// Life of an addon on the management cluster.
    ManagementAddonPhase {
        Pending = "Pending",
        Installing = "Installing",
        Installed = "Installed",
        Upgrading = "Upgrading",
        Failed = "Failed",
        Uninstalling = "Uninstalling",
    }
}
