//! ClusterBootstrap: from machines to a management cluster.
//!
//! Runs inside `butleradm bootstrap`, on a temporary control plane. The status holds how far it is, but
//! nothing depends on it: every step looks first whether its work was done before, so a ClusterBootstrap
//! that is written anew arrives at the same cluster.

mod decide;
mod machines;
mod nodes;
mod pivot;
mod recover;
#[cfg(test)]
mod tests;
mod verify;
mod wanted;

use std::{
    path::PathBuf,
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use butler_core::{
    api::{
        ClusterBootstrap, LoadBalancerRequest, MachineRequest,
        cluster_bootstrap::{ClusterBootstrapPhase, ClusterBootstrapStatus},
        common::{ProviderKind, Time},
        names::{finalizers, labels, managers},
    },
    bootstrap::{
        addons::{AddonStep, node_machines, without},
        run::steps,
    },
    cluster::ApiError,
    error::{Code, Diagnose, ErrorKind},
};
use futures::{StreamExt, stream::BoxStream};
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, Patch, PatchParams},
    runtime::reflector::ObjectRef,
};
use serde_json::json;

use super::{
    Context, Next, Reconciler,
    leader::chain,
    source::{Guarded, Watched, lock},
    status::{Writer, Written},
};
use crate::{
    addons::{AddonError, Installer, Target},
    ledger::Ledger,
};
use decide::{Decision, Fact, Step, Trouble, View, decide};
use nodes::Cluster;

/// More steps than any path through the decisions has in one turn: every addon is one.
const MOST_STEPS: usize = 100;

/// What a bootstrap needs besides the objects. Without it ClusterBootstraps are records of how the
/// cluster was made, and left alone.
#[derive(Clone, Debug)]
pub struct Workbench {
    /// Where effects are written down.
    pub ledger: Ledger,
    /// Installs addons.
    pub installer: Arc<dyn Installer>,
    /// What is installed.
    pub addons: Vec<AddonStep>,
    /// The provider's credentials, for addons that need them.
    pub credentials: Arc<crate::driver::registry::Credentials>,
    /// A directory (0700) for files of programs.
    pub work: PathBuf,
    /// A snapshot that etcd begins from, where a cluster is made from a backup.
    pub recover: Option<PathBuf>,
}

impl Workbench {
    /// True when an addon is the network of Pods.
    fn brings_network(&self) -> bool {
        self.addons.iter().any(|step| step.key == "cilium")
    }
}

pub use nodes::kubeconfig;

/// A client of the new cluster; none when its kubeconfig is not usable.
pub(crate) async fn client_of(kubeconfig: &butler_core::redact::Secret) -> Option<kube::Client> {
    nodes::connect_to(kubeconfig).await.ok()
}

/// Names of the machines that a bootstrap asks for.
pub fn machine_names(bootstrap: &ClusterBootstrap) -> Vec<String> {
    wanted::machine_requests(bootstrap).into_iter().map(|request| request.spec.machine_name).collect()
}

/// The controller.
#[derive(Debug)]
pub(super) struct ClusterBootstraps {
    context: Arc<Context>,
    /// The way into the new cluster, once there is one.
    target: Mutex<Option<(String, Target)>>,
}

#[async_trait]
impl Reconciler for ClusterBootstraps {
    type Kind = ClusterBootstrap;

    const NAME: &'static str = "cluster-bootstrap";

    fn new(context: Arc<Context>) -> Self {
        Self { context, target: Mutex::default() }
    }

    async fn ready(&self) {
        self.context.providers.ready().await;
        let sources = &self.context.sources;
        let (requests, balancers) =
            (sources.of::<Guarded<MachineRequest>>(), sources.of::<Guarded<LoadBalancerRequest>>());
        tokio::join!(requests.ready(), balancers.ready());
    }

