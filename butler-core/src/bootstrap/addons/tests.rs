use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

/// A ClusterBootstrap of a provider with every block that can be there, as `addons` changes it.
fn input(provider: &str, topology: &str, addons: Value) -> AddonInput {
    let settings = match provider {
        "harvester" => json!({ "networkName": "default/vlan" }),
        "nutanix" => json!({ "endpoint": "https://pc.example", "clusterUUID": "c", "subnetUUID": "s" }),
        "proxmox" => json!({ "endpoint": "https://pve.example", "nodes": ["a"], "storage": "s" }),
        "aws" => json!({ "region": "eu-1" }),
        "gcp" => json!({ "projectID": "p", "region": "r" }),
        "azure" => json!({ "subscriptionID": "s", "resourceGroup": "g" }),
        _ => json!({}),
    };
    let cloud = ["aws", "gcp", "azure"].contains(&provider);
    let mut network = json!({ "podCIDR": "10.244.0.0/16", "serviceCIDR": "10.96.0.0/12" });
    if !cloud {
        network["vip"] = json!("10.0.0.5");
        network["loadBalancerPool"] = json!({ "start": "10.0.0.50", "end": "10.0.0.60" });
    }
    let pool = json!({ "replicas": 3, "cpu": 4, "memoryMB": 8192, "diskGB": 50 });
    let mut cluster = json!({ "name": "mgmt", "topology": topology, "controlPlane": pool });
    if topology == "ha" {
        cluster["workers"] = pool;
    }
    serde_json::from_value(json!({
        "bootstrap": {
            "provider": provider, "providerRef": { "name": "p" }, "cluster": cluster, "network": network,
            "talos": { "version": "v1.11.5", "schematic": "" }, "addons": addons,
        },
        "provider": { "provider": provider, "credentialsRef": { "name": "old" }, provider: settings },
    }))
    .unwrap()
}

fn usual() -> Value {
    json!({ "cni": { "type": "cilium" }, "storage": { "type": "longhorn" }, "loadBalancer": { "type": "metallb" } })
}

fn keys(input: &AddonInput) -> Vec<String> {
    plan_addons(input).into_iter().map(|step| step.key).collect()
}

fn step(input: &AddonInput, key: &str) -> AddonStep {
    plan_addons(input).into_iter().find(|step| step.key == key).unwrap_or_else(|| panic!("no step {key}"))
}

fn chart(input: &AddonInput, key: &str) -> ChartRelease {
    match step(input, key).action {
        AddonAction::Chart(chart) => chart,
        other => panic!("{other:?}"),
    }
}

fn objects(input: &AddonInput, key: &str) -> Vec<Value> {
    match step(input, key).action {
        AddonAction::Objects { objects, .. } => objects,
        other => panic!("{other:?}"),
    }
}

const PROVIDERS: [&str; 8] = ["harvester", "nutanix", "proxmox", "aws", "gcp", "azure", "local", "sandbox"];

#[test]
fn the_steps_of_every_provider_in_order() {
    let mut table = BTreeMap::new();
    for provider in PROVIDERS {
        for topology in ["ha", "single-node"] {
            table.insert(
                format!("{provider} {topology}"),
                keys(&input(provider, topology, usual())).join(" "),
            );
        }
    }
    insta::assert_json_snapshot!(table);
}

