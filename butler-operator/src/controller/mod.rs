//! Controllers: what brings the world to what objects ask for.
//!
//! A controller is one file or folder that implements [`Reconciler`], and one line in [`CONTROLLERS`].
//! Inside it, deciding is apart from acting: `decide` takes the object, what was found, and the time,
//! and says what to do next, what status to write and whom to tell; the code around it only carries
//! that out. Around the controllers:
//!
//! | module | owns |
//! |---|---|
//! | `source` | watches, shared by all; a malformed object is kept apart, a missing definition waited for |
//! | `runner` | the queue of a controller, retries with growing pauses, counting |
//! | `provider` | drivers of ProviderConfigs, and which requests they wake |
//! | `status` | status by server-side apply, finalizers, protection against acting on old copies |
//! | `notice` | Kubernetes Events |
//! | `leader` | which replica acts |
//! | `metrics`, `health`, `http` | what is told to monitoring |
//!
//! kube's `applier` is used rather than its `Controller`, because sources are shared and providers wake
//! requests too. Nothing is asked in steady state: requests, ProviderConfigs and the metadata of Secrets
//! come by watch, a Secret itself is read when it changes, and what is written is compared before.

pub(crate) mod backoff;
mod cluster_bootstrap;
mod condition;
mod error;
mod failure;
mod health;
mod http;
mod leader;
mod load_balancer_request;
mod machine_request;
mod metrics;
mod notice;
mod provider;
mod runner;
mod source;
mod status;

use std::{fmt, net::SocketAddr, sync::Arc, time::Duration};

use butler_core::{error::Diagnose, machine};
use futures::future::BoxFuture;
use jiff::Timestamp;
use kube::Client;
use tokio::{net::TcpListener, task::JoinSet, time::sleep};
use tokio_util::sync::CancellationToken;

pub(crate) use cluster_bootstrap::client_of;
pub use cluster_bootstrap::{Workbench, kubeconfig, machine_names};
pub use error::ControllerError;
pub(crate) use failure::code_of;
pub use leader::Election;
pub use runner::{Next, Reconciler};
pub use source::{Guarded, Source, Sources, Watched};
pub use status::Written;

use crate::driver::registry::Connect;
use backoff::Delays;
use health::{Health, Stage};
pub(crate) use leader::chain;
use leader::{Elector, Leadership};
use metrics::Metrics;
use notice::Board;
use provider::Providers;
use source::Tasks;
use status::Writes;

/// A controller that this version has.
pub struct Controller {
    /// Its name in flags, logs and metrics.
    pub name: &'static str,
    /// The kinds it watches, its own first.
    pub watches: &'static [&'static str],
    run: fn(Arc<Context>) -> BoxFuture<'static, ()>,
}

impl Controller {
    const fn of<R: Reconciler>(watches: &'static [&'static str]) -> Self {
        Self { name: R::NAME, watches, run: |context| Box::pin(runner::run::<R>(context)) }
    }
}

impl fmt::Debug for Controller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Controller").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Every controller.
pub const CONTROLLERS: &[Controller] = &[
    Controller::of::<cluster_bootstrap::ClusterBootstraps>(&[
        "ClusterBootstrap",
        "MachineRequest",
        "LoadBalancerRequest",
        "ProviderConfig",
        "Secret",
    ]),
    Controller::of::<load_balancer_request::LoadBalancerRequests>(&[
        "LoadBalancerRequest",
        "ProviderConfig",
        "Secret",
    ]),
    Controller::of::<machine_request::MachineRequests>(&["MachineRequest", "ProviderConfig", "Secret"]),
];

/// What to run, and how.
#[derive(Clone)]
pub struct Options {
    /// Names of the controllers to run; all that have something to do when empty.
    pub controllers: Vec<String>,
    /// Where metrics and health are served; nowhere when not given.
    pub metrics: Option<SocketAddr>,
    /// Leader election; without it this process acts at once and has no rival.
    pub election: Option<Election>,
    /// Who we are in Events and in the lease.
    pub identity: String,
    /// Whose machines are ours; the UID of the namespace `kube-system` when not given.
    pub owner: Option<String>,
    /// Makes drivers.
    pub connect: Connect,
    /// How long things may take.
    pub timing: Timing,
    /// What a bootstrap works with; without it ClusterBootstraps are left alone.
    pub bootstrap: Option<Arc<Workbench>>,
}

