//! `LoadBalancerRequest`: a cloud load balancer that a provider's driver should make.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::{
    common::{DNS_LABEL, ProviderRef, Time},
    conditions,
    text_enum::text_enum,
};

/// What the load balancer should be.
#[skip_serializing_none]
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "butler.butlerlabs.dev",
    version = "v1alpha1",
    kind = "LoadBalancerRequest",
    namespaced,
    status = "LoadBalancerRequestStatus",
    shortname = "lbr",
    doc = "A cloud load balancer that a provider's driver should make.",
    derive = "PartialEq",
    derive = "Default",
    printcolumn(name = "Cluster", type_ = "string", json_path = ".spec.clusterName"),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "Endpoint", type_ = "string", json_path = ".status.endpoint"),
    printcolumn(name = "Targets", type_ = "integer", json_path = ".status.registeredTargets"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[schemars(extend("x-kubernetes-validations" = [
    { "rule": "self.clusterName == oldSelf.clusterName", "message": "clusterName is immutable" },
    { "rule": "self.providerConfigRef == oldSelf.providerConfigRef", "message": "providerConfigRef is immutable" },
]))]
#[serde(rename_all = "camelCase")]
pub struct LoadBalancerRequestSpec {
    /// Cluster behind it, and the first part of the names of cloud resources; never changes.
    #[schemars(length(min = 1, max = 63), regex(pattern = DNS_LABEL))]
    pub cluster_name: String,
    /// ProviderConfig with the credential; never changes.
    pub provider_config_ref: ProviderRef,
    /// Port of the backends.
    #[schemars(range(min = 1, max = 65_535), extend("default" = 6443))]
    pub port: Option<i32>,
    /// Port of health checks; that of the backends when unset.
    #[schemars(range(min = 1, max = 65_535))]
    pub health_check_port: Option<i32>,
    /// The backends; more come as machines appear.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<LoadBalancerTarget>,
}

/// A backend.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoadBalancerTarget {
    /// Its address.
    pub ip: Option<String>,
    /// Its id, where the cloud wants one.
    #[serde(rename = "instanceID")]
    pub instance_id: Option<String>,
    /// Its name, where the cloud wants one.
    pub instance_name: Option<String>,
}

/// What the load balancer is.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoadBalancerRequestStatus {
    /// Generation this status speaks of.
    pub observed_generation: Option<i64>,
    /// Where the load balancer is in its life.
    pub phase: Option<LoadBalancerRequestPhase>,
    /// Its address or name.
    pub endpoint: Option<String>,
    /// What the cloud calls it.
    #[serde(rename = "resourceID")]
    pub resource_id: Option<String>,
    /// Backends attached.
    pub registered_targets: Option<i32>,
    /// Why it failed, in one word.
    pub failure_reason: Option<String>,
    /// Why it failed.
    pub failure_message: Option<String>,
    /// When this status last changed.
    pub last_updated: Option<Time>,
    /// `Provisioned` and `TargetsSynced`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "conditions::keyed_list")]
    pub conditions: Vec<Condition>,
}

text_enum! {
    /// Life of a load balancer.
    LoadBalancerRequestPhase {
        Pending = "Pending",
        Creating = "Creating",
        Ready = "Ready",
        Failed = "Failed",
        Deleting = "Deleting",
    }
}
