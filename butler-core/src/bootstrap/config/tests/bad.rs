//! Files that are wrong, and what is said about them.

use proptest::prelude::*;
use rstest::rstest;

use super::*;
use crate::{
    bootstrap::config::keys::{Key, ROOT, Shape},
    error::{Code, Diagnose},
};

/// One mistake, one problem: the first line that is told, which is also the only one.
#[rstest]
// Missing.
#[case(
    "provider: nutanix\n",
    "",
    "error 1:1: `provider` is missing [add `provider:` with one of harvester, nutanix, proxmox, azure, aws, gcp, local, sandbox]"
)]
#[case(
    "  name: mgmt\n",
    "",
    "error 2:1: `cluster.name` is missing [add `name:` with a name of a-z, 0-9 and `-`, at most 63 long, with a letter or digit at both ends]"
)]
#[case(
    "replicas: 3, ",
    "",
    "error 5:3: `cluster.controlPlane.replicas` is missing [add `replicas: 1` or more]"
)]
#[case(
    "    password: hunter2\n",
    "",
    "error 11:3: `providerConfig.nutanix.password` is missing [add `password: {env: NAME}`]"
)]
#[case(
    "  vip: 172.20.8.20\n",
    "",
    "error 7:1: `network.vip` is missing: control planes of `ha` share an address [add `vip:` with a free address of the machines' network]"
)]
// Wrong type.
#[case("name: mgmt", "name: [mgmt]", "error 3:9: `cluster.name` must be text, not a list")]
#[case(
    "replicas: 3",
    "replicas: three",
    "error 5:28: `cluster.controlPlane.replicas` must be a whole number, not text"
)]
#[case(
    "replicas: 3",
    "replicas: 3.5",
    "error 5:28: `cluster.controlPlane.replicas` must be a whole number, not a number"
)]
#[case(
    "replicas: 3",
    "replicas: {a: 3}",
    "error 5:28: `cluster.controlPlane.replicas` must be a whole number, not a mapping"
)]
#[case("cluster:\n", "cluster: x\ncluster2:\n", "error 2:10: `cluster` must be a mapping, not text")]
#[case(
    "network:\n",
    "network:\n  jumboFrames: yes\n",
    "error 8:16: `network.jumboFrames` must be `true` or `false`, not text [write `true`]"
)]
#[case(
    "network:\n",
    "talos: {timeServers: 10.9.9.9}\nnetwork:\n",
    "error 7:22: `talos.timeServers` must be a list, not text [put it in brackets: [ … ]]"
)]
// Empty.
#[case(
    "name: mgmt",
    "name:",
    "error 3:3: `cluster.name` is empty [add `name:` with a name of a-z, 0-9 and `-`, at most 63 long, with a letter or digit at both ends]"
)]
#[case(
    "name: mgmt",
    "name: '  '",
    "error 3:3: `cluster.name` is empty [add `name:` with a name of a-z, 0-9 and `-`, at most 63 long, with a letter or digit at both ends]"
)]
#[case(
    "network:\n",
    "charts:\nnetwork:\n",
    "warning 7:1: `charts` is empty and counts as not given [give it a value, or remove it]"
)]
#[case("network:\n", "talos: {timeServers: [~]}\nnetwork:\n", "error 7:23: `talos.timeServers[0]` is empty")]
// Misspelt.
#[case(
    "topology: ha",
    "topolgy: ha",
    "error 4:3: `topolgy` is not a key of `cluster` [did you mean `topology`?]"
)]
#[case(
    "network:\n",
    "netwrok: {}\nnetwork:\n",
    "error 7:1: `netwrok` is not a key of the configuration [did you mean `network`?]"
)]
#[case("  vip:", "  Vpi: 1\n  vip:", "error 8:3: `Vpi` is not a key of `network` [did you mean `vip`?]")]
#[case(
    "start: 172.20.8.30",
    "start: 172.20.8.30, whatever: 1",
    "error 9:42: `whatever` is not a key of `network.loadBalancerPool` [known keys: start, end]"
)]
#[case(
    "topology: ha",
    "topology: single",
    "error 4:13: `cluster.topology` cannot be `single`: it is one of `single-node`, `ha`"
)]
#[case(
    "topology: ha",
    "topology: HA",
    "error 4:13: `cluster.topology` cannot be `HA`: it is one of `single-node`, `ha` [did you mean `ha`?]"
)]
#[case(
    "provider: nutanix",
    "provider: nutanx",
    "error 1:11: `provider` cannot be `nutanx`: it is one of `harvester`, `nutanix`, `proxmox`, `azure`, `aws`, `gcp`, `local`, `sandbox` [did you mean `nutanix`?]"
)]
// Given twice.
#[case(
    "  vip: 172.20.8.20\n",
    "  vip: 172.20.8.20\n  vip: 172.20.8.21\n",
    "error 9:3: `network.vip` is given a second time [keep one of them; the first is in line 8]"
)]
#[case(
    "  vip: 172.20.8.20\n",
    "  vip: 172.20.8.20\n  VIP: 172.20.8.21\n",
    "error 9:3: `network.VIP` is given a second time [keep one of them; the first is in line 8]"
)]
// Values.
#[case(
    "name: mgmt",
    "name: Mgmt_1",
    "error 3:9: `cluster.name` must be a name of a-z, 0-9 and `-`, at most 63 long, with a letter or digit at both ends, not `Mgmt_1` [write `mgmt-1`]"
)]
#[case(
    "replicas: 3",
    "replicas: 11",
    "error 5:28: `cluster.controlPlane.replicas` must be between 1 and 10, not 11"
)]
#[case(
    "replicas: 3",
    "replicas: 0",
    "error 5:28: `cluster.controlPlane.replicas` must be between 1 and 10, not 0"
)]
#[case("cpu: 4", "cpu: 129", "error 5:36: `cluster.controlPlane.cpu` must be between 1 and 128, not 129")]
#[case(
    "memoryMB: 8192",
    "memoryMB: 1024",
    "error 5:49: `cluster.controlPlane.memoryMB` must be at least 2048, not 1024"
)]
#[case("diskGB: 60", "diskGB: 19", "error 5:63: `cluster.controlPlane.diskGB` must be at least 20, not 19")]
#[case(
    "diskGB: 60",
    "diskGB: 99999999999999999999",
    "error 5:63: `cluster.controlPlane.diskGB` must be a whole number, not a number"
)]
#[case(
    "vip: 172.20.8.20",
    "vip: 172.20.8.20/24",
    "error 8:8: `network.vip` must be one address, not a network, not `172.20.8.20/24` [write `172.20.8.20`]"
)]
#[case(
    "vip: 172.20.8.20",
    "vip: prism",
    "error 8:8: `network.vip` must be an IPv4 address such as 192.168.50.10, not `prism`"
)]
#[case(
    "network:\n",
    "network:\n  podCIDR: 10.244.1.0/16\n",
    "error 8:12: `network.podCIDR` must be the first address of a /16, not `10.244.1.0/16` [write `10.244.0.0/16`]"
)]
#[case(
    "network:\n",
    "talos: {version: 1.12.1}\nnetwork:\n",
    "error 7:18: `talos.version` must be a version such as v1.12.1, not `1.12.1` [write `v1.12.1`]"
)]
#[case(
    "replicas: 3",
    "replicas: '3'",
    "warning 5:28: `cluster.controlPlane.replicas` is text [write `3`, without quotes]"
)]
// Refused, because nothing would come of it.
#[case(
    "network:\n",
    "addons: {console: {auth: {adminPassword: secret}}}\nnetwork:\n",
    "error 7:27: `addons.console.auth.adminPassword` is not supported: the console makes its own; read it from the Secret `butler-console-admin` after the bootstrap [remove it]"
)]
// The block of another provider.
#[case(
    "  nutanix:\n",
    "  aws: {region: x}\n  nutanix:\n",
    "error 11:3: `providerConfig.aws` does not go with provider `nutanix` [remove it; the block of this provider is `providerConfig.nutanix`]"
)]
#[case(
    "providerConfig:\n  nutanix:\n",
    "charts:\n  mirror:\n",
    "error 1:1: `providerConfig.nutanix` is missing [add `nutanix:` and its keys under `providerConfig:`]"
)]
fn one_mistake_is_one_problem(#[case] old: &str, #[case] new: &str, #[case] expected: &str) {
    let found = told(&with(NUTANIX, old, new));
    if found.len() > 1 {
        // A key that was replaced by another one takes what stands below it along.
        assert!(old.contains(":\n") && found.iter().any(|line| line == expected), "{found:#?}");
    } else {
        assert_eq!(found, [expected]);
    }
}

