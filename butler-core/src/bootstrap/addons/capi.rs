//! Cluster API, provider by provider. Each is a step that can be repeated, with a key of its own; the key
//! `capi` of older installations is recorded when everything that must answer does.
//!
//! What a provider publishes is applied as it is, with its variables filled in: there is nothing that
//! remembers "already installed" and would refuse the next try.

use serde_json::{Value, json};

use super::{AddonAction, AddonInput, PublishedManifests, charts, plan::Plan, versions};
use crate::api::common::ProviderKind;

/// Name of the core provider's manifests, without version.
pub(super) const CORE: &str = "cluster-api-core";

/// Deployments without which Cluster API is of no use.
const ANSWERS: [&str; 2] = [
    "deployment/capi-system/capi-controller-manager",
    "deployment/capi-kubeadm-bootstrap-system/capi-kubeadm-bootstrap-controller-manager",
];

pub(super) fn add(plan: &mut Plan, input: &AddonInput) {
    let block = input.addons().capi.as_ref();
    let version = charts::version(block.and_then(|block| block.version.as_ref()), versions::CLUSTER_API);
    let core = |name: &str, file: &str, namespace: &str| {
        let site = "https://github.com/kubernetes-sigs/cluster-api/releases/download";
        manifests(&format!("{name}-{version}"), format!("{site}/{version}/{file}"), &[namespace], Vec::new())
    };
    let certificates = &["cert-manager", "cilium"];
    plan.add(
        "capi-core",
        "Cluster API manages clusters",
        certificates,
        10,
        core(CORE, "core-components.yaml", "capi-system"),
    );
    plan.add(
        "capi-bootstrap-kubeadm",
        "Cluster API speaks kubeadm",
        &["capi-core"],
        10,
        core("cluster-api-bootstrap-kubeadm", "bootstrap-components.yaml", "capi-kubeadm-bootstrap-system"),
    );
    let mut needed = vec!["capi-core".to_owned(), "capi-bootstrap-kubeadm".to_owned()];
    if plan.has("steward") {
        let key = "capi-control-plane-steward";
        let version = versions::CAPI_STEWARD;
        let url = format!(
            "https://github.com/butlerdotdev/cluster-api-control-plane-provider-steward/releases/download/{version}/control-plane-components.yaml"
        );
        let action = manifests(&format!("cluster-api-control-plane-steward-{version}"), url, &[], Vec::new());
        plan.add(key, "Cluster API drives Steward", &["capi-core", "steward"], 10, action);
        needed.push(key.to_owned());
    }
    let further = block.map(|block| block.infrastructure_providers.as_slice()).unwrap_or_default();
    let own = input.kind().as_str();
    let others = further.iter().map(|provider| (provider.name.as_str(), provider.version.as_ref(), false));
    // The provider of the cluster itself may be named too, with a version.
    let named = others.clone().find(|(name, ..)| *name == own).and_then(|(_, version, _)| version);
    for (name, asked, is_own) in std::iter::once((own, named, true)).chain(others) {
        let key = format!("capi-infrastructure-{name}");
        if plan.has(&key) {
            continue;
        }
        let Some(action) = infrastructure(input, name, asked, version) else { continue };
        let step =
            plan.add(&key, &format!("Cluster API makes machines on {name}"), &["capi-core"], 10, action);
        // On clouds their webhooks may not be ready for their own objects; tenants there come later.
        step.optional = !is_own || input.is_cloud();
        if !step.optional {
            needed.push(key);
        }
    }
    let needed: Vec<_> = needed.iter().map(String::as_str).collect();
    let action = AddonAction::Objects { objects: Vec::new(), wait_for: ANSWERS.map(str::to_owned).into() };
    plan.add("capi", "Cluster API answers", &needed, 10, action);
}

