//! Our controllers for a management cluster that a bootstrap made on machines of this sandbox: those
//! machines run no containers, so the supervisor runs the controllers in their place.

use std::convert::Infallible;

use fs_err as fs;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use super::{Running, Workshop};
use crate::sandbox::{Place, SandboxError};

/// What controllers of a management cluster must know besides its kubeconfig, which lies in the place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ManagementCluster {
    /// Whose machines are theirs.
    pub owner: String,
}

impl ManagementCluster {
    fn read(place: &Place) -> Option<Self> {
        fs::read(place.management()).ok().and_then(|text| serde_json::from_slice(&text).ok())
    }
}

/// Starts controllers when there is a management cluster.
pub(super) struct Management<'a> {
    pub(super) workshop: Workshop<'a>,
    /// Told that there is one now, and who owns its machines; or that there is none any more.
    pub(super) wants: mpsc::Receiver<Option<ManagementCluster>>,
}

impl Management<'_> {
    /// Goes on with the management cluster of an earlier start.
    pub(super) async fn resume(
        &mut self,
        running: &mut Running,
        phase: impl Fn(&str),
    ) -> Result<(), SandboxError> {
        let Some(cluster) = ManagementCluster::read(&self.workshop.options.place) else { return Ok(()) };
        phase("Starting the controllers of the management cluster");
        self.start(&cluster, running).await
    }

    /// Takes over management clusters as they are made; only an end of the supervisor ends it.
    pub(super) async fn follow(&mut self, running: &mut Running) -> Infallible {
        while let Some(cluster) = self.wants.recv().await {
            let Some(cluster) = cluster else {
                stop(running).await;
                continue;
            };
            if let Err(error) = self.start(&cluster, running).await {
                tracing::error!("controllers of the management cluster are not running: {error}");
            }
        }
        std::future::pending().await
    }

    async fn start(
        &mut self,
        cluster: &ManagementCluster,
        running: &mut Running,
    ) -> Result<(), SandboxError> {
        // Whoever says it twice means the new one.
        stop(running).await;
        let kubeconfig = self.workshop.options.place.kubeconfig();
        let started = self.workshop.serve(&kubeconfig, Some(&cluster.owner))?;
        running.others.push(started.ready().await?);
        Ok(())
    }
}

async fn stop(running: &mut Running) {
    for keeper in std::mem::take(&mut running.others) {
        keeper.stop().await;
    }
}