/// Fields that do not go together.
#[rstest]
// CIDRs.
#[case(
    "network:\n",
    "network:\n  podCIDR: 10.96.0.0/16\n",
    "error 8:12: `network.podCIDR` 10.96.0.0/16 and `network.serviceCIDR` 10.96.0.0/12 overlap [choose networks that have no address in common]"
)]
#[case(
    "vip: 172.20.8.20",
    "vip: 10.100.0.1",
    "error 8:8: `network.vip` 10.100.0.1 lies in `network.serviceCIDR` 10.96.0.0-10.111.255.255 [choose another one, or another `network.serviceCIDR`]"
)]
#[case(
    "start: 172.20.8.30, end: 172.20.8.49",
    "start: 10.243.255.250, end: 10.244.0.9",
    "error 9:21: `network.loadBalancerPool` 10.243.255.250-10.244.0.9 lies in `network.podCIDR` 10.244.0.0-10.244.255.255 [choose another one, or another `network.podCIDR`]"
)]
#[case(
    "providerConfig:",
    "networkPool: {cidr: 10.96.0.0/24}\nproviderConfig:",
    "error 10:21: `networkPool.cidr` 10.96.0.0-10.96.0.255 lies in `network.serviceCIDR` 10.96.0.0-10.111.255.255 [choose another one, or another `network.serviceCIDR`]"
)]
#[case(
    "providerConfig:",
    "providerNetwork: {mode: cloud, subnet: 10.244.8.0/24}\nproviderConfig:",
    "error 10:40: `providerNetwork.subnet` 10.244.8.0-10.244.8.255 lies in `network.podCIDR` 10.244.0.0-10.244.255.255 [choose another one, or another `network.podCIDR`]"
)]
// VIP and pool.
#[case(
    "vip: 172.20.8.20",
    "vip: 172.20.8.30",
    "error 8:8: `network.vip` 172.20.8.30 lies in `network.loadBalancerPool` 172.20.8.30-172.20.8.49 [choose an address outside: the pool would give it to a Service]"
)]
#[case(
    "vip: 172.20.8.20",
    "vip: 127.0.0.5",
    "error 8:8: `network.vip` 127.0.0.5 cannot be an address of these machines [write a free address of the machines' network]"
)]
#[case(
    "start: 172.20.8.30, end: 172.20.8.49",
    "start: 172.20.8.49, end: 172.20.8.30",
    "error 9:21: `network.loadBalancerPool` ends before it begins: 172.20.8.49 comes after 172.20.8.30 [write start 172.20.8.30 and end 172.20.8.49]"
)]
#[case(
    "end: 172.20.8.49",
    "end: 172.20.8.30",
    "error 9:21: `network.loadBalancerPool` has 1 address, and at least 2 are needed [ingress and each tenant, or the shared Gateway, take one]"
)]
// Sizes.
#[case(
    "network:\n",
    "network:\n  podCIDR: 10.50.0.0/22\n",
    "error 8:12: `network.podCIDR` 10.50.0.0/22 is too small: each of 5 machines needs a /24 [write a /16]"
)]
#[case(
    "network:\n",
    "network:\n  podCIDR: 10.50.0.0/25\n",
    "error 8:12: `network.podCIDR` 10.50.0.0/25 is too small: each of 5 machines needs a /24 [write a /16]"
)]
#[case(
    "network:\n",
    "network:\n  serviceCIDR: 10.64.0.0/11\n",
    "error 8:16: `network.serviceCIDR` 10.64.0.0/11 must be between /12 and /28 [write a /16]"
)]
// MTU.
#[case(
    "network:\n",
    "network:\n  mtu: 575\n",
    "error 8:8: `network.mtu` must be 0 or between 576 and 9000, not 575 [write 1500 or remove it]"
)]
#[case(
    "network:\n",
    "network:\n  mtu: 9001\n",
    "error 8:8: `network.mtu` must be between 0 and 9000, not 9001"
)]
#[case(
    "network:\n",
    "network:\n  mtu: 1501\n",
    "error 8:8: `network.mtu` is 1501, and `network.jumboFrames` does not say that the network passes it [add `jumboFrames: true` if every switch passes such packets]"
)]
// Topology and names.
#[case(
    "replicas: 3",
    "replicas: 2",
    "error 5:28: `cluster.controlPlane.replicas` is 2: etcd needs an odd number to outlive a failure [write 1 or 3]"
)]
#[case(
    "replicas: 3",
    "replicas: 1",
    "warning 5:28: `ha` with one control plane stops when that machine stops [write 3]"
)]
#[case(
    "replicas: 3",
    "replicas: 9",
    "warning 5:28: etcd becomes slow with more than 7 members [write 7 or fewer]"
)]
#[case(
    "name: mgmt",
    "name: a2345678901234567890123456789012345678901234567890123456",
    "error 3:9: `cluster.name` is too long: `a2345678901234567890123456789012345678901234567890123456-worker-1` would be no name of a machine [use at most 54 characters]"
)]
// Versions.
#[case(
    "network:\n",
    "talos: {version: v1.8.0}\nnetwork:\n",
    "error 7:18: `talos.version` v1.8.0 is too old: this version knows v1.9 to v1.13 [write v1.12.1]"
)]
#[case(
    "network:\n",
    "talos: {kubernetesVersion: v1.36.0}\nnetwork:\n",
    "error 7:28: Talos v1.12.1 does not run Kubernetes v1.36.0 [write a version from v1.30.0 to v1.35.x]"
)]
#[case(
    "network:\n",
    "talos: {version: v1.11.5, kubernetesVersion: v1.35.0}\nnetwork:\n",
    "error 7:46: Talos v1.11.5 does not run Kubernetes v1.35.0 [write a version from v1.29.0 to v1.34.x]"
)]
// Exposure.
#[case(
    "network:\n",
    "controlPlaneExposure: {mode: Ingress}\nnetwork:\n",
    "error 7:1: `controlPlaneExposure.hostname` is missing: mode `Ingress` needs it [add `hostname:` with a wildcard such as *.k8s.example.org]"
)]
#[case(
    "network:\n",
    "controlPlaneExposure: {mode: Gateway, hostname: '*.k.example.org'}\nnetwork:\n",
    "error 7:1: `controlPlaneExposure.gatewayRef` is missing: mode `Gateway` needs it [add `gatewayRef:` with `namespace/name`]"
)]
#[case(
    "network:\n",
    "controlPlaneExposure: {hostname: '*.k.example.org'}\nnetwork:\n",
    "warning 7:34: `controlPlaneExposure.hostname` is not looked at in mode `LoadBalancer` [remove it]"
)]
// Pools of tenants.
#[case(
    "providerConfig:",
    "networkPool: {cidr: 172.20.8.0/24, tenantAllocation: {start: 172.20.9.1, end: 172.20.9.99}}\nproviderConfig:",
    "error 10:54: `networkPool.tenantAllocation` 172.20.9.1-172.20.9.99 does not lie in `networkPool.cidr` 172.20.8.0-172.20.8.255 [choose addresses of the pool]"
)]
#[case(
    "providerConfig:",
    "networkPool: {cidr: 172.20.8.0/24, tenantAllocation: {start: 172.20.8.99, end: 172.20.8.60}}\nproviderConfig:",
    "error 10:54: `networkPool.tenantAllocation` ends before it begins: 172.20.8.99 comes after 172.20.8.60 [write start 172.20.8.60 and end 172.20.8.99]"
)]
#[case(
    "providerConfig:",
    "networkPool: {cidr: 172.20.8.0/24, tenantAllocation: {start: 172.20.8.100, end: 172.20.8.111}}\nproviderConfig:",
    "error 10:54: `networkPool.tenantAllocation` has 12 free addresses, and one tenant takes 13 [make it larger, or lower `defaults`]"
)]
#[case(
    "providerConfig:",
    "networkPool: {cidr: 172.20.8.0/24, tenantAllocation: {start: 172.20.8.40, end: 172.20.8.111}}\nproviderConfig:",
    "error 9:21: `network.loadBalancerPool` 172.20.8.40-172.20.8.49 lies in `networkPool.tenantAllocation` 172.20.8.40-172.20.8.111 [choose other addresses, or add them to `networkPool.reserved`]"
)]
#[case(
    "providerConfig:",
    "networkPool: {cidr: 172.20.8.0/24, reserved: [{cidr: 172.20.9.0/25}]}\nproviderConfig:",
    "error 10:46: `networkPool.reserved` 172.20.9.0/25 does not lie in `networkPool.cidr` 172.20.8.0-172.20.8.255 [reserve a part of the pool, or remove the block]"
)]
#[case(
    "providerConfig:",
    "networkPool: {cidr: 172.20.8.0/26, tenantAllocation: {start: 172.20.8.1, end: 172.20.8.19}}\nproviderConfig:",
    ""
)]
#[case(
    "providerConfig:",
    "networkPool: {cidr: 172.20.8.0/26, tenantAllocation: {start: 172.20.8.1, end: 172.20.8.19}, reserved: []}\nproviderConfig:",
    ""
)]
#[case(
    "providerConfig:",
    "networkPool: {cidr: 172.20.8.64/27, tenantAllocation: {start: 172.20.8.65, end: 172.20.8.92}}\nproviderConfig:",
    "error 10:21: `networkPool.cidr` leaves 2 addresses besides those of tenants, and the management cluster takes 6 [make the pool larger, or give tenants fewer addresses]"
)]
#[case(
    "providerConfig:",
    "providerNetwork: {mode: ipam}\nproviderConfig:",
    "error 10:25: mode `ipam` needs a pool, and there is none [add `networkPool:`, or name pools in `poolRefs`]"
)]
#[case(
    "providerConfig:",
    "providerNetwork: {mode: cloud, loadBalancer: {defaultPoolSize: 9}, quotaPerTenant: {maxLoadBalancerIPs: 8}}\nproviderConfig:",
    "error 10:64: `providerNetwork.loadBalancer.defaultPoolSize` is 9, and `providerNetwork.quotaPerTenant.maxLoadBalancerIPs` allows 8 [lower the size, or raise the limit]"
)]
// The runtime.
#[case(
    "network:\n",
    "bootstrapCluster: {runtime: process, kind: {image: x}}\nnetwork:\n",
    "warning 7:44: `bootstrapCluster.kind` is not looked at with runtime `process` [remove it]"
)]
fn fields_must_go_together(#[case] old: &str, #[case] new: &str, #[case] expected: &str) {
    let found = told(&with(NUTANIX, old, new));
    let expected: Vec<&str> = Some(expected).filter(|line| !line.is_empty()).into_iter().collect();
    assert_eq!(found, expected);
}

