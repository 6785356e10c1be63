//! `Workspace`: a person's development environment inside a tenant cluster.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::{
    common::{Dotfiles, LocalRef, PodSize, Quantity, Time, WorkloadEnvSource, WorkspaceRepository},
    conditions,
    text_enum::text_enum,
};

/// What the workspace should be.
#[skip_serializing_none]
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "butler.butlerlabs.dev",
    version = "v1alpha1",
    kind = "Workspace",
    namespaced,
    status = "WorkspaceStatus",
    shortname = "ws",
    doc = "A person's development environment inside a tenant cluster.",
    derive = "PartialEq",
    derive = "Default",
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "Cluster", type_ = "string", json_path = ".spec.clusterRef.name"),
    printcolumn(name = "Owner", type_ = "string", json_path = ".spec.owner"),
    printcolumn(name = "Image", type_ = "string", json_path = ".spec.image"),
    printcolumn(name = "Connected", type_ = "boolean", json_path = ".status.connected"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceSpec {
    /// TenantCluster of the same namespace.
    pub cluster_ref: LocalRef,
    /// E-mail address of the person.
    #[schemars(length(min = 1))]
    pub owner: String,
    /// Container image.
    pub image: String,
    /// Limits of its pod.
    pub resources: Option<PodSize>,
    /// Size of its volume.
    #[schemars(extend("default" = "10Gi"))]
    pub storage_size: Option<Quantity>,
    /// Repositories to clone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repositories: Vec<WorkspaceRepository>,
    /// One repository, cloned before the others; `repositories` is preferred.
    pub repository: Option<WorkspaceRepository>,
    /// The person's dotfiles.
    pub dotfiles: Option<Dotfiles>,
    /// Settings of editors.
    pub editor_config: Option<EditorConfig>,
    /// Workload to take environment variables from.
    pub env_from: Option<WorkloadEnvSource>,
    /// Keys that may sign in; those of the owner's User when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ssh_public_keys: Vec<String>,
    /// Close the SSH service this long after connecting, as a Go duration.
    #[schemars(extend("default" = "4h"))]
    pub idle_timeout: Option<String>,
    /// Stop the pod this long after the last disconnect, as a Go duration; `0` means never.
    #[schemars(extend("default" = "8h"))]
    pub auto_stop_after: Option<String>,
}

/// Settings of editors; the repository counts before the others.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EditorConfig {
    /// Git URL of a Neovim configuration.
    pub neovim_config_repo: Option<String>,
    /// A Neovim configuration as tar.gz in base64.
    pub neovim_config_archive: Option<String>,
    /// A Neovim `init.lua`.
    pub neovim_init_lua: Option<String>,
}

/// What the workspace is.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceStatus {
    /// Generation this status speaks of.
    pub observed_generation: Option<i64>,
    /// Where the workspace is in its life.
    pub phase: Option<WorkspacePhase>,
    /// Its pod.
    pub pod_name: Option<String>,
    /// Its volume claim.
    pub pvc_name: Option<String>,
    /// Its SSH service.
    pub service_name: Option<String>,
    /// Address and port for SSH.
    pub ssh_endpoint: Option<String>,
    /// The SSH service is up.
    pub connected: Option<bool>,
    /// When somebody last connected.
    pub last_activity_time: Option<Time>,
    /// When somebody last disconnected.
    pub last_disconnect_time: Option<Time>,
    /// `PVCReady`, `PodReady`, `SSHReady`, `RepositoryCloned`, `DotfilesInstalled` and `Ready`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "conditions::keyed_list")]
    pub conditions: Vec<Condition>,
}

text_enum! {
    /// Life of a workspace.
    WorkspacePhase {
        Pending = "Pending",
        Creating = "Creating",
        Running = "Running",
        Starting = "Starting",
        Stopped = "Stopped",
        Failed = "Failed",
    }
}