    fn triggers(&self) -> Vec<BoxStream<'static, ObjectRef<Guarded<ClusterBootstrap>>>> {
        let sources = &self.context.sources;
        vec![
            sources.of::<Guarded<MachineRequest>>().changes().filter_map(owner).boxed(),
            sources.of::<Guarded<LoadBalancerRequest>>().changes().filter_map(owner).boxed(),
        ]
    }

    async fn reconcile(&self, bootstrap: &ClusterBootstrap) -> Result<Next, ApiError> {
        let Some(bench) = self.context.bootstrap.clone() else { return Ok(Next::Await) };
        let mut bootstrap = bootstrap.clone();
        let namespace = bootstrap.namespace().unwrap_or_default();
        let mut fact = Fact::Nothing;
        for _ in 0..MOST_STEPS {
            let requests = self.requests(&bootstrap);
            let balancer = self.balancer(&bootstrap);
            let provided = self.context.providers.connect(&namespace, &bootstrap.spec.provider_ref).await?;
            let view = View {
                bootstrap: &bootstrap,
                has_provider: wanted::is_local(&bootstrap)
                    || !matches!(provided, Err(super::provider::Obstacle::Missing(_))),
                requests: &requests,
                balancer: balancer.as_ref(),
                addons: &bench.addons,
                timing: self.context.timing,
                now: self.context.now(),
            };
            let Decision { status, notice, step } = decide(&view, fact);
            let changed = self.write(&mut bootstrap, status).await?;
            if let Some(notice) = notice.filter(|_| changed) {
                self.context.board.publish(&bootstrap, &notice).await;
            }
            fact = match step {
                Step::Done(Next::After(pause)) if pause.is_zero() => Fact::Nothing,
                Step::Done(next) => return Ok(next),
                Step::AddFinalizer => {
                    let mut all = bootstrap.finalizers().to_vec();
                    all.push(finalizers::CLUSTER_BOOTSTRAP.to_owned());
                    bootstrap.metadata = self.writer().finalizers(&bootstrap, &all).await?.metadata;
                    Fact::Guarded
                }
                Step::RemoveFinalizer => {
                    let rest: Vec<String> = bootstrap
                        .finalizers()
                        .iter()
                        .filter(|name| *name != finalizers::CLUSTER_BOOTSTRAP)
                        .cloned()
                        .collect();
                    self.writer().finalizers(&bootstrap, &rest).await?;
                    return Ok(Next::Await);
                }
                Step::Ask(requests, balancer) => {
                    self.ask(&requests, balancer.as_deref()).await?;
                    Fact::Asked
                }
                Step::Release => {
                    self.release(&requests, balancer.as_ref()).await?;
                    Fact::Released
                }
                Step::Configure(names) => {
                    Fact::Configured(match Cluster::of(&self.context.client, &bootstrap, &bench).await {
                        Ok(cluster) => cluster.configure(&names, &bench.ledger).await,
                        Err(trouble) => names.into_iter().map(|name| (name, Err(trouble.clone()))).collect(),
                    })
                }
                Step::Bootstrap(first) => Fact::Bootstrapped(self.begin(&bench, &bootstrap, &first).await),
                Step::Install(key) => {
                    let installed = self.install(&bench, &bootstrap, &key).await;
                    Fact::Installed(key, installed)
                }
                Step::Verify => Fact::Verified(self.verify(&bench, &bootstrap, &requests).await),
            };
        }
        Ok(Next::Retry("undecided"))
    }
}

impl ClusterBootstraps {
    /// The requests of a bootstrap, in the order in which they are wanted.
    fn requests(&self, bootstrap: &ClusterBootstrap) -> Vec<MachineRequest> {
        let wanted = wanted::machine_requests(bootstrap);
        let position = |request: &MachineRequest| {
            wanted.iter().position(|wanted| wanted.metadata.name == request.metadata.name)
        };
        let mut requests: Vec<MachineRequest> = self.children(bootstrap);
        requests.sort_by_key(|request| (position(request).unwrap_or(usize::MAX), request.name_any()));
        requests
    }

    fn balancer(&self, bootstrap: &ClusterBootstrap) -> Option<LoadBalancerRequest> {
        self.children(bootstrap).pop()
    }

    fn children<K: Written>(&self, bootstrap: &ClusterBootstrap) -> Vec<K>
    where
        Guarded<K>: Watched,
    {
        let store = self.context.sources.of::<Guarded<K>>().store().state();
        let ours = |object: &K| {
            object.namespace() == bootstrap.namespace()
                && object.labels().get(labels::CLUSTER_BOOTSTRAP) == Some(&bootstrap.name_any())
        };
        store
            .iter()
            .filter_map(|object| object.0.as_ref().ok())
            .filter(|object| ours(object))
            .cloned()
            .collect()
    }