/// Rules of single providers.
#[rstest]
#[case(
    "aws",
    "name: mgmt-aws",
    "name: a-name-of-26-characters-xx",
    "error 5:9: `cluster.name` has 26 characters; with `ha` on AWS it may have 25 [use a shorter name: it becomes part of the load balancer's]"
)]
#[case(
    "aws",
    "    subnetID: subnet-0123456789abcdef0\n",
    "",
    "error 14:3: `providerConfig.aws.subnetID` is missing: the load balancer of `ha` needs it [add `subnetID:`]"
)]
#[case(
    "aws",
    "    region",
    "    ami: ami-1\n    region",
    "error 17:5: `providerConfig.aws.ami` is not supported: the image follows from `talos.version` and `talos.schematic` [remove it]"
)]
#[case(
    "aws",
    "talos:",
    "network: {vip: 10.9.0.1}\ntalos:",
    "warning 9:16: `network.vip` replaces the load balancer of the cloud as the cluster's address [remove it unless that is meant]"
)]
#[case(
    "azure",
    "vnetName: vnet-butler",
    "vnetName: rg/vnet-butler",
    "error 20:15: `providerConfig.azure.vnetName` must be a name without the path to it, not `rg/vnet-butler` [write `vnet-butler`]"
)]
#[case(
    "gcp",
    "name: mgmt-gcp",
    "name: 1gcp",
    "error 5:9: `cluster.name` begins with a digit, which Google Cloud refuses [begin with a letter]"
)]
#[case(
    "gcp",
    "    serviceAccountKeyPath: ~/.butler/gcp-sa.json   # mode 0600\n",
    "",
    "error 14:3: `providerConfig.gcp.serviceAccountKeyPath` is missing [add `serviceAccountKeyPath:` with the path of the file]"
)]
#[case(
    "harvester",
    "    namespace: platform\n",
    "    kubeconfig: {env: K}\n",
    "error 65:17: `providerConfig.harvester.kubeconfigPath` and `providerConfig.harvester.kubeconfig` are both given [keep one of them]"
)]
#[case(
    "proxmox",
    "    tokenSecret: {file: ~/.butler/pve-token}   # mode 0600\n",
    "",
    "error 17:3: `providerConfig.proxmox.tokenSecret` is missing: `token` is of no use without it [add `tokenSecret:`]"
)]
#[case(
    "proxmox",
    "vmidEnd: 760",
    "vmidEnd: 699",
    "error 27:14: `vmidEnd` 699 comes before `vmidStart` 700 [swap them]"
)]
#[case(
    "local",
    "topology: single-node",
    "topology: ha",
    "error 7:13: provider `local` has one node [write `topology: single-node`]"
)]
#[case(
    "local",
    "providerConfig:",
    "bootstrapCluster: {runtime: process}\nproviderConfig:",
    "error 13:29: provider `local` needs runtime `kind`: that cluster is the management cluster [write `kind`, or use provider `sandbox`]"
)]
#[case(
    "sandbox",
    "addons:",
    "talos: {version: v1.12.1, kubernetesVersion: v1.35.0}\naddons:",
    "warning 16:46: simulated machines run Kubernetes v1.34.4 whatever the file says [remove it]"
)]
#[case(
    "sandbox",
    "addons:",
    "talos: {version: v1.14.0}\naddons:",
    "warning 16:18: `talos.version` v1.14.0 is newer than this version knows (v1.9 to v1.13) [see that it accepts the version of Kubernetes]"
)]
fn providers_have_rules_of_their_own(
    #[case] example: &str,
    #[case] old: &str,
    #[case] new: &str,
    #[case] expected: &str,
) {
    let (_, text) = examples().into_iter().find(|(name, _)| *name == format!("{example}.yaml")).unwrap();
    let found = told(&with(&text, old, new));
    assert!(found.iter().any(|line| line == expected), "{found:#?}");
}