/// How long things may take, and how often they are looked at.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// A machine without an address counts as failed after this time.
    pub machine: Duration,
    /// A load balancer that is not ready counts as failed after this time.
    pub load_balancer: Duration,
    /// How long a step of Talos in a bootstrap may go on without progress, all tries together.
    pub talos: Duration,
    /// How long the last look at a new cluster may go on.
    pub verify: Duration,
    /// The longest pause between two tries of the same.
    pub retry: Duration,
    /// A deletion that takes longer is reported.
    pub deletion: Duration,
    /// Pause before another try after a failure that may pass without anybody changing an object.
    pub failed: Duration,
    /// Pause between looks at what is being made or removed; longer where the provider tells changes.
    pub pending: Duration,
    /// Pause between looks at what is ready; longer where the provider tells changes.
    pub steady: Duration,
    /// How long a stop waits for what has begun.
    pub grace: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            machine: Duration::from_secs(15 * 60),
            load_balancer: Duration::from_secs(10 * 60),
            talos: Duration::from_secs(10 * 60),
            verify: Duration::from_secs(10 * 60),
            retry: Duration::from_secs(5 * 60),
            deletion: Duration::from_secs(10 * 60),
            failed: Duration::from_secs(5 * 60),
            pending: Duration::from_secs(5),
            steady: Duration::from_secs(30),
            grace: Duration::from_secs(5),
        }
    }
}

impl Timing {
    /// Where the provider tells its changes, asking is only a safety net.
    fn told(self, tells: bool) -> Self {
        if !tells {
            return self;
        }
        Self { pending: self.pending * 3, steady: self.steady * 10, ..self }
    }
}

/// What a controller works with during one term of leadership.
pub struct Context {
    /// The client.
    pub client: Client,
    /// Everything that is watched.
    pub sources: Sources,
    owner: String,
    providers: Providers,
    timing: Timing,
    bootstrap: Option<Arc<Workbench>>,
    metrics: Arc<Metrics>,
    health: Health,
    board: Board,
    writes: Writes,
    leadership: Leadership,
    stop: CancellationToken,
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("owner", &self.owner).finish_non_exhaustive()
    }
}

impl Context {
    /// The time, to the second: that is what statuses hold.
    fn now(&self) -> Timestamp {
        Timestamp::from_second(Timestamp::now().as_second()).unwrap_or_default()
    }
}

/// A name for this process that no other has: the machine's, and something random.
pub fn identity() -> String {
    let mut random = [0; 4];
    // Without randomness the process id has to do.
    if ring::rand::SecureRandom::fill(&ring::rand::SystemRandom::new(), &mut random).is_err() {
        random = std::process::id().to_be_bytes();
    }
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    format!("{host}_{:08x}", u32::from_be_bytes(random))
}

/// Runs controllers until `stop`. A server that does not answer is waited for; the only errors are
/// those of the options.
pub async fn run(client: Client, options: Options, stop: CancellationToken) -> Result<(), ControllerError> {
    let service = Service::new(client, options).await?;
    service.run(stop).await;
    Ok(())
}

/// Controllers that are about to run.
pub struct Service {
    client: Client,
    options: Options,
    controllers: Vec<&'static Controller>,
    listener: Option<TcpListener>,
    metrics: Arc<Metrics>,
    health: Health,
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { controllers, metrics, election, identity, owner, timing, .. } = self;
        f.debug_struct("Options")
            .field("controllers", controllers)
            .field("metrics", metrics)
            .field("election", election)
            .field("identity", identity)
            .field("owner", owner)
            .field("timing", timing)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Service").field("options", &self.options).finish_non_exhaustive()
    }
}

impl Service {
    /// Checks the options and begins to listen.
    pub async fn new(client: Client, options: Options) -> Result<Self, ControllerError> {
        let controllers = choose(&options.controllers, options.bootstrap.is_some())?;
        let listener = match options.metrics {
            Some(address) => Some(http::listen(address).await?),
            None => None,
        };
        Ok(Self {
            client,
            options,
            controllers,
            listener,
            metrics: Arc::default(),
            health: Health::default(),
        })
    }

    /// Where metrics and health are served.
    pub fn address(&self) -> Option<SocketAddr> {
        self.listener.as_ref().and_then(|listener| listener.local_addr().ok())
    }

    /// Runs until `stop`.
    pub async fn run(mut self, stop: CancellationToken) {
        let names: Vec<_> = self.controllers.iter().map(|controller| controller.name).collect();
        tracing::info!(controllers = names.join(","), identity = self.options.identity, "starting");
        let mut server = JoinSet::new();
        let closed = CancellationToken::new();
        if let Some(address) = self.address() {
            tracing::info!(%address, "serving metrics and health");
        }
        if let Some(listener) = self.listener.take() {
            server.spawn(http::serve(listener, self.metrics.clone(), self.health.clone(), closed.clone()));
        }
        self.terms(&stop).await;
        self.health.set_stage(Stage::Stopping);
        closed.cancel();
        let _ = tokio::time::timeout(Duration::from_secs(1), server.join_all()).await;
        tracing::info!("stopped");
    }