    fn writer(&self) -> Writer<'_> {
        let Context { client, writes, .. } = &*self.context;
        Writer { client, writes, manager: managers::CLUSTER_BOOTSTRAP }
    }

    /// Writes the status if it says something new.
    async fn write(
        &self,
        bootstrap: &mut ClusterBootstrap,
        mut new: ClusterBootstrapStatus,
    ) -> Result<bool, ApiError> {
        let old = bootstrap.status.clone().unwrap_or_default();
        new.last_updated.clone_from(&old.last_updated);
        if new == old {
            return Ok(false);
        }
        new.last_updated = Some(Time(self.context.now()));
        bootstrap.metadata = self.writer().status(bootstrap, &new).await?;
        tracing::info!(
            bootstrap = bootstrap.name_any(),
            phase = new.phase.as_ref().map(ClusterBootstrapPhase::as_str),
            reason = new.failure_reason,
            "status"
        );
        bootstrap.status = Some(new);
        Ok(true)
    }

    /// Writes requests; those that are there stay as they are but for what we say.
    async fn ask(
        &self,
        requests: &[MachineRequest],
        balancer: Option<&LoadBalancerRequest>,
    ) -> Result<(), ApiError> {
        let client = &self.context.client;
        let written = requests.iter().map(|request| apply_object(client, request));
        futures::future::try_join_all(written).await?;
        match balancer {
            Some(balancer) => apply_object(client, balancer).await,
            None => Ok(()),
        }
    }

    async fn release(
        &self,
        requests: &[MachineRequest],
        balancer: Option<&LoadBalancerRequest>,
    ) -> Result<(), ApiError> {
        let client = &self.context.client;
        futures::future::try_join_all(requests.iter().map(|request| delete_object(client, request))).await?;
        match balancer {
            Some(balancer) => delete_object(client, balancer).await,
            None => Ok(()),
        }
    }

    async fn begin(
        &self,
        bench: &Workbench,
        bootstrap: &ClusterBootstrap,
        first: &str,
    ) -> Result<(), Trouble> {
        let client = &self.context.client;
        let cluster = Cluster::of(client, bootstrap, bench).await?;
        let kubeconfig = cluster.begin(first, bench.recover.as_deref(), &bench.ledger).await?;
        if bench.recover.is_some() {
            let target = nodes::connect_to(&kubeconfig).await?;
            let settle = async { recover::settle(&target).await.map_err(|error| trouble(&error)) };
            bench.ledger.effect(steps::SETTLE, json!({}), settle, |names| json!(names)).await?;
        }
        cluster.keep_kubeconfig(client, bootstrap, &kubeconfig).await
    }

    async fn install(
        &self,
        bench: &Workbench,
        bootstrap: &ClusterBootstrap,
        key: &str,
    ) -> Result<(), Trouble> {
        let Some(step) = bench.addons.iter().find(|step| step.key == key) else { return Ok(()) };
        let target = self.target(bench, bootstrap).await?;
        let intent = json!({ "title": step.title });
        let work = async {
            let installed = bench.installer.install(step, &target).await;
            // helm has more failures that pass than words for them.
            let installed = installed
                .map_err(|error| Trouble { passes: error.is_retryable(), ..advised(step, &error) })?;
            if step.key == nodes::HOLDER {
                Cluster::of(&self.context.client, bootstrap, bench).await?.let_go().await?;
            }
            Ok::<_, Trouble>(installed)
        };
        bench.ledger.effect(&steps::addon(key), intent, work, Clone::clone).await.map(drop)
    }

    async fn verify(
        &self,
        bench: &Workbench,
        bootstrap: &ClusterBootstrap,
        requests: &[MachineRequest],
    ) -> Result<Vec<String>, Trouble> {
        let target = self.target(bench, bootstrap).await?;
        // Without a network of Pods no node is ever Ready; whoever wants none brings their own.
        let has_network = bench.brings_network()
            || matches!(bootstrap.spec.provider, ProviderKind::Local | ProviderKind::Sandbox);
        let nodes = verify::nodes(&target.client, requests, has_network).await?;
        if !wanted::is_local(bootstrap) {
            let cluster = Cluster::of(&self.context.client, bootstrap, bench).await?;
            verify::etcd(&cluster).await?;
            let record = pivot::at_its_end(bootstrap, &nodes, self.context.now());
            let work = pivot::hand_over(&target.client, &record, requests);
            let work = async { work.await.map_err(|error| trouble(&error)) };
            bench.ledger.effect(steps::PIVOT, json!({}), work, |names| json!(names)).await?;
        }
        Ok(nodes)
    }

    /// The way into the new cluster.
    async fn target(&self, bench: &Workbench, bootstrap: &ClusterBootstrap) -> Result<Target, Trouble> {
        let uid = bootstrap.uid().unwrap_or_default();
        if let Some((of, target)) = &*lock(&self.target)
            && *of == uid
        {
            return Ok(target.clone());
        }
        let kubeconfig =
            kubeconfig(&self.context.client, bootstrap).await.map_err(|error| trouble(&error))?;
        let machines = node_machines(&bootstrap.spec.provider, &self.requests(bootstrap));
        let target = nodes::target(bench, kubeconfig, machines.into()).await?;
        *lock(&self.target) = Some((uid, target.clone()));
        Ok(target)
    }
}

