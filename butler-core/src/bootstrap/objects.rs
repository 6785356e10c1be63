//! The objects that a bootstrap begins with, made from the configuration.

use std::collections::BTreeMap;

use k8s_openapi::{ByteString, api::core::v1 as core, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use serde_json::json;

use super::config::{Config, ProviderSettings};
use crate::{
    api::{
        cluster_bootstrap::{
            BootstrapCluster, BootstrapNetwork, BootstrapTalos, ClusterBootstrap, ClusterBootstrapSpec,
            ConfigPatch, LoadBalancerPool, PatchOp,
        },
        common::{ProviderKind, ProviderRef, SecretRef},
        names::{annotations, labels, namespaces},
        network_pool::NetworkPool,
        provider_config::{
            LocalSettings, ProviderConfig, ProviderConfigSpec, ProviderNetwork, ProviderNetworkMode,
            ProviderScope, ProviderScopeType,
        },
    },
    redact::Secret,
};

/// Key of the sandbox's Secret: the path of its host's socket.
pub const SANDBOX_SOCKET: &str = "socket";

/// Name of the ProviderConfig in the temporary cluster.
pub fn provider_name(config: &Config) -> String {
    format!("{}-provider", config.cluster.name)
}

/// Name of the Secret with the provider's credentials; `local` has none.
pub fn credentials_name(config: &Config) -> Option<String> {
    let kind = config.provider_kind();
    (kind != ProviderKind::Local).then(|| format!("{}-{kind}-credentials", config.cluster.name))
}

/// Keys of the Secret with the provider's credentials that are no secrets of the configuration, with
/// their values.
pub fn plain_credentials(config: &Config) -> Vec<(&'static str, String)> {
    match &config.provider {
        ProviderSettings::Azure(azure) => {
            let mut plain = vec![("subscriptionID", azure.settings.subscription_id.clone())];
            plain.extend(azure.security_group_name.clone().map(|name| ("securityGroupName", name)));
            plain
        }
        _ => Vec::new(),
    }
}

/// Every key that the Secret with the provider's credentials has.
pub fn credential_keys(config: &Config) -> Vec<&'static str> {
    let mut keys: Vec<&'static str> = config.provider.secrets().into_iter().map(|(key, _)| key).collect();
    keys.extend(plain_credentials(config).into_iter().map(|(key, _)| key));
    if config.provider_kind() == ProviderKind::Sandbox {
        keys.push(SANDBOX_SOCKET);
    }
    keys
}

/// The Secret with the provider's credentials; none for `local`. `secrets` holds what the secrets of the
/// configuration were resolved to, by their keys, and for the sandbox [`SANDBOX_SOCKET`].
pub fn credentials(config: &Config, secrets: &BTreeMap<&'static str, Secret>) -> Option<core::Secret> {
    let bytes = |text: &str| ByteString(text.as_bytes().to_vec());
    let mut data: BTreeMap<String, ByteString> =
        secrets.iter().map(|(key, secret)| ((*key).to_owned(), bytes(secret.expose()))).collect();
    data.extend(plain_credentials(config).into_iter().map(|(key, text)| (key.to_owned(), bytes(&text))));
    Some(core::Secret {
        metadata: metadata(&credentials_name(config)?),
        type_: Some("Opaque".to_owned()),
        data: Some(data),
        ..Default::default()
    })
}

