//! `providerConfig`.

use crate::{
    api::{
        common::ProviderKind,
        provider_config::{
            AwsSettings, AzureSettings, GcpSettings, HarvesterSettings, NutanixSettings, ProxmoxSettings,
            VmidRange,
        },
    },
    bootstrap::config::{
        AwsConfig, AzureConfig, GcpConfig, HarvesterConfig, LocalConfig, NutanixConfig, ProviderSettings,
        ProxmoxConfig, ProxmoxCredentials, SandboxConfig, defaults, format, values::Object,
    },
};

/// The block of the provider; none when something required is missing, which has been told.
pub(super) fn settings(root: &Object, kind: &ProviderKind) -> Option<ProviderSettings> {
    let nothing = Object::default();
    let block = root.object(&format!("providerConfig.{kind}"));
    let block = match kind {
        ProviderKind::Local | ProviderKind::Sandbox => block.unwrap_or(&nothing),
        _ => block?,
    };
    Some(match kind {
        ProviderKind::Harvester => ProviderSettings::Harvester(harvester(block)?),
        ProviderKind::Nutanix => ProviderSettings::Nutanix(nutanix(block)?),
        ProviderKind::Proxmox => ProviderSettings::Proxmox(proxmox(block)?),
        ProviderKind::Aws => ProviderSettings::Aws(aws(block)?),
        ProviderKind::Azure => ProviderSettings::Azure(azure(block)?),
        ProviderKind::Gcp => ProviderSettings::Gcp(gcp(block)?),
        ProviderKind::Local => ProviderSettings::Local(LocalConfig {
            console_port: block
                .integer("consolePort")
                .and_then(|port| u16::try_from(port).ok())
                .unwrap_or(defaults::CONSOLE_PORT),
        }),
        ProviderKind::Sandbox => ProviderSettings::Sandbox(SandboxConfig { name: block.owned("name") }),
        ProviderKind::Unrecognized(_) => return None,
    })
}

fn harvester(block: &Object) -> Option<HarvesterConfig> {
    Some(HarvesterConfig {
        kubeconfig: block.secret("kubeconfig").or(block.secret("kubeconfigPath"))?.clone(),
        settings: HarvesterSettings {
            endpoint: block.text("endpoint").map(format::endpoint),
            namespace: block.owned("namespace"),
            network_name: block.owned("networkName")?,
            image_name: block.owned("imageName"),
            storage_class_name: block.owned("storageClassName"),
        },
    })
}

fn nutanix(block: &Object) -> Option<NutanixConfig> {
    // The definition has the port apart.
    let (endpoint, own_port) = format::split_port(block.text("endpoint")?);
    let port = block.int32("port").or(own_port.map(i32::from)).unwrap_or(defaults::PRISM_PORT);
    Some(NutanixConfig {
        username: block.secret("username")?.clone(),
        password: block.secret("password")?.clone(),
        settings: NutanixSettings {
            endpoint: format::endpoint(endpoint),
            port: Some(port),
            insecure: Some(block.flag("insecure").unwrap_or(false)),
            cluster_uuid: block.owned("clusterUUID")?,
            subnet_uuid: block.owned("subnetUUID")?,
            image_uuid: block.owned("imageUUID"),
            storage_container_uuid: block.owned("storageContainerUUID"),
        },
        host_aliases: block.texts("hostAliases"),
    })
}

fn proxmox(block: &Object) -> Option<ProxmoxConfig> {
    let token = block.secret("token").zip(block.secret("tokenSecret"));
    let password = block.secret("username").zip(block.secret("password"));
    let credentials = match (token, password) {
        (Some((token, secret)), _) => {
            ProxmoxCredentials::Token { token: token.clone(), token_secret: secret.clone() }
        }
        (None, Some((username, password))) => {
            ProxmoxCredentials::Password { username: username.clone(), password: password.clone() }
        }
        (None, None) => return None,
    };
    let ids = block.int32("vmidStart").zip(block.int32("vmidEnd"));
    Some(ProxmoxConfig {
        credentials,
        settings: ProxmoxSettings {
            endpoint: format::endpoint(block.text("endpoint")?),
            insecure: Some(block.flag("insecure").unwrap_or(false)),
            nodes: block.texts("nodes"),
            storage: block.owned("storage")?,
            template_id: block.int32("templateID"),
            vmid_range: ids.map(|(start, end)| VmidRange { start, end }),
        },
        host_aliases: block.texts("hostAliases"),
    })
}

fn aws(block: &Object) -> Option<AwsConfig> {
    Some(AwsConfig {
        access_key_id: block.secret("accessKeyID")?.clone(),
        secret_access_key: block.secret("secretAccessKey")?.clone(),
        settings: AwsSettings {
            region: block.owned("region")?,
            vpc_id: block.owned("vpcID"),
            subnet_ids: block.owned("subnetID").into_iter().collect(),
            security_group_ids: block.owned("securityGroupID").into_iter().collect(),
        },
    })
}

fn azure(block: &Object) -> Option<AzureConfig> {
    Some(AzureConfig {
        client_id: block.secret("clientID")?.clone(),
        client_secret: block.secret("clientSecret")?.clone(),
        tenant_id: block.secret("tenantID")?.clone(),
        security_group_name: block.owned("securityGroupName"),
        settings: AzureSettings {
            subscription_id: block.owned("subscriptionID")?,
            resource_group: block.owned("resourceGroup")?,
            location: block.owned("location"),
            vnet_name: block.owned("vnetName"),
            subnet_name: block.owned("subnetName"),
            vm_size: block.owned("vmSize"),
            image_urn: block.owned("imageURN"),
        },
    })
}

fn gcp(block: &Object) -> Option<GcpConfig> {
    let region = block.owned("region")?;
    Some(GcpConfig {
        service_account_key: block
            .secret("serviceAccountKey")
            .or(block.secret("serviceAccountKeyPath"))?
            .clone(),
        settings: GcpSettings {
            project_id: block.owned("projectID")?,
            zone: Some(block.owned("zone").unwrap_or_else(|| format!("{region}-a"))),
            region,
            network: block.owned("network"),
            subnetwork: block.owned("subnetwork"),
            machine_type: block.owned("machineType"),
            image: block.owned("image"),
            image_family: block.owned("imageFamily"),
            image_project: block.owned("imageProject"),
            service_account: block.owned("serviceAccount"),
            tags: block.texts("tags"),
        },
    })
}