/// A failure, as a decision sees it.
fn trouble(error: &impl Diagnose) -> Trouble {
    let passes = error.kind().is_retryable() || error.kind() == ErrorKind::NotFound;
    Trouble { passes, code: error.code(), text: chain(error) }
}

/// A failure of an addon, with the lines of a configuration that go around it.
fn advised(step: &AddonStep, error: &AddonError) -> Trouble {
    let mut trouble = trouble(error);
    let elsewhere = match error.code() {
        Code::AddonSourceMissing | Code::AddonSourceUnreachable => {
            Some("`charts.mirror: PLACE` takes it from elsewhere".to_owned())
        }
        Code::AddonLate | Code::ReleaseFailed => None,
        _ => return trouble,
    };
    let without = without(&step.key).map(|line| format!("`{line}` does without it"));
    let ways: Vec<String> = elsewhere.into_iter().chain(without).collect();
    if !ways.is_empty() {
        trouble.text = format!("{}; in the configuration, {}", trouble.text, ways.join(", and "));
    }
    trouble
}

impl From<butler_core::event::JournalError> for Trouble {
    /// Without a journal nothing may happen, and waiting does not mend it.
    fn from(error: butler_core::event::JournalError) -> Self {
        Self { passes: false, code: error.code(), text: chain(&error) }
    }
}

/// The bootstrap that an object belongs to.
async fn owner<K: Written>(object: Arc<Guarded<K>>) -> Option<ObjectRef<Guarded<ClusterBootstrap>>>
where
    Guarded<K>: Watched,
{
    let object = object.0.as_ref().ok()?;
    let name = object.labels().get(labels::CLUSTER_BOOTSTRAP)?;
    Some(ObjectRef::new(name).within(&object.namespace().unwrap_or_default()))
}

async fn apply_object<K: Written>(client: &kube::Client, object: &K) -> Result<(), ApiError> {
    let api: Api<K> = Api::namespaced(client.clone(), &object.namespace().unwrap_or_default());
    let name = object.name_any();
    let params = PatchParams::apply(managers::CLUSTER_BOOTSTRAP).force();
    let written = api.patch(&name, &params, &Patch::Apply(object)).await;
    written.map(drop).map_err(|error| ApiError::new(format!("apply {} `{name}`", K::kind(&())), error))
}

async fn delete_object<K: Written>(client: &kube::Client, object: &K) -> Result<(), ApiError> {
    let api: Api<K> = Api::namespaced(client.clone(), &object.namespace().unwrap_or_default());
    let name = object.name_any();
    match api.delete(&name, &DeleteParams::background()).await {
        Ok(_) => Ok(()),
        Err(error) => {
            let error = ApiError::new(format!("delete {} `{name}`", K::kind(&())), error);
            if error.is_not_found() { Ok(()) } else { Err(error) }
        }
    }
}
