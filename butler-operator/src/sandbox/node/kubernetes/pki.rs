//! The files of a control plane: certificates from the authorities of the machine configuration,
//! kubeconfigs, admission and encryption.

use std::path::PathBuf;

use base64::{Engine, engine::general_purpose::STANDARD};
use butler_core::{
    pki::{Authority, Issued, Leaf, PkiError, PrivateKey, Usage, valid_from},
    redact::Secret,
};
use jiff::SignedDuration;
use serde_json::{Value, json};

use super::{api_address, endpoint_host};
use crate::sandbox::node::{
    config::{Config, full},
    context::Node,
    tls,
};

pub(super) const ADMISSION: &str = "admission.json";
pub(super) const ENCRYPTION: &str = "encryption.json";
const LIFE: SignedDuration = SignedDuration::from_hours(8760);

/// Where the files lie.
pub(super) fn dir(node: &Node) -> PathBuf {
    node.machine.disk.kubernetes().join("pki")
}

/// True when Secrets are stored encrypted.
pub(super) fn encrypts(config: &Config) -> bool {
    let cluster = &config.machine.main.cluster;
    !cluster.secretbox_encryption_secret.is_empty() || !cluster.aescbc_encryption_secret.is_empty()
}

/// Writes everything.
pub(super) fn write(node: &Node, config: &Config) -> Result<(), String> {
    let cluster = &config.machine.main.cluster;
    let missing = |what: &str| format!("`cluster.{what}` is missing");
    let words = |error: PkiError| full(&error);
    let authority = cluster.ca.as_ref().ok_or_else(|| missing("ca"))?.authority().map_err(words)?;
    let aggregator =
        cluster.aggregator_ca.as_ref().ok_or_else(|| missing("aggregatorCA"))?.authority().map_err(words)?;
    let service_account = cluster.service_account.as_ref().ok_or_else(|| missing("serviceAccount"))?;
    let put = |name: &str, text: &str| {
        node.machine.disk.write(&dir(node).join(name), text.as_bytes()).map_err(|error| full(&error))
    };
    let pair = |name: &str, issued: &Issued| {
        put(&format!("{name}.crt"), &issued.certificate)?;
        put(&format!("{name}.key"), issued.key.expose())
    };
    put("ca.crt", authority.certificate())?;
    put("ca.key", authority.key().to_pem().expose())?;
    put("aggregator-ca.crt", aggregator.certificate())?;
    put("service-account.key", service_account.key.expose())?;
    let issue = |authority: &Authority, name: &str, group: Option<&str>, usage, names| {
        authority
            .issue(&Leaf {
                common_name: Some(name.to_owned()),
                organization: group.map(str::to_owned),
                names,
                usage,
                not_before: valid_from(node.machine.clock.now()),
                life: LIFE,
            })
            .map_err(words)
    };
    let serving = issue(&authority, "kube-apiserver", None, Usage::Server, server_names(node, config))?;
    pair("apiserver", &serving)?;
    let masters = Some("system:masters");
    pair("kubelet-client", &issue(&authority, "apiserver-kubelet-client", masters, Usage::Client, vec![])?)?;
    pair("front-proxy", &issue(&aggregator, "front-proxy-client", None, Usage::Client, vec![])?)?;
    let server = format!("https://{}", api_address(node, config));
    for (file, user, group) in [
        ("admin", "admin", masters),
        ("controller-manager", "system:kube-controller-manager", None),
        ("scheduler", "system:kube-scheduler", None),
    ] {
        let issued = issue(&authority, user, group, Usage::Client, vec![])?;
        let text = kubeconfig(&server, authority.certificate(), &issued.certificate, &issued.key);
        put(&format!("{file}.kubeconfig"), text.expose())?;
    }
    put(ADMISSION, &admission(config).to_string())?;
    if encrypts(config) {
        put(ENCRYPTION, &encryption(config).to_string())?;
    }
    Ok(())
}

