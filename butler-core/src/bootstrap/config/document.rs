//! A configuration as a document again, in the shape of the file and with every default written out. It
//! goes into journals, so no secret is in it: what stood in clear is named by an environment variable.

use serde_json::{Map, Value, json};

use super::{Config, ProviderSettings, SecretSource, format::without_user};

/// Begins the names of environment variables that stand for what stood in clear.
const STAND_IN: &str = "BUTLER_SECRET_";
/// Packets larger than this need a word that the network passes them.
const USUAL_MTU: u16 = 1500;

impl Config {
    /// The document. Reading it gives the same configuration, but for secrets that stood in clear.
    pub fn document(&self) -> Value {
        let Self { cluster, network, talos, bootstrap_cluster, .. } = self;
        let pool = |(start, end): (std::net::Ipv4Addr, _)| json!({ "start": start, "end": end });
        let mut document = json!({
            "provider": self.provider_kind(),
            "cluster": {
                "name": cluster.name,
                "topology": cluster.topology,
                "controlPlane": cluster.control_plane,
                "workers": cluster.workers,
            },
            "network": {
                "podCIDR": network.pod_cidr,
                "serviceCIDR": network.service_cidr,
                "vip": network.vip,
                "vipInterface": network.vip_interface,
                "loadBalancerPool": network.load_balancer_pool.map(pool),
                "mtu": network.mtu,
                "jumboFrames": network.mtu.filter(|mtu| *mtu > USUAL_MTU).map(|_| true),
            },
            "talos": {
                "version": format!("v{}", talos.version),
                "schematic": Some(&talos.schematic).filter(|text| !text.is_empty()),
                "kubernetesVersion": format!("v{}", talos.kubernetes_version),
                "installDisk": talos.install_disk,
                "timeServers": Some(&talos.time_servers).filter(|list| !list.is_empty()),
            },
            "addons": self.addons,
            "charts": { "mirror": self.charts.mirror.as_ref().map(|mirror| without_user(&mirror.to_string())) },
            "controlPlaneExposure": self.control_plane_exposure,
            "multiTenancyMode": self.multi_tenancy_mode,
            "networkPool": self.network_pool.as_ref().map(|pool| merged(&pool.spec, [("name", json!(pool.name))])),
            "providerNetwork": self.provider_network,
            "providerConfig": { self.provider_kind().to_string(): self.provider.document() },
            "bootstrapCluster": {
                "runtime": bootstrap_cluster.runtime.as_str(),
                "kind": {
                    "image": bootstrap_cluster.kind.image,
                    "nameServers": Some(&bootstrap_cluster.kind.name_servers).filter(|list| !list.is_empty()),
                },
            },
        });
        prune(&mut document);
        document
    }
}

impl ProviderSettings {
    fn document(&self) -> Value {
        let mut block = match self {
            Self::Harvester(config) => merged(&config.settings, []),
            Self::Nutanix(config) => merged(&config.settings, [("hostAliases", list(&config.host_aliases))]),
            Self::Proxmox(config) => {
                let range = config.settings.vmid_range.as_ref();
                let mut block = merged(
                    &config.settings,
                    [
                        ("hostAliases", list(&config.host_aliases)),
                        ("vmidStart", json!(range.map(|range| range.start))),
                        ("vmidEnd", json!(range.map(|range| range.end))),
                    ],
                );
                block.as_object_mut().map(|block| block.remove("vmidRange"));
                block
            }
            Self::Aws(config) => json!({
                "region": config.settings.region,
                "vpcID": config.settings.vpc_id,
                "subnetID": config.settings.subnet_ids.first(),
                "securityGroupID": config.settings.security_group_ids.first(),
            }),
            Self::Azure(config) => {
                merged(&config.settings, [("securityGroupName", json!(config.security_group_name))])
            }
            Self::Gcp(config) => merged(&config.settings, []),
            Self::Local(config) => json!({ "consolePort": config.console_port }),
            Self::Sandbox(config) => json!({ "name": config.name }),
        };
        for (key, source) in self.secrets() {
            block[key] = match source {
                SecretSource::Plain(_) => json!({ "env": stand_in(key) }),
                SecretSource::Env(name) => json!({ "env": name }),
                SecretSource::File(path) => json!({ "file": path }),
                SecretSource::Keyring(name) => json!({ "keyring": name }),
            };
        }
        block
    }
}

/// The environment variable that stands for a secret that stood in clear: `tokenSecret` is asked for as
/// `BUTLER_SECRET_TOKEN_SECRET`.
fn stand_in(key: &str) -> String {
    let mut name = STAND_IN.to_owned();
    let mut last_lower = false;
    for letter in key.chars() {
        if letter.is_ascii_uppercase() && last_lower {
            name.push('_');
        }
        last_lower = letter.is_ascii_lowercase();
        name.push(letter.to_ascii_uppercase());
    }
    name
}

