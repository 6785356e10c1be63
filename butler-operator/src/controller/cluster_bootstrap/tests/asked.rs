//! What is asked for, and how machines are configured.

use butler_core::api::{
    cluster_bootstrap::BootstrapMachine,
    common::MachineRole,
    names::{annotations, labels},
};
use jiff::Timestamp;
use kube::ResourceExt;
use rstest::rstest;
use serde_json::{Value, json};

use super::{
    super::{
        decide::Fact,
        nodes::{options, without_address},
        wanted,
    },
    Case, pool,
};
use crate::talos::{
    config::{ConfigOptions, MachineConfig, MachineType, Provider, Topology, main::Interface},
    secrets::SecretsBundle,
};

#[rstest]
#[case::ha(Case::metal(), &["m-cp-0", "m-cp-1", "m-worker-0"])]
#[case::no_workers(Case::metal().with("/spec/cluster/workers", Value::Null), &["m-cp-0", "m-cp-1"])]
#[case::zero_workers(Case::metal().with("/spec/cluster/workers", pool(0)), &["m-cp-0", "m-cp-1"])]
#[case::single(Case::metal().single(), &["m-cp-0"])]
#[case::many(
    Case::metal().with("/spec/cluster/controlPlane", pool(3)).with("/spec/cluster/workers", pool(2)),
    &["m-cp-0", "m-cp-1", "m-cp-2", "m-worker-0", "m-worker-1"])]
#[case::local(Case::new("local"), &[])]
fn machines_by_topology(#[case] case: Case, #[case] expected: &[&str]) {
    let requests = wanted::machine_requests(&case.bootstrap());
    let names: Vec<_> = requests.iter().map(|request| request.spec.machine_name.as_str()).collect();
    assert_eq!(names, expected);
    assert!(requests.iter().all(|request| request.name_any() == request.spec.machine_name));
}

#[test]
fn a_request_says_whose_it_is_and_what_the_pool_says() {
    let workers = json!({
        "replicas": 1, "cpu": 8, "memoryMB": 16384, "diskGB": 120,
        "extraDisks": [{"sizeGB": 50}], "labels": {"rack": "r1"},
    });
    let bootstrap = Case::metal().with("/spec/cluster/workers", workers).bootstrap();
    let request = wanted::machine_requests(&bootstrap).pop().unwrap();
    let expected = [(labels::CLUSTER_BOOTSTRAP, "m"), (labels::CLUSTER, "m"), (labels::ROLE, "worker")];
    assert_eq!(json!(request.metadata.labels), json!(std::collections::BTreeMap::from(expected)));
    assert_eq!(request.metadata.namespace.as_deref(), Some("n"));
    let owner = &request.metadata.owner_references.unwrap()[0];
    assert_eq!((owner.uid.as_str(), owner.controller), ("u", Some(true)));
    let spec = request.spec;
    assert_eq!((spec.cpu, spec.memory_mb, spec.disk_gb, spec.extra_disks.len()), (8, 16384, 120, 1));
    assert_eq!(spec.provider_ref.namespace.as_deref(), Some("n"), "its own namespace where none is named");
    assert_eq!(json!(spec.labels), json!({ "rack": "r1" }));
    assert_eq!((spec.user_data, spec.network_data), (None, None), "machines boot into maintenance mode");
}

#[rstest]
#[case::aws("aws", true)]
#[case::azure("azure", true)]
#[case::gcp("gcp", true)]
#[case::harvester("harvester", false)]
#[case::nutanix("nutanix", false)]
#[case::proxmox("proxmox", false)]
#[case::sandbox("sandbox", false)]
fn machines_in_clouds_carry_the_tag_of_their_cluster(#[case] provider: &str, #[case] tagged: bool) {
    for request in wanted::machine_requests(&Case::new(provider).bootstrap()) {
        let tag = request.spec.labels.get("kubernetes.io/cluster/m").map(String::as_str);
        assert_eq!(tag, tagged.then_some("owned"), "{}", request.spec.machine_name);
    }
}

#[rstest]
#[case::cloud(Case::cloud(), true)]
#[case::sandbox(Case::new("sandbox"), true)]
#[case::metal(Case::metal(), false)]
#[case::shared_address(Case::cloud().vip(), false)]
#[case::empty_address(Case::cloud().with("/spec/network/vip", json!("")), true)]
#[case::single(Case::cloud().single(), false)]
fn a_load_balancer_is_for_several_control_planes_of_providers_that_have_them(
    #[case] case: Case,
    #[case] wanted: bool,
) {
    assert_eq!(wanted::load_balancer(&case.bootstrap(), &[]).is_some(), wanted);
}

