//! The objects of every provider, as they go over the wire.

use serde_json::{Value, json};

use super::*;
use crate::bootstrap::config::{Source, read};

/// A file of this provider and topology, with or without a pool for tenants.
fn config(provider: &str, topology: &str, pool: bool) -> Config {
    let on_prem = matches!(provider, "harvester" | "nutanix" | "proxmox");
    let block = match provider {
        "harvester" => "{kubeconfigPath: /k, namespace: n, networkName: a/b, imageName: a/c}",
        "nutanix" => {
            "{endpoint: prism.example.org, username: u, password: p, clusterUUID: 11111111-2222-3333-4444-555555555555, subnetUUID: 66666666-7777-8888-9999-000000000000}"
        }
        "proxmox" => {
            "{endpoint: 'https://pve:8006', username: u, password: p, nodes: [pve1], storage: lvm, templateID: 9000, vmidStart: 700, vmidEnd: 760}"
        }
        "aws" => {
            "{accessKeyID: a, secretAccessKey: s, region: eu-central-1, vpcID: vpc-1, subnetID: subnet-1, securityGroupID: sg-1}"
        }
        "azure" => {
            "{clientID: c, clientSecret: s, tenantID: t, subscriptionID: sub, resourceGroup: rg, location: westeurope, securityGroupName: nsg}"
        }
        "gcp" => "{serviceAccountKeyPath: /k, projectID: p, region: europe-west3, network: core}",
        _ => "{}",
    };
    let mut text = format!(
        "provider: {provider}
cluster:
  name: mgmt
  topology: {topology}
  controlPlane: {{replicas: {}, cpu: 4, memoryMB: 8192, diskGB: 60}}
",
        if topology == "ha" { 3 } else { 1 }
    );
    if topology == "ha" {
        text +=
            "  workers: {replicas: 2, cpu: 8, memoryMB: 16384, diskGB: 100, extraDisks: [{sizeGB: 50}]}\n";
    }
    if on_prem {
        text += "network:\n  vip: 192.168.7.10\n  mtu: 1400\n  loadBalancerPool: {start: 192.168.7.20, end: 192.168.7.40}\n";
        text += "talos: {timeServers: [192.168.7.2]}\n";
    }
    if pool {
        text += "networkPool: {cidr: 192.168.7.0/24, tenantAllocation: {start: 192.168.7.100, end: 192.168.7.200}}\n";
        text += "providerNetwork: {mode: ipam}\n";
    }
    text += &format!("providerConfig:\n  {provider}: {block}\n");
    let source = Source {
        name: "b.yaml",
        text: &text,
        directory: std::path::Path::new("/"),
        home: None,
        shared: None,
    };
    read(&source, None).unwrap_or_else(|error| panic!("{error:?}\n{text}")).config
}

fn json_of(value: impl serde::Serialize) -> Value {
    serde_json::to_value(value).unwrap()
}

const PROVIDERS: [&str; 8] = ["harvester", "nutanix", "proxmox", "aws", "azure", "gcp", "local", "sandbox"];

#[test]
fn the_cluster_bootstrap_of_every_provider_and_topology() {
    for provider in PROVIDERS {
        for topology in ["single-node", "ha"] {
            if (provider, topology) == ("local", "ha") {
                continue;
            }
            let name = format!("cluster_bootstrap_{provider}_{topology}");
            insta::assert_json_snapshot!(name, cluster_bootstrap(&config(provider, topology, false)));
        }
    }
}

#[test]
fn the_provider_config_of_every_provider() {
    for provider in PROVIDERS {
        let config = config(provider, "single-node", false);
        let name = provider_name(&config);
        insta::assert_json_snapshot!(format!("provider_config_{provider}"), provider_config(&config, &name));
    }
}

#[test]
fn a_pool_for_tenants_becomes_an_object_and_a_reference() {
    let config = config("harvester", "ha", true);
    let pool = json_of(network_pool(&config).unwrap());
    assert_eq!(pool["metadata"]["name"], "mgmt-underlay");
    assert_eq!(
        pool["spec"],
        json!({
            "cidr": "192.168.7.0/24",
            "tenantAllocation": { "start": "192.168.7.100", "end": "192.168.7.200" },
        })
    );
    let provider = json_of(provider_config(&config, "harvester"));
    assert_eq!(provider["metadata"]["name"], "harvester");
    assert_eq!(
        provider["spec"]["network"],
        json!({ "mode": "ipam", "poolRefs": [{ "name": "mgmt-underlay", "priority": 1 }] })
    );
    assert_eq!(network_pool(&self::config("aws", "ha", false)), None);
}

#[test]
fn credentials_have_the_keys_that_drivers_look_for() {
    let expected: [(&str, &[&str]); 8] = [
        ("harvester", &["kubeconfig"]),
        ("nutanix", &["username", "password"]),
        ("proxmox", &["username", "password"]),
        ("aws", &["accessKeyID", "secretAccessKey"]),
        ("azure", &["clientID", "clientSecret", "tenantID", "subscriptionID", "securityGroupName"]),
        ("gcp", &["serviceAccountKey"]),
        ("local", &[]),
        ("sandbox", &["socket"]),
    ];
    for (provider, keys) in expected {
        let config = config(provider, "single-node", false);
        assert_eq!(credential_keys(&config), keys, "{provider}");
        let plain: Vec<&str> = plain_credentials(&config).into_iter().map(|(key, _)| key).collect();
        let given: BTreeMap<&'static str, Secret> = credential_keys(&config)
            .into_iter()
            .filter(|key| !plain.contains(key))
            .map(|key| (key, "x".into()))
            .collect();
        let Some(secret) = credentials(&config, &given) else {
            assert_eq!(provider, "local");
            continue;
        };
        assert_eq!(secret.metadata.name, Some(format!("mgmt-{provider}-credentials")));
        assert_eq!(secret.metadata.namespace.as_deref(), Some("butler-system"));
        let mut names: Vec<String> = secret.data.unwrap().into_keys().collect();
        let mut keys: Vec<&str> = keys.to_vec();
        names.sort();
        keys.sort_unstable();
        assert_eq!(names, keys, "{provider}");
    }
}

#[test]
fn time_servers_and_packet_size_become_patches() {
    let patches = cluster_bootstrap(&config("nutanix", "ha", false)).spec.talos.config_patches;
    let patches: Vec<(&str, &str)> =
        patches.iter().map(|patch| (patch.path.as_str(), patch.value.as_deref().unwrap())).collect();
    assert_eq!(
        patches,
        [
            ("/machine/time", r#"{"servers":["192.168.7.2"]}"#),
            (
                "/machine/network/interfaces",
                r#"[{"deviceSelector":{"physical":true},"dhcp":true,"mtu":1400}]"#
            ),
        ]
    );
    assert!(cluster_bootstrap(&config("aws", "ha", false)).spec.talos.config_patches.is_empty());
}
