//! A real control plane with simulated nodes, each in a thread and runtime of its own.

use std::{
    collections::BTreeMap,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::atomic::{AtomicU8, Ordering},
    thread::JoinHandle,
};

use anyhow::{Context, Result};
use butler_operator::{
    process::ports::{self, Port},
    sandbox::kubelet::{self, KubeletOptions, StaticPod},
};
use butler_tests::{ControlPlane, Env, Running, eventually, part};
use jiff::SignedDuration;
use k8s_openapi::api::core::v1::{Node, ServiceAccount, Taint};
use kube::Api;
use tokio::sync::{OnceCell, watch};
use tokio_util::sync::CancellationToken;

use crate::LIMIT;

/// The label of nodes that every test may use.
pub(crate) const POOL: &str = "pool";

/// A cluster.
pub(crate) struct Cluster {
    // Nodes go before the API server they talk to.
    machines: Vec<Machine>,
    pub(crate) plane: ControlPlane,
    env: Env,
}

/// What differs between nodes.
#[derive(Clone)]
pub(crate) struct Spec {
    pub(crate) name: String,
    pub(crate) labels: BTreeMap<String, String>,
    /// Only Pods that tolerate it come here.
    pub(crate) reserved: bool,
    pub(crate) network_ready: bool,
    pub(crate) clock_skew: SignedDuration,
}

impl Spec {
    /// A node that only Pods come to which ask for it, see [`Cluster::only_on`].
    pub(crate) fn reserved(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            labels: BTreeMap::new(),
            reserved: true,
            network_ready: true,
            clock_skew: SignedDuration::ZERO,
        }
    }

    fn shared(name: &str) -> Self {
        let labels = BTreeMap::from([(POOL.to_owned(), "shared".to_owned())]);
        Self { labels, reserved: false, ..Self::reserved(name) }
    }
}

/// A node; it stops with this value.
pub(crate) struct Machine {
    pub(crate) name: String,
    port: Option<Port>,
    pub(crate) static_pods: watch::Sender<Vec<StaticPod>>,
    shutdown: CancellationToken,
    thread: Option<JoinHandle<Result<()>>>,
}

impl Machine {
    /// Where its kubelet serves.
    pub(crate) fn address(&self) -> Option<SocketAddr> {
        self.port.as_ref().map(Port::address)
    }

    /// Stops the kubelet and waits for it; gives its port back.
    pub(crate) fn stop(mut self) -> Result<Port> {
        self.halt();
        self.port.take().context("a machine has a port")
    }

    fn halt(&mut self) {
        self.shutdown.cancel();
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            assert!(matches!(ended, Ok(Ok(()))) || std::thread::panicking(), "{ended:?}");
        }
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.halt();
    }
}