#[test]
fn every_problem_is_told_in_one_pass() {
    let text = "provider: nutanix
cluster:
  name: Mgmt
  toplogy: ha
  controlPlane: {replicas: 2, cpu: many, memoryMB: 8192, diskGB: 60}
network:
  vip: 172.20.8.20/24
  mtu: 9000
providerConfig:
  nutanix: {endpoint: prism.example.org, username: admin, password: hunter2}
";
    let found = problems(text);
    let paths: Vec<&str> = found.iter().map(|problem| problem.path.as_str()).collect();
    assert_eq!(
        paths,
        [
            "cluster.name",
            "cluster.toplogy",
            "cluster.controlPlane.replicas",
            "cluster.controlPlane.cpu",
            "network",
            "network.vip",
            "network.mtu",
            "providerConfig.nutanix.clusterUUID",
            "providerConfig.nutanix.subnetUUID",
        ]
    );
    let error = read_text(text).unwrap_err();
    assert_eq!((error.code(), error.kind().exit_code()), (Code::BootstrapConfigInvalid, 2));
    assert_eq!(error.to_string(), "the bootstrap configuration `bootstrap.yaml` has 8 errors");
    assert_eq!(error.problems().len(), 8, "the warning is no error");
    assert!(
        error.problems()[0].starts_with("bootstrap.yaml:3:9: `cluster.name` must be"),
        "{:?}",
        error.problems()
    );
}