/// What a provider publishes; none for a provider that Cluster API does not know.
fn infrastructure(input: &AddonInput, name: &str, asked: Option<&String>, core: &str) -> Option<AddonAction> {
    const COMPONENTS: &str = "infrastructure-components.yaml";
    let credential = |key: &str| json!({ "fromCredentials": key, "optional": true });
    let is_own = name == input.kind().as_str();
    let (project, pinned, file, namespace, variables) = match ProviderKind::from(name) {
        ProviderKind::Harvester => (
            "kubernetes-sigs/cluster-api-provider-kubevirt",
            versions::CAPI_KUBEVIRT,
            COMPONENTS,
            "capk-system",
            Vec::new(),
        ),
        ProviderKind::Nutanix => (
            "nutanix-cloud-native/cluster-api-provider-nutanix",
            versions::CAPI_NUTANIX,
            COMPONENTS,
            "capx-system",
            if is_own { nutanix(input) } else { Vec::new() },
        ),
        ProviderKind::Proxmox => {
            let endpoint = input.provider.proxmox.as_ref().map(|settings| json!(settings.endpoint));
            let variables = [
                ("PROXMOX_URL", endpoint.unwrap_or_default()),
                ("PROXMOX_TOKEN", credential("token")),
                ("PROXMOX_SECRET", credential("tokenSecret")),
            ];
            (
                "ionos-cloud/cluster-api-provider-proxmox",
                versions::CAPI_PROXMOX,
                COMPONENTS,
                "capmox-system",
                if is_own { named(variables) } else { Vec::new() },
            )
        }
        ProviderKind::Gcp => {
            let key = json!({ "fromCredentials": "serviceAccountKey", "encode": "base64", "optional": true });
            (
                "kubernetes-sigs/cluster-api-provider-gcp",
                versions::CAPI_GCP,
                COMPONENTS,
                "capg-system",
                named([("GCP_B64ENCODED_CREDENTIALS", key)]),
            )
        }
        ProviderKind::Aws => (
            "kubernetes-sigs/cluster-api-provider-aws",
            versions::CAPI_AWS,
            COMPONENTS,
            "capa-system",
            named([("AWS_B64ENCODED_CREDENTIALS", aws_profile(input))]),
        ),
        ProviderKind::Azure => (
            "kubernetes-sigs/cluster-api-provider-azure",
            versions::CAPI_AZURE,
            COMPONENTS,
            "capz-system",
            Vec::new(),
        ),
        ProviderKind::Local => (
            "kubernetes-sigs/cluster-api",
            core,
            "infrastructure-components-development.yaml",
            "capd-system",
            Vec::new(),
        ),
        _ => return None,
    };
    let version = charts::version(asked, pinned);
    let url = format!("https://github.com/{project}/releases/download/{version}/{file}");
    Some(manifests(&format!("cluster-api-infrastructure-{name}-{version}"), url, &[namespace], variables))
}

fn nutanix(input: &AddonInput) -> Vec<(String, Value)> {
    let settings = input.provider.nutanix.clone().unwrap_or_default();
    named([
        ("NUTANIX_ENDPOINT", json!(settings.endpoint)),
        ("NUTANIX_USER", json!({ "fromCredentials": "username" })),
        ("NUTANIX_PASSWORD", json!({ "fromCredentials": "password" })),
        ("NUTANIX_PORT", json!(settings.port.unwrap_or(9440).to_string())),
        ("NUTANIX_INSECURE", json!(settings.insecure.unwrap_or(false).to_string())),
        ("NUTANIX_ADDITIONAL_TRUST_BUNDLE", json!("")),
    ])
}

/// A profile in the form of `~/.aws/credentials`.
fn aws_profile(input: &AddonInput) -> Value {
    if *input.kind() != ProviderKind::Aws {
        return json!("");
    }
    let region = input.provider.aws.as_ref().map_or("", |settings| settings.region.as_str());
    json!({
        "joined": [
            "[default]\naws_access_key_id = ", { "fromCredentials": "accessKeyID" },
            "\naws_secret_access_key = ", { "fromCredentials": "secretAccessKey" },
            "\nregion = ", region, "\n",
        ],
        "encode": "base64",
    })
}

fn named<const N: usize>(variables: [(&str, Value); N]) -> Vec<(String, Value)> {
    variables.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn manifests(name: &str, url: String, available: &[&str], variables: Vec<(String, Value)>) -> AddonAction {
    AddonAction::Manifests(PublishedManifests {
        name: name.to_owned(),
        url,
        sha256: None,
        variables,
        established: Vec::new(),
        available: available.iter().map(|namespace| (*namespace).to_owned()).collect(),
    })
}
