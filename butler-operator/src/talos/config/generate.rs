//! Makes the configuration of a node from the bundle and a few choices.
//!
//! The base is what `talosctl gen config` writes for the same version; on top come what Butler wants
//! of every cluster (no CNI and no kube-proxy, because Cilium replaces both), what the provider needs
//! and, last, a person's own patches.

use std::{collections::BTreeMap, net::IpAddr};

use butler_core::redact::Secret;
use serde_json::{Value, json};

use super::{
    API_VERSION, HostnameConfig, MachineType, MainDocument, MirrorEndpoint, RegistryMirrorConfig,
    TalosVersion, main,
};
use crate::talos::{
    document::{self, Document, DocumentError},
    patches::Patch,
    secrets::{CertificateAndKey, SecretsBundle},
};

/// The image factory that builds installers with extensions.
const FACTORY: &str = "factory.butlerlabs.dev";
const EXCLUDE_FROM_BALANCERS: &str = "node.kubernetes.io/exclude-from-external-load-balancers";

/// Where the machines run, as far as Talos cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provider {
    Harvester,
    Nutanix,
    Proxmox,
    Aws,
    Azure,
    Gcp,
    Sandbox,
}

impl Provider {
    /// The platform name in image and installer references. Hypervisors hand over network data the
    /// NoCloud way.
    pub fn platform(self) -> &'static str {
        match self {
            Self::Harvester | Self::Nutanix | Self::Proxmox | Self::Sandbox => "nocloud",
            Self::Aws => "aws",
            Self::Azure => "azure",
            Self::Gcp => "gcp",
        }
    }

    /// True when the load balancer delivers packets that still carry its own address, so that the
    /// nodes behind it must own that address too.
    fn balancer_keeps_address(self) -> bool {
        matches!(self, Self::Azure | Self::Gcp)
    }
}

/// One machine, or many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topology {
    SingleNode,
    Ha,
}

/// An address that the control planes hand among themselves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vip {
    pub address: IpAddr,
    pub interface: String,
}

/// The choices a cluster's configurations are made of.
#[derive(Clone, Debug)]
pub struct ConfigOptions {
    pub cluster: String,
    pub provider: Provider,
    pub topology: Topology,
    /// Number of workers; with none the control planes carry everything.
    pub workers: u32,
    pub talos: TalosVersion,
    /// Kubernetes, without `v`.
    pub kubernetes: semver::Version,
    /// Host name or address of the API server, without port.
    pub endpoint: String,
    /// The addresses of the control planes, as far as they are known.
    pub control_planes: Vec<IpAddr>,
    pub vip: Option<Vip>,
    pub install_disk: String,
    /// The factory's name for a set of extensions; none for the plain installer.
    pub schematic: Option<String>,
    pub pod_cidr: String,
    pub service_cidr: String,
    /// True when Talos is to bring its own network of Pods; else one is installed later.
    pub talos_network: bool,
    pub mtu: Option<u16>,
    pub time_servers: Vec<String>,
    /// Registry host to the places its images come from.
    pub mirrors: BTreeMap<String, Vec<String>>,
    pub patches: Vec<Patch>,
}

impl ConfigOptions {
    /// The configuration of one node. A node without a name gets one from its provider or Talos.
    pub fn generate(
        &self,
        bundle: &SecretsBundle,
        role: MachineType,
        name: Option<&str>,
    ) -> Result<Secret, DocumentError> {
        let unwritable = |_| DocumentError::Write { document: Document::MachineConfig };
        let mut main = serde_json::to_value(self.main(bundle, role, name)).map_err(unwritable)?;
        for patch in &self.patches {
            patch.apply(&mut main)?;
        }
        if role == MachineType::ControlPlane {
            self.own_balancer_address(&mut main)?;
        }
        let mut text = document::write(Document::MachineConfig, &main)?.expose().to_owned();
        let mut append = |more: Secret| text.push_str(&format!("---\n{}", more.expose()));
        if self.talos.has_small_documents() {
            for (host, endpoints) in &self.mirrors {
                append(document::write(Document::MachineConfig, &mirror(host, endpoints))?);
            }
            append(document::write(Document::MachineConfig, &hostname(name))?);
        }
        Ok(text.into())
    }

    /// Where nodes and people reach Kubernetes.
    pub fn endpoint_url(&self) -> String {
        match self.endpoint.parse() {
            Ok(IpAddr::V6(address)) => format!("https://[{address}]:6443"),
            _ => format!("https://{}:6443", self.endpoint),
        }
    }

    /// The image a node installs itself from and upgrades to: with the extensions, so that an upgrade
    /// does not lose them.
    pub fn installer(&self) -> String {
        match &self.schematic {
            Some(schematic) => {
                format!("{FACTORY}/{}-installer/{schematic}:{}", self.provider.platform(), self.talos)
            }
            None => format!("ghcr.io/siderolabs/installer:{}", self.talos),
        }
    }

