//! Machine configurations for every provider, topology and role.

use std::{collections::BTreeMap, fs};

use anyhow::{Context, Result};
use butler_operator::talos::{
    config::{ConfigOptions, MachineConfig, MachineType, Provider, Topology, Vip},
    patches::{Operation, Patch},
};

use super::{bundle, talosctl, talosctl_says};

const PROVIDERS: [Provider; 7] = [
    Provider::Harvester,
    Provider::Nutanix,
    Provider::Proxmox,
    Provider::Aws,
    Provider::Azure,
    Provider::Gcp,
    Provider::Sandbox,
];
const TOPOLOGIES: [Topology; 2] = [Topology::SingleNode, Topology::Ha];
const ROLES: [MachineType; 2] = [MachineType::ControlPlane, MachineType::Worker];

fn options(provider: Provider, topology: Topology) -> Result<ConfigOptions> {
    let ha = topology == Topology::Ha;
    let cloud = matches!(provider, Provider::Aws | Provider::Azure | Provider::Gcp);
    Ok(ConfigOptions {
        cluster: "prod".into(),
        provider,
        topology,
        workers: if ha { 3 } else { 0 },
        talos: "v1.11.5".parse()?,
        kubernetes: "1.34.1".parse()?,
        endpoint: if provider == Provider::Aws { "lb.example.com" } else { "10.40.0.10" }.into(),
        control_planes: vec!["10.40.0.11".parse()?, "10.40.0.12".parse()?],
        vip: (ha && !cloud).then_some(Vip { address: "10.40.0.10".parse()?, interface: "eth0".into() }),
        install_disk: "/dev/vda".into(),
        schematic: Some("613e1592b2da41ae5e265e8789429f22e121aab91cb4deb6bc3c0b6262961245".into()),
        pod_cidr: "10.244.0.0/16".into(),
        service_cidr: "10.96.0.0/12".into(),
        talos_network: false,
        mtu: ha.then_some(1400),
        time_servers: vec!["time.example.com".into()],
        mirrors: BTreeMap::from([("docker.io".into(), vec!["https://mirror.example.com".into()])]),
        patches: vec![Patch {
            op: Operation::Add,
            path: "/machine/sysctls".into(),
            value: r#"{"vm.max_map_count":"262144"}"#.into(),
        }],
    })
}

#[test]
fn talosctl_accepts_every_provider_topology_and_role() -> Result<()> {
    let home = tempfile::tempdir()?;
    let bundle = bundle()?;
    for provider in PROVIDERS {
        for topology in TOPOLOGIES {
            for role in ROLES {
                let name = format!("{provider:?}-{topology:?}-{role:?}.yaml").to_lowercase();
                let config = options(provider, topology)?.generate(&bundle, role, Some("node-1"))?;
                fs::write(home.path().join(&name), config.expose())?;
                for mode in ["metal", "cloud"] {
                    let said =
                        talosctl(home.path(), &["validate", "--strict", "--mode", mode, "--config", &name])?;
                    let text = String::from_utf8_lossy(&said.stderr).into_owned();
                    assert!(said.status.success(), "{name} in {mode} mode: {text}");
                }
                let read = MachineConfig::from_yaml(&config).with_context(|| name.clone())?;
                assert_eq!(read.main.machine.machine_type, role);
                assert_eq!(read.node_name(), Some("node-1"));
            }
        }
    }
    Ok(())
}

#[test]
fn we_read_what_talosctl_generates() -> Result<()> {
    let home = tempfile::tempdir()?;
    let bundle = bundle()?;
    fs::write(home.path().join("secrets.yaml"), bundle.to_yaml()?.expose())?;
    talosctl_says(
        home.path(),
        &["gen", "config", "prod", "https://10.40.0.10:6443", "--with-secrets", "secrets.yaml"],
    )?;
    for (file, role) in
        [("controlplane.yaml", MachineType::ControlPlane), ("worker.yaml", MachineType::Worker)]
    {
        let read = MachineConfig::from_yaml(&fs::read_to_string(home.path().join(file))?.into())?;
        assert_eq!(read.main.machine.machine_type, role);
        assert_eq!(read.main.machine.token, bundle.trustdinfo.token);
        assert_eq!(read.main.machine.ca.crt, bundle.certs.os.crt);
        assert_eq!(read.main.cluster.token, bundle.secrets.bootstraptoken);
        assert_eq!(read.main.cluster.control_plane.endpoint, "https://10.40.0.10:6443");
        let etcd = read.main.cluster.etcd.map(|etcd| etcd.ca);
        assert_eq!(etcd, (role == MachineType::ControlPlane).then(|| bundle.certs.etcd.clone()));
    }
    Ok(())
}

#[test]
fn the_same_inputs_give_the_same_text() -> Result<()> {
    let bundle = bundle()?;
    let options = options(Provider::Harvester, Topology::Ha)?;
    let first = options.generate(&bundle, MachineType::ControlPlane, Some("a"))?;
    assert_eq!(options.generate(&bundle, MachineType::ControlPlane, Some("a"))?, first);
    Ok(())
}

#[test]
fn the_balancers_address_stands_beside_the_other_interfaces() -> Result<()> {
    let bundle = bundle()?;
    let interfaces = |provider, topology, role| -> Result<Vec<String>> {
        let config = options(provider, topology)?.generate(&bundle, role, None)?;
        let config = MachineConfig::from_yaml(&config)?;
        Ok(config
            .main
            .machine
            .network
            .interfaces
            .into_iter()
            .map(|one| format!("{:?} {:?} mtu {:?}", one.interface, one.addresses, one.mtu))
            .collect())
    };
    let physical = "None [] mtu Some(1400)";
    let own = r#"Some("lo") ["10.40.0.10/32"] mtu None"#;
    use MachineType::{ControlPlane, Worker};
    use Topology::{Ha, SingleNode};
    assert_eq!(interfaces(Provider::Gcp, Ha, ControlPlane)?, [physical, own]);
    assert_eq!(interfaces(Provider::Gcp, Ha, Worker)?, [physical]);
    // The endpoint is a name, or the balancer rewrites the address.
    assert_eq!(interfaces(Provider::Aws, Ha, ControlPlane)?, [physical]);
    assert!(interfaces(Provider::Gcp, SingleNode, ControlPlane)?.is_empty());
    // On a hypervisor the control planes carry the address themselves.
    assert_eq!(interfaces(Provider::Nutanix, Ha, ControlPlane)?, [r#"Some("eth0") [] mtu Some(1400)"#]);
    Ok(())
}

#[test]
fn from_1_12_on_names_and_mirrors_have_documents_of_their_own() -> Result<()> {
    let mut options = options(Provider::Proxmox, Topology::SingleNode)?;
    options.talos = "v1.12.1".parse()?;
    let text = options.generate(&bundle()?, MachineType::ControlPlane, Some("node-1"))?;
    let config = MachineConfig::from_yaml(&text)?;
    assert_eq!(config.node_name(), Some("node-1"));
    assert_eq!(config.main.machine.network.hostname, None);
    assert_eq!(config.mirrors[0].name, "docker.io");
    assert_eq!(config.main.machine.registries, None);
    assert_eq!(config.main.machine.features.rbac, None);
    let nameless = options.generate(&bundle()?, MachineType::Worker, None)?;
    assert_eq!(
        MachineConfig::from_yaml(&nameless)?.hostname.and_then(|document| document.auto).as_deref(),
        Some("stable")
    );
    Ok(())
}
