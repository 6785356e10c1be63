//! Fields that are right alone and wrong together.

use rstest::rstest;

use super::*;

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
// What this version does not install.
#[case(
    "providerConfig:",
    "addons: {ingress: {type: nginx}}\nproviderConfig:",
    "error 10:26: `addons.ingress.type: nginx` is not installed by this version [write `traefik`, or `none` and install it yourself]"
)]
#[case(
    "providerConfig:",
    "addons: {controlPlaneProvider: {type: kamaji}}\nproviderConfig:",
    "error 10:39: `addons.controlPlaneProvider.type: kamaji` is not installed by this version [write `steward`, or `none` and install it yourself]"
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
#[case(
    "providerConfig:",
    "providerNetwork: {mode: cloud, gateway: 172.20.8.20}\nproviderConfig:",
    "error 8:8: `network.vip` 172.20.8.20 is the gateway's address [write a free address of the machines' network]"
)]
#[case(
    "providerConfig:",
    "providerNetwork: {mode: cloud, gateway: 172.20.8.31}\nproviderConfig:",
    "error 9:21: `providerNetwork.gateway` 172.20.8.31 lies in `network.loadBalancerPool` 172.20.8.30-172.20.8.49 [leave it out of the pool, which would give it to a Service]"
)]
#[case(
    "providerConfig:",
    "providerNetwork: {mode: cloud, gateway: 172.20.9.1, subnet: 172.20.8.0/24}\nproviderConfig:",
    "error 10:41: `providerNetwork.gateway` 172.20.9.1 does not lie in `providerNetwork.subnet` 172.20.8.0/24 [write the router of that network]"
)]
// Addresses that nobody can have.
#[case(
    "start: 172.20.8.30, end: 172.20.8.49",
    "start: 224.0.0.1, end: 224.0.0.9",
    "error 9:21: `network.loadBalancerPool` 224.0.0.1-224.0.0.9 has addresses of groups [choose other addresses]"
)]
#[case(
    "network:\n",
    "network:\n  podCIDR: 169.254.0.0/16\n",
    "error 8:12: `network.podCIDR` 169.254.0.0-169.254.255.255 has addresses of a single link [choose other addresses]"
)]
#[case(
    "network:\n",
    "network:\n  serviceCIDR: 127.16.0.0/16\n",
    "error 8:16: `network.serviceCIDR` 127.16.0.0-127.16.255.255 has addresses of a computer itself [choose other addresses]"
)]
// What would not come.
#[case(
    "providerConfig:",
    "addons: {loadBalancer: {type: none}}\nproviderConfig:",
    "warning 9:21: `network.loadBalancerPool` is not looked at: MetalLB, which gives it out, is not installed [remove it]"
)]
#[case(
    "providerConfig:",
    "addons: {butlerController: {enabled: false}}\nmultiTenancyMode: Enforced\nproviderConfig:",
    "warning 11:19: `multiTenancyMode` is not looked at: Butler's controllers are switched off [remove it]"
)]
#[case("providerConfig:", "addons: {controlPlaneHA: {type: kube-vip}}\nproviderConfig:", "")]
// An API and its port.
#[case(
    "endpoint: prism.example.org\n",
    "endpoint: prism.example.org:9441\n    port: 9440\n",
    "error 12:15: `providerConfig.nutanix.endpoint` has port 9441, and `providerConfig.nutanix.port` is 9440 [keep one of them]"
)]
#[case(
    "endpoint: prism.example.org\n",
    "endpoint: http://prism.example.org\n",
    "warning 12:15: `providerConfig.nutanix.endpoint` is plain HTTP: whoever is on the way reads the credentials [write https://]"
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
    "networkPool: {cidr: 172.20.8.16/28, tenantAllocation: {start: 172.20.8.21, end: 172.20.8.29, defaults: {lbPoolPerTenant: 2}}}\nproviderConfig:",
    "error 10:21: `networkPool.cidr` leaves 5 addresses besides those of tenants, and the management cluster takes 8 [make the pool larger, or give tenants fewer addresses]"
)]
// A network of the tenants' own has no room to leave.
#[case(
    "providerConfig:",
    "networkPool: {cidr: 172.20.9.0/24, tenantAllocation: {start: 172.20.9.1, end: 172.20.9.254}}\nproviderConfig:",
    ""
)]
// Blocks that lie in each other keep an address once, and two that touch keep what lies in both.
#[case(
    "providerConfig:",
    "networkPool: {cidr: 172.20.8.0/24, reserved: [{cidr: 172.20.8.64/26}, {cidr: 172.20.8.64/27}, {cidr: 172.20.8.64/28}], tenantAllocation: {start: 172.20.8.64, end: 172.20.8.160}}\nproviderConfig:",
    ""
)]
#[case(
    "providerConfig:",
    "networkPool: {cidr: 172.20.8.0/24, reserved: [{cidr: 172.20.8.0/27}, {cidr: 172.20.8.32/27}], tenantAllocation: {start: 172.20.8.1, end: 172.20.8.200}}\nproviderConfig:",
    ""
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
    "error 16:3: `providerConfig.aws.subnetID` is missing: the load balancer of `ha` needs it [add `subnetID:`]"
)]
#[case(
    "aws",
    "    region",
    "    ami: ami-1\n    region",
    "error 19:5: `providerConfig.aws.ami` is not supported: the image follows from `talos.version` and `talos.schematic` [remove it]"
)]
#[case(
    "aws",
    "talos:",
    "network: {vip: 10.9.0.1}\ntalos:",
    "warning 10:16: `network.vip` replaces the load balancer of the cloud as the cluster's address [remove it unless that is meant]"
)]
#[case(
    "aws",
    "talos:",
    "addons: {ingress: {enabled: true}, loadBalancer: {type: metallb}}\ntalos:",
    "warning 10:19: `addons.ingress` is not looked at: no ingress controller is installed on clouds [remove it]"
)]
#[case(
    "gcp",
    "talos:",
    "addons: {controlPlaneHA: {type: kube-vip}}\ntalos:",
    "warning 10:26: `addons.controlPlaneHA` is not looked at: control planes share no address of a network [remove it]"
)]
#[case(
    "local",
    "providerConfig:",
    "addons: {cni: {type: cilium}}\nproviderConfig:",
    "warning 26:15: `addons.cni` is not looked at: KIND brings a network of Pods [remove it]"
)]
#[case(
    "azure",
    "vnetName: vnet-butler",
    "vnetName: rg/vnet-butler",
    "error 22:15: `providerConfig.azure.vnetName` must be a name without the path to it, not `rg/vnet-butler` [write `vnet-butler`]"
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
    "error 16:3: `providerConfig.gcp.serviceAccountKeyPath` is missing [add `serviceAccountKeyPath:` with the path of the file]"
)]
#[case(
    "harvester",
    "    namespace: platform\n",
    "    kubeconfig: {env: K}\n",
    "error 63:17: `providerConfig.harvester.kubeconfigPath` and `providerConfig.harvester.kubeconfig` are both given [keep one of them]"
)]
#[case(
    "proxmox",
    "    tokenSecret: {file: ~/.butler/pve-token}   # mode 0600\n",
    "",
    "error 19:3: `providerConfig.proxmox.tokenSecret` is missing: `token` is of no use without it [add `tokenSecret:`]"
)]
#[case(
    "proxmox",
    "vmidEnd: 760",
    "vmidEnd: 699",
    "error 29:14: `vmidEnd` 699 comes before `vmidStart` 700 [swap them]"
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
    "error 26:29: provider `local` needs runtime `kind`: that cluster is the management cluster [write `kind`, or use provider `sandbox`]"
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