/// The ProviderConfig, under the name it is to have there.
pub fn provider_config(config: &Config, name: &str) -> ProviderConfig {
    let kind = config.provider_kind();
    let mut spec = ProviderConfigSpec {
        provider: kind.clone(),
        credentials_ref: credentials_name(config).map(|name| SecretRef {
            name,
            namespace: Some(namespaces::SYSTEM.to_owned()),
            key: (kind == ProviderKind::Harvester).then(|| "kubeconfig".to_owned()),
        }),
        scope: None,
        limits: None,
        network: config.provider_network.clone(),
        harvester: None,
        nutanix: None,
        proxmox: None,
        aws: None,
        azure: None,
        gcp: None,
        local: None,
    };
    match &config.provider {
        ProviderSettings::Harvester(block) => spec.harvester = Some(block.settings.clone()),
        ProviderSettings::Nutanix(block) => spec.nutanix = Some(block.settings.clone()),
        ProviderSettings::Proxmox(block) => spec.proxmox = Some(block.settings.clone()),
        ProviderSettings::Aws(block) => spec.aws = Some(block.settings.clone()),
        ProviderSettings::Azure(block) => spec.azure = Some(block.settings.clone()),
        ProviderSettings::Gcp(block) => spec.gcp = Some(block.settings.clone()),
        ProviderSettings::Local(_) => {
            spec.scope = Some(ProviderScope { type_: Some(ProviderScopeType::Platform), team_ref: None });
            spec.local = Some(LocalSettings::default());
            spec.network.get_or_insert_with(|| ProviderNetwork {
                mode: Some(ProviderNetworkMode::Cloud),
                ..ProviderNetwork::default()
            });
        }
        ProviderSettings::Sandbox(_) => {}
    }
    ProviderConfig { metadata: metadata(name), spec, status: None }
}

/// The first pool of addresses for tenants, if there is to be one.
pub fn network_pool(config: &Config) -> Option<NetworkPool> {
    let pool = config.network_pool.as_ref()?;
    Some(NetworkPool { metadata: metadata(&pool.name), spec: pool.spec.clone(), status: None })
}

/// The ClusterBootstrap. The version of Kubernetes, which the kind has no field for, is an annotation.
pub fn cluster_bootstrap(config: &Config) -> ClusterBootstrap {
    let (cluster, network) = (&config.cluster, &config.network);
    let mut metadata = metadata(&cluster.name);
    let version = format!("v{}", config.talos.kubernetes_version);
    metadata.annotations = Some([(annotations::KUBERNETES_VERSION.to_owned(), version)].into());
    let spec = ClusterBootstrapSpec {
        provider: config.provider_kind(),
        provider_ref: ProviderRef {
            name: provider_name(config),
            namespace: Some(namespaces::SYSTEM.to_owned()),
        },
        cluster: BootstrapCluster {
            name: cluster.name.clone(),
            topology: Some(cluster.topology.clone()),
            control_plane: cluster.control_plane.clone(),
            workers: cluster.workers.clone(),
        },
        network: BootstrapNetwork {
            pod_cidr: network.pod_cidr.to_string(),
            service_cidr: network.service_cidr.to_string(),
            vip: network.vip.map(|vip| vip.to_string()),
            vip_interface: network.vip_interface.clone(),
            load_balancer_pool: network
                .load_balancer_pool
                .map(|(start, end)| LoadBalancerPool { start: start.to_string(), end: end.to_string() }),
        },
        talos: BootstrapTalos {
            version: format!("v{}", config.talos.version),
            schematic: config.talos.schematic.clone(),
            install_disk: Some(config.talos.install_disk.clone()),
            config_patches: config_patches(config),
        },
        addons: Some(config.addons.clone()),
        control_plane_exposure: config.control_plane_exposure.clone(),
        paused: None,
    };
    ClusterBootstrap { metadata, spec, status: None }
}

/// Changes to the machine configuration that the file asks for.
fn config_patches(config: &Config) -> Vec<ConfigPatch> {
    let add = |path: &str, value: serde_json::Value| ConfigPatch {
        op: PatchOp::Add,
        path: path.to_owned(),
        value: Some(value.to_string()),
    };
    let mut patches = Vec::new();
    if !config.talos.time_servers.is_empty() {
        patches.push(add("/machine/time", json!({ "servers": config.talos.time_servers })));
    }
    if let Some(mtu) = config.network.mtu {
        // An entry of its own ends the implicit DHCP of a card, so DHCP is asked for here.
        let card = json!([{ "deviceSelector": { "physical": true }, "dhcp": true, "mtu": mtu }]);
        patches.push(add("/machine/network/interfaces", card));
    }
    patches
}

fn metadata(name: &str) -> ObjectMeta {
    ObjectMeta {
        name: Some(name.to_owned()),
        namespace: Some(namespaces::SYSTEM.to_owned()),
        labels: Some([(labels::MANAGED_BY.to_owned(), labels::MANAGED_BY_BUTLER.to_owned())].into()),
        ..ObjectMeta::default()
    }
}

#[cfg(test)]
mod tests;
