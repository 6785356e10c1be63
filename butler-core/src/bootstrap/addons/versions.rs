//! Which version of everything is installed when nobody says otherwise. Nothing is ever unpinned.

/// kube-vip's image.
pub const KUBE_VIP: &str = "v0.8.7";
/// Chart of Cilium.
pub const CILIUM: &str = "1.17.0";
/// Chart of cert-manager.
pub const CERT_MANAGER: &str = "v1.16.2";
/// Chart of Longhorn.
pub const LONGHORN: &str = "1.7.2";
/// Chart of MetalLB; the one that tenants get too.
pub const METALLB: &str = "0.14.9";
/// Chart of Traefik.
pub const TRAEFIK: &str = "34.3.0";
/// Definitions of the Gateway API, experimental channel.
pub const GATEWAY_API: &str = "v1.2.1";
/// Chart and image of Steward.
pub const STEWARD: &str = "0.4.0";
/// Cluster API with its kubeadm bootstrap provider.
pub const CLUSTER_API: &str = "v1.9.4";
/// Steward's control-plane provider for Cluster API.
pub const CAPI_STEWARD: &str = "v0.3.0";
/// Cluster API provider for KubeVirt, which Harvester is.
pub const CAPI_KUBEVIRT: &str = "v0.1.9";
/// Cluster API provider for Nutanix.
pub const CAPI_NUTANIX: &str = "v1.4.0";
/// Cluster API provider for Proxmox VE.
pub const CAPI_PROXMOX: &str = "v0.6.0";
/// Cluster API provider for Google Cloud.
pub const CAPI_GCP: &str = "v1.8.0";
/// Cluster API provider for AWS.
pub const CAPI_AWS: &str = "v2.7.0";
/// Cluster API provider for Azure.
pub const CAPI_AZURE: &str = "v1.17.0";
/// Flux; the release whose chart is in the catalog.
pub const FLUX: &str = "v2.4.0";
/// Chart of the cloud controller manager of AWS.
pub const AWS_CCM: &str = "0.0.8";
/// Image of the cloud controller manager of Google Cloud.
pub const GCP_CCM: &str = "v30.0.0";
/// Image of the cloud controller manager of Azure.
pub const AZURE_CCM: &str = "v1.31.0";
/// Chart of the addon catalog.
pub const BUTLER_ADDONS: &str = "0.8.4";
/// Chart of the web console.
pub const BUTLER_CONSOLE: &str = "0.14.1";
/// The chart that this program carries.
pub const BUTLER: &str = env!("CARGO_PKG_VERSION");
