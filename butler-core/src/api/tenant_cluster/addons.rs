//! The addons of a `TenantCluster`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::api::{
    common::{FreeObject, LocalRef},
    text_enum::text_enum,
};

/// Base addons of a cluster.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BaseAddons {
    /// Pod network.
    pub cni: Option<CniAddon>,
    /// Load balancer.
    pub load_balancer: Option<LoadBalancerAddon>,
    /// cert-manager.
    pub cert_manager: Option<CertManagerAddon>,
    /// Storage.
    pub storage: Option<StorageAddon>,
    /// Ingress.
    pub ingress: Option<IngressAddon>,
    /// GitOps engine.
    pub gitops: Option<GitopsAddon>,
}

/// Pod network.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CniAddon {
    /// Which one.
    #[schemars(extend("default" = "cilium"))]
    pub provider: Option<CniProvider>,
    /// Its version.
    pub version: String,
    /// Chart values.
    #[serde(default, skip_serializing_if = "FreeObject::is_empty")]
    pub values: FreeObject,
}

text_enum! {
    /// Pod networks.
    CniProvider {
        Cilium = "cilium",
    }
}

/// Load balancer.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoadBalancerAddon {
    /// Which one.
    #[schemars(extend("default" = "metallb"))]
    pub provider: Option<LoadBalancerProvider>,
    /// Its version.
    pub version: String,
    /// Chart values.
    #[serde(default, skip_serializing_if = "FreeObject::is_empty")]
    pub values: FreeObject,
}

text_enum! {
    /// Load balancers.
    LoadBalancerProvider {
        MetalLb = "metallb",
    }
}

/// cert-manager.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CertManagerAddon {
    /// Install it.
    #[schemars(extend("default" = true))]
    pub enabled: Option<bool>,
    /// Its version.
    pub version: String,
    /// Chart values.
    #[serde(default, skip_serializing_if = "FreeObject::is_empty")]
    pub values: FreeObject,
}

/// Storage.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StorageAddon {
    /// Which one.
    pub provider: Option<StorageProvider>,
    /// Its version.
    pub version: String,
    /// Chart values.
    #[serde(default, skip_serializing_if = "FreeObject::is_empty")]
    pub values: FreeObject,
}

text_enum! {
    /// Storage systems.
    StorageProvider {
        Longhorn = "longhorn",
        Linstor = "linstor",
    }
}

/// Ingress.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IngressAddon {
    /// Install it.
    #[schemars(extend("default" = true))]
    pub enabled: Option<bool>,
    /// Which one.
    pub provider: Option<IngressProvider>,
    /// Its version; Butler's own choice when empty.
    pub version: Option<String>,
    /// Chart values.
    #[serde(default, skip_serializing_if = "FreeObject::is_empty")]
    pub values: FreeObject,
}

text_enum! {
    /// Ingress controllers.
    IngressProvider {
        Traefik = "traefik",
        Nginx = "nginx",
    }
}

/// GitOps engine.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GitopsAddon {
    /// Which one.
    pub provider: Option<GitopsProvider>,
    /// Its version.
    pub version: Option<String>,
    /// What it follows.
    pub repository: Option<GitopsRepository>,
}

text_enum! {
    /// GitOps engines.
    GitopsProvider {
        FluxCd = "fluxcd",
        ArgoCd = "argocd",
    }
}

/// A place in a Git repository.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GitopsRepository {
    /// The repository.
    pub url: String,
    /// The branch.
    #[schemars(extend("default" = "main"))]
    pub branch: Option<String>,
    /// The folder.
    pub path: Option<String>,
    /// Secret with the Git credential.
    pub secret_ref: Option<LocalRef>,
}