#[test]
fn the_matrix_of_providers() {
    // harvester nutanix proxmox aws gcp azure local
    let matrix = [
        ("kube-vip", "yyy----"),
        ("cilium", "yyyyyy-"),
        ("cloud-controller-manager", "---yyy-"),
        ("node-provider-ids", "---yyy-"),
        ("cert-manager", "yyyyyyy"),
        ("longhorn", "yyyyyy-"),
        ("metallb", "yyy---y"),
        ("traefik", "yyy---y"),
        ("gateway-api", "yyyyyyy"),
        ("steward", "yyyyyyy"),
        ("capi", "yyyyyyy"),
        ("butler-crds", "yyyyyyy"),
        ("provider-config", "yyyyyy-"),
        ("butler-addons", "yyyyyyy"),
        ("butler-controller", "yyyyyyy"),
        ("butler", "yyyyyyy"),
        ("butler-console", "yyyyyyy"),
        ("cloud-lb-backend-pool", "-----y-"),
    ];
    for (number, provider) in PROVIDERS.into_iter().take(7).enumerate() {
        let keys = keys(&input(provider, "ha", usual()));
        for (key, row) in matrix {
            let wanted = row.as_bytes()[number] == b'y';
            assert_eq!(keys.iter().any(|known| known == key), wanted, "{key} on {provider}");
        }
        let infrastructure = format!("capi-infrastructure-{provider}");
        let step = step(&input(provider, "ha", usual()), &infrastructure);
        assert_eq!(step.optional, ["aws", "gcp", "azure"].contains(&provider), "{provider}");
    }
}

#[test]
fn the_values_of_every_chart() {
    let mut table = BTreeMap::new();
    for (provider, topology) in
        [("harvester", "ha"), ("nutanix", "single-node"), ("aws", "ha"), ("local", "single-node")]
    {
        for step in plan_addons(&input(provider, topology, usual())) {
            if let AddonAction::Chart(mut chart) = step.action {
                if chart.source == ChartSource::Embedded {
                    assert_eq!(std::mem::take(&mut chart.version), versions::BUTLER);
                }
                table.insert(format!("{provider} {topology} {}", step.key), chart);
            }
        }
    }
    insta::assert_json_snapshot!(table);
}

#[test]
fn the_objects_and_manifests_of_every_cloud_and_hypervisor() {
    let mut table = BTreeMap::new();
    for provider in ["nutanix", "proxmox", "aws", "gcp", "azure", "sandbox"] {
        for step in plan_addons(&input(provider, "ha", usual())) {
            if !matches!(step.action, AddonAction::Chart(_)) {
                table.insert(format!("{provider} {}", step.key), step.action);
            }
        }
    }
    insta::assert_json_snapshot!(table);
}

#[test]
fn a_gateway_needs_its_definitions_before_cilium_starts() {
    let mut input = input("harvester", "ha", usual());
    let place = |keys: &[String], key: &str| keys.iter().position(|known| known == key).unwrap();
    let before = keys(&input);
    assert!(place(&before, "cilium") < place(&before, "gateway-api"));
    assert_eq!(chart(&input, "cilium").values["gatewayAPI"]["enabled"], false);
    assert!(!before.iter().any(|key| key == "butler-config-exposure"));

    input.bootstrap.control_plane_exposure = serde_json::from_value(
        json!({ "mode": "Gateway", "hostname": "*.k8s.example", "gatewayRef": "a/b" }),
    )
    .unwrap();
    let after = keys(&input);
    assert!(place(&after, "gateway-api") < place(&after, "cilium"));
    assert_eq!(after.iter().filter(|key| *key == "gateway-api").count(), 1);
    assert_eq!(chart(&input, "cilium").values["gatewayAPI"]["enabled"], true);
    assert!(step(&input, "cilium").requires.contains(&"gateway-api".to_owned()));
    let config = &objects(&input, "butler-config-exposure")[0];
    assert_eq!(config["spec"]["controlPlaneExposure"]["gatewayRef"], "a/b");
    assert_eq!(config["status"], json!({ "controlPlaneExposureMode": "Gateway", "tcpProxyRequired": true }));
}

#[test]
fn the_definitions_of_gateways_come_where_something_uses_them() {
    let has = |input: &AddonInput| keys(input).iter().any(|key| key == "gateway-api");
    for off in [json!({ "enabled": false }), json!({ "type": "none" })] {
        let mut input = input("local", "single-node", json!({ "controlPlaneProvider": off }));
        assert!(!has(&input), "nothing uses them");
        input.bootstrap.control_plane_exposure =
            serde_json::from_value(json!({ "mode": "Gateway" })).unwrap();
        assert!(has(&input));
    }
    assert!(has(&input("local", "single-node", json!({}))));
}

