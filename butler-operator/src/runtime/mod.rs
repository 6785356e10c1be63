//! The temporary control plane of a bootstrap: an API server that holds the objects of a run until the
//! management cluster exists. It is a cache: whatever it holds can be made again from the run's journal.

mod error;
pub mod kind;
mod process;

use std::{fmt, net::Ipv4Addr, path::PathBuf};

use async_trait::async_trait;
use butler_core::{bootstrap::config::RuntimeKind, event::Reporter};

pub use error::RuntimeError;
pub use kind::{KindRuntime, KindRuntimeOptions};
pub use process::{ProcessRuntime, ProcessRuntimeOptions};

/// Something that runs a temporary control plane.
#[async_trait]
pub trait Runtime: fmt::Debug + Send + Sync {
    /// Which one.
    fn kind(&self) -> RuntimeKind;

    /// Looks for everything that would keep [`ensure`](Self::ensure) from working, and changes nothing.
    async fn check(&self) -> Result<(), RuntimeError>;

    /// Makes the control plane exist and answer. Idempotent: one that this run made before is used
    /// again; one that somebody else made is an error that names it.
    async fn ensure(&self, reporter: &Reporter) -> Result<TemporaryCluster, RuntimeError>;

    /// Removes the control plane with everything in it, and looks whether it is gone. Idempotent. Objects
    /// in it are not deleted one by one: nothing that they stand for is touched. One that has become the
    /// management cluster stays.
    async fn remove(&self, reporter: &Reporter) -> Result<(), RuntimeError>;

    /// Addresses for load balancers on the network that the control plane is in, both ends included; none
    /// where it has no network of its own. Asked once it exists.
    async fn load_balancer_pool(
        &self,
        _reporter: &Reporter,
    ) -> Result<Option<(Ipv4Addr, Ipv4Addr)>, RuntimeError> {
        Ok(None)
    }

    /// As [`remove`](Self::remove), also when it has become the management cluster.
    async fn destroy(&self, reporter: &Reporter) -> Result<(), RuntimeError> {
        self.remove(reporter).await
    }
}

/// A control plane that answers.
#[derive(Clone, Debug)]
pub struct TemporaryCluster {
    /// An administrator's kubeconfig (0600).
    pub kubeconfig: PathBuf,
    /// Whether it was there before.
    pub reused: bool,
}
