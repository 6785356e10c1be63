//! The addons of a `ClusterBootstrap`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::api::{common::SecretRef, text_enum::text_enum};

/// What is installed on a management cluster.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BootstrapAddons {
    /// What holds the API's virtual IP.
    #[serde(rename = "controlPlaneHA")]
    pub control_plane_ha: Option<ControlPlaneHa>,
    /// Pod network.
    pub cni: Option<BootstrapCni>,
    /// Load balancer.
    pub load_balancer: Option<BootstrapLoadBalancer>,
    /// Storage.
    pub storage: Option<BootstrapStorage>,
    /// cert-manager.
    pub cert_manager: Option<BootstrapCertManager>,
    /// Ingress.
    pub ingress: Option<BootstrapIngress>,
    /// What hosts the control planes of tenants.
    pub control_plane_provider: Option<ControlPlaneProvider>,
    /// Cluster API.
    pub capi: Option<Capi>,
    /// Butler's own controller.
    pub butler_controller: Option<ButlerController>,
    /// Butler's web console.
    pub console: Option<Console>,
    /// GitOps engine.
    pub git_ops: Option<BootstrapGitOps>,
}

/// What holds the API's virtual IP.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ControlPlaneHa {
    /// Which one.
    #[serde(rename = "type")]
    #[schemars(extend("default" = "kube-vip"))]
    pub type_: Option<ControlPlaneHaType>,
    /// Its version.
    pub version: Option<String>,
}

text_enum! {
    /// Ways to hold a virtual IP.
    ControlPlaneHaType {
        KubeVip = "kube-vip",
        None = "none",
    }
}

/// Pod network.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BootstrapCni {
    /// Which one.
    #[serde(rename = "type")]
    #[schemars(extend("default" = "cilium"))]
    pub type_: Option<BootstrapCniType>,
    /// Its version.
    pub version: Option<String>,
    /// Install Hubble with it.
    #[schemars(extend("default" = true))]
    pub hubble_enabled: Option<bool>,
}

text_enum! {
    /// Pod networks.
    BootstrapCniType {
        Cilium = "cilium",
        None = "none",
    }
}

/// Load balancer.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BootstrapLoadBalancer {
    /// Which one.
    #[serde(rename = "type")]
    #[schemars(extend("default" = "metallb"))]
    pub type_: Option<BootstrapLoadBalancerType>,
    /// Addresses as text; `network.loadBalancerPool` is preferred.
    pub address_pool: Option<String>,
}

text_enum! {
    /// Load balancers.
    BootstrapLoadBalancerType {
        MetalLb = "metallb",
        None = "none",
    }
}

/// Storage.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BootstrapStorage {
    /// Which one.
    #[serde(rename = "type")]
    #[schemars(extend("default" = "longhorn"))]
    pub type_: Option<BootstrapStorageType>,
    /// Its version.
    pub version: Option<String>,
    /// Replicas of a volume; one with a single node topology.
    #[schemars(extend("default" = 3))]
    pub replica_count: Option<i32>,
}

text_enum! {
    /// Storage systems.
    BootstrapStorageType {
        Longhorn = "longhorn",
        None = "none",
    }
}

/// cert-manager.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BootstrapCertManager {
    /// Install it.
    #[schemars(extend("default" = true))]
    pub enabled: Option<bool>,
    /// Its version.
    pub version: Option<String>,
}

/// Ingress.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BootstrapIngress {
    /// Install it.
    #[schemars(extend("default" = true))]
    pub enabled: Option<bool>,
    /// Which one.
    #[serde(rename = "type")]
    #[schemars(extend("default" = "traefik"))]
    pub type_: Option<BootstrapIngressType>,
    /// Its version.
    pub version: Option<String>,
}

text_enum! {
    /// Ingress controllers.
    BootstrapIngressType {
        Traefik = "traefik",
        Nginx = "nginx",
        None = "none",
    }
}

/// What hosts the control planes of tenants.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ControlPlaneProvider {
    /// Install it.
    #[schemars(extend("default" = true))]
    pub enabled: Option<bool>,
    /// Which one.
    #[serde(rename = "type")]
    #[schemars(extend("default" = "steward"))]
    pub type_: Option<ControlPlaneProviderType>,
    /// Its version.
    pub version: Option<String>,
}

text_enum! {
    /// Hosts of control planes.
    ControlPlaneProviderType {
        Steward = "steward",
        Kamaji = "kamaji",
        None = "none",
    }
}

/// Cluster API.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Capi {
    /// Install it.
    #[schemars(extend("default" = true))]
    pub enabled: Option<bool>,
    /// Its version.
    #[schemars(extend("default" = "v1.9.4"))]
    pub version: Option<String>,
    /// Further providers; that of the cluster itself always comes along.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub infrastructure_providers: Vec<CapiProvider>,
}

/// An infrastructure provider of Cluster API.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CapiProvider {
    /// Which one.
    pub name: CapiProviderName,
    /// Its version.
    pub version: Option<String>,
    /// Secret with its credential.
    pub credentials_secret_ref: Option<SecretRef>,
}

text_enum! {
    /// Infrastructure providers of Cluster API.
    CapiProviderName {
        Harvester = "harvester",
        Nutanix = "nutanix",
        Proxmox = "proxmox",
        Gcp = "gcp",
        Aws = "aws",
        Azure = "azure",
    }
}

/// Butler's own controller.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ButlerController {
    /// Install it.
    #[schemars(extend("default" = true))]
    pub enabled: Option<bool>,
    /// Image without tag.
    #[schemars(extend("default" = "ghcr.io/butlerdotdev/butler-controller"))]
    pub image: Option<String>,
    /// Tag of the image.
    #[schemars(extend("default" = "latest"))]
    pub version: Option<String>,
}

/// Butler's web console.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Console {
    /// Install it.
    #[schemars(extend("default" = false))]
    pub enabled: Option<bool>,
    /// Tag of the image.
    #[schemars(extend("default" = "latest"))]
    pub version: Option<String>,
    /// How it is published.
    pub ingress: Option<ConsoleIngress>,
}

/// How the console is published.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConsoleIngress {
    /// Publish it by an Ingress.
    #[schemars(extend("default" = false))]
    pub enabled: Option<bool>,
    /// Ingress class.
    pub class_name: Option<String>,
    /// Host name; made from the cluster's name when empty.
    pub host: Option<String>,
    /// Serve it over TLS.
    #[schemars(extend("default" = false))]
    pub tls: Option<bool>,
    /// Secret with the certificate.
    pub tls_secret_name: Option<String>,
}

/// GitOps engine.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BootstrapGitOps {
    /// Install it.
    #[schemars(extend("default" = true))]
    pub enabled: Option<bool>,
    /// Which one.
    #[serde(rename = "type")]
    #[schemars(extend("default" = "flux"))]
    pub type_: Option<BootstrapGitOpsType>,
}

text_enum! {
    /// GitOps engines.
    BootstrapGitOpsType {
        Flux = "flux",
        None = "none",
    }
}