#[test]
fn a_local_cluster_learns_its_addresses_once_the_engines_network_is_there() {
    let mut input = input("local", "single-node", usual());
    let pool = |steps: &[AddonStep]| {
        let step = steps.iter().find(|step| step.key == "metallb").unwrap();
        let AddonAction::Chart(chart) = &step.action else { panic!("{step:?}") };
        chart.then[0]["spec"]["addresses"].clone()
    };
    let (first, last) = ("172.19.255.200".parse().unwrap(), "172.19.255.250".parse().unwrap());
    let mut given = plan_addons(&input);
    set_addresses(&mut given, first, last);
    assert_eq!(pool(&given), json!(["10.0.0.50-10.0.0.60"]), "what the file says stays");
    input.bootstrap.network.load_balancer_pool = None;
    let mut steps = plan_addons(&input);
    assert_eq!(pool(&steps), json!([]));
    set_addresses(&mut steps, first, last);
    assert_eq!(pool(&steps), json!(["172.19.255.200-172.19.255.250"]));
    input.bootstrap.addons = serde_json::from_value(json!({ "loadBalancer": { "type": "none" } })).unwrap();
    assert!(!keys(&input).iter().any(|key| key == "metallb"));
}

#[test]
fn a_local_cluster_hands_out_no_right_to_everything() {
    let mut input = input("local", "single-node", usual());
    input.network_pool = serde_json::from_value(json!(["underlay", { "cidr": "10.9.0.0/24" }])).unwrap();
    let then = chart(&input, "butler-addons").then;
    let of = |kind: &str| then.iter().find(|object| object["kind"] == kind).unwrap();
    assert_eq!(of("ButlerConfig")["spec"]["defaultProviderConfigRef"]["name"], "p", "the one that is there");
    assert_eq!(of("NetworkPool")["spec"]["cidr"], "10.9.0.0/24");
    assert_eq!(of("ClusterRoleBinding")["subjects"][0]["name"], "admin@butler.local");
    assert_eq!(of("ClusterRoleBinding")["roleRef"]["name"], of("ClusterRole")["metadata"]["name"]);
    let rules = of("ClusterRole")["rules"].as_array().unwrap();
    for rule in rules.iter().filter(|rule| rule["apiGroups"] != json!(["butler.butlerlabs.dev"])) {
        assert_eq!(rule["verbs"], json!(["get", "list", "watch"]));
        assert!(!rule.to_string().contains("secrets") && !rule["apiGroups"].to_string().contains('*'));
    }
    for step in plan_addons(&input) {
        assert!(!serde_json::to_string(&step).unwrap().contains("cluster-admin"), "{}", step.key);
    }
}

#[test]
fn whatever_can_be_left_out_has_a_line_that_leaves_it_out() {
    let needed = [
        "butler-crds",
        "provider-config",
        "butler",
        "node-provider-ids",
        "cloud-lb-backend-pool",
        "cloud-credentials",
        "cloud-controller-manager",
    ];
    for provider in PROVIDERS {
        for key in keys(&input(provider, "ha", usual())) {
            let Some(line) = without(&key) else {
                assert!(needed.contains(&key.as_str()), "{key}");
                continue;
            };
            let (path, value) = line.strip_prefix("addons.").unwrap().split_once(": ").unwrap();
            let (block, name) = path.split_once('.').unwrap();
            let value = if value == "false" { json!(false) } else { json!(value) };
            let mut addons = usual();
            addons[block] = json!({ name: value });
            let mut less = input(provider, "ha", addons);
            // The object has no field for it; the configuration has.
            less.no_catalog = block == "catalog";
            let left = plan_addons(&less).into_iter().find(|step| step.key == key);
            // Without the catalog there are still settings.
            let settings =
                left.as_ref().is_some_and(|step| matches!(step.action, AddonAction::Objects { .. }));
            assert!(left.is_none() || (block == "catalog" && settings), "{key} on {provider}");
        }
    }
}

