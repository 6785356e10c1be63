//! The programs of a control plane: their files and flags.

use std::path::{Path, PathBuf};

use anyhow::Result;
use base64::{Engine, prelude::BASE64_STANDARD};
use butler_core::settings::home::write_private;
use butler_operator::process::{Child, Streams};
use rcgen::KeyPair;
use tokio::net::TcpStream;

use super::{Builder, Ports, READY_LIMIT};
use crate::{
    guard, part,
    pki::{Authority, Identity},
};

/// Every request, and nothing of its content.
const AUDIT_POLICY: &str =
    r#"{"apiVersion":"audit.k8s.io/v1","kind":"Policy","rules":[{"level":"Metadata"}]}"#;

pub(super) fn audit_log(dir: &Path) -> PathBuf {
    dir.join("audit.log")
}

/// Writes certificates, keys and the audit policy.
pub(super) fn write_files(dir: &Path, authority: &Authority) -> Result<()> {
    let Identity { certificate: ca, key: ca_key } = authority.identity();
    let server = authority.server()?;
    let kubelet_client = authority.client("kube-apiserver-kubelet-client", &["system:masters"])?;
    let tokens = KeyPair::generate()?;
    for (name, text) in [
        ("ca.crt", ca),
        ("ca.key", ca_key),
        ("server.crt", server.certificate),
        ("server.key", server.key),
        ("kubelet-client.crt", kubelet_client.certificate),
        ("kubelet-client.key", kubelet_client.key),
        ("tokens.key", tokens.serialize_pem()),
        ("tokens.pub", tokens.public_key_pem()),
        ("audit-policy.json", AUDIT_POLICY.to_owned()),
    ] {
        write_private(&dir.join(name), text.as_bytes())?;
    }
    Ok(())
}

/// A kubeconfig with one context.
pub(super) fn kubeconfig(server: &str, authority: &str, user: &str, identity: &Identity) -> String {
    let encode = |text: &str| BASE64_STANDARD.encode(text);
    format!(
        r#"apiVersion: v1
kind: Config
current-context: test
contexts:
- name: test
  context:
    cluster: test
    user: "{user}"
clusters:
- name: test
  cluster:
    server: {server}
    certificate-authority-data: {}
users:
- name: "{user}"
  user:
    client-certificate-data: {}
    client-key-data: {}
"#,
        encode(authority),
        encode(&identity.certificate),
        encode(&identity.key),
    )
}

/// Starts a part with its log beside its data. `{dir}` in a flag is the directory.
fn start(name: &str, dir: &Path, flags: &[String]) -> Result<Child> {
    let guard = guard()?;
    let flags = flags.iter().map(|flag| flag.replace("{dir}", &dir.to_string_lossy()));
    let log = Streams::Log(dir.join(format!("{name}.log")));
    // Collecting garbage less often makes a short life a quarter quicker.
    let spawn = guard.command(part(name)?, log).args(flags).envs([("GOGC", "400")]);
    Ok(guard.spawn(&spawn)?)
}

pub(super) async fn start_etcd(dir: &Path, ports: &Ports) -> Result<Child> {
    let client = ports.etcd.address();
    let peer = ports.etcd_peer.address();
    let child = start(
        "etcd",
        dir,
        &[
            "--name=test".into(),
            "--data-dir={dir}/etcd".into(),
            format!("--listen-client-urls=https://{client}"),
            format!("--advertise-client-urls=https://{client}"),
            format!("--listen-peer-urls=https://{peer}"),
            format!("--initial-advertise-peer-urls=https://{peer}"),
            format!("--initial-cluster=test=https://{peer}"),
            "--client-cert-auth".into(),
            "--trusted-ca-file={dir}/ca.crt".into(),
            "--cert-file={dir}/server.crt".into(),
            "--key-file={dir}/server.key".into(),
            "--peer-client-cert-auth".into(),
            "--peer-trusted-ca-file={dir}/ca.crt".into(),
            "--peer-cert-file={dir}/server.crt".into(),
            "--peer-key-file={dir}/server.key".into(),
            // The data need not outlive a power cut, and a single member has nobody to wait for.
            "--unsafe-no-fsync".into(),
            "--heartbeat-interval=20".into(),
            "--election-timeout=200".into(),
            "--log-level=warn".into(),
        ],
    )?;
    child.ready(READY_LIMIT, || async { TcpStream::connect(client).await.is_ok() }).await?;
    Ok(child)
}

pub(super) fn start_api_server(dir: &Path, ports: &Ports, options: Builder) -> Result<Child> {
    let mut flags: Vec<String> = vec![
        format!("--bind-address={}", ports.api.address().ip()),
        format!("--advertise-address={}", ports.api.address().ip()),
        format!("--secure-port={}", ports.api.number()),
        format!("--etcd-servers=https://{}", ports.etcd.address()),
        "--etcd-cafile={dir}/ca.crt".into(),
        "--etcd-certfile={dir}/server.crt".into(),
        "--etcd-keyfile={dir}/server.key".into(),
        "--client-ca-file={dir}/ca.crt".into(),
        "--tls-cert-file={dir}/server.crt".into(),
        "--tls-private-key-file={dir}/server.key".into(),
        "--cert-dir={dir}/api-server".into(),
        "--anonymous-auth=false".into(),
        format!("--authorization-mode={}", if options.nodes { "Node,RBAC" } else { "RBAC" }),
        "--service-account-issuer=https://kubernetes.default.svc".into(),
        "--service-account-key-file={dir}/tokens.pub".into(),
        "--service-account-signing-key-file={dir}/tokens.key".into(),
        "--service-cluster-ip-range=10.96.0.0/16".into(),
        // Nobody reaches this server through its own Service.
        "--endpoint-reconciler-type=none".into(),
    ];
    if options.audit {
        flags.push("--audit-policy-file={dir}/audit-policy.json".into());
        flags.push("--audit-log-path={dir}/audit.log".into());
    }
    if options.nodes {
        flags.extend([
            "--enable-admission-plugins=NodeRestriction".into(),
            "--kubelet-client-certificate={dir}/kubelet-client.crt".into(),
            "--kubelet-client-key={dir}/kubelet-client.key".into(),
            // Nobody resolves the names of nodes.
            "--kubelet-preferred-address-types=InternalIP".into(),
            "--allow-privileged".into(),
        ]);
    }
    if !options.controllers {
        // Nobody makes the service accounts that it would demand of Pods.
        flags.push("--disable-admission-plugins=ServiceAccount".into());
    }
    start("kube-apiserver", dir, &flags)
}

pub(super) fn start_controller(name: &str, dir: &Path, kubeconfig: &Path, options: Builder) -> Result<Child> {
    let mut flags: Vec<String> =
        vec![format!("--kubeconfig={}", kubeconfig.display()), "--secure-port=0".into()];
    if name == "kube-controller-manager" {
        flags.extend([
            "--use-service-account-credentials".into(),
            "--service-account-private-key-file={dir}/tokens.key".into(),
            "--root-ca-file={dir}/ca.crt".into(),
            "--cluster-signing-cert-file={dir}/ca.crt".into(),
            "--cluster-signing-key-file={dir}/ca.key".into(),
        ]);
        if options.nodes {
            flags.extend(["--allocate-node-cidrs".into(), "--cluster-cidr=10.244.0.0/16".into()]);
        }
    }
    start(name, dir, &flags)
}