    /// Every image that the nodes pull. kube-proxy is named in configurations, and is off.
    pub fn images(&self) -> Vec<String> {
        let parts = ["kube-apiserver", "kube-controller-manager", "kube-scheduler"];
        let nodes = [self.installer(), self.kubelet_image()];
        nodes.into_iter().chain(parts.map(|part| self.kubernetes_image(part))).collect()
    }

    fn kubelet_image(&self) -> String {
        format!("ghcr.io/siderolabs/kubelet:v{}", self.kubernetes)
    }

    fn kubernetes_image(&self, part: &str) -> String {
        format!("registry.k8s.io/{part}:v{}", self.kubernetes)
    }

    fn schedules_on_control_planes(&self) -> bool {
        self.topology == Topology::SingleNode || self.workers == 0
    }

    /// Every name and address of the API, the endpoint first.
    fn names(&self) -> Vec<String> {
        let mut names = vec![self.endpoint.clone()];
        let more = self.vip.iter().map(|vip| vip.address).chain(self.control_planes.iter().copied());
        for name in more.map(|address| address.to_string()) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    fn main(&self, bundle: &SecretsBundle, role: MachineType, name: Option<&str>) -> MainDocument {
        MainDocument {
            version: API_VERSION.to_owned(),
            debug: false,
            persist: Some(true),
            machine: self.machine(bundle, role, name),
            cluster: match role {
                MachineType::ControlPlane => self.control_plane_cluster(bundle),
                MachineType::Worker => self.cluster(bundle),
            },
        }
    }

    fn machine(&self, bundle: &SecretsBundle, role: MachineType, name: Option<&str>) -> main::Machine {
        let small_documents = self.talos.has_small_documents();
        let locked = (!small_documents).then_some(true);
        let mut labels = BTreeMap::new();
        if role == MachineType::ControlPlane && !self.schedules_on_control_planes() {
            labels.insert(EXCLUDE_FROM_BALANCERS.to_owned(), String::new());
        }
        let mirrors = || main::Registries {
            mirrors: self
                .mirrors
                .iter()
                .map(|(host, endpoints)| (host.clone(), main::Mirror { endpoints: endpoints.clone() }))
                .collect(),
        };
        main::Machine {
            machine_type: role,
            token: bundle.trustdinfo.token.clone(),
            ca: for_role(&bundle.certs.os, role),
            cert_sans: self.names(),
            kubelet: main::Kubelet {
                image: self.kubelet_image(),
                default_runtime_seccomp_profile_enabled: true,
                disable_manifests_directory: true,
                ..main::Kubelet::default()
            },
            network: main::Network {
                hostname: name.filter(|_| !small_documents).map(str::to_owned),
                interfaces: self.interfaces(role),
                ..main::Network::default()
            },
            install: Some(main::Install {
                disk: self.install_disk.clone(),
                image: self.installer(),
                wipe: false,
                grub_use_uki_cmdline: small_documents.then_some(true),
            }),
            time: (!self.time_servers.is_empty()).then(|| main::Time { servers: self.time_servers.clone() }),
            registries: (!small_documents && !self.mirrors.is_empty()).then(mirrors),
            features: main::Features {
                rbac: locked,
                stable_hostname: locked,
                apid_check_ext_key_usage: locked,
                disk_quota_support: true,
                kube_prism: main::KubePrism { enabled: true, port: 7445 },
                host_dns: main::HostDns { enabled: true, forward_kube_dns_to_host: true },
            },
            node_labels: labels,
            ..main::Machine::default()
        }
    }

    /// Naming any interface turns off the default of DHCP everywhere, so each entry asks for it.
    fn interfaces(&self, role: MachineType) -> Vec<main::Interface> {
        let mut interfaces = Vec::new();
        if let Some(vip) = self.vip.as_ref().filter(|_| role == MachineType::ControlPlane) {
            interfaces.push(main::Interface {
                interface: Some(vip.interface.clone()),
                dhcp: true,
                mtu: self.mtu,
                vip: Some(main::InterfaceVip { ip: vip.address.to_string() }),
                ..main::Interface::default()
            });
        } else if let Some(mtu) = self.mtu {
            interfaces.push(main::Interface {
                device_selector: Some(main::DeviceSelector {
                    physical: Some(true),
                    ..main::DeviceSelector::default()
                }),
                dhcp: true,
                mtu: Some(mtu),
                ..main::Interface::default()
            });
        }
        interfaces
    }

    /// Adds the balancer's address to the loopback device, beside whatever interfaces there are.
    fn own_balancer_address(&self, main: &mut Value) -> Result<(), DocumentError> {
        let behind = self.topology == Topology::Ha && self.provider.balancer_keeps_address();
        let Some(address) = self.endpoint.parse::<IpAddr>().ok().filter(|_| behind) else { return Ok(()) };
        let length = if address.is_ipv4() { 32 } else { 128 };
        let network = &mut main["machine"]["network"];
        if network["interfaces"].is_null() {
            network["interfaces"] = json!([]);
        }
        let Some(interfaces) = network["interfaces"].as_array_mut() else {
            let field = "machine.network.interfaces";
            return Err(DocumentError::field(
                Document::MachineConfig,
                field,
                "is not a list after the patches",
            ));
        };
        interfaces.push(json!({ "interface": "lo", "addresses": [format!("{address}/{length}")] }));
        Ok(())
    }

    fn cluster(&self, bundle: &SecretsBundle) -> main::Cluster {
        main::Cluster {
            id: bundle.cluster.id.clone(),
            secret: bundle.cluster.secret.clone(),
            control_plane: main::ControlPlane { endpoint: self.endpoint_url(), local_api_server_port: None },
            cluster_name: self.cluster.clone(),
            network: main::ClusterNetwork {
                cni: (!self.talos_network).then(|| main::Cni { name: "none".to_owned() }),
                dns_domain: "cluster.local".to_owned(),
                pod_subnets: vec![self.pod_cidr.clone()],
                service_subnets: vec![self.service_cidr.clone()],
            },
            token: bundle.secrets.bootstraptoken.clone(),
            ca: Some(for_role(&bundle.certs.k8s, MachineType::Worker)),
            discovery: main::Discovery {
                enabled: true,
                registries: main::DiscoveryRegistries {
                    kubernetes: main::DiscoveryRegistry { disabled: true },
                    service: main::DiscoveryRegistry::default(),
                },
            },
            ..main::Cluster::default()
        }
    }

    fn control_plane_cluster(&self, bundle: &SecretsBundle) -> main::Cluster {
        let image = |name: &str| self.kubernetes_image(name);
        let component = |name: &str| main::Component { image: image(name), ..main::Component::default() };
        main::Cluster {
            aescbc_encryption_secret: bundle.secrets.aescbcencryptionsecret.clone(),
            secretbox_encryption_secret: bundle.secrets.secretboxencryptionsecret.clone(),
            ca: Some(bundle.certs.k8s.clone()),
            aggregator_ca: Some(bundle.certs.k8saggregator.clone()),
            service_account: Some(bundle.certs.k8sserviceaccount.clone()),
            api_server: Some(main::ApiServer {
                image: image("kube-apiserver"),
                cert_sans: self.names(),
                disable_pod_security_policy: (!self.talos.has_small_documents()).then_some(true),
                admission_control: vec![pod_security()],
                audit_policy: Some(json!({
                    "apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": [{ "level": "Metadata" }],
                })),
                ..main::ApiServer::default()
            }),
            controller_manager: Some(component("kube-controller-manager")),
            proxy: Some(main::Proxy { disabled: true, image: image("kube-proxy") }),
            scheduler: Some(component("kube-scheduler")),
            etcd: Some(main::Etcd { ca: bundle.certs.etcd.clone(), ..main::Etcd::default() }),
            allow_scheduling_on_control_planes: self.schedules_on_control_planes(),
            ..self.cluster(bundle)
        }
    }
}

/// Workers get certificates of authorities, never their keys.
fn for_role(pair: &CertificateAndKey, role: MachineType) -> CertificateAndKey {
    match role {
        MachineType::ControlPlane => pair.clone(),
        MachineType::Worker => CertificateAndKey { crt: pair.crt.clone(), key: Secret::default() },
    }
}

fn pod_security() -> Value {
    json!({
        "name": "PodSecurity",
        "configuration": {
            "apiVersion": "pod-security.admission.config.k8s.io/v1alpha1",
            "kind": "PodSecurityConfiguration",
            "defaults": {
                "enforce": "baseline", "enforce-version": "latest",
                "audit": "restricted", "audit-version": "latest",
                "warn": "restricted", "warn-version": "latest",
            },
            "exemptions": { "usernames": [], "runtimeClasses": [], "namespaces": ["kube-system"] },
        },
    })
}

fn hostname(name: Option<&str>) -> HostnameConfig {
    HostnameConfig {
        api_version: API_VERSION.to_owned(),
        kind: "HostnameConfig".to_owned(),
        auto: Some(if name.is_some() { "off" } else { "stable" }.to_owned()),
        hostname: name.map(str::to_owned),
    }
}

fn mirror(host: &str, endpoints: &[String]) -> RegistryMirrorConfig {
    RegistryMirrorConfig {
        api_version: API_VERSION.to_owned(),
        kind: "RegistryMirrorConfig".to_owned(),
        name: host.to_owned(),
        endpoints: endpoints.iter().map(|url| MirrorEndpoint { url: url.clone() }).collect(),
    }
}