/// A kubeconfig with one context.
pub(in super::super) fn kubeconfig(server: &str, authority: &str, certificate: &str, key: &Secret) -> Secret {
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{ "name": "c", "cluster": {
            "server": server, "certificate-authority-data": STANDARD.encode(authority),
        }}],
        "users": [{ "name": "u", "user": {
            "client-certificate-data": STANDARD.encode(certificate),
            "client-key-data": STANDARD.encode(key.expose()),
        }}],
        "contexts": [{ "name": "x", "context": { "cluster": "c", "user": "u" } }],
        "current-context": "x",
    });
    config.to_string().into()
}

/// A client made of a kubeconfig.
pub(in super::super) async fn client(kubeconfig: &Secret) -> Result<kube::Client, String> {
    let words = |error: kube::config::KubeconfigError| full(&error);
    let parsed = kube::config::Kubeconfig::from_yaml(kubeconfig.expose()).map_err(words)?;
    let options = kube::config::KubeConfigOptions::default();
    let config = kube::Config::from_custom_kubeconfig(parsed, &options).await.map_err(words)?;
    kube::Client::try_from(config).map_err(|error| full(&error))
}

/// This node's own administrator, to its own API server.
pub(in super::super) async fn admin_client(node: &Node) -> Result<kube::Client, String> {
    let path = dir(node).join("admin.kubeconfig");
    let text = fs_err::read_to_string(path).map_err(|error| full(&error))?;
    client(&text.into()).await
}

/// The key of a certificate, in the form every library reads.
pub(in super::super) fn pkcs8(key: &Secret) -> Result<Secret, String> {
    PrivateKey::from_pem(key).map(|key| key.to_pkcs8_pem()).map_err(|error| full(&error))
}

/// Every name the API server answers to.
fn server_names(node: &Node, config: &Config) -> Vec<String> {
    let cluster = &config.machine.main.cluster;
    let domain = match cluster.network.dns_domain.as_str() {
        "" => "cluster.local",
        domain => domain,
    };
    let mut names: Vec<String> =
        ["kubernetes", "kubernetes.default", "kubernetes.default.svc"].map(str::to_owned).to_vec();
    names.push(format!("kubernetes.default.svc.{domain}"));
    names.extend(cluster.network.service_subnets.iter().filter_map(|subnet| first_address(subnet)));
    names.extend(endpoint_host(config));
    names.extend(cluster.api_server.iter().flat_map(|server| server.cert_sans.iter().cloned()));
    names.extend(config.machine.main.machine.cert_sans.iter().cloned());
    tls::own_names(node, &names)
}

/// The address of the Service `kubernetes`: the first of the range.
fn first_address(subnet: &str) -> Option<String> {
    let (address, _) = subnet.split_once('/')?;
    match address.parse().ok()? {
        std::net::IpAddr::V4(address) => {
            Some(std::net::Ipv4Addr::from(u32::from(address).checked_add(1)?).to_string())
        }
        std::net::IpAddr::V6(address) => {
            Some(std::net::Ipv6Addr::from(u128::from(address).checked_add(1)?).to_string())
        }
    }
}

fn admission(config: &Config) -> Value {
    let plugins = config.machine.main.cluster.api_server.iter().flat_map(|server| &server.admission_control);
    let plugins: Vec<&Value> = plugins.collect();
    json!({ "apiVersion": "apiserver.config.k8s.io/v1", "kind": "AdmissionConfiguration", "plugins": plugins })
}

fn encryption(config: &Config) -> Value {
    let cluster = &config.machine.main.cluster;
    let (kind, name, secret) = if cluster.secretbox_encryption_secret.is_empty() {
        ("aescbc", "key1", &cluster.aescbc_encryption_secret)
    } else {
        ("secretbox", "key2", &cluster.secretbox_encryption_secret)
    };
    json!({
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "EncryptionConfiguration",
        "resources": [{
            "resources": ["secrets"],
            "providers": [{ kind: { "keys": [{ "name": name, "secret": secret.expose() }] } }, { "identity": {} }],
        }],
    })
}
