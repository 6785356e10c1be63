//! The programs of a control plane and their flags: etcd, kube-apiserver, kube-controller-manager and
//! kube-scheduler as child processes.
//!
//! Each struct is what differs between two control planes; `args` are the flags. Who starts them, where
//! they log and when they are ready is the caller's business. Everything listens where it is told to.
//! [`PkiDir`] keeps the identities they show each other.

mod identities;

pub use identities::{PkiDir, PlaneError, client, person, ready, server};

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
};

/// An identity on disk, and the authority that its peers must be signed by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// Whom to trust.
    pub authority: PathBuf,
    /// The certificate to show.
    pub certificate: PathBuf,
    /// Its key.
    pub key: PathBuf,
}

impl TlsFiles {
    /// `<name>.crt` and `<name>.key` in a directory, with its `ca.crt`.
    pub fn in_dir(dir: &Path, name: &str) -> Self {
        Self {
            authority: dir.join("ca.crt"),
            certificate: dir.join(format!("{name}.crt")),
            key: dir.join(format!("{name}.key")),
        }
    }
}

/// Addresses of Services where nobody reaches any.
pub const SERVICE_RANGE: &str = "10.96.0.0/16";
/// Names by which an API server is known inside a cluster with that range.
pub const API_NAMES: [&str; 7] = [
    "127.0.0.1",
    "10.96.0.1",
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
];
/// The issuer of service account tokens, as it is called inside a cluster.
pub const ISSUER: &str = "https://kubernetes.default.svc";

/// A member of etcd.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Etcd {
    /// Its name among the members.
    pub name: String,
    /// Where its data lies.
    pub data_dir: PathBuf,
    /// Where it serves clients.
    pub client: SocketAddr,
    /// Where it talks to other members.
    pub peer: SocketAddr,
    /// Name and peer URL of every member, this one included.
    pub members: Vec<(String, String)>,
    /// True when it joins members that exist.
    pub joins: bool,
    /// Its identity for clients.
    pub serving: TlsFiles,
    /// Its identity for members.
    pub peering: TlsFiles,
    /// False when the data need not outlive a power cut.
    pub durable: bool,
}

impl Etcd {
    /// The flags.
    pub fn args(&self) -> Vec<String> {
        let members: Vec<String> = self.members.iter().map(|(name, url)| format!("{name}={url}")).collect();
        let mut args = vec![
            format!("--name={}", self.name),
            path("data-dir", &self.data_dir),
            format!("--listen-client-urls=https://{}", self.client),
            format!("--advertise-client-urls=https://{}", self.client),
            format!("--listen-peer-urls=https://{}", self.peer),
            format!("--initial-advertise-peer-urls=https://{}", self.peer),
            format!("--initial-cluster={}", members.join(",")),
            format!("--initial-cluster-state={}", if self.joins { "existing" } else { "new" }),
            "--client-cert-auth".into(),
            path("trusted-ca-file", &self.serving.authority),
            path("cert-file", &self.serving.certificate),
            path("key-file", &self.serving.key),
            "--peer-client-cert-auth".into(),
            path("peer-trusted-ca-file", &self.peering.authority),
            path("peer-cert-file", &self.peering.certificate),
            path("peer-key-file", &self.peering.key),
            "--log-level=warn".into(),
        ];
        if !self.durable {
            args.push("--unsafe-no-fsync".into());
        }
        if self.members.len() == 1 && !self.joins {
            // A single member has nobody to wait for.
            args.extend(["--heartbeat-interval=20".into(), "--election-timeout=200".into()]);
        }
        args
    }
}

/// A kube-apiserver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiServer {
    /// Where it listens.
    pub bind: SocketAddr,
    /// Clients' addresses of etcd's members.
    pub etcd: Vec<SocketAddr>,
    /// Its identity for etcd.
    pub etcd_tls: TlsFiles,
    /// Its identity for clients; the authority is that of client certificates.
    pub serving: TlsFiles,
    /// Service addresses.
    pub service_range: String,
    /// Issuer of service account tokens.
    pub issuer: String,
    /// Key that checks service account tokens.
    pub token_public_key: PathBuf,
    /// Key that signs them.
    pub token_key: PathBuf,
    /// A directory of its own.
    pub cert_dir: PathBuf,
    /// Further flags.
    pub extra: Vec<String>,
}

impl ApiServer {
    /// The flags.
    pub fn args(&self) -> Vec<String> {
        let etcd: Vec<String> = self.etcd.iter().map(|address| format!("https://{address}")).collect();
        let mut args = vec![
            format!("--bind-address={}", self.bind.ip()),
            format!("--advertise-address={}", self.bind.ip()),
            format!("--secure-port={}", self.bind.port()),
            format!("--etcd-servers={}", etcd.join(",")),
            path("etcd-cafile", &self.etcd_tls.authority),
            path("etcd-certfile", &self.etcd_tls.certificate),
            path("etcd-keyfile", &self.etcd_tls.key),
            path("client-ca-file", &self.serving.authority),
            path("tls-cert-file", &self.serving.certificate),
            path("tls-private-key-file", &self.serving.key),
            path("cert-dir", &self.cert_dir),
            format!("--service-account-issuer={}", self.issuer),
            path("service-account-key-file", &self.token_public_key),
            path("service-account-signing-key-file", &self.token_key),
            format!("--service-cluster-ip-range={}", self.service_range),
            // The API refuses loopback addresses as endpoints, so the server's own Service has none.
            "--endpoint-reconciler-type=none".into(),
        ];
        args.extend(self.extra.iter().cloned());
        args
    }
}

/// A kube-controller-manager.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControllerManager {
    /// Its identity.
    pub kubeconfig: PathBuf,
    /// Key that signs service account tokens.
    pub token_key: PathBuf,
    /// Authority that Pods trust.
    pub root_ca: PathBuf,
    /// Certificate and key of the authority that signs requests.
    pub signing: (PathBuf, PathBuf),
    /// Further flags.
    pub extra: Vec<String>,
}

impl ControllerManager {
    /// The flags.
    pub fn args(&self) -> Vec<String> {
        let mut args = vec![
            path("kubeconfig", &self.kubeconfig),
            "--use-service-account-credentials".into(),
            path("service-account-private-key-file", &self.token_key),
            path("root-ca-file", &self.root_ca),
            path("cluster-signing-cert-file", &self.signing.0),
            path("cluster-signing-key-file", &self.signing.1),
        ];
        args.extend(self.extra.iter().cloned());
        args
    }
}

/// A kube-scheduler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scheduler {
    /// Its identity.
    pub kubeconfig: PathBuf,
    /// Further flags.
    pub extra: Vec<String>,
}

impl Scheduler {
    /// The flags.
    pub fn args(&self) -> Vec<String> {
        let mut args = vec![path("kubeconfig", &self.kubeconfig)];
        args.extend(self.extra.iter().cloned());
        args
    }
}

fn path(flag: &str, path: &Path) -> String {
    format!("--{flag}={}", path.display())
}