#[test]
fn the_place_is_shown_in_its_line() {
    let found = problems(&with(NUTANIX, "172.20.8.20", "172.20.8.256"));
    let excerpt = found[0].excerpt.as_ref().unwrap();
    assert_eq!((excerpt.line.as_str(), excerpt.before, excerpt.width), ("  vip: 172.20.8.256", 7, 12));
    assert_eq!(found[0].text.as_deref(), Some("172.20.8.256"));
}

#[rstest]
#[case("cluster:\n\tname: x\n\ttopology: ha\n", &["2:1: the line is indented with a tab", "3:1: the line is indented with a tab"])]
#[case("cluster:\n  name: \"x\n", &["a quote is opened and never closed"])]
#[case("cluster: {name: x\n", &["`{` is opened and never closed"])]
#[case("cluster: [name: x\n", &["`[` is opened and never closed"])]
#[case("cluster:\n  name: x\n   topology: ha\n", &["3:"])]
#[case("cluster:\n  name: x: y\n", &["2:10: a second `:` stands where no key can be"])]
#[case("cluster:\n  name: @x\n", &["2:9: a value cannot begin with `@`"])]
#[case("cluster: *nothing\n", &["1:10: nothing before this line is called `&nothing`"])]
#[case("a: 1\n---\nb: 2\n", &["the file holds more than one document"])]
#[case("? [a]\n: b\n", &["a key must be a word, not a list"])]
#[case("", &["1:1: the file is empty"])]
#[case("# nothing\n", &["1:1: the file is empty"])]
#[case("~\n", &["1:1: the file is empty"])]
#[case("[]\n", &["the configuration must be a mapping, not a list"])]
#[case("just words\n", &["the configuration must be a mapping, not text"])]
#[case("<<: [1]\n", &["`<<` takes a mapping, not a number"])]
fn what_is_not_yaml_is_told_in_plain_words(#[case] text: &str, #[case] expected: &[&str]) {
    let found = told(text);
    for expected in expected {
        assert!(found.iter().any(|line| line.contains(expected)), "{found:#?}");
    }
}

