//! The blocks of `providerConfig`.

use super::{ANY, Key, Shape, key};
use crate::bootstrap::config::format::Format;

pub(super) static BLOCKS: &[Key] = &[
    key("harvester", Shape::Object(HARVESTER), "Harvester."),
    key("nutanix", Shape::Object(NUTANIX), "Nutanix Prism Central."),
    key("proxmox", Shape::Object(PROXMOX), "Proxmox VE."),
    key("azure", Shape::Object(AZURE), "Microsoft Azure."),
    key("aws", Shape::Object(AWS), "Amazon Web Services."),
    key("gcp", Shape::Object(GCP), "Google Cloud."),
    key(
        "local",
        Shape::Object(LOCAL),
        "KIND on this computer: the temporary cluster stays and is the management cluster.",
    ),
    key("sandbox", Shape::Object(SANDBOX), "Simulated machines on this computer."),
];

const HOST_ALIASES: Key = key(
    "hostAliases",
    Shape::List(&Shape::Text(Format::HostAlias)),
    "Names that the temporary cluster must resolve itself, as in a hosts file: `address name`.",
);
const INSECURE: Key = key("insecure", Shape::Flag, "Do not check its certificate.").default("false");

static HARVESTER: &[Key] = &[
    key("kubeconfigPath", Shape::File, "File with the kubeconfig of the Harvester cluster."),
    key("kubeconfig", Shape::Secret, "The kubeconfig itself, by reference; instead of `kubeconfigPath`."),
    key("endpoint", Shape::Text(Format::Endpoint), "Address of its API; the kubeconfig's when not given."),
    key("namespace", Shape::Text(Format::Label), "Namespace for machines.").default(r#""default""#),
    key("networkName", Shape::Text(Format::NamespacedName), "Network of machines, as `namespace/name`.")
        .required(),
    key("imageName", Shape::Text(Format::NamespacedName), "Image of machines, as `namespace/name`."),
    key("storageClassName", Shape::Text(Format::BareName), "Storage class of disks."),
];

static NUTANIX: &[Key] = &[
    key("endpoint", Shape::Text(Format::Endpoint), "Address of Prism Central.").required(),
    key("port", Shape::Integer(1, 65535), "Port of Prism Central.").default("9440"),
    INSECURE,
    key("username", Shape::Identity, "The account.").required(),
    key("password", Shape::Secret, "Its password.").required(),
    key("clusterUUID", Shape::Text(Format::Uuid), "Cluster that runs the machines.").required(),
    key("subnetUUID", Shape::Text(Format::Uuid), "Subnet of machines.").required(),
    key("imageUUID", Shape::Text(Format::Uuid), "Image of machines."),
    key("storageContainerUUID", Shape::Text(Format::Uuid), "Storage container of disks."),
    HOST_ALIASES,
];

static PROXMOX: &[Key] = &[
    key("endpoint", Shape::Text(Format::Endpoint), "Address of its API.").required(),
    INSECURE,
    key("username", Shape::Identity, "The account, `name@realm`."),
    key("password", Shape::Secret, "Its password."),
    key("token", Shape::Identity, "An API token, `name@realm!token`; instead of `username`."),
    key("tokenSecret", Shape::Secret, "Secret of the token; instead of `password`."),
    key("nodes", Shape::List(&Shape::Text(Format::Label)), "Nodes that machines may be placed on.")
        .required(),
    key("storage", ANY, "Storage of disks.").required(),
    key("templateID", Shape::Integer(100, 999_999_999), "Template that machines are cloned from."),
    key("vmidStart", Shape::Integer(100, 999_999_999), "First id that machines may have."),
    key("vmidEnd", Shape::Integer(100, 999_999_999), "Last id that machines may have."),
    HOST_ALIASES,
];

static AZURE: &[Key] = &[
    key("clientID", Shape::Identity, "The application.").required(),
    key("clientSecret", Shape::Secret, "Its secret.").required(),
    key("tenantID", Shape::Identity, "Its directory.").required(),
    key("subscriptionID", ANY, "The subscription.").required(),
    key("resourceGroup", Shape::Text(Format::BareName), "The resource group.").required(),
    key("location", Shape::Text(Format::BareName), "The region.").required(),
    key("vnetName", Shape::Text(Format::BareName), "The virtual network, without its group."),
    key("subnetName", Shape::Text(Format::BareName), "The subnet."),
    key("securityGroupName", Shape::Text(Format::BareName), "The network security group."),
    key("vmSize", Shape::Text(Format::BareName), "Size of machines."),
    key("imageURN", ANY, "Image of machines: `publisher:offer:sku:version`, or the id of an image."),
];

static AWS: &[Key] = &[
    key("accessKeyID", Shape::Identity, "Id of the access key.").required(),
    key("secretAccessKey", Shape::Secret, "The access key.").required(),
    key("region", Shape::Text(Format::BareName), "The region.").required(),
    key("vpcID", Shape::Text(Format::BareName), "The VPC; needed in `ha`."),
    key("subnetID", Shape::Text(Format::BareName), "Subnet of machines; needed in `ha`."),
    key("securityGroupID", Shape::Text(Format::BareName), "Security group of machines."),
    key(
        "instanceType",
        Shape::Refused("machines get the type that fits `cpu` and `memoryMB`"),
        "Not supported.",
    ),
    key(
        "ami",
        Shape::Refused("the image follows from `talos.version` and `talos.schematic`"),
        "Not supported.",
    ),
];

static GCP: &[Key] = &[
    key("serviceAccountKeyPath", Shape::File, "File with the JSON key of a service account."),
    key(
        "serviceAccountKey",
        Shape::Secret,
        "The key itself, by reference; instead of `serviceAccountKeyPath`.",
    ),
    key("projectID", Shape::Text(Format::BareName), "The project.").required(),
    key("region", Shape::Text(Format::Label), "The region.").required(),
    key("zone", Shape::Text(Format::Label), "The zone; `<region>-a` when not given."),
    key("network", Shape::Text(Format::BareName), "The VPC network.").required(),
    key("subnetwork", Shape::Text(Format::BareName), "The subnetwork."),
    key("machineType", Shape::Text(Format::BareName), "Type of machines."),
    key("imageProject", Shape::Text(Format::BareName), "Project that holds the image."),
    key("imageFamily", Shape::Text(Format::BareName), "Family whose newest image is used."),
    key("image", Shape::Text(Format::BareName), "Image of machines; preferred over the family."),
    key("serviceAccount", ANY, "Service account of machines."),
    key("tags", Shape::List(&Shape::Text(Format::Label)), "Network tags of machines."),
];

static LOCAL: &[Key] =
    &[key("consolePort", Shape::Integer(1, 65535), "Port of this computer on which the console answers.")
        .default("8080")];

static SANDBOX: &[Key] = &[key(
    "name",
    Shape::Text(Format::Label),
    "Sandbox whose machines are used; one named after the cluster is made when not given.",
)];
