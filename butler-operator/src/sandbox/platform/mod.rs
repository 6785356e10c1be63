//! The management plane of a sandbox: which programs, with which identities, on which ports, and the
//! objects that make it a platform.

mod identities;
mod objects;
mod ports;

pub use identities::Identities;
pub use objects::install;
pub use ports::{Moved, PlanePorts};

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::place::Place;
use crate::{
    parts::{self, Part, Parts},
    plane::{ApiServer, ControllerManager, Etcd, ISSUER, SERVICE_RANGE},
    sandbox::machine::NodeParts,
};

/// The real programs a sandbox runs.
pub static PARTS: [&Part; 4] =
    [&parts::ETCD, &parts::KUBE_APISERVER, &parts::KUBE_CONTROLLER_MANAGER, &parts::KUBE_SCHEDULER];

/// Where the real programs are, in the order of [`PARTS`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Programs(pub NodeParts);

impl Programs {
    /// From paths in the order of [`PARTS`].
    pub fn new(paths: [PathBuf; 4]) -> Self {
        let [etcd, kube_apiserver, kube_controller_manager, kube_scheduler] = paths;
        Self(NodeParts { etcd, kube_apiserver, kube_controller_manager, kube_scheduler, etcdutl: None })
    }

    /// With the program that recovers etcd, if there is one on this computer.
    #[must_use]
    pub async fn with_recovery(mut self, parts: &Parts) -> Self {
        self.0.etcdutl = parts.find(&parts::ETCDUTL).await.ok().map(|found| found.path);
        self
    }
}

/// The flags of etcd.
pub(super) fn etcd(place: &Place, ports: &PlanePorts, identities: &Identities) -> Vec<String> {
    let member = (place.name().to_owned(), format!("https://{}", ports.etcd_peer));
    Etcd {
        name: place.name().to_owned(),
        data_dir: place.etcd(),
        client: ports.etcd,
        peer: ports.etcd_peer,
        members: vec![member],
        joins: false,
        serving: identities.etcd_server.clone(),
        peering: identities.etcd_server.clone(),
        durable: true,
    }
    .args()
}

/// The flags of kube-apiserver.
pub(super) fn api_server(place: &Place, ports: &PlanePorts, identities: &Identities) -> Vec<String> {
    ApiServer {
        bind: ports.api,
        etcd: vec![ports.etcd],
        etcd_tls: identities.etcd_client.clone(),
        serving: identities.api_server.clone(),
        service_range: SERVICE_RANGE.to_owned(),
        issuer: ISSUER.to_owned(),
        // A private key says the public one too.
        token_public_key: identities.token_key.clone(),
        token_key: identities.token_key.clone(),
        cert_dir: place.pki().join("kube-apiserver"),
        extra: vec!["--anonymous-auth=false".to_owned(), "--authorization-mode=RBAC".to_owned()],
    }
    .args()
}

/// The flags of kube-controller-manager.
pub(super) fn controller_manager(ports: &PlanePorts, identities: &Identities) -> Vec<String> {
    ControllerManager {
        kubeconfig: identities.controller_manager.clone(),
        token_key: identities.token_key.clone(),
        root_ca: identities.api_server.authority.clone(),
        signing: identities.signing.clone(),
        extra: vec![
            format!("--bind-address={}", ports.controller_manager.ip()),
            format!("--secure-port={}", ports.controller_manager.port()),
            // It has no rival, and need not wait for the lease of the one before.
            "--leader-elect=false".to_owned(),
        ],
    }
    .args()
}

/// The arguments of our own controllers. Without an owner they find their own.
pub(super) fn serve(ports: &PlanePorts, kubeconfig: &Path, owner: Option<&str>) -> Vec<String> {
    let kubeconfig = kubeconfig.display().to_string();
    let metrics = ports.serve.to_string();
    let mut args = vec!["serve", "--kubeconfig", &kubeconfig, "--metrics", &metrics, "--no-leader-elect"];
    args.extend(owner.into_iter().flat_map(|owner| ["--owner", owner]));
    args.into_iter().map(str::to_owned).collect()
}
