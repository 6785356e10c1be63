//! The programs of a control plane: their files and flags.

use std::path::{Path, PathBuf};

use anyhow::Result;
use base64::{Engine, prelude::BASE64_STANDARD};
use butler_core::settings::home::write_private;
use butler_operator::{
    plane::{self, TlsFiles},
    process::{Child, Streams},
};
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

/// Starts a part with its log beside its data.
fn start(name: &str, dir: &Path, flags: Vec<String>) -> Result<Child> {
    let guard = guard()?;
    let log = Streams::Log(dir.join(format!("{name}.log")));
    // Collecting garbage less often makes a short life a quarter quicker.
    let spawn = guard.command(part(name)?, log).args(flags).envs([("GOGC", "400")]);
    Ok(guard.spawn(&spawn)?)
}

pub(super) async fn start_etcd(dir: &Path, ports: &Ports) -> Result<Child> {
    let (client, peer) = (ports.etcd.address(), ports.etcd_peer.address());
    let etcd = plane::Etcd {
        name: "test".into(),
        data_dir: dir.join("etcd"),
        client,
        peer,
        members: vec![("test".into(), format!("https://{peer}"))],
        joins: false,
        serving: TlsFiles::in_dir(dir, "server"),
        peering: TlsFiles::in_dir(dir, "server"),
        durable: false,
    };
    let child = start("etcd", dir, etcd.args())?;
    child.ready(READY_LIMIT, || async { TcpStream::connect(client).await.is_ok() }).await?;
    Ok(child)
}

pub(super) fn start_api_server(dir: &Path, ports: &Ports, options: Builder) -> Result<Child> {
    let file = |flag: &str, name: &str| format!("--{flag}={}", dir.join(name).display());
    let mut extra = vec![
        "--anonymous-auth=false".to_owned(),
        format!("--authorization-mode={}", if options.nodes { "Node,RBAC" } else { "RBAC" }),
    ];
    if options.audit {
        extra.push(file("audit-policy-file", "audit-policy.json"));
        extra.push(format!("--audit-log-path={}", audit_log(dir).display()));
    }
    if options.nodes {
        extra.extend([
            "--enable-admission-plugins=NodeRestriction".into(),
            file("kubelet-client-certificate", "kubelet-client.crt"),
            file("kubelet-client-key", "kubelet-client.key"),
            // Nobody resolves the names of nodes.
            "--kubelet-preferred-address-types=InternalIP".into(),
            "--allow-privileged".into(),
        ]);
    }
    if !options.controllers {
        // Nobody makes the service accounts that it would demand of Pods.
        extra.push("--disable-admission-plugins=ServiceAccount".into());
    }
    let server = plane::ApiServer {
        bind: ports.api.address(),
        etcd: vec![ports.etcd.address()],
        etcd_tls: TlsFiles::in_dir(dir, "server"),
        serving: TlsFiles::in_dir(dir, "server"),
        service_range: "10.96.0.0/16".into(),
        issuer: "https://kubernetes.default.svc".into(),
        token_public_key: dir.join("tokens.pub"),
        token_key: dir.join("tokens.key"),
        cert_dir: dir.join("api-server"),
        extra,
    };
    start("kube-apiserver", dir, server.args())
}

pub(super) fn start_controller(name: &str, dir: &Path, kubeconfig: &Path, options: Builder) -> Result<Child> {
    let kubeconfig = kubeconfig.to_owned();
    let mut extra = vec!["--secure-port=0".to_owned()];
    if options.nodes {
        // Nobody else needs this server; their usual restraint is 20 requests a second.
        extra.extend(["--kube-api-qps=300".into(), "--kube-api-burst=600".into()]);
    }
    if name == "kube-scheduler" {
        return start(name, dir, plane::Scheduler { kubeconfig, extra }.args());
    }
    if options.nodes {
        extra.extend(["--allocate-node-cidrs".into(), "--cluster-cidr=10.244.0.0/16".into()]);
    }
    let manager = plane::ControllerManager {
        kubeconfig,
        token_key: dir.join("tokens.key"),
        root_ca: dir.join("ca.crt"),
        signing: (dir.join("ca.crt"), dir.join("ca.key")),
        extra,
    };
    start(name, dir, manager.args())
}
