//! A real control plane: etcd and kube-apiserver with TLS and RBAC on loopback.
//!
//! This file is what tests call; `servers` knows the programs' flags, `audit` reads the audit log.

mod audit;
mod servers;

use std::{
    net::{IpAddr, Ipv4Addr},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use anyhow::{Result, bail};
use butler_core::settings::home::write_private;
use butler_operator::process::{
    Child, GuardedDir, ProcessError, Signal,
    ports::{self, Port},
};
use k8s_openapi::api::{coordination::v1::Lease, core::v1::Namespace};
use kube::{
    Api, Client, Config,
    api::{ObjectMeta, PostParams},
    config::{KubeConfigOptions, Kubeconfig},
};
use tokio::sync::{Mutex, OnceCell};

pub use audit::Request;

use crate::{guard, pki::Authority};

const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
/// For a machine that is busy with other tests; on an idle one it takes three seconds.
const READY_LIMIT: Duration = Duration::from_secs(90);
/// The API server waits for open watches when it is asked to stop; tests need not.
const STOP_GRACE: Duration = Duration::from_secs(3);
/// How often a start is tried when a stranger takes a port.
const ATTEMPTS: u32 = 3;

/// What a control plane has beside etcd and kube-apiserver.
#[derive(Clone, Copy, Debug, Default)]
pub struct Builder {
    audit: bool,
    controllers: bool,
    nodes: bool,
}

impl Builder {
    /// Records every request, see [`ControlPlane::audited`].
    pub fn audit(mut self) -> Self {
        self.audit = true;
        self
    }

    /// Runs kube-controller-manager and kube-scheduler too.
    pub fn controllers(mut self) -> Self {
        self.controllers = true;
        self
    }

    /// Can have nodes: restricts what a node's identity may do as a real cluster does, gives ranges of
    /// addresses to nodes, and reaches kubelets at their internal address. Runs the controllers too.
    pub fn nodes(mut self) -> Self {
        self.controllers = true;
        self.nodes = true;
        self
    }

    /// Starts it and waits until it is ready.
    pub async fn start(self) -> Result<ControlPlane> {
        for _ in 1..ATTEMPTS {
            match ControlPlane::launch(self, Ports::reserve()?).await {
                Err(error) if lost_port(&error) => {}
                other => return other,
            }
        }
        ControlPlane::launch(self, Ports::reserve()?).await
    }
}

/// True when a program could not listen. The programs have no better way to say so than their log.
fn lost_port(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(ProcessError::Ended { log, .. })
        if log.lines.iter().any(|line| line.contains("address already in use")))
}

/// A running control plane; gone with this value, or with this process.
pub struct ControlPlane {
    options: Builder,
    // Processes go before the directory they write to.
    controllers: Vec<Child>,
    api_server: Mutex<Option<Child>>,
    etcd: Child,
    ports: Ports,
    authority: Authority,
    server: String,
    kubeconfig: PathBuf,
    namespaces: AtomicU32,
    identities: AtomicU32,
    dir: GuardedDir,
}

/// Held as long as the plane lives, so that a restart finds them free.
struct Ports {
    etcd: Port,
    etcd_peer: Port,
    api: Port,
}

impl Ports {
    fn reserve() -> Result<Self> {
        let reserve = || ports::reserve(LOOPBACK);
        Ok(Self { etcd: reserve()?, etcd_peer: reserve()?, api: reserve()? })
    }
}

impl ControlPlane {
    /// A control plane for one test.
    pub async fn start() -> Result<Self> {
        Self::builder().start().await
    }

