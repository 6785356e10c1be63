//! What a node does for Kubernetes: registers itself, renews its lease, lives its Pods' lives.

use std::{collections::BTreeMap, net::IpAddr, path::PathBuf};

use butler_core::redact::Secret;
use jiff::SignedDuration;
use k8s_openapi::api::core::v1::{Pod, Taint};
use tokio_util::sync::CancellationToken;

/// What a kubelet is told.
#[derive(Clone)]
pub struct KubeletOptions {
    /// Name of the Node.
    pub node_name: String,
    /// Its internal address, where its server listens.
    pub address: IpAddr,
    /// Port of its server.
    pub port: u16,
    /// Processors.
    pub cpu: u32,
    /// Memory in MiB.
    pub memory_mb: u32,
    /// Disk in GiB.
    pub disk_gb: u32,
    /// Labels of the Node.
    pub labels: BTreeMap<String, String>,
    /// Annotations of the Node.
    pub annotations: BTreeMap<String, String>,
    /// Taints of the Node.
    pub taints: Vec<Taint>,
    /// The provider's id of the machine.
    pub provider_id: Option<String>,
    /// `v1.34.4`
    pub kubelet_version: String,
    /// `Talos (v1.11.5)`
    pub os_image: String,
    /// Version of the kernel.
    pub kernel_version: String,
    /// Name and version of the container runtime.
    pub container_runtime: String,
    /// The same on each boot.
    pub machine_id: String,
    /// The machine's UUID.
    pub system_uuid: String,
    /// Changes with each boot.
    pub boot_id: String,
    /// Its identity to the API server.
    pub client: kube::Client,
    /// Authority of those who may call its server, PEM.
    pub client_ca: String,
    /// Certificate and key of its server, PEM.
    pub serving: Option<(String, Secret)>,
    /// False while there is no network plugin.
    pub network_ready: bool,
    /// Where containers' logs lie.
    pub log_dir: PathBuf,
    /// How far its clock is ahead.
    pub clock_skew: SignedDuration,
}

/// A Pod that the node runs by itself; the API server gets a mirror of it.
#[derive(Clone, Debug, PartialEq)]
pub struct StaticPod(pub Pod);

/// Why a kubelet cannot run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KubeletError {}

/// Runs until it is told to stop.
pub async fn run(
    options: KubeletOptions,
    static_pods: tokio::sync::watch::Receiver<Vec<StaticPod>>,
    shutdown: CancellationToken,
) -> Result<(), KubeletError> {
    let _ = (options, static_pods);
    shutdown.cancelled().await;
    Ok(())
}
