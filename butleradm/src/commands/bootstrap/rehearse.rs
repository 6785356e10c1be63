//! `bootstrap rehearse`

use std::time::Instant;

use butler_core::{
    api::cluster_bootstrap::BootstrapAddons,
    bootstrap::{
        config::{Config, KindConfig, ProviderSettings, RuntimeKind, SandboxConfig},
        run::{RunState, Runs},
    },
    event::RunId,
};
use butler_term::{CommandResult, run::Session};
use clap::Args;

use super::{
    destroy,
    go::GoArgs,
    run::{runs, start},
    source::ConfigArgs,
};

/// Run a configuration on simulated machines
///
/// Everything but the machines is real, and nothing is asked of the provider: its machines are played by
/// processes on this computer. Addons are rehearsed where `charts.mirror` has their charts. Says how long
/// each phase took; then everything is removed, unless --keep.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  butleradm bootstrap rehearse --config production.yaml
  butleradm bootstrap rehearse --config production.yaml --keep")]
pub(crate) struct RehearseArgs {
    #[command(flatten)]
    config: ConfigArgs,

    /// Leave the simulated cluster running
    #[arg(long)]
    keep: bool,

    #[command(flatten)]
    pub(super) go: GoArgs,
}

/// Runs the command.
pub(crate) fn run(args: &RehearseArgs, session: &Session) -> CommandResult {
    let begun = Instant::now();
    let source = args.config.load(None, session)?;
    for warning in &source.loaded.warnings {
        session.ui.warning(format_args!("{}:{}: {}", source.name, warning.line, warning.message));
    }
    if source.loaded.config.charts.mirror.is_none() {
        session.ui.status(format_args!(
            "addons that come as charts are left out: `charts.mirror` names no place to take them from"
        ));
    }
    let config = rehearsal(source.loaded.config.clone());
    let cluster = config.cluster.name.clone();
    let (_, runs): (_, Runs) = runs(session)?;
    let earlier: Vec<RunId> = runs.list()?.into_iter().map(|(dir, _)| dir.id().clone()).collect();
    let made = start(config, &source, true, &args.go, session);
    let took = begun.elapsed();
    if args.keep {
        return made.map(drop);
    }
    // A failed rehearsal leaves nothing behind either; one that somebody kept is not ours.
    let of_this = |state: &RunState| {
        state.facts.as_ref().is_some_and(|facts| facts.rehearsal && facts.cluster == cluster)
    };
    let mut new = runs.list()?.into_iter().rev().filter(|(dir, _)| !earlier.contains(dir.id()));
    if let Some((dir, state)) = new.find_map(|(dir, state)| Some((dir, state.ok().filter(of_this)?))) {
        let _destroyed = destroy::remove_run(&dir, &state, &args.go.events, session)?;
    }
    made?;
    session.ui.status(format_args!("the rehearsal of cluster `{cluster}` went well and took {took:.1?}"));
    Ok(())
}

/// The same cluster on simulated machines. They have loopback addresses, so the shared address of the
/// real network gives way to a load balancer; addons come along where a mirror has their charts, because
/// nothing outside is asked.
pub(super) fn rehearsal(mut config: Config) -> Config {
    if config.charts.mirror.is_none() {
        config.addons = BootstrapAddons::default();
    }
    let name = format!("rehearsal-{}", config.cluster.name);
    config.provider = ProviderSettings::Sandbox(SandboxConfig { name: Some(name) });
    config.network.vip = None;
    config.network.load_balancer_pool = None;
    config.bootstrap_cluster.runtime = RuntimeKind::Process;
    config.bootstrap_cluster.kind = KindConfig::default();
    config
}
