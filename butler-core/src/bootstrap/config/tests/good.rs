//! Files that are right, and what becomes of them.

use std::{collections::BTreeSet, net::Ipv4Addr, path::PathBuf};

use semver::Version;

use super::*;
use crate::{
    api::cluster_bootstrap::{BootstrapCniType, BootstrapLoadBalancerType, BootstrapStorageType},
    bootstrap::config::{
        keys::{Key, ROOT, Shape},
        values,
    },
};

#[test]
fn every_example_is_valid_and_says_nothing_odd() {
    let examples = examples();
    let names: Vec<&str> = examples.iter().map(|(name, _)| name.as_str()).collect();
    let expected =
        ["aws", "azure", "gcp", "harvester", "local", "nutanix", "proxmox", "sandbox-ha", "sandbox"];
    assert_eq!(names, expected.map(|name| format!("{name}.yaml")));
    for (name, text) in &examples {
        let loaded = read_text(text).unwrap_or_else(|error| panic!("{name}: {error:?}"));
        assert_eq!(loaded.warnings, [], "{name}");
        assert!(name.starts_with(loaded.config.provider_kind().as_str()), "{name}");
        for used in &loaded.secrets {
            let plain = matches!(used.source, SecretSource::Plain(_));
            let is_name = ["token"].iter().any(|name| used.path.ends_with(&format!(".{name}")));
            assert!(!plain || is_name, "{name}: {} is written in clear", used.path);
        }
    }
    // Together they show every provider.
    let shown: BTreeSet<&str> = names.iter().map(|name| name.split(['.', '-']).next().unwrap()).collect();
    assert_eq!(shown, ProviderKind::VALUES.iter().copied().collect());
}

#[test]
fn defaults_are_filled_in() {
    let Config { network, talos, addons, bootstrap_cluster, provider, cluster, .. } =
        read_text(NUTANIX).unwrap().config;
    assert_eq!(
        (network.pod_cidr.to_string().as_str(), network.service_cidr.to_string().as_str()),
        ("10.244.0.0/16", "10.96.0.0/12")
    );
    assert_eq!((network.mtu, network.vip), (None, Some(Ipv4Addr::new(172, 20, 8, 20))));
    assert_eq!((talos.version, talos.kubernetes_version), (Version::new(1, 12, 1), Version::new(1, 35, 0)));
    assert_eq!((talos.install_disk.as_str(), talos.schematic.as_str()), ("/dev/vda", ""));
    assert_eq!(addons.cni.unwrap().type_, Some(BootstrapCniType::Cilium));
    assert_eq!(addons.storage.unwrap().type_, Some(BootstrapStorageType::Longhorn));
    assert_eq!(addons.load_balancer.unwrap().type_, Some(BootstrapLoadBalancerType::MetalLb));
    assert_eq!((addons.capi, addons.console, addons.git_ops), (None, None, None));
    assert_eq!(bootstrap_cluster.runtime, RuntimeKind::Kind);
    assert_eq!((cluster.control_plane.replicas, cluster.workers.unwrap().replicas), (3, 2));
    let ProviderSettings::Nutanix(nutanix) = provider else { panic!("{provider:?}") };
    assert_eq!(nutanix.settings.endpoint, "https://prism.example.org");
    assert_eq!((nutanix.settings.port, nutanix.settings.insecure), (Some(9440), Some(false)));
}

#[test]
fn a_sandbox_is_what_simulated_machines_are() {
    let config = read_text(MINIMAL).unwrap().config;
    assert_eq!((config.talos.version, config.talos.kubernetes_version), (SANDBOX_TALOS, SANDBOX_KUBERNETES));
    assert_eq!(config.addons.cni.unwrap().type_, Some(BootstrapCniType::None));
    assert_eq!(config.addons.load_balancer.unwrap().type_, Some(BootstrapLoadBalancerType::None));
    assert_eq!(config.provider, ProviderSettings::Sandbox(SandboxConfig { name: None }));
}