#[test]
fn what_stands_before_a_syntax_error_is_checked_too() {
    let text = "provider: nutanix\nclustr: {}\nnetwork:\n  vip: \"1.2\n";
    let found = told(text);
    assert!(found[0].contains("`clustr` is not a key"), "{found:?}");
    assert!(found.iter().any(|line| line.contains("never closed")), "{found:?}");
    assert!(!found.iter().any(|line| line.contains("missing")), "what comes later is not missed: {found:?}");
}

#[test]
fn huge_and_deep_files_are_refused_at_once() {
    let start = std::time::Instant::now();
    let wide: String = (0..90_000).map(|n| format!("k{n}: 1\n")).collect();
    let list = format!("a: [{}]", "1, ".repeat(200_000));
    let aliases = format!("a: &a [1, 2]\nb: [{}]", "*a, ".repeat(100_000));
    let laughs: String = (1..30).fold("a0: &a0 [x, x]\n".to_owned(), |text, n| {
        text + &format!("a{n}: &a{n} [*a{0}, *a{0}, *a{0}, *a{0}]\n", n - 1)
    });
    let cases = [
        (format!("{MINIMAL}# {}", "x".repeat(10 << 20)), "larger than 1024 KiB"),
        ("[".repeat(500_000), "nested more than 48 deep"),
        ("{a: ".repeat(100_000), "nested more than 48 deep"),
        ((0..400).map(|n| format!("{}a:\n", " ".repeat(n))).collect(), "nested more than 48 deep"),
        (wide, "more than 20000 values"),
        (list, "more than 20000 values"),
        (aliases, "more than 20000 values"),
        (laughs, "more than 20000 values"),
        (format!("name: {}", "x".repeat(1_000_000)), "`name` is not a key"),
        (format!("{}: 1", "x".repeat(1000)), "is not a key"),
        (
            with(MINIMAL, "name: lab", &format!("name: {}", "x".repeat(900_000))),
            "`cluster.name` must be a name",
        ),
    ];
    for (text, expected) in cases {
        let found = told(&text);
        assert!(found.iter().any(|line| line.contains(expected)), "{expected}: {:?}", found.first());
        assert!(found.iter().all(|line| line.len() < 1000), "{expected}");
    }
    // Quadratic growth would take minutes.
    assert!(start.elapsed().as_secs() < 30, "{:?}", start.elapsed());
}