#[test]
fn behind_the_load_balancer_are_the_control_planes_that_have_an_address() {
    let case = Case::cloud().machines(&["Running", "Creating", "Running"]);
    let balancer = wanted::load_balancer(&case.bootstrap(), &case.requests()).unwrap();
    assert_eq!((balancer.name_any().as_str(), balancer.spec.port), ("m-cp-lb", Some(6443)));
    assert_eq!(balancer.labels().get(labels::CLUSTER_BOOTSTRAP).map(String::as_str), Some("m"));
    assert_eq!(
        json!(balancer.spec.targets),
        json!([{ "ip": "10.0.0.1", "instanceID": "vm-0", "instanceName": "m-cp-0" }])
    );
}

fn machines(case: &Case) -> Vec<BootstrapMachine> {
    case.clone().phase("ProvisioningMachines").all_run().decide(Fact::Nothing).status.machines
}

fn interfaces(case: &Case, role: MachineType) -> Vec<Interface> {
    let options = options(&case.bootstrap(), "10.0.0.100", &machines(case), true).unwrap();
    let bundle = SecretsBundle::generate(Timestamp::now()).unwrap();
    let config = options.generate(&bundle, role, Some("m-cp-0")).unwrap();
    MachineConfig::from_yaml(&config).unwrap().main.machine.network.interfaces
}

#[rstest]
#[case("harvester", Provider::Harvester)]
#[case("nutanix", Provider::Nutanix)]
#[case("proxmox", Provider::Proxmox)]
#[case("aws", Provider::Aws)]
#[case("azure", Provider::Azure)]
#[case("gcp", Provider::Gcp)]
#[case("sandbox", Provider::Sandbox)]
fn every_provider_of_machines_is_known_to_talos(#[case] name: &str, #[case] expected: Provider) {
    let made = options(&Case::new(name).bootstrap(), "h", &[], true).unwrap();
    assert_eq!(made.provider, expected);
}

#[rstest]
#[case::provider(Case::new("local"), "machines of provider `local` do not run Talos")]
#[case::kubernetes(
    Case::metal().with("/metadata/annotations", json!({ annotations::KUBERNETES_VERSION: "v1.x" })),
    "`1.x` is not a version of Kubernetes")]
fn choices_that_cannot_be_do_not_pass(#[case] case: Case, #[case] text: &str) {
    let trouble = options(&case.bootstrap(), "h", &[], true).unwrap_err();
    assert_eq!((trouble.passes, trouble.text.as_str()), (false, text));
}

#[test]
fn a_version_of_talos_that_is_none_does_not_pass() {
    let case = Case::metal().with("/spec/talos/version", json!("newest"));
    assert!(!options(&case.bootstrap(), "h", &[], true).unwrap_err().passes);
}

#[test]
fn a_version_of_kubernetes_is_taken_with_and_without_its_letter() {
    for text in ["v1.33.2", "1.33.2"] {
        let case =
            Case::metal().with("/metadata/annotations", json!({ annotations::KUBERNETES_VERSION: text }));
        let made = options(&case.bootstrap(), "h", &[], true).unwrap();
        assert_eq!(made.kubernetes.to_string(), "1.33.2");
    }
}

#[test]
fn certificates_name_the_way_in_and_every_control_plane() {
    let case = Case::metal();
    let made = options(&case.bootstrap(), "10.0.0.1", &machines(&case), true).unwrap();
    assert_eq!((made.workers, made.topology), (1, Topology::Ha));
    assert_eq!((made.install_disk.as_str(), made.schematic.as_deref()), ("/dev/vda", None));
    let bundle = SecretsBundle::generate(Timestamp::now()).unwrap();
    for role in [MachineType::ControlPlane, MachineType::Worker] {
        let config = made.generate(&bundle, role, None).unwrap();
        let names = MachineConfig::from_yaml(&config).unwrap().main.machine.cert_sans;
        assert_eq!(names, ["10.0.0.1", "10.0.0.2"], "the way in first, nothing twice");
    }
}

#[rstest]
#[case::nutanix(Case::new("nutanix").vip(), Some("ens3"))]
#[case::harvester(Case::new("harvester").vip(), Some("enp1s0"))]
#[case::proxmox(Case::metal().vip(), Some("eth0"))]
#[case::named(Case::new("nutanix").vip().with("/spec/network/vipInterface", json!("bond0")), Some("bond0"))]
#[case::named_emptily(Case::new("nutanix").vip().with("/spec/network/vipInterface", json!("")), Some("ens3"))]
#[case::no_address(Case::metal(), None)]
#[case::cloud(Case::cloud().vip(), None)]
fn the_card_of_the_shared_address(#[case] case: Case, #[case] expected: Option<&str>) {
    let vip = options(&case.bootstrap(), "h", &[], true).unwrap().vip;
    assert_eq!(vip.as_ref().map(|vip| vip.interface.as_str()), expected);
    assert!(vip.is_none_or(|vip| vip.address.to_string() == "10.0.0.100"));
}

