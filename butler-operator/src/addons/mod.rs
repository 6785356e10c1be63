//! Installs what [`butler_core::bootstrap::addons`] describes.

mod error;

use std::{fmt, path::PathBuf, sync::Arc};

use async_trait::async_trait;
use butler_core::bootstrap::addons::AddonStep;
use kube::Client;

pub use error::AddonError;

use crate::driver::registry::Credentials;

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
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Target").field("kubeconfig", &self.kubeconfig).finish_non_exhaustive()
    }
}
