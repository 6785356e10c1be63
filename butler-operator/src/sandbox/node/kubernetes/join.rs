//! How a node becomes one of Kubernetes': a control plane signs its own certificate, a worker asks
//! for one with the cluster's token.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use base64::{Engine, engine::general_purpose::STANDARD};
use butler_core::{
    pki::{CertificateInfo, Issued, KeyKind, Leaf, PrivateKey, Request, Usage, valid_from},
    redact::Secret,
};
use jiff::SignedDuration;
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use kube::{
    Client,
    api::{Api, PostParams},
};
use serde_json::json;

use super::pki::{self, kubeconfig, pkcs8};
use crate::sandbox::node::{
    config::{Config, full},
    context::Node,
};

const LIFE: SignedDuration = SignedDuration::from_hours(8760);
const POLL: Duration = Duration::from_millis(300);
/// How long a request may wait for its signature before it is made anew.
const SIGNATURE: Duration = Duration::from_secs(60);

/// The identity of this node's kubelet, from disk or new; tried until there is one.
pub(in super::super) async fn identity(node: &Arc<Node>, config: &Config, way: SocketAddr) -> Issued {
    let mut last = String::new();
    let mut pause = POLL;
    loop {
        if let Some(kept) = kept(node, config) {
            return kept;
        }
        let made = if config.is_control_plane() { sign(node, config) } else { ask(node, config, way).await };
        match made {
            Ok(issued) => {
                keep(node, &issued);
                return issued;
            }
            Err(error) if error != last => {
                node.machine.logs.service("kubelet", format_args!("cannot join the cluster yet: {error}"));
                last = error;
            }
            Err(_) => {}
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(Duration::from_secs(5));
    }
}

fn user(node: &Node) -> String {
    format!("system:node:{}", node.hostname())
}

/// What is kept, if it is this node's, signed by this cluster and still good for an hour.
fn kept(node: &Node, config: &Config) -> Option<Issued> {
    let dir = node.machine.disk.kubelet();
    let certificate = fs_err::read_to_string(dir.join("kubelet.crt")).ok()?;
    let key = fs_err::read_to_string(dir.join("kubelet.key")).ok()?;
    let info = CertificateInfo::from_pem(&certificate).ok()?;
    let authority = CertificateInfo::from_pem(&config.machine.main.cluster.ca.as_ref()?.crt).ok()?;
    let soon = node.machine.clock.now() + SignedDuration::from_hours(1);
    let good = info.common_name.as_deref() == Some(&user(node)) && info.not_after > soon;
    (good && info.signed_by(&authority)).then(|| Issued { certificate, key: key.into() })
}

fn keep(node: &Node, issued: &Issued) {
    let (disk, dir) = (&node.machine.disk, node.machine.disk.kubelet());
    let written = disk
        .write(&dir.join("kubelet.key"), issued.key.expose().as_bytes())
        .and_then(|()| disk.write(&dir.join("kubelet.crt"), issued.certificate.as_bytes()));
    if let Err(error) = written {
        node.machine.logs.service("kubelet", format_args!("cannot keep the certificate: {}", full(&error)));
    }
}

fn sign(node: &Node, config: &Config) -> Result<Issued, String> {
    let authority = config.machine.main.cluster.ca.as_ref().ok_or("`cluster.ca` is missing")?;
    let authority = authority.authority().map_err(|error| full(&error))?;
    let issued = authority.issue(&Leaf {
        common_name: Some(user(node)),
        organization: Some("system:nodes".to_owned()),
        names: Vec::new(),
        usage: Usage::Client,
        not_before: valid_from(node.machine.clock.now()),
        life: LIFE,
    });
    issued.map_err(|error| full(&error))
}

/// Asks the cluster to sign, as its newcomers may.
async fn ask(node: &Node, config: &Config, way: SocketAddr) -> Result<Issued, String> {
    let cluster = &config.machine.main.cluster;
    let authority = cluster.ca.as_ref().ok_or("`cluster.ca` is missing")?;
    let key = PrivateKey::generate(KeyKind::P256).map_err(|error| full(&error))?;
    let request =
        Request { common_name: user(node), organization: Some("system:nodes".to_owned()), names: Vec::new() };
    let csr = request.to_pem(&key).map_err(|error| full(&error))?;
    let newcomer: Secret = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{ "name": "c", "cluster": {
            "server": format!("https://{way}"), "certificate-authority-data": STANDARD.encode(&authority.crt),
        }}],
        "users": [{ "name": "u", "user": { "token": cluster.token.expose() } }],
        "contexts": [{ "name": "x", "context": { "cluster": "c", "user": "u" } }],
        "current-context": "x",
    })
    .to_string()
    .into();
    let api: Api<CertificateSigningRequest> = Api::all(pki::client(&newcomer).await?);
    let wanted: CertificateSigningRequest = serde_json::from_value(json!({
        "metadata": { "generateName": "node-csr-" },
        "spec": {
            "signerName": "kubernetes.io/kube-apiserver-client-kubelet",
            "usages": ["digital signature", "client auth"],
            "request": STANDARD.encode(csr),
        },
    }))
    .map_err(|error| full(&error))?;
    let made = api.create(&PostParams::default(), &wanted).await.map_err(|error| full(&error))?;
    let name = made.metadata.name.unwrap_or_default();
    let signed = async {
        loop {
            let seen = api.get(&name).await.map_err(|error| full(&error))?;
            if let Some(certificate) = seen.status.and_then(|status| status.certificate) {
                return String::from_utf8(certificate.0)
                    .map_err(|_| "the certificate is not text".to_owned());
            }
            tokio::time::sleep(POLL).await;
        }
    };
    let certificate = tokio::time::timeout(SIGNATURE, signed)
        .await
        .map_err(|_| format!("the request `{name}` was not signed"))??;
    Ok(Issued { certificate, key: key.to_pem() })
}

/// The kubelet's client.
pub(in super::super) async fn client(
    config: &Config,
    issued: &Issued,
    way: SocketAddr,
) -> Result<Client, String> {
    let authority = config.machine.main.cluster.ca.as_ref().ok_or("`cluster.ca` is missing")?;
    let key = pkcs8(&issued.key)?;
    pki::client(&kubeconfig(&format!("https://{way}"), &authority.crt, &issued.certificate, &key)).await
}
