//! `ClusterCreationPolicy`: what people may choose when they create clusters.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::{
    common::{LocalRef, ProviderKind},
    conditions,
    text_enum::text_enum,
};

/// Rules, and where they hold.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "butler.butlerlabs.dev",
    version = "v1alpha1",
    kind = "ClusterCreationPolicy",
    status = "ClusterCreationPolicyStatus",
    shortname = "ccp",
    doc = "What people may choose when they create clusters.",
    derive = "PartialEq",
    derive = "Default",
    printcolumn(name = "Team", type_ = "string", json_path = ".spec.scope.team.teamRef.name"),
    printcolumn(
        name = "Env",
        type_ = "string",
        json_path = ".spec.scope.teamAndEnvironment.environmentName"
    ),
    printcolumn(name = "Providers", type_ = "string", json_path = ".spec.targetProviders"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct ClusterCreationPolicySpec {
    /// Where the rules hold.
    pub scope: PolicyScope,
    /// Providers they hold for; all when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub target_providers: Vec<ProviderKind>,
    /// Rules by option: `image`, `network`, `cluster` or `storageContainer`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, OptionRule>,
}

/// Where a policy holds; exactly one of the three is set.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-validations" = [
    { "rule": "(has(self.platformWide)?1:0) + (has(self.team)?1:0) + (has(self.teamAndEnvironment)?1:0) == 1", "message": "exactly one of platformWide, team, or teamAndEnvironment must be set" },
]))]
#[serde(rename_all = "camelCase")]
pub struct PolicyScope {
    /// Everywhere.
    pub platform_wide: Option<PlatformWideScope>,
    /// In one team.
    pub team: Option<TeamScope>,
    /// In one environment of a team.
    pub team_and_environment: Option<EnvironmentScope>,
}

/// Everywhere; there is nothing more to say.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlatformWideScope {}

/// One team with all its environments.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TeamScope {
    /// The team.
    pub team_ref: LocalRef,
}

/// One environment of a team.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EnvironmentScope {
    /// The team.
    pub team_ref: LocalRef,
    /// The environment.
    #[schemars(length(min = 1, max = 63))]
    pub environment_name: String,
}

/// What may be chosen for one option.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OptionRule {
    /// What the values mean.
    pub mode: OptionMode,
    /// Ids of choices at the provider.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
    /// The choice made beforehand.
    pub default: Option<String>,
    /// Why the values are recommended.
    #[schemars(length(max = 120))]
    pub recommended_reason: Option<String>,
}

text_enum! {
    /// What the values of a rule mean.
    OptionMode {
        /// The only value; it cannot be changed.
        Pin = "pin",
        /// The values to choose from.
        AllowList = "allowList",
        /// The value chosen beforehand; others can be chosen.
        Default = "default",
        /// Shown first and marked; others can be chosen.
        Recommended = "recommended",
    }
}

/// What is known of the rules.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterCreationPolicyStatus {
    /// Ids in the rules that the provider no longer offers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stale_references: Vec<String>,
    /// Conditions, of which none is promised.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "conditions::keyed_list")]
    pub conditions: Vec<Condition>,
}
