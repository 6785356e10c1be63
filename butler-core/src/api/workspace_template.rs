//! `WorkspaceTemplate`: a workspace to start from.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::{
    common::{Dotfiles, PodSize, Quantity, WorkloadEnvSource, WorkspaceRepository},
    text_enum::text_enum,
};

/// The template and how it is shown.
#[skip_serializing_none]
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "butler.butlerlabs.dev",
    version = "v1alpha1",
    kind = "WorkspaceTemplate",
    namespaced,
    shortname = "wst",
    doc = "A workspace to start from.",
    derive = "PartialEq",
    derive = "Default",
    printcolumn(name = "Display Name", type_ = "string", json_path = ".spec.displayName"),
    printcolumn(name = "Image", type_ = "string", json_path = ".spec.template.image"),
    printcolumn(name = "Category", type_ = "string", json_path = ".spec.category"),
    printcolumn(name = "Scope", type_ = "string", json_path = ".spec.scope"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceTemplateSpec {
    /// Name shown to people.
    #[schemars(length(min = 1))]
    pub display_name: String,
    /// What it is for.
    pub description: Option<String>,
    /// Shelf it stands on.
    #[schemars(extend("default" = "custom"))]
    pub category: Option<WorkspaceCategory>,
    /// Icon name or URL.
    pub icon: Option<String>,
    /// Who sees it.
    #[schemars(extend("default" = "team"))]
    pub scope: Option<WorkspaceTemplateScope>,
    /// What the workspace will be.
    pub template: WorkspaceTemplateBody,
}

text_enum! {
    /// Shelves of workspace templates.
    WorkspaceCategory {
        Backend = "backend",
        Frontend = "frontend",
        Data = "data",
        Devops = "devops",
        Custom = "custom",
    }
}

text_enum! {
    /// Who sees a template.
    WorkspaceTemplateScope {
        /// Everybody; the template is in `butler-system`.
        Cluster = "cluster",
        /// The team in whose namespace it is.
        Team = "team",
    }
}

/// A workspace without cluster and owner, which are chosen later.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceTemplateBody {
    /// Container image.
    pub image: String,
    /// Limits of the pod.
    pub resources: Option<PodSize>,
    /// Size of the volume.
    pub storage_size: Option<Quantity>,
    /// Repositories to clone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repositories: Vec<WorkspaceRepository>,
    /// One repository, cloned before the others; `repositories` is preferred.
    pub repository: Option<WorkspaceRepository>,
    /// Dotfiles.
    pub dotfiles: Option<Dotfiles>,
    /// Workload to take environment variables from.
    pub env_from: Option<WorkloadEnvSource>,
}
