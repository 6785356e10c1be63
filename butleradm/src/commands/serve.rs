//! `serve`: the controllers of the platform.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use butler_core::{api::names::namespaces, settings::keys::duration};
use butler_operator::{
    controller::{self, CONTROLLERS, Controller, Election, Options, Service, Timing},
    driver::registry,
};
use butler_term::{CommandResult, args::ConnectArgs, complete, run::Session};
use clap::Args;
use tokio_util::sync::CancellationToken;

/// Run the controllers of the platform
///
/// Watches the management cluster and makes what its objects ask for, until it is stopped. Of several
/// that run at once, the one that holds the lease `butler-controller-leader` acts; the others stand by.
/// Uses the kubeconfig that is named, or in a Pod its service account. Logs go to stderr, one JSON
/// object per line.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  butleradm serve --metrics 127.0.0.1:8080
  butleradm serve --controllers machine-request --no-leader-elect
  kubectl -n butler-system get lease butler-controller-leader")]
pub(crate) struct ServeArgs {
    /// Controllers to run, separated by commas; all if left out
    #[arg(long, value_name = "NAMES", value_delimiter = ',', add = complete::fixed(names))]
    controllers: Vec<String>,

    /// Serve /metrics, /healthz and /readyz on this address; port 0 takes any that is free
    #[arg(long, value_name = "ADDRESS")]
    metrics: Option<SocketAddr>,

    /// Act only while holding the lease; this is the default
    #[arg(long, overrides_with = "no_leader_elect")]
    leader_elect: bool,

    /// Act at once, for a process that has no rival
    #[arg(long, overrides_with = "leader_elect")]
    no_leader_elect: bool,

    /// Namespace of the lease
    #[arg(long, value_name = "NAMESPACE", default_value = namespaces::SYSTEM)]
    lease_namespace: String,

    /// How long the lease lasts when its holder is gone
    #[arg(long, value_name = "DURATION", default_value = "15s", value_parser = lease_duration)]
    lease_duration: Duration,

    /// Whose machines are ours, as marked at the provider [default: the UID of the namespace kube-system]
    #[arg(long, value_name = "NAME")]
    owner: Option<String>,

    /// How long a machine may be without an address
    #[arg(long, value_name = "DURATION", default_value = "15m", value_parser = duration)]
    machine_timeout: Duration,

    #[command(flatten)]
    connect: ConnectArgs,
}

/// Runs the command.
pub(crate) fn run(args: ServeArgs, session: &Session) -> CommandResult {
    session.serve(async |stopped| {
        let connection = session.connect_service(&args.connect).await?;
        let identity = controller::identity();
        let election = (!args.no_leader_elect).then(|| Election {
            namespace: args.lease_namespace,
            identity: identity.clone(),
            duration: args.lease_duration,
        });
        let options = Options {
            controllers: args.controllers,
            metrics: args.metrics,
            election,
            identity,
            owner: args.owner,
            connect: Arc::new(registry::connect),
            timing: Timing { machine: args.machine_timeout, ..Timing::default() },
            bootstrap: None,
        };
        let service = Service::new(connection.client, options).await?;
        tracing::info!(server = connection.server, identity = %connection.source, "connected");
        for warning in connection.warnings {
            tracing::warn!("{warning}");
        }
        let stop = CancellationToken::new();
        let running = service.run(stop.clone());
        let asked = async {
            // The sender is only dropped with everything else.
            let _ = stopped.await;
            tracing::info!("stopping");
            stop.cancel();
        };
        tokio::join!(running, asked).0;
        Ok(())
    })
}

/// Below a second nobody could renew it in time.
fn lease_duration(text: &str) -> Result<Duration, String> {
    let duration = duration(text)?;
    (duration >= Duration::from_secs(1)).then_some(duration).ok_or_else(|| "expected at least 1s".to_owned())
}

fn names() -> Vec<(&'static str, String)> {
    let watches = |controller: &Controller| format!("watches {}", controller.watches.join(", "));
    CONTROLLERS.iter().map(|controller| (controller.name, watches(controller))).collect()
}