#[test]
fn false_means_false() {
    let addons = "addons:\n  capi: {enabled: false}\n  butlerController: {enabled: false}\n  console: {enabled: false}\n";
    let addons = read_text(&format!("{MINIMAL}{addons}")).unwrap().config.addons;
    assert_eq!(addons.capi.unwrap().enabled, Some(false));
    assert_eq!(addons.butler_controller.unwrap().enabled, Some(false));
    let console = addons.console.unwrap();
    assert_eq!((console.enabled, console.version), (Some(false), None));
}

#[test]
fn a_console_gets_its_version_and_its_host() {
    let text = format!("{MINIMAL}addons:\n  console: {{ingress: {{enabled: true}}}}\n");
    let console = read_text(&text).unwrap().config.addons.console.unwrap();
    assert_eq!((console.enabled, console.version.as_deref()), (Some(true), Some("0.14.1")));
    assert_eq!(console.ingress.unwrap().host.as_deref(), Some("butler.lab.local"));
}

#[test]
fn a_tag_in_the_image_is_the_version() {
    let text = format!("{MINIMAL}addons:\n  butlerController: {{image: 'registry:5000/butler:v2'}}\n");
    let controller = read_text(&text).unwrap().config.addons.butler_controller.unwrap();
    assert_eq!(
        (controller.image.as_deref(), controller.version.as_deref()),
        (Some("registry:5000/butler"), Some("v2"))
    );
}

#[test]
fn the_old_spelling_of_the_pool_is_understood() {
    let pool = "  loadBalancerPool: {start: 172.20.8.30, end: 172.20.8.49}\n";
    let old = with(NUTANIX, pool, "") + "addons:\n  loadBalancer: {addressPool: 172.20.8.30 - 172.20.8.49}\n";
    let loaded = read_text(&old).unwrap();
    let expected = (Ipv4Addr::new(172, 20, 8, 30), Ipv4Addr::new(172, 20, 8, 49));
    assert_eq!(loaded.config.network.load_balancer_pool, Some(expected));
    assert_eq!(
        told(&old),
        [
            "warning 17:31: `addons.loadBalancer.addressPool` is the old spelling of `network.loadBalancerPool` \
          [write `loadBalancerPool: {start: 172.20.8.30, end: 172.20.8.49}` under `network:`]"
        ]
    );
    let both = NUTANIX.to_owned() + "addons:\n  loadBalancer: {addressPool: 10.0.0.1-10.0.0.9}\n";
    let loaded = read_text(&both).unwrap();
    assert_eq!(loaded.config.network.load_balancer_pool, Some(expected));
    assert!(loaded.warnings[0].message.contains("is not looked at"));
}

#[test]
fn keys_in_another_case_are_understood_and_told() {
    let text = with(NUTANIX, "clusterUUID", "clusteruuid");
    assert_eq!(told(&text), ["warning 15:5: `clusteruuid` is written `clusterUUID` [clusterUUID]"]);
    let block = read_text(&text).unwrap().config.provider;
    assert_eq!(block, read_text(NUTANIX).unwrap().config.provider);
}

#[test]
fn what_is_written_once_can_be_used_twice() {
    let machines = "  controlPlane: &size {replicas: 3, cpu: 4, memoryMB: 8192, diskGB: 60}\n  workers: {<<: *size, replicas: 2}\n";
    let text = with(
        NUTANIX,
        "  controlPlane: {replicas: 3, cpu: 4, memoryMB: 8192, diskGB: 60}\n  workers: {replicas: 2, cpu: 4, memoryMB: 8192, diskGB: 60}\n",
        machines,
    );
    assert_eq!(read_text(&text).unwrap().config, read_text(NUTANIX).unwrap().config);
}

#[test]
fn files_of_other_systems_are_read() {
    let expected = read_text(NUTANIX).unwrap().config;
    for text in [NUTANIX.replace('\n', "\r\n"), format!("\u{feff}{NUTANIX}"), format!("---\n{NUTANIX}...\n")]
    {
        let loaded = read_text(&text).unwrap_or_else(|error| panic!("{error:?}"));
        assert_eq!((loaded.config, loaded.warnings), (expected.clone(), Vec::new()));
    }
}