fn list(items: &[String]) -> Value {
    if items.is_empty() { Value::Null } else { json!(items) }
}

fn merged<const N: usize>(settings: &impl serde::Serialize, more: [(&str, Value); N]) -> Value {
    let mut value = serde_json::to_value(settings).unwrap_or_default();
    for (key, item) in more {
        value[key] = item;
    }
    value
}

/// Removes what is not given, and mappings of which nothing is left.
fn prune(value: &mut Value) {
    if let Value::Object(fields) = value {
        fields.values_mut().for_each(prune);
        let empty = |value: &Value| value.is_null() || value.as_object().is_some_and(Map::is_empty);
        fields.retain(|_, value| !empty(value));
    }
}

#[cfg(test)]
mod tests {
    use crate::bootstrap::config::{
        Config,
        tests::{MINIMAL, NUTANIX, examples, read_text, with},
    };

    /// A file with what the examples leave out.
    const MORE: &str = "\
provider: proxmox
cluster:
  name: mgmt
  controlPlane: {replicas: 3, cpu: 4, memoryMB: 8192, diskGB: 60, extraDisks: [{sizeGB: 100, storageClass: fast}]}
  workers: {replicas: 2, cpu: 4, memoryMB: 8192, diskGB: 60}
network:
  podCIDR: 10.240.0.0/14
  vip: 172.20.8.20
  vipInterface: ens18
  loadBalancerPool: {start: 172.20.8.30, end: 172.20.8.49}
  mtu: 9000
  jumboFrames: true
talos: {version: v1.11.5, schematic: abc, installDisk: /dev/sda, timeServers: [ntp.example.org]}
addons:
  cni: {version: 1.18.0, hubbleEnabled: false}
  storage: {replicaCount: 2}
  ingress: {enabled: true, type: traefik, version: '1'}
  console: {ingress: {enabled: true, host: c.example.org, className: x, tls: true, tlsSecretName: y}}
  butlerController: {image: 'registry.example.org:5000/b:1'}
  gitOps: {enabled: true}
charts: {mirror: 'oci://mirror.example.org/charts'}
controlPlaneExposure: {mode: Ingress, hostname: '*.t.example.org', ingressClassName: traefik}
multiTenancyMode: Enforced
networkPool:
  cidr: 172.20.8.0/24
  reserved: [{cidr: 172.20.8.0/28, description: routers}]
  tenantAllocation: {start: 172.20.8.100, end: 172.20.8.200, defaults: {nodesPerTenant: 4}}
providerNetwork: {mode: ipam, gateway: 172.20.8.1, dnsServers: [172.20.8.2], loadBalancer: {allocationMode: elastic, initialPoolSize: 2}}
providerConfig:
  proxmox:
    endpoint: https://pve:8006
    insecure: true
    token: root@pam!x
    tokenSecret: hunter2
    nodes: [pve1, pve2]
    storage: lvm
    templateID: 9000
    vmidStart: 100
    vmidEnd: 200
    hostAliases: ['172.20.8.3 pve']
bootstrapCluster: {runtime: kind, kind: {image: 'kindest/node:v1', nameServers: [1.1.1.1]}}
";

    /// The configuration with secrets as its document has them.
    fn shown(config: &Config) -> String {
        format!("{config:?}").replace("a value in the configuration", "?")
    }

    #[test]
    fn a_document_is_read_as_the_configuration_it_was_made_from() {
        let mut texts = examples();
        texts.extend(
            [("minimal", MINIMAL), ("nutanix", NUTANIX), ("more", MORE)].map(|(n, t)| (n.into(), t.into())),
        );
        let stand_in = regex::Regex::new("environment variable `BUTLER_SECRET_[A-Z_]+`").unwrap();
        for (name, text) in texts {
            let config = read_text(&text).unwrap_or_else(|error| panic!("{name}: {error:?}")).config;
            let document = config.document().to_string();
            assert!(!document.contains("hunter2"), "{name}: {document}");
            let again =
                read_text(&document).unwrap_or_else(|error| panic!("{name}: {error:?}\n{document}")).config;
            assert_eq!(stand_in.replace_all(&shown(&again), "?"), shown(&config), "{name}");
            assert_eq!(again.document(), config.document(), "{name}");
        }
    }

    #[test]
    fn what_stood_in_clear_is_asked_for_by_name() {
        let config = read_text(&with(NUTANIX, "hunter2", "hush-hush")).unwrap().config;
        let document = config.document();
        assert_eq!(document["providerConfig"]["nutanix"]["password"]["env"], "BUTLER_SECRET_PASSWORD");
        assert!(!document.to_string().contains("hush"));
        assert_eq!(super::stand_in("accessKeyID"), "BUTLER_SECRET_ACCESS_KEY_ID");
    }
}
