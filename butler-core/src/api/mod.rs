//! The 18 kinds of Butler's API as Rust types, one file per kind, and their definitions.
//!
//! Types follow the wire format of existing installations. They are for reading objects and for making
//! new ones; a change to an object is always a patch (see [`crate::cluster::change`]), because writing
//! a typed object back would lose the fields of a newer Butler.
//!
//! Texts with a fixed set of values are enums that keep values they do not know as `Unrecognized`,
//! so that no object becomes unreadable when a newer Butler adds one.
#![expect(clippy::duplicated_attributes, reason = "each `printcolumn` has a type of its own")]

pub mod addon_definition;
pub mod butler_config;
pub mod cluster_bootstrap;
pub mod cluster_creation_policy;
pub mod common;
pub mod conditions;
mod definitions;
pub mod identity_provider;
pub mod image_sync;
pub mod ip_allocation;
pub mod load_balancer_request;
pub mod machine_request;
pub mod management_addon;
pub mod names;
pub mod network_pool;
pub mod provider_config;
pub mod team;
pub mod tenant_addon;
pub mod tenant_cluster;
mod text_enum;
pub mod user;
pub mod workspace;
pub mod workspace_template;

pub use addon_definition::AddonDefinition;
pub use butler_config::ButlerConfig;
pub use cluster_bootstrap::ClusterBootstrap;
pub use cluster_creation_policy::ClusterCreationPolicy;
pub use definitions::{all_crds, crds_yaml};
pub use identity_provider::IdentityProvider;
pub use image_sync::ImageSync;
pub use ip_allocation::IPAllocation;
pub use load_balancer_request::LoadBalancerRequest;
pub use machine_request::MachineRequest;
pub use management_addon::ManagementAddon;
pub use network_pool::NetworkPool;
pub use provider_config::ProviderConfig;
pub use team::Team;
pub use tenant_addon::TenantAddon;
pub use tenant_cluster::TenantCluster;
pub use user::User;
pub use workspace::Workspace;
pub use workspace_template::WorkspaceTemplate;

/// API group of every kind.
pub const GROUP: &str = "butler.butlerlabs.dev";
/// The one version.
pub const VERSION: &str = "v1alpha1";
/// Group and version, as objects carry it.
pub const API_VERSION: &str = "butler.butlerlabs.dev/v1alpha1";

/// Every kind.
pub const KINDS: &[&str] = &[
    "AddonDefinition",
    "ButlerConfig",
    "ClusterBootstrap",
    "ClusterCreationPolicy",
    "IPAllocation",
    "IdentityProvider",
    "ImageSync",
    "LoadBalancerRequest",
    "MachineRequest",
    "ManagementAddon",
    "NetworkPool",
    "ProviderConfig",
    "Team",
    "TenantAddon",
    "TenantCluster",
    "User",
    "Workspace",
    "WorkspaceTemplate",
];
