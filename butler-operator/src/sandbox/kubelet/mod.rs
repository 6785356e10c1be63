//! A simulated kubelet: a real member of a real cluster, whose containers are only told of.
//!
//! It registers its Node, renews its lease, and moves the Pods that are bound to it through a believable
//! life; nothing is ever executed, [`script`] says how containers behave. It does what a real kubelet's
//! identity may do and nothing else.
//!
//! - `decide`: what a Pod's status should be now. Pure, and the heart of it
//! - `pods`, `registration`, `mirrors`: what is known of Pods, the Node and static Pods, and which request
//!   follows from it
//! - `engine`: the loop that hears of changes and makes the requests of `calls`
//! - `server`: what the API server asks a kubelet, above all for logs

mod calls;
mod clock;
mod decide;
mod engine;
mod error;
mod events;
mod image;
mod logs;
mod mirror;
mod mirrors;
mod network;
mod node;
mod pods;
mod registration;
pub mod script;
mod server;

use std::{
    collections::BTreeMap,
    fmt,
    net::{IpAddr, SocketAddr},
    path::PathBuf,
};

use butler_core::redact::Secret;
use jiff::SignedDuration;
use k8s_openapi::api::core::v1::{Pod, Taint};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

pub use error::KubeletError;

use calls::Caller;
use clock::Clock;
use engine::Engine;
use events::Recorder;
use logs::Logs;
use network::Addresses;
use pods::Pods;
use server::Server;

/// How many questions of the server may wait for an answer.
const QUESTIONS: usize = 16;

/// What a kubelet is told about its machine and its cluster.
#[derive(Clone)]
pub struct KubeletOptions {
    /// The name of the Node.
    pub node_name: String,
    /// The Node's internal address, where the kubelet serves too.
    pub address: IpAddr,
    /// The port of the kubelet's server.
    pub port: u16,
    /// Processors.
    pub cpu: u32,
    /// Memory in MiB.
    pub memory_mb: u32,
    /// Disk in GiB.
    pub disk_gb: u32,
    /// Labels the Node is registered with, besides those every kubelet sets.
    pub labels: BTreeMap<String, String>,
    /// Annotations the Node is registered with.
    pub annotations: BTreeMap<String, String>,
    /// Taints the Node is registered with.
    pub taints: Vec<Taint>,
    /// The machine's identity at its provider.
    pub provider_id: Option<String>,
    /// The kubelet's version, `v1.34.4`.
    pub kubelet_version: String,
    /// The operating system, `Talos (v1.11.5)`.
    pub os_image: String,
    /// The kernel.
    pub kernel_version: String,
    /// The container runtime, `containerd://2.1.4`.
    pub container_runtime: String,
    /// The machine's identity.
    pub machine_id: String,
    /// Its hardware's identity.
    pub system_uuid: String,
    /// Changes with each boot.
    pub boot_id: String,
    /// A client with the identity `system:node:<name>` of the group `system:nodes`.
    pub client: kube::Client,
    /// Authority of those who may call the kubelet's server, PEM.
    pub client_ca: String,
    /// Certificate and key of the kubelet's server, PEM; without them it makes its own.
    pub serving: Option<(String, Secret)>,
    /// False when a network plugin must come first: the Node is not ready, and Pods without the host's
    /// network do not start, until a running Pod mounts a host path below `/etc/cni` or `/opt/cni`.
    pub network_ready: bool,
    /// Where containers' logs are kept.
    pub log_dir: PathBuf,
    /// How far the node's clock is ahead.
    pub clock_skew: SignedDuration,
}

impl fmt::Debug for KubeletOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KubeletOptions")
            .field("node_name", &self.node_name)
            .field("address", &SocketAddr::new(self.address, self.port))
            .finish_non_exhaustive()
    }
}

/// A Pod that runs on a node without having been asked for through the API. The API shows a mirror of
/// it, named `<name>-<node>` unless it has that name already.
#[derive(Clone, Debug, PartialEq)]
pub struct StaticPod(pub Pod);

/// Runs a kubelet until the shutdown. Whatever the API server does, it goes on trying; an error means
/// that it could not begin.
pub async fn run(
    options: KubeletOptions,
    static_pods: watch::Receiver<Vec<StaticPod>>,
    shutdown: CancellationToken,
) -> Result<(), KubeletError> {
    let clock = Clock::new(options.clock_skew);
    let node = options.node_name.as_str();
    let logs = Logs::open(&options.log_dir).map_err(|source| KubeletError::Logs {
        node: node.to_owned(),
        path: options.log_dir.clone(),
        source,
    })?;
    let caller = Caller::new(options.client.clone(), node);
    let (ask, questions) = mpsc::channel(QUESTIONS);
    let server = Server::bind(&options, clock, caller.clone(), ask, logs.changes()).await?;
    let addresses = Addresses::for_node(options.address, options.port);
    let recorder = Recorder::new(node, clock.now());
    let pods = Pods::new(clock, options.address, addresses, logs, recorder);

    // Ends the server also when this future is dropped.
    let stop = shutdown.child_token();
    let _stop_on_drop = stop.clone().drop_guard();
    let serving = server.run(stop.clone());
    let working = Engine::new(options, clock, caller, pods).run(static_pods, questions, stop);
    tokio::join!(serving, working);
    Ok(())
}