#[test]
fn an_absent_block_is_not_the_same_as_an_empty_one() {
    let has =
        |addons: Value, key: &str| keys(&input("nutanix", "ha", addons)).iter().any(|known| known == key);
    // Absent, empty, switched off.
    let table = [
        ("cni", "cilium", json!({ "type": "none" }), [false, true, false]),
        ("storage", "longhorn", json!({ "type": "none" }), [false, true, false]),
        ("loadBalancer", "metallb", json!({ "type": "none" }), [false, true, false]),
        ("gitOps", "flux", json!({ "enabled": false }), [false, true, false]),
        ("gitOps", "flux", json!({ "type": "none" }), [false, true, false]),
        ("controlPlaneHA", "kube-vip", json!({ "type": "none" }), [true, true, false]),
        ("certManager", "cert-manager", json!({ "enabled": false }), [true, true, false]),
        ("ingress", "traefik", json!({ "enabled": false }), [true, true, false]),
        ("ingress", "traefik", json!({ "type": "none" }), [true, true, false]),
        ("controlPlaneProvider", "steward", json!({ "enabled": false }), [true, true, false]),
        ("capi", "capi", json!({ "enabled": false }), [true, true, false]),
        ("butlerController", "butler-controller", json!({ "enabled": false }), [true, true, false]),
        // The definition's default of a present block is no.
        ("console", "butler-console", json!({ "enabled": false }), [true, false, false]),
    ];
    for (block, key, off, wanted) in table {
        let found = [json!({}), json!({ block: {} }), json!({ block: off })].map(|addons| has(addons, key));
        assert_eq!(found, wanted, "{block}");
    }
    assert!(has(json!({ "console": { "enabled": true } }), "butler-console"));
    let mut none = input("nutanix", "ha", json!({}));
    none.bootstrap.addons = None;
    assert_eq!(keys(&none), keys(&input("nutanix", "ha", json!({}))));
}

#[test]
fn without_the_platform_nothing_needs_its_definitions() {
    let mut input = input("aws", "ha", json!({ "butlerController": { "enabled": false } }));
    input.bootstrap.control_plane_exposure =
        serde_json::from_value(json!({ "mode": "LoadBalancer" })).unwrap();
    let keys = keys(&input);
    for key in [
        "butler-crds",
        "provider-config",
        "butler-addons",
        "butler-controller",
        "butler-config-exposure",
        "butler-console",
    ] {
        assert!(!keys.iter().any(|known| known == key), "{key}");
    }
    assert!(keys.iter().any(|key| key == "butler"));
}

#[test]
fn versions_that_were_asked_for_win() {
    let addons = json!({
        "cni": { "version": "1.18.1", "hubbleEnabled": false }, "storage": { "version": "1.8.0", "replicaCount": 2 },
        "certManager": { "version": "v1.17.0" }, "ingress": { "version": "35.0.0" },
        "controlPlaneProvider": { "version": "0.5.0" }, "console": { "enabled": true, "version": "latest" },
        "butlerController": { "image": "registry:5000/butleradm:dev", "version": "latest" },
        "controlPlaneHA": { "version": "v0.9.0" },
        "capi": { "version": "v1.10.0", "infrastructureProviders": [{ "name": "aws" }, { "name": "harvester", "version": "v0.2.0" }] },
    });
    let input = input("harvester", "ha", addons);
    let versions = ["cilium", "longhorn", "cert-manager", "traefik", "steward", "butler-console"]
        .map(|key| chart(&input, key).version);
    assert_eq!(versions, ["1.18.1", "1.8.0", "v1.17.0", "35.0.0", "0.5.0", "0.14.1"]);
    assert_eq!(chart(&input, "cilium").values["hubble"]["ui"]["enabled"], false);
    assert_eq!(chart(&input, "longhorn").values["defaultSettings"]["defaultReplicaCount"], 2);
    let image = &chart(&input, "butler-controller").values["image"];
    assert_eq!(*image, json!({ "repository": "registry:5000/butleradm", "tag": "dev" }));
    let manifests = |key: &str| match step(&input, key).action {
        AddonAction::Manifests(manifests) => manifests,
        other => panic!("{other:?}"),
    };
    assert!(manifests("capi-core").url.contains("/v1.10.0/"));
    assert!(manifests("capi-infrastructure-harvester").url.contains("/v0.2.0/"));
    assert!(step(&input, "capi-infrastructure-aws").optional, "a further provider is not needed");
    assert!(!step(&input, "capi").requires.contains(&"capi-infrastructure-aws".to_owned()));
    assert!(objects(&input, "kube-vip")[3].to_string().contains("kube-vip:v0.9.0"));
}