    /// One term of leadership after another.
    async fn terms(&self, stop: &CancellationToken) {
        let Some(owner) = stop.run_until_cancelled(self.owner()).await else { return };
        let mut elector =
            self.options.election.clone().map(|election| Elector::new(self.client.clone(), election));
        loop {
            let leadership = match &mut elector {
                None => Leadership::always(),
                Some(elector) => {
                    self.health.set_stage(Stage::StandingBy);
                    if stop.run_until_cancelled(elector.acquire()).await.is_none() {
                        elector.release().await;
                        return;
                    }
                    elector.leadership()
                }
            };
            self.health.set_stage(Stage::Leading);
            self.metrics.set_leader(true);
            tracing::info!("acting");
            let mut term = self.begin(owner.clone(), leadership);
            let lost = async {
                match &mut elector {
                    Some(elector) => elector.hold().await,
                    None => std::future::pending().await,
                }
            };
            let stopped = stop.run_until_cancelled(lost).await.is_none();
            if stopped {
                self.health.set_stage(Stage::Stopping);
                let grace = self.options.timing.grace;
                // Nobody renews the lease any more.
                term.finish(elector.as_ref().map_or(grace, |elector| grace.min(elector.remaining()))).await;
            }
            // Whatever is still under way ends here, in the middle of what it waits for.
            drop(term);
            self.metrics.set_leader(false);
            if stopped {
                if let Some(elector) = &mut elector {
                    elector.release().await;
                }
                return;
            }
            tracing::warn!("no longer acting");
        }
    }

    fn begin(&self, owner: String, leadership: Leadership) -> Term {
        let tasks = Tasks::default();
        let stop = CancellationToken::new();
        let sources = Sources::new(
            self.client.clone(),
            self.metrics.clone(),
            tasks.clone(),
            self.health.waiting.clone(),
        );
        let connect = self.options.connect.clone();
        let context = Arc::new(Context {
            client: self.client.clone(),
            providers: Providers::new(self.client.clone(), owner.clone(), connect, &sources, tasks.clone()),
            sources,
            owner,
            timing: self.options.timing,
            bootstrap: self.options.bootstrap.clone(),
            metrics: self.metrics.clone(),
            health: self.health.clone(),
            board: Board::new(self.client.clone(), &self.options.identity),
            writes: Writes::default(),
            leadership,
            stop: stop.clone(),
        });
        let mut controllers = JoinSet::new();
        for controller in &self.controllers {
            controllers.spawn((controller.run)(context.clone()));
        }
        Term { stop, controllers, tasks }
    }

    /// The platform's own mark on machines.
    async fn owner(&self) -> String {
        if let Some(owner) = &self.options.owner {
            return owner.clone();
        }
        let mut delays = Delays::new(Duration::from_millis(200), Duration::from_secs(5));
        loop {
            match machine::owner(&self.client).await {
                Ok(owner) => return owner,
                Err(error) => {
                    tracing::warn!(code = %error.code(), "{}", chain(&error));
                    sleep(delays.next()).await;
                }
            }
        }
    }
}

/// The controllers of one term. Dropped, everything of it ends at once.
struct Term {
    stop: CancellationToken,
    controllers: JoinSet<()>,
    tasks: Tasks,
}

impl Term {
    /// Takes no new work and waits for what has begun.
    async fn finish(&mut self, grace: Duration) {
        self.stop.cancel();
        let all = async { while self.controllers.join_next().await.is_some() {} };
        if tokio::time::timeout(grace, all).await.is_err() {
            tracing::warn!("what was under way is cut off; it is taken up again by the next start");
        }
    }
}

impl Drop for Term {
    fn drop(&mut self) {
        self.controllers.abort_all();
        self.tasks.abort();
    }
}

/// The controllers of these names; without names all that have something to do: outside a bootstrap
/// ClusterBootstraps are records, which nobody need be allowed to read.
fn choose(names: &[String], bootstraps: bool) -> Result<Vec<&'static Controller>, ControllerError> {
    if names.is_empty() {
        let idle = |name: &str| name == cluster_bootstrap::ClusterBootstraps::NAME && !bootstraps;
        return Ok(CONTROLLERS.iter().filter(|controller| !idle(controller.name)).collect());
    }
    let known = |name: &String| CONTROLLERS.iter().find(|controller| controller.name == name);
    if let Some(unknown) = names.iter().find(|name| known(name).is_none()) {
        return Err(ControllerError::Unknown { name: unknown.clone() });
    }
    Ok(CONTROLLERS.iter().filter(|controller| names.iter().any(|name| name == controller.name)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controllers_are_chosen_by_name_and_each_once() {
        assert_eq!(choose(&[], true).unwrap().len(), CONTROLLERS.len());
        let serving = choose(&[], false).unwrap();
        assert_eq!(serving.len(), CONTROLLERS.len() - 1);
        assert!(serving.iter().all(|controller| controller.name != "cluster-bootstrap"));
        let chosen = choose(&["machine-request".into(), "machine-request".into()], false).unwrap();
        assert_eq!(chosen.iter().map(|controller| controller.name).collect::<Vec<_>>(), ["machine-request"]);
        let error = choose(&["machine-requests".into()], false).unwrap_err();
        assert!(error.to_string().contains("`machine-requests`"), "{error}");
        assert_eq!(error.hints(), ["did you mean `machine-request`"]);
    }
}