const MTU: &str = r#"[{"deviceSelector":{"physical":true},"dhcp":true,"mtu":1400}]"#;

fn patched(case: Case, patches: &[(&str, &str, &str)]) -> Case {
    let patch = |(op, path, value): &(&str, &str, &str)| json!({ "op": op, "path": path, "value": value });
    case.with("/spec/talos/configPatches", patches.iter().map(patch).collect())
}

#[rstest]
#[case::shared_address(Case::metal().vip(), "10.0.0.100")]
#[case::address_of_a_balancer(Case::new("gcp"), "10.0.0.100/32")]
fn the_largest_packet_and_the_address_of_the_api_go_together(#[case] case: Case, #[case] address: &str) {
    let case = patched(case, &[("add", "/machine/network/interfaces", MTU)]);
    let all = interfaces(&case, MachineType::ControlPlane);
    assert!(all.iter().any(|card| card.mtu == Some(1400)), "{all:?}");
    let of = |card: &Interface| {
        card.vip.iter().any(|vip| vip.ip == address) || card.addresses.iter().any(|own| own == address)
    };
    assert!(all.iter().any(of), "{all:?}");
    let workers = interfaces(&case, MachineType::Worker);
    assert!(workers.iter().any(|card| card.mtu == Some(1400)), "{workers:?}");
    assert!(!workers.iter().any(of), "workers do not answer for the API: {workers:?}");
}

#[test]
fn talos_lets_go_of_the_shared_address_when_the_addon_holds_it() {
    let case = patched(Case::metal().vip(), &[("add", "/machine/network/interfaces", MTU)]);
    let made = options(&case.bootstrap(), "10.0.0.100", &machines(&case), true).unwrap();
    let bundle = SecretsBundle::generate(Timestamp::now()).unwrap();
    let configured = |options: &ConfigOptions| {
        let config = options.generate(&bundle, MachineType::ControlPlane, Some("m-cp-0")).unwrap();
        MachineConfig::from_yaml(&config).unwrap().main
    };
    let (before, after) = (configured(&made), configured(&without_address(&made)));
    assert!(before.machine.network.interfaces.iter().any(|card| card.vip.is_some()));
    let cards = &after.machine.network.interfaces;
    assert!(cards.iter().all(|card| card.vip.is_none()), "{cards:?}");
    assert!(cards.iter().any(|card| card.mtu == Some(1400)), "{cards:?}");
    assert_eq!(after.machine.cert_sans, before.machine.cert_sans, "certificates still name it");
}

#[test]
fn other_patches_are_kept_in_their_order() {
    let own = r#"[{"interface":"eth1","dhcp":true,"mtu":1400}]"#;
    let case = patched(
        Case::metal(),
        &[
            ("add", "/machine/time", r#"{"servers":["10.0.0.9"]}"#),
            ("add", "/machine/network/interfaces", MTU),
            ("add", "/machine/network/interfaces", own),
            ("replace", "/machine/network/interfaces", MTU),
        ],
    );
    let made = options(&case.bootstrap(), "h", &[], true).unwrap();
    let paths: Vec<_> = made.patches.iter().map(|patch| (patch.op, patch.path.as_str())).collect();
    use crate::talos::patches::Operation::{Add, Replace};
    let cards = "/machine/network/interfaces";
    assert_eq!(paths, [(Add, "/machine/time"), (Add, cards), (Replace, cards)]);
    assert_eq!(made.mtu, Some(1400));
}

#[rstest]
#[case::sandbox_without_one("sandbox", false, true)]
#[case::sandbox_with_cilium("sandbox", true, false)]
#[case::metal_without_one("proxmox", false, false)]
#[case::metal_with_cilium("proxmox", true, false)]
fn talos_brings_a_network_only_to_a_sandbox_that_has_none(
    #[case] provider: &str,
    #[case] brings_network: bool,
    #[case] expected: bool,
) {
    let made = options(&Case::new(provider).bootstrap(), "h", &[], brings_network).unwrap();
    assert_eq!(made.talos_network, expected);
}

#[test]
fn machines_keep_their_roles() {
    let roles: Vec<_> = machines(&Case::metal()).into_iter().map(|machine| machine.role).collect();
    assert_eq!(roles, [MachineRole::ControlPlane, MachineRole::ControlPlane, MachineRole::Worker]);
}
