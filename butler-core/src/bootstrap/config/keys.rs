//! Every key of the configuration, in one table. The loader and the schema are views of it, so neither
//! knows a key that the other does not.

mod provider;

use super::format::Format;
use crate::api::{
    butler_config::MultiTenancyMode,
    cluster_bootstrap::{
        BootstrapCniType, BootstrapGitOpsType, BootstrapIngressType, BootstrapLoadBalancerType,
        BootstrapStorageType, ControlPlaneHaType, ControlPlaneProviderType, Topology,
    },
    common::{ExposureMode, IngressControllerType, ProviderKind},
    provider_config::{AllocationMode, ProviderNetworkMode},
};

/// One key.
#[derive(Clone, Copy, Debug)]
pub(super) struct Key {
    /// Its name, spelled as in the documentation.
    pub name: &'static str,
    /// What stands there.
    pub shape: Shape,
    /// What it is for.
    pub doc: &'static str,
    /// Whether its mapping is wrong without it.
    pub required: bool,
    /// What counts when it is not given, as JSON.
    pub default: Option<&'static str>,
    /// Whether an empty value is as good as none, without a word about it.
    pub may_be_empty: bool,
}

/// What stands at a key.
#[derive(Clone, Copy, Debug)]
pub(super) enum Shape {
    /// A text.
    Text(Format),
    /// One of these.
    Choice(&'static [&'static str]),
    /// A whole number, both ends included.
    Integer(i64, i64),
    /// `true` or `false`.
    Flag,
    /// A secret, or where it is.
    Secret,
    /// A text that is no secret by itself but goes with one; also by reference.
    Identity,
    /// A path of a file on this computer.
    File,
    /// A list of these.
    List(&'static Self),
    /// A mapping with these keys.
    Object(&'static [Key]),
    /// Known, and refused: the reason.
    Refused(&'static str),
}

const fn key(name: &'static str, shape: Shape, doc: &'static str) -> Key {
    Key { name, shape, doc, required: false, default: None, may_be_empty: false }
}

impl Key {
    const fn required(mut self) -> Self {
        self.required = true;
        self
    }

    const fn default(mut self, json: &'static str) -> Self {
        self.default = Some(json);
        self
    }

    const fn may_be_empty(mut self) -> Self {
        self.may_be_empty = true;
        self
    }
}

const ANY: Shape = Shape::Text(Format::Any);
const I32: Shape = Shape::Integer(1, i32::MAX as i64);

/// The whole file.
pub(super) static ROOT: &[Key] = &[
    key(
        "provider",
        Shape::Choice(ProviderKind::VALUES),
        "Where machines come from. May be left out when the command names it.",
    ),
    key("cluster", Shape::Object(CLUSTER), "The management cluster.").required(),
    key("network", Shape::Object(NETWORK), "Its networks."),
    key("talos", Shape::Object(TALOS), "Its operating system and Kubernetes."),
    key("addons", Shape::Object(ADDONS), "What is installed on it."),
    key("charts", Shape::Object(CHARTS), "Where charts of addons come from."),
    key(
        "controlPlaneExposure",
        Shape::Object(EXPOSURE),
        "How the API servers of tenants are published, unless a tenant says otherwise. One address for each when not given.",
    ),
    key(
        "multiTenancyMode",
        Shape::Choice(MultiTenancyMode::VALUES),
        "How strictly clusters belong to teams.",
    ),
    key("networkPool", Shape::Object(NETWORK_POOL), "The first pool of addresses for tenants."),
    key("providerNetwork", Shape::Object(PROVIDER_NETWORK), "How machines of tenants get addresses."),
    key(
        "providerConfig",
        Shape::Object(provider::BLOCKS),
        "Settings of the provider: one block, named like it.",
    ),
    key(
        "bootstrapCluster",
        Shape::Object(BOOTSTRAP_CLUSTER),
        "The temporary cluster that makes the management cluster.",
    ),
];

static CLUSTER: &[Key] = &[
    key(
        "name",
        Shape::Text(Format::Label),
        "Name of the cluster, and the first part of its machines' names.",
    )
    .required(),
    key(
        "topology",
        Shape::Choice(Topology::VALUES),
        "`single-node`: one machine does everything. `ha`: control plane and workers apart.",
    )
    .default(r#""ha""#),
    key("controlPlane", Shape::Object(CONTROL_PLANE), "Machines of the control plane.").required(),
    key("workers", Shape::Object(WORKERS), "Machines for workloads. Ignored for `single-node`."),
];

static CONTROL_PLANE: &[Key] = &[
    key(
        "replicas",
        Shape::Integer(1, 10),
        "How many: an odd number in `ha`, where it is needed; one on a single node.",
    ),
    key("cpu", Shape::Integer(1, 128), "Cores of each.").required(),
    key("memoryMB", Shape::Integer(2048, i32::MAX as i64), "Memory of each, in MB.").required(),
    key("diskGB", Shape::Integer(20, i32::MAX as i64), "Root disk of each, in GB.").required(),
    key("extraDisks", Shape::List(&Shape::Object(EXTRA_DISK)), "Further disks of each."),
];

static WORKERS: &[Key] = &[
    key("replicas", Shape::Integer(0, 10), "How many; with 0 there are none, and nothing else is needed.")
        .required(),
    key("cpu", Shape::Integer(1, 128), "Cores of each."),
    key("memoryMB", Shape::Integer(2048, i32::MAX as i64), "Memory of each, in MB."),
    key("diskGB", Shape::Integer(20, i32::MAX as i64), "Root disk of each, in GB."),
    key("extraDisks", Shape::List(&Shape::Object(EXTRA_DISK)), "Further disks of each."),
];

static EXTRA_DISK: &[Key] = &[
    key("sizeGB", I32, "Size in GB.").required(),
    key("storageClass", ANY, "Storage class of the provider."),
];

static NETWORK: &[Key] = &[
    key("podCIDR", Shape::Text(Format::Cidr), "Addresses of Pods.").default(r#""10.244.0.0/16""#),
    key("serviceCIDR", Shape::Text(Format::Cidr), "Addresses of Services.").default(r#""10.96.0.0/12""#),
    key(
        "vip",
        Shape::Text(Format::Ipv4),
        "Address that control planes hand among themselves; clouds have a load balancer instead.",
    )
    .may_be_empty(),
    key(
        "vipInterface",
        Shape::Text(Format::Interface),
        "Network card that carries the address; the provider's usual one when not given.",
    ),
    key("loadBalancerPool", Shape::Object(RANGE), "Addresses for Services of type LoadBalancer."),
    key(
        "mtu",
        Shape::Integer(0, 9000),
        "Largest packet: 576 to 9000, or 0 for the network's own. More than 1500 needs `jumboFrames`.",
    )
    .default("0"),
    key("jumboFrames", Shape::Flag, "Says that every switch on the way passes packets of more than 1500.")
        .default("false"),
];

static RANGE: &[Key] = &[
    key("start", Shape::Text(Format::Ipv4), "First address.").required(),
    key("end", Shape::Text(Format::Ipv4), "Last address.").required(),
];

static TALOS: &[Key] = &[
    key("version", Shape::Text(Format::Version), "Version of Talos; v1.11.5 for `sandbox`.")
        .default(r#""v1.12.1""#),
    key("schematic", ANY, "The image factory's name for a set of extensions.")
        .default(r#""""#)
        .may_be_empty(),
    key(
        "kubernetesVersion",
        Shape::Text(Format::Version),
        "Version of Kubernetes; the one that goes with the version of Talos when not given.",
    ),
    key("installDisk", Shape::Text(Format::Device), "Disk that Talos installs itself on.")
        .default(r#""/dev/vda""#),
    key(
        "timeServers",
        Shape::List(&Shape::Text(Format::HostOrIp)),
        "Time servers; Talos' own when not given.",
    ),
];

static ADDONS: &[Key] = &[
    key("cni", Shape::Object(CNI), "Pod network."),
    key("storage", Shape::Object(STORAGE), "Storage."),
    key("loadBalancer", Shape::Object(LOAD_BALANCER), "Load balancer."),
    key(
        "controlPlaneHA",
        Shape::Object(CONTROL_PLANE_HA),
        "What holds the API's shared address once the cluster is there: Talos does until then, and with `none` for good.",
    ),
    key("certManager", Shape::Object(SWITCH), "cert-manager."),
    key("ingress", Shape::Object(INGRESS), "Ingress."),
    key(
        "controlPlaneProvider",
        Shape::Object(CONTROL_PLANE_PROVIDER),
        "What hosts the control planes of tenants.",
    ),
    key("capi", Shape::Object(SWITCH), "Cluster API."),
    key("butlerController", Shape::Object(BUTLER_CONTROLLER), "Butler's own controllers."),
    key("catalog", Shape::Object(CATALOG), "Catalog of addons for tenants."),
    key("console", Shape::Object(CONSOLE), "Butler's web console."),
    key("gitOps", Shape::Object(GIT_OPS), "GitOps engine; none when not given."),
];

const ENABLED: Key = key("enabled", Shape::Flag, "Whether to install it.").default("true");
const VERSION: Key = key("version", ANY, "Its version; the one of the catalog when not given.");

static SWITCH: &[Key] = &[ENABLED, VERSION];

static CNI: &[Key] = &[
    key(
        "type",
        Shape::Choice(BootstrapCniType::VALUES),
        "Which one; `none` for `local` and `sandbox` unless given.",
    )
    .default(r#""cilium""#),
    VERSION,
    key("hubbleEnabled", Shape::Flag, "Install Hubble with it.").default("true"),
];

static STORAGE: &[Key] = &[
    key(
        "type",
        Shape::Choice(BootstrapStorageType::VALUES),
        "Which one; `none` for `local` and `sandbox` unless given.",
    )
    .default(r#""longhorn""#),
    VERSION,
    key("replicaCount", Shape::Integer(1, 10), "Copies of each volume; one on a single node.").default("3"),
];

static LOAD_BALANCER: &[Key] = &[
    key(
        "type",
        Shape::Choice(BootstrapLoadBalancerType::VALUES),
        "Which one; `none` for clouds and `sandbox` unless given.",
    )
    .default(r#""metallb""#),
    key("addressPool", Shape::Text(Format::Range), "Old spelling of `network.loadBalancerPool`, which wins."),
];

static CONTROL_PLANE_HA: &[Key] =
    &[key("type", Shape::Choice(ControlPlaneHaType::VALUES), "Which one.").default(r#""kube-vip""#), VERSION];

static INGRESS: &[Key] = &[
    ENABLED,
    key("type", Shape::Choice(BootstrapIngressType::VALUES), "Which one.").default(r#""traefik""#),
    VERSION,
];

static CONTROL_PLANE_PROVIDER: &[Key] = &[
    ENABLED,
    key("type", Shape::Choice(ControlPlaneProviderType::VALUES), "Which one.").default(r#""steward""#),
    VERSION,
];

static BUTLER_CONTROLLER: &[Key] = &[
    ENABLED,
    key("version", ANY, "Tag of the image."),
    key("image", ANY, "Image; a tag in it counts as `version`."),
];

static CATALOG: &[Key] = &[ENABLED];

static CONSOLE: &[Key] = &[
    ENABLED,
    key("version", ANY, "Version of its chart.").default(r#""0.14.1""#),
    key("ingress", Shape::Object(CONSOLE_INGRESS), "How it is published."),
    key("auth", Shape::Object(CONSOLE_AUTH), "Not used."),
];

static CONSOLE_INGRESS: &[Key] = &[
    key("enabled", Shape::Flag, "Publish it by an Ingress.").default("false"),
    key("host", Shape::Text(Format::Host), "Host name; `butler.<cluster>.local` when not given."),
    key("className", ANY, "Ingress class."),
    key("tls", Shape::Flag, "Serve it over TLS.").default("false"),
    key(
        "tlsSecretName",
        Shape::Text(Format::Label),
        "Secret with the certificate; `butler-console-tls` when not given.",
    ),
];

const NO_PASSWORD: &str =
    "the console makes its own; read it from the Secret `butler-console-admin` after the bootstrap";

static CONSOLE_AUTH: &[Key] = &[
    key("adminPassword", Shape::Refused(NO_PASSWORD), "Not supported."),
    key("jwtSecret", Shape::Refused(NO_PASSWORD), "Not supported."),
];

static GIT_OPS: &[Key] =
    &[ENABLED, key("type", Shape::Choice(BootstrapGitOpsType::VALUES), "Which one.").default(r#""flux""#)];

static CHARTS: &[Key] = &[key(
    "mirror",
    Shape::Text(Format::Mirror),
    "A directory, `https://` address or `oci://` prefix that stands in for every repository of charts. A \
     directory that is not absolute is one beside the configuration file.",
)];

static EXPOSURE: &[Key] = &[
    key(
        "mode",
        Shape::Choice(ExposureMode::VALUES),
        "`LoadBalancer`: an address for each tenant. `Ingress`, `Gateway`: one shared address.",
    )
    .default(r#""LoadBalancer""#),
    key(
        "hostname",
        Shape::Text(Format::Host),
        "Wildcard domain from which tenants get names; needed unless the mode is `LoadBalancer`.",
    ),
    key("ingressClassName", ANY, "Ingress class; mode `Ingress` only."),
    key(
        "controllerType",
        Shape::Choice(IngressControllerType::VALUES),
        "Which ingress controller answers; mode `Ingress` only.",
    ),
    key(
        "gatewayRef",
        Shape::Text(Format::NamespacedName),
        "The Gateway, as `namespace/name`; mode `Gateway` only.",
    ),
];

static NETWORK_POOL: &[Key] = &[
    key("name", Shape::Text(Format::Label), "Its name; `<cluster>-underlay` when not given."),
    key("cidr", Shape::Text(Format::Cidr), "The whole network.").required(),
    key("reserved", Shape::List(&Shape::Object(RESERVED)), "Blocks that tenants never get."),
    key("tenantAllocation", Shape::Object(TENANT_ALLOCATION), "The part that tenants get."),
];

static RESERVED: &[Key] = &[
    key("cidr", Shape::Text(Format::Cidr), "The block.").required(),
    key("description", ANY, "Why it is kept back."),
];

static TENANT_ALLOCATION: &[Key] = &[
    key("start", Shape::Text(Format::Ipv4), "First address.").required(),
    key("end", Shape::Text(Format::Ipv4), "Last address.").required(),
    key("defaults", Shape::Object(ALLOCATION_DEFAULTS), "Sizes for tenants that ask for none."),
];

static ALLOCATION_DEFAULTS: &[Key] = &[
    key(
        "lbPoolPerTenant",
        Shape::Integer(0, 65536),
        "Addresses of load balancers; 0 is as good as not given.",
    )
    .default("8"),
    key("nodesPerTenant", Shape::Integer(0, 65536), "Addresses of nodes; 0 is as good as not given.")
        .default("5"),
];

static PROVIDER_NETWORK: &[Key] = &[
    key(
        "mode",
        Shape::Choice(ProviderNetworkMode::VALUES),
        "`ipam`: addresses from Butler's pools. `cloud`: from the provider.",
    )
    .required(),
    key(
        "poolRefs",
        Shape::List(&Shape::Object(POOL_REF)),
        "Pools to take addresses from; `networkPool` when not given.",
    ),
    key("gateway", Shape::Text(Format::Ipv4), "Gateway of the machines' network."),
    key("dnsServers", Shape::List(&Shape::Text(Format::Ip)), "DNS servers of machines."),
    key("subnet", ANY, "The machines' network: a CIDR, or the provider's name for it."),
    key(
        "loadBalancer",
        Shape::Object(TENANT_LOAD_BALANCER),
        "How many load balancer addresses a tenant gets.",
    ),
    key("quotaPerTenant", Shape::Object(QUOTA), "Limits for each tenant."),
];

static POOL_REF: &[Key] = &[
    key("name", Shape::Text(Format::Label), "Name of the pool.").required(),
    key("priority", Shape::Integer(0, i32::MAX as i64), "Lower ones are used first.").default("0"),
];

static TENANT_LOAD_BALANCER: &[Key] = &[
    key(
        "allocationMode",
        Shape::Choice(AllocationMode::VALUES),
        "`static`: a block of fixed size. `elastic`: blocks added as they are needed.",
    )
    .default(r#""static""#),
    key("initialPoolSize", Shape::Integer(0, 65536), "Size of the first block when blocks grow."),
    key("defaultPoolSize", Shape::Integer(0, 65536), "Size of the fixed block."),
    key("growthIncrement", Shape::Integer(0, 65536), "Smallest step of growth."),
];

static QUOTA: &[Key] = &[
    key("maxLoadBalancerIPs", Shape::Integer(0, 65536), "Addresses of load balancers; 0 for no limit."),
    key("maxNodeIPs", Shape::Integer(0, 65536), "Addresses of nodes; 0 for no limit."),
];

static BOOTSTRAP_CLUSTER: &[Key] = &[
    key("runtime", Shape::Choice(&["kind", "process"]), "`kind`: the kind program and a container engine. `process`: etcd and kube-apiserver as children of this program.").default(r#""kind""#),
    key("kind", Shape::Object(KIND), "Settings of KIND."),
];

static KIND: &[Key] = &[
    key("image", ANY, "Node image; the one that `kind` prefers when not given."),
    key(
        "nameServers",
        Shape::List(&Shape::Text(Format::Ip)),
        "Name servers besides those of this computer. None is ever added unasked.",
    ),
];
