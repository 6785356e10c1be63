//! Our kinds on a real API server: definitions, examples, and fields we do not know.

mod columns;
mod definitions;
mod examples;
mod unknown_fields;

use std::time::Duration;

use anyhow::Result;
use butler_core::cluster::crds;
use butler_tests::ControlPlane;
use kube::Client;
use tokio::sync::OnceCell;

/// Long enough for a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

/// The control plane that tests of this binary share, with our definitions installed.
async fn with_definitions() -> Result<(&'static ControlPlane, Client)> {
    static INSTALLED: OnceCell<()> = OnceCell::const_new();
    let plane = ControlPlane::shared().await?;
    let client = plane.client().await?;
    INSTALLED
        .get_or_try_init(async || {
            let names = crds::apply(&client, false).await?;
            crds::established(&client, &names, LIMIT).await?;
            anyhow::Ok(())
        })
        .await?;
    Ok((plane, client))
}
