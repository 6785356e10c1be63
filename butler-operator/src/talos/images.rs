//! The container images that machines of a cluster pull, as their configurations name them.

use std::collections::BTreeMap;

use butler_core::{
    api::cluster_bootstrap::Topology as Shape,
    bootstrap::{
        config::{Config, ProviderSettings},
        plan::Image,
    },
};

use super::config::{ConfigOptions, Provider, TalosVersion, Topology};

/// Installer and Kubernetes. None where machines are not ours: in the KIND cluster of `local`.
pub fn images(config: &Config) -> Vec<Image> {
    let Some(options) = options(config) else { return Vec::new() };
    let installer = options.installer();
    let image = |reference: &String| {
        let schematic = options.schematic.clone().filter(|_| *reference == installer);
        Image { schematic, ..Image::of(reference) }
    };
    options.images().iter().map(image).collect()
}

/// What decides the images of a cluster; the rest is not known before machines exist.
fn options(config: &Config) -> Option<ConfigOptions> {
    let provider = match &config.provider {
        ProviderSettings::Harvester(_) => Provider::Harvester,
        ProviderSettings::Nutanix(_) => Provider::Nutanix,
        ProviderSettings::Proxmox(_) => Provider::Proxmox,
        ProviderSettings::Aws(_) => Provider::Aws,
        ProviderSettings::Azure(_) => Provider::Azure,
        ProviderSettings::Gcp(_) => Provider::Gcp,
        ProviderSettings::Sandbox(_) => Provider::Sandbox,
        ProviderSettings::Local(_) => return None,
    };
    let talos = &config.talos;
    Some(ConfigOptions {
        cluster: config.cluster.name.clone(),
        provider,
        topology: match config.cluster.topology {
            Shape::SingleNode => Topology::SingleNode,
            _ => Topology::Ha,
        },
        workers: config.machines().1,
        talos: TalosVersion::from(talos.version.clone()),
        kubernetes: talos.kubernetes_version.clone(),
        endpoint: config.network.vip.map(|vip| vip.to_string()).unwrap_or_default(),
        control_planes: Vec::new(),
        vip: None,
        install_disk: talos.install_disk.clone(),
        schematic: Some(talos.schematic.clone()).filter(|schematic| !schematic.is_empty()),
        pod_cidr: config.network.pod_cidr.to_string(),
        service_cidr: config.network.service_cidr.to_string(),
        talos_network: false,
        mtu: config.network.mtu,
        time_servers: talos.time_servers.clone(),
        mirrors: BTreeMap::new(),
        patches: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::talos::{config::MachineType, secrets::SecretsBundle};

    #[test]
    fn nodes_pull_exactly_what_their_configurations_name() {
        let options = ConfigOptions {
            cluster: "m".into(),
            provider: Provider::Harvester,
            topology: Topology::Ha,
            workers: 1,
            talos: TalosVersion::from(semver::Version::new(1, 12, 1)),
            kubernetes: semver::Version::new(1, 34, 4),
            endpoint: "10.0.0.5".into(),
            control_planes: Vec::new(),
            vip: None,
            install_disk: "/dev/vda".into(),
            schematic: Some("abc".into()),
            pod_cidr: "10.244.0.0/16".into(),
            service_cidr: "10.96.0.0/12".into(),
            talos_network: false,
            mtu: None,
            time_servers: Vec::new(),
            mirrors: BTreeMap::new(),
            patches: Vec::new(),
        };
        let bundle = SecretsBundle::generate(Timestamp::now()).unwrap();
        let config = options.generate(&bundle, MachineType::ControlPlane, Some("m-cp-0")).unwrap();
        let named = config.expose().lines().filter_map(|line| line.trim().strip_prefix("image: "));
        let mut named: Vec<String> = named.map(|image| image.trim_matches('"').to_owned()).collect();
        named.retain(|image| !image.contains("/kube-proxy:"));
        named.sort();
        let mut pulled = options.images();
        pulled.sort();
        assert_eq!(pulled, named);
        assert!(pulled.iter().any(|image| image.ends_with("/nocloud-installer/abc:v1.12.1")), "{pulled:?}");
    }
}