#[test]
fn a_single_node_has_one_machine_whatever_the_file_says() {
    let text = with(NUTANIX, "topology: ha", "topology: single-node");
    let loaded = read_text(&text).unwrap();
    assert_eq!(loaded.config.machines(), (1, 0));
    assert_eq!(
        told(&text),
        [
            "warning 5:28: `single-node` has one control plane; `cluster.controlPlane.replicas: 3` is not looked at \
             [write 1, or `topology: ha`]",
            "warning 6:12: `single-node` has no workers; `cluster.workers` is not looked at \
             [remove it, or write `topology: ha`]",
        ]
    );
}

#[test]
fn no_workers_is_as_good_as_no_block() {
    let text = with(NUTANIX, "workers: {replicas: 2", "workers: {replicas: 0");
    assert_eq!(read_text(&text).unwrap().config.cluster.workers, None);
    let bare = with(NUTANIX, "{replicas: 2, cpu: 4, memoryMB: 8192, diskGB: 60}", "{replicas: 0}");
    assert_eq!(told(&bare), [] as [&str; 0], "nothing more is needed of machines that there are none of");
    assert_eq!(read_text(&bare).unwrap().config.cluster.workers, None);
}

#[test]
fn what_follows_from_the_topology_need_not_be_written() {
    let text = with(MINIMAL, "replicas: 1, ", "");
    assert_eq!(read_text(&text).unwrap().config, read_text(MINIMAL).unwrap().config);
    let ha = with(NUTANIX, "{replicas: 3, cpu", "{cpu");
    let missing = "error 5:3: `cluster.controlPlane.replicas` is missing [add `replicas: 1` or more]";
    assert_eq!(told(&ha), [missing]);
    let workers = with(NUTANIX, "replicas: 2, cpu: 4, memoryMB: 8192, diskGB: 60", "replicas: 2, cpus: 4");
    assert_eq!(
        told(&workers),
        [
            "error 6:3: `cluster.workers.memoryMB` is missing [add `memoryMB: 2048` or more]",
            "error 6:3: `cluster.workers.diskGB` is missing [add `diskGB: 20` or more]",
            "error 6:26: `cpus` is not a key of `cluster.workers` [did you mean `cpu`?]",
        ]
    );
}

#[test]
fn a_port_may_stand_in_the_address_of_prism() {
    let settings = |text: &str| match read_text(text).unwrap().config.provider {
        ProviderSettings::Nutanix(nutanix) => (nutanix.settings.endpoint, nutanix.settings.port),
        other => panic!("{other:?}"),
    };
    let expected = ("https://prism.example.org".to_owned(), Some(9441));
    let inside = with(NUTANIX, "prism.example.org", "https://prism.example.org:9441/");
    assert_eq!(settings(&inside), expected);
    assert_eq!(settings(&with(&inside, "    username", "    port: 9441\n    username")), expected);
}

#[test]
fn paths_start_at_the_file_and_at_home() {
    let (_, text) = examples().into_iter().find(|(name, _)| name == "gcp.yaml").unwrap();
    let key = |text: &str| match read_text(text).unwrap().config.provider {
        ProviderSettings::Gcp(gcp) => gcp.service_account_key,
        other => panic!("{other:?}"),
    };
    assert_eq!(key(&text), SecretSource::File(PathBuf::from("/home/me/.butler/gcp-sa.json")));
    let relative = with(&text, "~/.butler/gcp-sa.json", "keys/sa.json");
    assert_eq!(key(&relative), SecretSource::File(PathBuf::from("/srv/site/keys/sa.json")));
}

#[test]
fn the_command_may_name_the_provider_instead() {
    let source = |text| Source { name: "b.yaml", text, directory: Path::new("/"), home: None, shared: None };
    let without = with(MINIMAL, "provider: sandbox\n", "");
    let loaded = read(&source(&without), Some(&ProviderKind::Sandbox)).unwrap();
    assert_eq!(loaded.config.provider_kind(), ProviderKind::Sandbox);
    assert!(read(&source(MINIMAL), Some(&ProviderKind::Sandbox)).is_ok());
    let Err(ConfigError::Problems { problems, .. }) = read(&source(MINIMAL), Some(&ProviderKind::Aws)) else {
        panic!("it is refused")
    };
    assert_eq!(problems[0].message, "the file is for provider `sandbox`, and the command is for `aws`");
    assert_eq!((problems[0].line, problems[0].column), (1, 11));
}