impl Cluster {
    /// The cluster of this test binary, with three nodes.
    pub(crate) async fn shared() -> Result<&'static Self> {
        static SHARED: OnceCell<Cluster> = OnceCell::const_new();
        SHARED.get_or_try_init(|| Self::start(3)).await
    }

    /// A cluster for one test.
    pub(crate) async fn start(nodes: usize) -> Result<Self> {
        let plane = ControlPlane::builder().nodes().audit().start().await?;
        let mut cluster = Self { machines: Vec::new(), plane, env: Env::new()? };
        for number in 1..=nodes {
            cluster.machines.push(cluster.add(Spec::shared(&format!("worker-{number}")))?);
        }
        for machine in &cluster.machines {
            cluster.until_ready(&machine.name, "True").await?;
        }
        Ok(cluster)
    }

    /// Adds a node.
    pub(crate) fn add(&self, spec: Spec) -> Result<Machine> {
        static NEXT: AtomicU8 = AtomicU8::new(1);
        let address = Ipv4Addr::new(127, 77, 0, NEXT.fetch_add(1, Ordering::Relaxed));
        self.add_at(spec, ports::reserve(address.into())?)
    }

    /// Adds a node at an address.
    pub(crate) fn add_at(&self, spec: Spec, port: Port) -> Result<Machine> {
        let user = format!("system:node:{}", spec.name);
        let kubeconfig = self.plane.kubeconfig_for(&user, &["system:nodes"])?;
        let config = kube::config::Kubeconfig::read_from(kubeconfig)?;
        let (static_pods, statics) = watch::channel(Vec::new());
        let shutdown = CancellationToken::new();
        let name = spec.name.clone();
        let (address, number, stop) = (port.address().ip(), port.number(), shutdown.clone());
        let authority = self.plane.authority();
        let log_dir = self.env.temp_dir().join(&spec.name);
        let run = async move {
            let config = kube::Config::from_custom_kubeconfig(config, &Default::default()).await?;
            let client = kube::Client::try_from(config)?;
            let options = options(spec, address, number, client, authority, log_dir);
            kubelet::run(options, statics, stop).await?;
            anyhow::Ok(())
        };
        let thread = std::thread::Builder::new().name(name.clone()).spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime?.block_on(run)
        })?;
        Ok(Machine { name, port: Some(port), static_pods, shutdown, thread: Some(thread) })
    }

    /// Waits until the Node's `Ready` has this status.
    pub(crate) async fn until_ready(&self, node: &str, status: &str) -> Result<()> {
        let nodes: Api<Node> = Api::all(self.plane.client().await?);
        let check = || async { Ok(ready(&nodes.get(node).await?) == Some(status.to_owned())) };
        eventually(&format!("node {node} is Ready={status}"), LIMIT, check).await
    }

    /// A fresh namespace in which Pods can be made.
    pub(crate) async fn namespace(&self) -> Result<String> {
        let name = self.plane.namespace().await?;
        let accounts: Api<ServiceAccount> = Api::namespaced(self.plane.client().await?, &name);
        let check = || async { Ok(accounts.get_opt("default").await?.is_some()) };
        eventually("the namespace has its service account", LIMIT, check).await?;
        Ok(name)
    }

    /// Runs kubectl, which must succeed; gives what it printed.
    pub(crate) fn kubectl<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> Result<String> {
        Ok(self.command("kubectl")?.args(args).timeout(LIMIT * 2).run()?.success()?.stdout)
    }

    /// Runs kubectl, which must fail; gives what it said.
    pub(crate) fn kubectl_fails<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> Result<String> {
        // Over a WebSocket, kubectl does not tell what the kubelet said.
        let kubectl = self.command("kubectl")?.env("KUBECTL_REMOTE_COMMAND_WEBSOCKETS", "false");
        Ok(kubectl.args(args).timeout(LIMIT).run()?.failed_with(1)?.stderr)
    }

    /// Starts kubectl, to be watched.
    pub(crate) fn kubectl_runs<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> Result<Running> {
        self.command("kubectl")?.args(args).spawn()
    }

    /// Runs helm, which must succeed; gives what it printed.
    pub(crate) fn helm<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> Result<String> {
        Ok(self.command("helm")?.args(args).timeout(LIMIT * 2).run()?.success()?.stdout)
    }

    /// Gives objects to the API server, in a namespace.
    pub(crate) fn apply(&self, namespace: &str, objects: &serde_json::Value) -> Result<()> {
        let apply = self.command("kubectl")?.args(["-n", namespace, "apply", "-f", "-"]);
        apply.stdin(objects.to_string()).run()?.success().map(drop)
    }

    fn command(&self, program: &str) -> Result<butler_tests::Invocation> {
        Ok(self.env.command(part(program)?).env("KUBECONFIG", self.plane.kubeconfig()))
    }

    /// What a Pod's spec needs to come to a reserved node, and to no other.
    pub(crate) fn only_on(node: &str) -> serde_json::Value {
        serde_json::json!({
            "nodeSelector": {"kubernetes.io/hostname": node},
            "tolerations": [{"key": "reserved", "operator": "Exists"}],
        })
    }
}

fn options(
    spec: Spec,
    address: IpAddr,
    port: u16,
    client: kube::Client,
    client_ca: String,
    log_dir: std::path::PathBuf,
) -> KubeletOptions {
    let taint = Taint { key: "reserved".to_owned(), effect: "NoSchedule".to_owned(), ..Taint::default() };
    KubeletOptions {
        provider_id: Some(format!("sandbox://{}", spec.name)),
        machine_id: format!("machine-{}", spec.name),
        node_name: spec.name,
        address,
        port,
        cpu: 4,
        memory_mb: 8192,
        disk_gb: 40,
        labels: spec.labels,
        annotations: BTreeMap::from([("example.com/rack".to_owned(), "7".to_owned())]),
        taints: if spec.reserved { vec![taint] } else { Vec::new() },
        kubelet_version: "v1.34.4".to_owned(),
        os_image: "Talos (v1.11.5)".to_owned(),
        kernel_version: "6.12.57-talos".to_owned(),
        container_runtime: "containerd://2.1.5".to_owned(),
        system_uuid: "0f5cf0a5-0000-4000-8000-000000000001".to_owned(),
        boot_id: "0f5cf0a5-0000-4000-8000-000000000002".to_owned(),
        client,
        client_ca,
        serving: None,
        network_ready: spec.network_ready,
        log_dir,
        clock_skew: spec.clock_skew,
    }
}

/// The status of a Node's `Ready`.
pub(crate) fn ready(node: &Node) -> Option<String> {
    let conditions = node.status.as_ref()?.conditions.as_ref()?;
    conditions.iter().find(|condition| condition.type_ == "Ready").map(|ready| ready.status.clone())
}

/// A part of JSON that must be there.
pub(crate) fn at<'a>(value: &'a serde_json::Value, pointer: &str) -> Result<&'a serde_json::Value> {
    value.pointer(pointer).with_context(|| format!("nothing at {pointer} of {value:#}"))
}
