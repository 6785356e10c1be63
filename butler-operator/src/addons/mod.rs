//! Installs what [`butler_core::bootstrap::addons`] describes.
//!
//! [`HelmInstaller`] does so with the real helm program and server-side apply. Every step may be repeated:
//! one try is one call, within the step's deadline; whoever calls decides by the error's class whether
//! there is another.
//!
//! - `source`, `fetch`, `digests`: where charts and manifests come from, and what must be in them; `helm`, `release`: the program, and releases
//! - `manifests`, `substitute`: what others publish; `apply`: objects; `secrets`: values filled in last
//! - `nodes`: the provider's ids; `backend_pool`: nodes behind Azure's load balancer; `embedded`: the chart that this program carries
//!
//! Nothing secret is an argument of helm, in its environment or in a file: values go to its standard
//! input. It reads the kubeconfig that is named and has a home of its own below the run's directory.

mod apply;
mod backend_pool;
mod digests;
mod embedded;
mod error;
mod fetch;
mod helm;
mod manifests;
mod nodes;
mod release;
mod secrets;
mod source;
mod substitute;

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

use async_trait::async_trait;
use butler_core::{
    bootstrap::addons::{AddonAction, AddonStep, NodeMachine},
    cluster::crds,
    settings::{Environment, home::make_private_dir},
};
use kube::Client;
use serde_json::json;
use tempfile::TempDir;
use tokio::time::Instant;

pub use digests::known_digests;
pub use embedded::CHART;
pub use error::{AddonError, Words};
pub(crate) use fetch::is_protected;
pub use source::Mirror;

use crate::{driver::registry::Credentials, process::Guard};
use apply::Applier;
use fetch::Fetcher;
use helm::Helm;
use release::within;
use secrets::Resolver;

/// Installs addons into a cluster. Every step may be repeated: what is there already is brought to what
/// the step says.
#[async_trait]
pub trait Installer: fmt::Debug + Send + Sync {
    /// Carries out one step, to the end: when this returns, what the step waits for is there. Returns
    /// what now exists, for the journal: release and revision, objects.
    async fn install(&self, step: &AddonStep, target: &Target) -> Result<serde_json::Value, AddonError>;
}

/// Where addons go.
#[derive(Clone)]
pub struct Target {
    /// A client of the cluster.
    pub client: Client,
    /// An administrator's kubeconfig (0600) for programs.
    pub kubeconfig: PathBuf,
    /// The provider's credentials, for values that a step takes from them.
    pub credentials: Arc<Credentials>,
    /// The machines of the cluster, all of them, for the step that writes their ids on nodes; see
    /// [`node_machines`](butler_core::bootstrap::addons::node_machines).
    pub machines: Arc<[NodeMachine]>,
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Target").field("kubeconfig", &self.kubeconfig).finish_non_exhaustive()
    }
}

/// Installs with the helm program.
#[derive(Debug)]
pub struct HelmInstaller {
    helm: Helm,
    fetcher: Fetcher,
    mirror: Option<Mirror>,
    work: PathBuf,
}

impl HelmInstaller {
    /// Uses this helm, see [`parts`](crate::parts). `work` is a directory of the run; it is made if need be
    /// and keeps helm's own files.
    pub fn new(
        helm: PathBuf,
        guard: Guard,
        work: &Path,
        mirror: Option<Mirror>,
        environment: &Environment,
    ) -> Result<Self, AddonError> {
        make_private_dir(work)?;
        let helm = Helm::new(helm, guard, &work.join("helm"), environment)?;
        Ok(Self { helm, fetcher: Fetcher::default(), mirror, work: work.to_owned() })
    }

    /// A directory for one try; gone with the value.
    fn scratch(&self) -> Result<TempDir, AddonError> {
        tempfile::Builder::new()
            .prefix("try-")
            .tempdir_in(&self.work)
            .map_err(|source| AddonError::Read { path: self.work.clone(), source })
    }
}

#[async_trait]
impl Installer for HelmInstaller {
    async fn install(&self, step: &AddonStep, target: &Target) -> Result<serde_json::Value, AddonError> {
        let end = Instant::now() + step.deadline;
        let applier = Applier::new(&target.client, &step.key, end);
        match &step.action {
            AddonAction::Chart(chart) => self.release(chart, target, &applier, end).await,
            AddonAction::Manifests(manifests) => self.manifests(manifests, target, &applier, end).await,
            AddonAction::Objects { objects, wait_for } => {
                let names = applier.apply(objects, &mut Resolver::new(&target.credentials)).await?;
                applier.rolled_out(wait_for).await?;
                Ok(json!({ "objects": names, "workloads": wait_for }))
            }
            AddonAction::Definitions => {
                let names = crds::apply(&target.client, false).await?;
                let limit = end.saturating_duration_since(Instant::now());
                crds::established(&target.client, &names, limit).await?;
                Ok(json!({ "definitions": names }))
            }
            AddonAction::NodeProviderIds => nodes::write_ids(&target.client, &target.machines, end).await,
            AddonAction::BackendPool(pool) => {
                within(end, "the backend pool", "filled", self.backend_pool(pool, target)).await
            }
        }
    }
}
