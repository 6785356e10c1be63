//! `MachineRequest`: a machine that a provider's driver should make.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::{
    common::{DNS_LABEL, DiskSpec, MachineRole, ProviderRef, Time},
    conditions,
    text_enum::text_enum,
};

/// What the machine should be.
#[skip_serializing_none]
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "butler.butlerlabs.dev",
    version = "v1alpha1",
    kind = "MachineRequest",
    namespaced,
    status = "MachineRequestStatus",
    shortname = "mr",
    doc = "A machine that a provider's driver should make.",
    derive = "PartialEq",
    printcolumn(name = "Machine", type_ = "string", json_path = ".spec.machineName"),
    printcolumn(name = "Role", type_ = "string", json_path = ".spec.role"),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "IP", type_ = "string", json_path = ".status.ipAddress"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct MachineRequestSpec {
    /// Name of the machine at the provider.
    #[schemars(length(min = 1, max = 63), regex(pattern = DNS_LABEL))]
    pub machine_name: String,
    /// What it will do.
    pub role: MachineRole,
    /// ProviderConfig with the credential.
    pub provider_ref: ProviderRef,
    /// Cores.
    #[schemars(range(min = 1, max = 128))]
    pub cpu: i32,
    /// Memory in MB.
    #[serde(rename = "memoryMB")]
    #[schemars(range(min = 1024))]
    pub memory_mb: i32,
    /// Root disk in GB.
    #[serde(rename = "diskGB")]
    #[schemars(range(min = 10))]
    pub disk_gb: i32,
    /// Further disks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra_disks: Vec<DiskSpec>,
    /// Image in the provider's words, in place of the provider's default.
    pub image: Option<String>,
    /// cloud-init user data, here the Talos machine configuration.
    pub user_data: Option<String>,
    /// cloud-init network configuration.
    pub network_data: Option<String>,
    /// Labels or tags of the machine.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
}

/// What the machine is.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineRequestStatus {
    /// Generation this status speaks of.
    pub observed_generation: Option<i64>,
    /// Where the machine is in its life.
    pub phase: Option<MachineRequestPhase>,
    /// What the provider calls the machine.
    #[serde(rename = "providerID")]
    pub provider_id: Option<String>,
    /// First address.
    pub ip_address: Option<String>,
    /// All addresses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ip_addresses: Vec<String>,
    /// Hardware address of the first interface.
    pub mac_address: Option<String>,
    /// Why it failed, in one word.
    pub failure_reason: Option<String>,
    /// Why it failed.
    pub failure_message: Option<String>,
    /// When this status last changed.
    pub last_updated: Option<Time>,
    /// `Ready` and `Progressing`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "conditions::keyed_list")]
    pub conditions: Vec<Condition>,
}

text_enum! {
    /// Life of a machine.
    MachineRequestPhase {
        Pending = "Pending",
        Creating = "Creating",
        Running = "Running",
        Failed = "Failed",
        Deleting = "Deleting",
        Deleted = "Deleted",
        Unknown = "Unknown",
    }
}
