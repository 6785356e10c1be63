//! The main document. Names and nesting are Talos' own; what is empty is not written.

use std::collections::BTreeMap;

use butler_core::redact::Secret;
use jiff::SignedDuration;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::talos::secrets::{CertificateAndKey, Key};

/// What a node is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MachineType {
    ControlPlane,
    #[default]
    Worker,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MainDocument {
    pub version: String,
    pub debug: bool,
    pub persist: Option<bool>,
    pub machine: Machine,
    pub cluster: Cluster,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Machine {
    #[serde(rename = "type")]
    pub machine_type: MachineType,
    /// What a worker shows to trustd.
    pub token: Secret,
    /// The authority of the Talos API; workers have no key of it.
    pub ca: CertificateAndKey,
    #[serde(rename = "certSANs")]
    pub cert_sans: Vec<String>,
    pub kubelet: Kubelet,
    pub network: Network,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub install: Option<Install>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registries: Option<Registries>,
    pub features: Features,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub node_labels: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub node_annotations: BTreeMap<String, String>,
    /// Key to `value:Effect`, or to `Effect` alone.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub node_taints: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Kubelet {
    pub image: String,
    #[serde(rename = "clusterDNS", skip_serializing_if = "Vec::is_empty")]
    pub cluster_dns: Vec<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub extra_args: BTreeMap<String, String>,
    pub default_runtime_seccomp_profile_enabled: bool,
    pub disable_manifests_directory: bool,
    #[serde(rename = "nodeIP", skip_serializing_if = "Option::is_none")]
    pub node_ip: Option<NodeIp>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub skip_node_registration: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeIp {
    pub valid_subnets: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Network {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hostname: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nameservers: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub interfaces: Vec<Interface>,
}

/// One network device, by name or by what it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Interface {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interface: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_selector: Option<DeviceSelector>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub dhcp: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mtu: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vip: Option<InterfaceVip>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DeviceSelector {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hardware_addr: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub physical: Option<bool>,
}

/// An address that one of the control planes carries.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct InterfaceVip {
    pub ip: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Install {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub disk: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub image: String,
    pub wipe: bool,
    #[serde(rename = "grubUseUKICmdline", skip_serializing_if = "Option::is_none")]
    pub grub_use_uki_cmdline: Option<bool>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Time {
    pub servers: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Registries {
    pub mirrors: BTreeMap<String, Mirror>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Mirror {
    pub endpoints: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Features {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rbac: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stable_hostname: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub apid_check_ext_key_usage: Option<bool>,
    pub disk_quota_support: bool,
    pub kube_prism: KubePrism,
    #[serde(rename = "hostDNS")]
    pub host_dns: HostDns,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct KubePrism {
    pub enabled: bool,
    pub port: u16,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HostDns {
    pub enabled: bool,
    #[serde(rename = "forwardKubeDNSToHost")]
    pub forward_kube_dns_to_host: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Cluster {
    pub id: String,
    pub secret: Secret,
    pub control_plane: ControlPlane,
    pub cluster_name: String,
    pub network: ClusterNetwork,
    /// What kubelets join with.
    pub token: Secret,
    #[serde(skip_serializing_if = "Secret::is_empty")]
    pub aescbc_encryption_secret: Secret,
    #[serde(skip_serializing_if = "Secret::is_empty")]
    pub secretbox_encryption_secret: Secret,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca: Option<CertificateAndKey>,
    #[serde(rename = "aggregatorCA", skip_serializing_if = "Option::is_none")]
    pub aggregator_ca: Option<CertificateAndKey>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_account: Option<Key>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_server: Option<ApiServer>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub controller_manager: Option<Component>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy: Option<Proxy>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduler: Option<Component>,
    pub discovery: Discovery,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub etcd: Option<Etcd>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub allow_scheduling_on_control_planes: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub inline_manifests: Vec<InlineManifest>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub admin_kubeconfig: Option<AdminKubeconfig>,
}

/// Objects that a control plane applies once there is an API.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct InlineManifest {
    pub name: String,
    /// YAML documents; they may hold Secrets.
    pub contents: Secret,
}

impl Cluster {
    /// How long the administrator's kubeconfig lives: a year unless the configuration says else.
    pub fn admin_certificate_life(&self) -> SignedDuration {
        self.admin_kubeconfig
            .as_ref()
            .and_then(|admin| admin.cert_lifetime.parse().ok())
            .unwrap_or(SignedDuration::from_hours(8760))
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ControlPlane {
    pub endpoint: String,
    #[serde(rename = "localAPIServerPort", skip_serializing_if = "Option::is_none")]
    pub local_api_server_port: Option<u16>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterNetwork {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cni: Option<Cni>,
    pub dns_domain: String,
    pub pod_subnets: Vec<String>,
    pub service_subnets: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Cni {
    pub name: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ApiServer {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub image: String,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub extra_args: BTreeMap<String, String>,
    #[serde(rename = "certSANs", skip_serializing_if = "Vec::is_empty")]
    pub cert_sans: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disable_pod_security_policy: Option<bool>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub admission_control: Vec<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audit_policy: Option<Value>,
}

/// Controller manager or scheduler.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Component {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub image: String,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub extra_args: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Proxy {
    pub disabled: bool,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub image: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Discovery {
    pub enabled: bool,
    pub registries: DiscoveryRegistries,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DiscoveryRegistries {
    pub kubernetes: DiscoveryRegistry,
    pub service: DiscoveryRegistry,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DiscoveryRegistry {
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub disabled: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Etcd {
    pub ca: CertificateAndKey,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub extra_args: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AdminKubeconfig {
    pub cert_lifetime: String,
}