#[test]
fn the_image_that_the_definition_fills_in_is_not_ours() {
    let filled = json!({ "butlerController": { "image": "ghcr.io/butlerdotdev/butler-controller", "version": "latest" } });
    assert_eq!(chart(&input("aws", "ha", filled), "butler-controller").values, json!({ "profile": "core" }));
}

#[test]
fn the_sandbox_fetches_nothing_unless_asked_or_offered() {
    let own = ["butler-crds", "provider-config", "butler-addons", "butler"];
    assert_eq!(keys(&input("sandbox", "ha", json!({}))), own);
    let asked = input("sandbox", "ha", json!({ "certManager": {}, "console": { "enabled": false } }));
    assert_eq!(keys(&asked)[0], "cert-manager");
    let mut offered = input("sandbox", "ha", json!({}));
    offered.offered = ["cert-manager-v1.16.2", "traefik", "gateway-api-v1.2.0"].map(str::to_owned).into();
    assert_eq!(keys(&offered)[..3], ["cert-manager", "traefik", "butler-crds"]);
    assert!(!chart(&offered, "traefik").wait, "nobody gives it an address");
}

#[test]
fn a_plan_can_be_written_and_read_again() {
    for provider in PROVIDERS {
        let steps = plan_addons(&input(provider, "ha", usual()));
        let text = serde_json::to_string(&steps).unwrap();
        assert_eq!(serde_json::from_str::<Vec<AddonStep>>(&text).unwrap(), steps);
    }
}

proptest! {
    #[test]
    fn a_step_only_requires_earlier_ones(
        provider in 0..PROVIDERS.len(),
        single in any::<bool>(),
        gateway in any::<bool>(),
        blocks in proptest::collection::vec(0..3_u8, 11),
    ) {
        let names = ["cni", "storage", "loadBalancer", "gitOps", "controlPlaneHA", "certManager", "ingress",
            "controlPlaneProvider", "capi", "butlerController", "console"];
        let mut addons = json!({});
        for (name, state) in names.into_iter().zip(blocks) {
            match state {
                0 => {}
                1 => addons[name] = json!({ "enabled": true }),
                _ => addons[name] = json!({ "enabled": false, "type": "none" }),
            }
        }
        let mut input = input(PROVIDERS[provider], if single { "single-node" } else { "ha" }, addons);
        if gateway {
            input.bootstrap.control_plane_exposure = serde_json::from_value(json!({ "mode": "Gateway" })).unwrap();
        }
        let mut seen: Vec<String> = Vec::new();
        for step in plan_addons(&input) {
            prop_assert!(step.requires.iter().all(|need| seen.contains(need)), "{step:?}");
            prop_assert!(!seen.contains(&step.key), "{} twice", step.key);
            prop_assert!(!step.deadline.is_zero());
            if let AddonAction::Chart(chart) = &step.action {
                prop_assert!(!chart.version.is_empty() && chart.version != "latest");
            }
            seen.push(step.key);
        }
    }
}