    /// The control plane of this test binary. Tests share it, each in a [`namespace`](Self::namespace)
    /// of its own.
    pub async fn shared() -> Result<&'static Self> {
        static SHARED: OnceCell<ControlPlane> = OnceCell::const_new();
        SHARED.get_or_try_init(Self::start).await
    }

    /// A control plane with more to it.
    pub fn builder() -> Builder {
        Builder::default()
    }

    async fn launch(options: Builder, ports: Ports) -> Result<Self> {
        // Fails only when a provider is installed already, and then it is this one.
        let _ = rustls::crypto::ring::default_provider().install_default();
        // On a disk: etcd sets aside 120 MiB, which a tmpfs would take from memory, and it does not sync.
        let dir = guard()?.make_dir(&std::env::temp_dir())?;
        let authority = Authority::new("test authority")?;
        servers::write_files(dir.path(), &authority)?;
        let etcd = servers::start_etcd(dir.path(), &ports).await?;
        let mut plane = Self {
            options,
            controllers: Vec::new(),
            api_server: Mutex::new(None),
            etcd,
            server: format!("https://{}", ports.api.address()),
            ports,
            authority,
            kubeconfig: PathBuf::new(),
            namespaces: AtomicU32::new(0),
            identities: AtomicU32::new(0),
            dir,
        };
        plane.kubeconfig = plane.kubeconfig_for("kubernetes-admin", &["system:masters"])?;
        plane.start_api_server().await?;
        if options.controllers {
            plane.start_controllers().await?;
        }
        Ok(plane)
    }

    async fn start_controllers(&mut self) -> Result<()> {
        for name in ["kube-controller-manager", "kube-scheduler"] {
            let kubeconfig = self.kubeconfig_for(&format!("system:{name}"), &[])?;
            let child = servers::start_controller(name, self.dir.path(), &kubeconfig, self.options)?;
            self.controllers.push(child);
        }
        let leases: Api<Lease> = Api::namespaced(self.client().await?, "kube-system");
        for (child, name) in self.controllers.iter().zip(["kube-controller-manager", "kube-scheduler"]) {
            // They take their lease when they begin to work.
            let leads = || async { matches!(leases.get_opt(name).await, Ok(Some(_))) };
            child.ready(READY_LIMIT, leads).await?;
        }
        Ok(())
    }

    /// The address of the API server.
    pub fn server(&self) -> &str {
        &self.server
    }

    /// The kubeconfig of a cluster administrator.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// The certificate of the authority that signs every identity, PEM.
    pub fn authority(&self) -> String {
        self.authority.identity().certificate
    }

    /// Writes a kubeconfig for a user in these groups, at most two. Who has no role may do nothing.
    pub fn kubeconfig_for(&self, user: &str, groups: &[&str]) -> Result<PathBuf> {
        let number = self.identities.fetch_add(1, Ordering::Relaxed);
        let path = self.dir.path().join(format!("kubeconfig-{number}"));
        let identity = self.authority.client(user, groups)?;
        let certificate = self.authority();
        let text = servers::kubeconfig(&self.server, &certificate, user, &identity);
        write_private(&path, text.as_bytes())?;
        Ok(path)
    }

    /// A client of a cluster administrator. It belongs to the async runtime of the caller, so each test
    /// asks for its own.
    pub async fn client(&self) -> Result<Client> {
        self.client_of(&self.kubeconfig).await
    }

    /// A client with the identity of a kubeconfig, see [`kubeconfig_for`](Self::kubeconfig_for).
    pub async fn client_of(&self, kubeconfig: &Path) -> Result<Client> {
        let kubeconfig = Kubeconfig::read_from(kubeconfig)?;
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
        Ok(Client::try_from(config)?)
    }

    /// Makes a fresh namespace.
    pub async fn namespace(&self) -> Result<String> {
        let name = format!("test-{:04}", self.namespaces.fetch_add(1, Ordering::Relaxed));
        let namespaces: Api<Namespace> = Api::all(self.client().await?);
        let metadata = ObjectMeta { name: Some(name.clone()), ..ObjectMeta::default() };
        namespaces.create(&PostParams::default(), &Namespace { metadata, ..Namespace::default() }).await?;
        Ok(name)
    }

    /// Starts the API server again, on the same port and with the same data.
    pub async fn start_api_server(&self) -> Result<()> {
        let mut running = self.api_server.lock().await;
        if running.as_ref().is_some_and(|child| child.exited().is_none()) {
            bail!("the API server is running");
        }
        let child = servers::start_api_server(self.dir.path(), &self.ports, self.options)?;
        let client = self.client().await?;
        let ready = || async {
            let request = http::Request::get("/readyz").body(Vec::new()).unwrap_or_default();
            let answer = tokio::time::timeout(Duration::from_secs(5), client.request_text(request));
            matches!(answer.await, Ok(Ok(_)))
        };
        tokio::select! {
            result = child.ready(READY_LIMIT, ready) => result?,
            // Should etcd end, the server would wait for it to the last.
            result = self.etcd.ready(READY_LIMIT, || async { false }) => result?,
        }
        *running = Some(child);
        Ok(())
    }

    /// Asks the API server to stop, and waits for it.
    pub async fn stop_api_server(&self) {
        if let Some(child) = self.api_server.lock().await.take() {
            child.stop(STOP_GRACE).await;
        }
    }

    /// Kills the API server with SIGKILL.
    pub async fn kill_api_server(&self) {
        // Dropping a child kills it.
        self.api_server.lock().await.take();
    }

    /// Makes etcd hold still, so that every request that needs it waits; or lets it go on.
    pub fn stall_etcd(&self, stall: bool) {
        self.etcd.signal(if stall { Signal::STOP } else { Signal::CONT });
    }

    /// Every request since the start but those of the API server to itself, in order.
    pub fn audited(&self) -> Result<Vec<Request>> {
        if !self.options.audit {
            bail!("this control plane was built without `.audit()`");
        }
        audit::read(&servers::audit_log(self.dir.path()))
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn a_port_lost_to_a_stranger_is_told_from_other_failures() -> Result<()> {
        for taken in [|ports: &Ports| ports.etcd.address(), |ports: &Ports| ports.api.address()] {
            let ports = Ports::reserve()?;
            let _stranger = TcpListener::bind(taken(&ports))?;
            let error = ControlPlane::launch(Builder::default(), ports).await.map(drop).expect_err("taken");
            assert!(lost_port(&error), "{error:?}");
        }
        assert!(!lost_port(&anyhow::anyhow!("something else")));
        Ok(())
    }
}
