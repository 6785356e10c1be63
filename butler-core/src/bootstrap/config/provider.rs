//! `providerConfig`: one block per provider.

use super::SecretSource;
use crate::api::{
    common::ProviderKind,
    provider_config::{
        AwsSettings, AzureSettings, GcpSettings, HarvesterSettings, NutanixSettings, ProxmoxSettings,
    },
};

/// Where machines come from. What the ProviderConfig holds is in its own type; the rest is beside it.
#[derive(Clone, Debug, PartialEq)]
pub enum ProviderSettings {
    /// Harvester.
    Harvester(HarvesterConfig),
    /// Nutanix Prism Central.
    Nutanix(NutanixConfig),
    /// Proxmox VE.
    Proxmox(ProxmoxConfig),
    /// Amazon Web Services.
    Aws(AwsConfig),
    /// Microsoft Azure.
    Azure(AzureConfig),
    /// Google Cloud.
    Gcp(GcpConfig),
    /// The KIND cluster itself becomes the management cluster.
    Local(LocalConfig),
    /// Simulated machines on this computer.
    Sandbox(SandboxConfig),
}

impl ProviderSettings {
    /// The provider.
    pub fn kind(&self) -> ProviderKind {
        match self {
            Self::Harvester(_) => ProviderKind::Harvester,
            Self::Nutanix(_) => ProviderKind::Nutanix,
            Self::Proxmox(_) => ProviderKind::Proxmox,
            Self::Aws(_) => ProviderKind::Aws,
            Self::Azure(_) => ProviderKind::Azure,
            Self::Gcp(_) => ProviderKind::Gcp,
            Self::Local(_) => ProviderKind::Local,
            Self::Sandbox(_) => ProviderKind::Sandbox,
        }
    }

    /// True for public clouds: their control planes stand behind a load balancer of the provider.
    pub fn is_cloud(&self) -> bool {
        matches!(self, Self::Aws(_) | Self::Azure(_) | Self::Gcp(_))
    }

    /// Every secret of the block, by its key in the credentials Secret.
    pub fn secrets(&self) -> Vec<(&'static str, &SecretSource)> {
        match self {
            Self::Harvester(config) => vec![("kubeconfig", &config.kubeconfig)],
            Self::Nutanix(config) => vec![("username", &config.username), ("password", &config.password)],
            Self::Proxmox(config) => match &config.credentials {
                ProxmoxCredentials::Password { username, password } => {
                    vec![("username", username), ("password", password)]
                }
                ProxmoxCredentials::Token { token, token_secret } => {
                    vec![("token", token), ("tokenSecret", token_secret)]
                }
            },
            Self::Aws(config) => {
                vec![("accessKeyID", &config.access_key_id), ("secretAccessKey", &config.secret_access_key)]
            }
            Self::Azure(config) => vec![
                ("clientID", &config.client_id),
                ("clientSecret", &config.client_secret),
                ("tenantID", &config.tenant_id),
            ],
            Self::Gcp(config) => vec![("serviceAccountKey", &config.service_account_key)],
            Self::Local(_) | Self::Sandbox(_) => Vec::new(),
        }
    }
}

/// Harvester.
#[derive(Clone, Debug, PartialEq)]
pub struct HarvesterConfig {
    /// The kubeconfig of the Harvester cluster; `kubeconfigPath: P` means `{file: P}`.
    pub kubeconfig: SecretSource,
    /// Namespace, network, image, storage class.
    pub settings: HarvesterSettings,
}

/// Nutanix Prism Central.
#[derive(Clone, Debug, PartialEq)]
pub struct NutanixConfig {
    /// The account.
    pub username: SecretSource,
    /// Its password.
    pub password: SecretSource,
    /// Address, cluster, subnet, image.
    pub settings: NutanixSettings,
    /// Names the temporary cluster must resolve itself: `address name`.
    pub host_aliases: Vec<String>,
}

/// Proxmox VE.
#[derive(Clone, Debug, PartialEq)]
pub struct ProxmoxConfig {
    /// How to sign in.
    pub credentials: ProxmoxCredentials,
    /// Address, nodes, storage, template, range of ids.
    pub settings: ProxmoxSettings,
    /// Names the temporary cluster must resolve itself: `address name`.
    pub host_aliases: Vec<String>,
}

/// How to sign in to Proxmox VE.
#[derive(Clone, Debug, PartialEq)]
pub enum ProxmoxCredentials {
    /// With a password.
    Password {
        /// `name@realm`.
        username: SecretSource,
        /// Its password.
        password: SecretSource,
    },
    /// With an API token, which is better.
    Token {
        /// `name@realm!token`.
        token: SecretSource,
        /// Its secret.
        token_secret: SecretSource,
    },
}

/// Amazon Web Services.
#[derive(Clone, Debug, PartialEq)]
pub struct AwsConfig {
    /// The key's id.
    pub access_key_id: SecretSource,
    /// The key.
    pub secret_access_key: SecretSource,
    /// Region, network, groups.
    pub settings: AwsSettings,
}

/// Microsoft Azure.
#[derive(Clone, Debug, PartialEq)]
pub struct AzureConfig {
    /// The application.
    pub client_id: SecretSource,
    /// Its secret.
    pub client_secret: SecretSource,
    /// Its directory.
    pub tenant_id: SecretSource,
    /// The network security group; goes into the credentials Secret, where the cloud controller manager
    /// looks for it.
    pub security_group_name: Option<String>,
    /// Subscription, group, place, network, size, image.
    pub settings: AzureSettings,
}

/// Google Cloud.
#[derive(Clone, Debug, PartialEq)]
pub struct GcpConfig {
    /// The JSON key of a service account; `serviceAccountKeyPath: P` means `{file: P}`.
    pub service_account_key: SecretSource,
    /// Project, place, network, machine type, image.
    pub settings: GcpSettings,
}

/// The KIND cluster itself.
#[derive(Clone, Debug, PartialEq)]
pub struct LocalConfig {
    /// Port of this computer on which the console answers; 8080 when the file does not say.
    pub console_port: u16,
}

/// Simulated machines.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SandboxConfig {
    /// The sandbox whose machines are used; one named after the cluster is made when not given.
    pub name: Option<String>,
}