/// Every path of the table under a key, without what is refused.
fn paths(keys: &[Key], path: &str, found: &mut BTreeSet<String>) {
    for key in keys {
        let path = if path.is_empty() { key.name.to_owned() } else { format!("{path}.{}", key.name) };
        let mut shape = key.shape;
        if let Shape::List(item) = shape {
            found.insert(path.clone());
            shape = *item;
        }
        match shape {
            Shape::Object(keys) => paths(keys, &path, found),
            Shape::Refused(_) => {}
            _ => drop(found.insert(path)),
        }
    }
}

/// A file that gives every key of a provider that can be given.
fn full(provider: &str, block: &str) -> String {
    format!(
        "provider: {provider}
cluster:
  name: lab
  topology: ha
  controlPlane: {{replicas: 3, cpu: 2, memoryMB: 2048, diskGB: 20, extraDisks: [{{sizeGB: 5, storageClass: fast}}]}}
  workers: {{replicas: 2, cpu: 2, memoryMB: 2048, diskGB: 20, extraDisks: [{{sizeGB: 5, storageClass: fast}}]}}
network:
  podCIDR: 10.20.0.0/16
  serviceCIDR: 10.30.0.0/16
  vip: 192.168.7.2
  vipInterface: eth1
  loadBalancerPool: {{start: 192.168.7.10, end: 192.168.7.20}}
  mtu: 9000
  jumboFrames: true
talos: {{version: v1.12.5, schematic: abc, kubernetesVersion: v1.34.3, installDisk: /dev/sda, timeServers: [time.example.org]}}
addons:
  cni: {{type: cilium, version: 1.17.1, hubbleEnabled: false}}
  storage: {{type: longhorn, version: 1.7.3, replicaCount: 2}}
  loadBalancer: {{type: metallb, addressPool: 192.168.7.10-192.168.7.20}}
  controlPlaneHA: {{type: none, version: v0.8.9}}
  certManager: {{enabled: true, version: v1.16.3}}
  ingress: {{enabled: true, type: traefik, version: 4.0.0}}
  controlPlaneProvider: {{enabled: true, type: steward, version: 1.0.0}}
  capi: {{enabled: true, version: v1.9.5}}
  butlerController: {{enabled: true, version: v2, image: registry.example.org/butler}}
  catalog: {{enabled: false}}
  console:
    enabled: true
    version: 0.14.2
    ingress: {{enabled: true, host: c.example.org, className: nginx, tls: true, tlsSecretName: console-tls}}
  gitOps: {{enabled: true, type: flux}}
charts: {{mirror: /srv/charts}}
controlPlaneExposure:
  {{mode: Ingress, hostname: '*.k8s.example.org', ingressClassName: nginx, controllerType: nginx, gatewayRef: a/b}}
multiTenancyMode: Enforced
networkPool:
  name: underlay
  cidr: 192.168.7.0/24
  reserved: [{{cidr: 192.168.7.0/27, description: ours}}]
  tenantAllocation: {{start: 192.168.7.100, end: 192.168.7.200, defaults: {{lbPoolPerTenant: 3, nodesPerTenant: 4}}}}
providerNetwork:
  mode: ipam
  poolRefs: [{{name: underlay, priority: 2}}]
  gateway: 192.168.7.1
  dnsServers: [192.168.7.3]
  subnet: 192.168.7.0/24
  loadBalancer: {{allocationMode: elastic, initialPoolSize: 1, defaultPoolSize: 2, growthIncrement: 3}}
  quotaPerTenant: {{maxLoadBalancerIPs: 9, maxNodeIPs: 10}}
bootstrapCluster: {{runtime: kind, kind: {{image: 'kindest/node:v1.34.0', nameServers: [192.168.7.3]}}}}
providerConfig:
  {provider}: {block}
"
    )
}

