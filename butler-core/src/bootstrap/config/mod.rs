//! The bootstrap configuration: what a person writes in a file, with every default filled in.
//!
//! [`Config`] is what the rest of the program works with: addresses are addresses, legacy spellings are
//! gone, and secrets are [`SecretSource`]s, which say where a value is and show it to nobody.

mod build;
mod check;
mod defaults;
mod document;
mod facts;
mod format;
mod keys;
mod load;
mod problem;
mod provider;
mod schema;
mod secret;
mod tree;
mod values;
mod versions;
mod walk;

#[cfg(test)]
pub(crate) mod tests;

use std::net::{IpAddr, Ipv4Addr};

use ipnet::Ipv4Net;
use semver::Version;

pub use facts::{FactKind, Facts, facts, sections};
pub use format::without_user;
pub use load::{ConfigFile, Loaded, SecretUse, Source, load, read, search};
pub use problem::{ConfigError, Excerpt, Problem, Severity};
pub use provider::{
    AwsConfig, AzureConfig, GcpConfig, HarvesterConfig, LocalConfig, NutanixConfig, ProviderSettings,
    ProxmoxConfig, ProxmoxCredentials, SandboxConfig,
};
pub use schema::schema;
pub use secret::{Keyring, KeyringError, NoKeyring, SecretError, SecretSource};
pub use tree::MAX_BYTES;
pub use versions::{DEFAULT_TALOS, SANDBOX_KUBERNETES, SANDBOX_TALOS};

use crate::api::{
    butler_config::MultiTenancyMode,
    cluster_bootstrap::{BootstrapAddons, NodePool, Topology},
    common::{ExposureSpec, ProviderKind},
    network_pool::NetworkPoolSpec,
    provider_config::ProviderNetwork,
};

/// What a bootstrap is to make.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The management cluster.
    pub cluster: ClusterConfig,
    /// Its networks.
    pub network: NetworkConfig,
    /// Its operating system and Kubernetes.
    pub talos: TalosConfig,
    /// Its addons, as they go into the ClusterBootstrap: what is absent there is decided by the rules of
    /// that object.
    pub addons: BootstrapAddons,
    /// Install the catalog of addons for tenants.
    pub catalog: bool,
    /// Where charts and manifests of addons come from.
    pub charts: ChartsConfig,
    /// How the API servers of tenants are published, unless a tenant says otherwise.
    pub control_plane_exposure: Option<ExposureSpec>,
    /// How strictly clusters belong to teams.
    pub multi_tenancy_mode: Option<MultiTenancyMode>,
    /// The first pool of addresses for tenants.
    pub network_pool: Option<NetworkPoolConfig>,
    /// The network of the ProviderConfig.
    pub provider_network: Option<ProviderNetwork>,
    /// Where machines come from.
    pub provider: ProviderSettings,
    /// The temporary cluster.
    pub bootstrap_cluster: BootstrapClusterConfig,
}

impl Config {
    /// The provider.
    pub fn provider_kind(&self) -> ProviderKind {
        self.provider.kind()
    }

    /// How many machines each role has: control planes, workers.
    pub fn machines(&self) -> (u32, u32) {
        let count = |pool: &NodePool| u32::try_from(pool.replicas).unwrap_or_default();
        (count(&self.cluster.control_plane), self.cluster.workers.as_ref().map_or(0, count))
    }
}

/// The management cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct ClusterConfig {
    /// Its name: in objects, machines and files.
    pub name: String,
    /// One machine or many.
    pub topology: Topology,
    /// The machines of the control plane; exactly one on a single node.
    pub control_plane: NodePool,
    /// The machines for workloads; none on a single node.
    pub workers: Option<NodePool>,
}

/// The networks of the management cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct NetworkConfig {
    /// Addresses of Pods.
    pub pod_cidr: Ipv4Net,
    /// Addresses of Services.
    pub service_cidr: Ipv4Net,
    /// The address that control planes hand among themselves.
    pub vip: Option<Ipv4Addr>,
    /// The network card that carries it; the provider's usual one when not given.
    pub vip_interface: Option<String>,
    /// Addresses for Services of type LoadBalancer, both ends included.
    pub load_balancer_pool: Option<(Ipv4Addr, Ipv4Addr)>,
    /// Largest packet; the network's own when not given.
    pub mtu: Option<u16>,
}

/// Operating system and Kubernetes.
#[derive(Clone, Debug, PartialEq)]
pub struct TalosConfig {
    /// Version of Talos.
    pub version: Version,
    /// The image factory's name for a set of extensions; may be empty.
    pub schematic: String,
    /// Version of Kubernetes.
    pub kubernetes_version: Version,
    /// The disk Talos installs itself on.
    pub install_disk: String,
    /// Time servers; Talos' own when empty.
    pub time_servers: Vec<String>,
}

/// Where charts and manifests of addons come from.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChartsConfig {
    /// A directory, `https://` address or `oci://` prefix that stands in for every repository; the
    /// repositories of the catalog when not given. A directory is absolute.
    pub mirror: Option<String>,
}

/// The first pool of addresses for tenants.
#[derive(Clone, Debug, PartialEq)]
pub struct NetworkPoolConfig {
    /// Its name.
    pub name: String,
    /// What is in it.
    pub spec: NetworkPoolSpec,
}

/// The temporary cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct BootstrapClusterConfig {
    /// What it is made of.
    pub runtime: RuntimeKind,
    /// Settings of KIND.
    pub kind: KindConfig,
}

/// What the temporary cluster is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RuntimeKind {
    /// The `kind` program and a container engine.
    #[default]
    Kind,
    /// etcd and kube-apiserver as children of this program.
    Process,
}

impl RuntimeKind {
    /// Its word in files and flags.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Kind => "kind",
            Self::Process => "process",
        }
    }
}

/// Settings of KIND.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KindConfig {
    /// The node image; the one that `kind` prefers when not given.
    pub image: Option<String>,
    /// Name servers for the temporary cluster besides those of this machine. None is ever added unasked.
    pub name_servers: Vec<IpAddr>,
}
