//! How to sign in at a provider, and what of it is used.

use crate::bootstrap::wizard::{
    Resource, Show,
    question::{Ask, Question, flag, found, from, question, secret, text},
};

macro_rules! on {
    ($($provider:literal),+) => {
        |answers| Show::when(answers.on(&[$($provider),+]))
    };
}

/// Signing in at Proxmox VE.
const SIGN_IN: &[(&str, &str)] =
    &[("token", "an API token, which can be taken back alone"), ("password", "an account and its password")];

macro_rules! proxmox_by {
    ($way:literal) => {
        |answers| Show::when(answers.on(&["proxmox"]) && answers.text("signIn") == $way)
    };
}

pub(super) static CREDENTIALS: &[Question] = &[
    text("providerConfig.harvester.kubeconfigPath", "Kubeconfig")
        .note("a file that only you can read (0600)")
        .default(|_| "~/.butler/harvester.kubeconfig".to_owned())
        .show(on!("harvester")),
    text("providerConfig.nutanix.endpoint", "Prism Central").show(on!("nutanix")),
    text("providerConfig.nutanix.port", "Port").show(on!("nutanix")),
    flag("providerConfig.nutanix.insecure", "Skip its certificate").show(on!("nutanix")),
    text("providerConfig.nutanix.username", "Account").show(on!("nutanix")),
    from("providerConfig.nutanix.password.from", "Password").show(on!("nutanix")),
    secret("providerConfig.nutanix.password").show(on!("nutanix")),
    text("providerConfig.proxmox.endpoint", "Address").show(on!("proxmox")),
    flag("providerConfig.proxmox.insecure", "Skip its certificate").show(on!("proxmox")),
    question("signIn", "Sign in with", Ask::Choice(SIGN_IN)).show(on!("proxmox")),
    text("providerConfig.proxmox.token", "Token").show(proxmox_by!("token")),
    from("providerConfig.proxmox.tokenSecret.from", "Its secret").show(proxmox_by!("token")),
    secret("providerConfig.proxmox.tokenSecret").show(proxmox_by!("token")),
    text("providerConfig.proxmox.username", "Account").show(proxmox_by!("password")),
    from("providerConfig.proxmox.password.from", "Password").show(proxmox_by!("password")),
    secret("providerConfig.proxmox.password").show(proxmox_by!("password")),
    text("providerConfig.aws.accessKeyID", "Access key id").show(on!("aws")),
    from("providerConfig.aws.secretAccessKey.from", "Access key").show(on!("aws")),
    secret("providerConfig.aws.secretAccessKey").show(on!("aws")),
    text("providerConfig.aws.region", "Region").default(|_| "us-east-1".to_owned()).show(on!("aws")),
    text("providerConfig.azure.clientID", "Client id").show(on!("azure")),
    from("providerConfig.azure.clientSecret.from", "Client secret").show(on!("azure")),
    secret("providerConfig.azure.clientSecret").show(on!("azure")),
    text("providerConfig.azure.tenantID", "Tenant id").show(on!("azure")),
    text("providerConfig.azure.subscriptionID", "Subscription id").show(on!("azure")),
    text("providerConfig.gcp.serviceAccountKeyPath", "Key file")
        .note("JSON key of a service account; a file that only you can read (0600)")
        .default(|_| "~/.butler/gcp-key.json".to_owned())
        .show(on!("gcp")),
    text("providerConfig.gcp.projectID", "Project").show(on!("gcp")),
];

pub(super) static RESOURCES: &[Question] = &[
    found("providerConfig.harvester.namespace", "Namespace", Resource::Zones).show(on!("harvester")),
    found("providerConfig.harvester.networkName", "Network", Resource::Networks).show(on!("harvester")),
    found("providerConfig.harvester.imageName", "Image", Resource::Images).show(on!("harvester")),
    found("providerConfig.harvester.storageClassName", "Storage class", Resource::Storage)
        .show(on!("harvester")),
    found("providerConfig.nutanix.clusterUUID", "Cluster", Resource::Zones).show(on!("nutanix")),
    found("providerConfig.nutanix.subnetUUID", "Subnet", Resource::Networks).show(on!("nutanix")),
    found("providerConfig.nutanix.imageUUID", "Image", Resource::Images).show(on!("nutanix")),
    found("providerConfig.nutanix.storageContainerUUID", "Storage", Resource::Storage).show(on!("nutanix")),
    found("providerConfig.proxmox.nodes", "Nodes", Resource::Zones)
        .note("nodes that machines may be placed on, with commas between")
        .show(on!("proxmox")),
    found("providerConfig.proxmox.storage", "Storage", Resource::Storage).show(on!("proxmox")),
    found("providerConfig.proxmox.templateID", "Template", Resource::Images).show(on!("proxmox")),
    text("providerConfig.proxmox.vmidStart", "First id").show(on!("proxmox")),
    text("providerConfig.proxmox.vmidEnd", "Last id").show(on!("proxmox")),
    text("providerConfig.aws.vpcID", "VPC").show(on!("aws")),
    text("providerConfig.aws.subnetID", "Subnet").show(on!("aws")),
    text("providerConfig.aws.securityGroupID", "Security group").show(on!("aws")),
    text("providerConfig.azure.location", "Location").default(|_| "westeurope".to_owned()).show(on!("azure")),
    text("providerConfig.azure.resourceGroup", "Resource group").show(on!("azure")),
    text("providerConfig.azure.vnetName", "Virtual network").show(on!("azure")),
    text("providerConfig.azure.subnetName", "Subnet").show(on!("azure")),
    text("providerConfig.azure.securityGroupName", "Security group").show(on!("azure")),
    text("providerConfig.azure.vmSize", "Size of machines").show(on!("azure")),
    text("providerConfig.azure.imageURN", "Image").show(on!("azure")),
    text("providerConfig.gcp.region", "Region").default(|_| "europe-west3".to_owned()).show(on!("gcp")),
    text("providerConfig.gcp.zone", "Zone").show(on!("gcp")),
    text("providerConfig.gcp.network", "Network").default(|_| "default".to_owned()).show(on!("gcp")),
    text("providerConfig.gcp.subnetwork", "Subnetwork").show(on!("gcp")),
    text("providerConfig.gcp.machineType", "Machine type").show(on!("gcp")),
    text("providerConfig.gcp.image", "Image").show(on!("gcp")),
    text("providerConfig.gcp.imageProject", "Its project")
        .default(|answers| answers.text("providerConfig.gcp.projectID"))
        .show(on!("gcp")),
];