const FULL: [(&str, &str); 6] = [
    (
        "harvester",
        "{kubeconfigPath: k, endpoint: h.example.org, namespace: n, networkName: a/b, imageName: a/c, storageClassName: s}",
    ),
    (
        "nutanix",
        "{endpoint: e, port: 1, insecure: true, username: u, password: p, clusterUUID: 11111111-2222-3333-4444-555555555555, subnetUUID: 11111111-2222-3333-4444-555555555555, imageUUID: 11111111-2222-3333-4444-555555555555, storageContainerUUID: 11111111-2222-3333-4444-555555555555, hostAliases: [10.9.9.9 e]}",
    ),
    (
        "proxmox",
        "{endpoint: e, insecure: true, token: t, tokenSecret: s, nodes: [n], storage: s, templateID: 100, vmidStart: 200, vmidEnd: 300, hostAliases: [10.9.9.9 e]}",
    ),
    ("aws", "{accessKeyID: a, secretAccessKey: s, region: r, vpcID: v, subnetID: s, securityGroupID: g}"),
    (
        "azure",
        "{clientID: c, clientSecret: s, tenantID: t, subscriptionID: s, resourceGroup: g, location: l, vnetName: v, subnetName: s, securityGroupName: g, vmSize: z, imageURN: 'a:b:c:d'}",
    ),
    (
        "gcp",
        "{serviceAccountKeyPath: k, projectID: p, region: r, zone: z, network: n, subnetwork: s, machineType: m, imageProject: p, imageFamily: f, image: i, serviceAccount: a, tags: [t]}",
    ),
];

#[test]
fn a_mirror_is_an_address_or_a_directory_beside_the_file() {
    let mirror = |text: &str| {
        let config = read_text(&format!("{MINIMAL}charts: {{mirror: '{text}'}}\n")).unwrap().config;
        config.charts.mirror.unwrap()
    };
    for kept in ["https://charts.example.org/x", "oci://registry.example.org/charts", "/srv/charts"] {
        assert_eq!(mirror(kept), kept);
    }
    assert_eq!(mirror("charts"), "/srv/site/charts");
    assert_eq!(mirror("~/charts"), "/home/me/charts");
}

#[test]
fn no_key_is_accepted_and_then_forgotten() {
    for (provider, block) in FULL {
        let text = full(provider, block);
        let errors: Vec<String> = told(&text).into_iter().filter(|line| line.starts_with("error")).collect();
        assert_eq!(errors, [] as [&str; 0], "{provider}");
    }
    // The two that other files give, and those that are given instead of others.
    read_text(&format!("{MINIMAL}providerConfig: {{sandbox: {{name: mine}}}}\n")).unwrap();
    read_text(&format!("{MINIMAL}addons: {{loadBalancer: {{addressPool: 192.168.7.1-192.168.7.9}}}}\n"))
        .unwrap();
    read_text(&examples().into_iter().find(|(name, _)| name == "local.yaml").unwrap().1).unwrap();
    let mut known = BTreeSet::new();
    paths(ROOT, "", &mut known);
    let read = values::tests::read();
    let forgotten: Vec<&String> = known.difference(&read).collect();
    // Read from the tree before the provider is known.
    assert_eq!(forgotten, ["provider"]);
}

#[test]
fn every_value_of_a_full_file_arrives() {
    let config = read_text(&full("nutanix", FULL[1].1)).unwrap().config;
    let shown = format!("{config:?}");
    for value in [
        "fast",
        "10.20.0.0/16",
        "10.30.0.0/16",
        "192.168.7.2",
        "eth1",
        "192.168.7.10",
        "9000",
        "abc",
        "/dev/sda",
        "time.example.org",
        "1.17.1",
        "1.7.3",
        "v0.8.9",
        "v1.16.3",
        "4.0.0",
        "1.0.0",
        "v1.9.5",
        "registry.example.org/butler",
        "0.14.2",
        "c.example.org",
        "console-tls",
        "/srv/charts",
        "*.k8s.example.org",
        "underlay",
        "ours",
        "192.168.7.100",
        "kindest/node:v1.34.0",
        "10.9.9.9 e",
        "Enforced",
        "Elastic",
        "Steward",
        "Traefik",
        "Flux",
        "minor: 34, patch: 3",
    ] {
        assert!(shown.contains(value), "{value} is missing in {shown}");
    }
}