#[test]
fn a_flood_of_problems_is_cut() {
    let text = MINIMAL.to_owned() + &(0..5000).map(|n| format!("unknown{n}: 1\n")).collect::<String>();
    let found = told(&text);
    assert_eq!(found.len(), 101);
    assert!(found[100].ends_with("and 4900 more"), "{}", found[100]);
}

/// Replaces the value of one key by something of another type.
fn break_each(keys: &[Key], path: &str, found: &mut Vec<(String, &'static str)>) {
    for key in keys {
        let path = if path.is_empty() { key.name.to_owned() } else { format!("{path}.{}", key.name) };
        let wrong = match key.shape {
            Shape::Object(keys) => {
                break_each(keys, &path, found);
                "5"
            }
            Shape::Refused(_) => "5",
            Shape::List(_) => "{a: 1}",
            _ => "[[1]]",
        };
        found.push((path, wrong));
    }
}

#[test]
fn a_wrong_type_is_told_at_every_key() {
    let mut cases = Vec::new();
    break_each(ROOT, "", &mut cases);
    assert!(cases.len() > 150, "{}", cases.len());
    for (path, wrong) in cases {
        // The key alone, in the mappings around it.
        let text = path.split('.').rev().fold(wrong.to_owned(), |inner, name| format!("{{{name}: {inner}}}"));
        let provider = path.strip_prefix("providerConfig.").and_then(|rest| rest.split('.').next());
        let text = match provider {
            Some(provider) => format!("provider: {provider}\n{}", &text[1..text.len() - 1]),
            None if path == "provider" => text,
            None => format!("provider: sandbox\n{}", &text[1..text.len() - 1]),
        };
        let found = problems(&text);
        assert!(
            found.iter().any(|problem| problem.is_error() && problem.path.starts_with(&path)),
            "{text}: {found:?}"
        );
    }
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "\\PC{0,200}") {
        let _ = problems(&text);
    }

    #[test]
    fn no_yaml_makes_it_panic(text in "[-:{}\\[\\],&*!|>'\"%@`?# \t\n~<a-c0-9é]{0,120}") {
        let _ = problems(&text);
    }

    #[test]
    fn no_damage_to_a_good_file_makes_it_panic(
        at in 0..NUTANIX.len(),
        length in 0..40usize,
        new in "[-:{}\\[\\],&*\"' \t\n~a-z0-9./]{0,12}",
    ) {
        let end = (at + length).min(NUTANIX.len());
        let text = format!("{}{new}{}", &NUTANIX[..at], &NUTANIX[end..]);
        let found = problems(&text);
        for problem in &found {
            prop_assert!(problem.line >= 1 && problem.column >= 1);
        }
        // Whatever was damaged, the secret is not shown. (A piece of it that became a key may be.)
        if text.contains("password: hunter2\n") {
            prop_assert!(!format!("{found:?}").contains("hunter2"), "{found:?}\n{text}");
        }
    }
}
