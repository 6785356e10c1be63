//! `bootstrap run`, which the bare `bootstrap` is too.

use std::path::PathBuf;

use butler_core::{
    api::common::ProviderKind,
    bootstrap::{
        config::{Config, RuntimeKind},
        run::Runs,
    },
    error::ErrorKind,
    event::{Event, EventKind, RunId},
    settings::Home,
};
use butler_operator::{
    bootstrap::{RunOptions, Started, begin},
    ledger::Ledger,
};
use butler_term::{CommandError, CommandResult, report, run::Session};
use clap::{Args, ValueEnum, ValueHint};

use super::{
    go::GoArgs,
    made::MadeReport,
    merge, plan, screen,
    setup::Setup,
    source::{ConfigArgs, Given},
};

/// Make a management cluster
///
/// Starts a temporary control plane, lets controllers make the machines, configures Talos on them, installs
/// addons and saves the credentials. Every effect is written to the run's journal first: whatever happens,
/// `butleradm bootstrap resume` goes on from there. Ctrl-C stops it cleanly.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  butleradm bootstrap run --config examples/sandbox.yaml
  butleradm bootstrap --config bootstrap.yaml --events ndjson
  butleradm bootstrap run --config bootstrap.yaml --plan plan.json")]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(super) config: ConfigArgs,

    /// What the temporary control plane is made of [default: the configuration's, else kind]
    #[arg(long, value_name = "RUNTIME")]
    pub(super) runtime: Option<RuntimeArg>,

    /// Only say what would be done, as `bootstrap plan` does
    #[arg(long)]
    dry_run: bool,

    /// Refuse to begin unless this plan, which `bootstrap plan --out` wrote, still holds
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    plan: Option<PathBuf>,

    #[command(flatten)]
    pub(super) go: GoArgs,
}

impl RunArgs {
    /// Nothing was said of what is to be done.
    pub(super) fn is_bare(&self) -> bool {
        let Self { config, runtime, dry_run, plan, go } = self;
        config.config.is_none() && runtime.is_none() && !dry_run && plan.is_none() && !go.tui
    }
}

/// Words for runtimes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum RuntimeArg {
    /// The kind program and a container engine
    Kind,
    /// etcd and kube-apiserver as processes
    Process,
}

impl From<RuntimeArg> for RuntimeKind {
    fn from(runtime: RuntimeArg) -> Self {
        match runtime {
            RuntimeArg::Kind => Self::Kind,
            RuntimeArg::Process => Self::Process,
        }
    }
}

/// Runs the command. `provider` is the one that the command names, if it does.
pub(crate) fn run(args: &RunArgs, provider: Option<&ProviderKind>, session: &Session) -> CommandResult {
    let source = args.config.load(provider, session)?;
    for warning in &source.loaded.warnings {
        session.ui.warning(format_args!("{}:{}: {}", source.name, warning.line, warning.message));
    }
    let mut config = source.loaded.config.clone();
    config.bootstrap_cluster.runtime = args.runtime.map_or(config.bootstrap_cluster.runtime, Into::into);
    if let Some(path) = &args.plan {
        plan::must_hold(path, &config, &source.text, session)?;
    }
    if args.dry_run {
        return plan::show(&config, &source.text, &args.go.output, None, session);
    }
    start(config, &source, false, &args.go, session).map(drop)
}

/// Begins a run and brings it to its end.
pub(super) fn start(
    config: Config,
    source: &Given,
    rehearsal: bool,
    go: &GoArgs,
    session: &Session,
) -> CommandResult<RunId> {
    go.check(session)?;
    let setup = Setup::new(&config, session)?;
    let runs = Runs::new(&setup.home);
    let options = RunOptions {
        runs: &runs,
        config: &config,
        given: &source.loaded.config,
        text: &source.text,
        directory: &source.directory,
        rehearsal,
        version: env!("CARGO_PKG_VERSION"),
        now: session.ui.now(),
        restored: None,
    };
    let started = begin(&options)?;
    let id = started.dir.id().clone();
    session.ui.status(format_args!("run `{id}` makes cluster `{}`", config.cluster.name));
    go_on(&setup, config, &started, go, session)?;
    Ok(id)
}

/// Brings a run to its end, shows it, and prints what was made.
pub(in crate::commands) fn go_on(
    setup: &Setup<'_>,
    config: Config,
    started: &Started,
    go: &GoArgs,
    session: &Session,
) -> CommandResult {
    let format = session.format(&go.output);
    let id = started.dir.id().clone();
    let mut keeper = screen::visible(journal(started.ledger.clone()), &started.dir);
    let job = report::run_as(session, &go.events, id.clone(), &mut keeper, async |reporter| {
        let engine = setup.engine(config, started, go.timeout, go.skip_cleanup, &reporter).await?;
        engine.run(&reporter).await
    });
    let made = session.block_on(job).map_err(|error| explain(error, &id))?;
    // A run whose end is not written down is not at its end.
    started.ledger.check()?;
    let merged = match &go.merge_kubeconfig {
        Some(path) => Some(merge::merge(&made, path, session)?),
        None => None,
    };
    MadeReport { made, run: id, merged }.show(&format, &go.output, session)
}

/// Keeps what a person would see in the journal; effects write themselves.
pub(super) fn journal(ledger: Ledger) -> impl FnMut(&Event) {
    move |event| {
        let transient = matches!(event.kind, EventKind::Progress(_) | EventKind::Snapshot(_));
        if !transient {
            // The ledger keeps the failure, which ends the job.
            let _ = ledger.append(event.kind.clone());
        }
    }
}

/// Says after an interruption how to go on.
pub(super) fn explain(error: CommandError, id: &RunId) -> CommandError {
    if error.kind() != ErrorKind::Cancelled {
        return error;
    }
    CommandError::new(error.code(), format!("interrupted: run `{id}` is stopped; what it made stays"))
        .hint(format!("butleradm bootstrap resume {id}"))
        .hint(format!("butleradm bootstrap destroy {id}"))
}

/// The home of runs.
pub(in crate::commands) fn runs(session: &Session) -> CommandResult<(Home, Runs)> {
    let home = Home::resolve(&session.environment)?;
    let runs = Runs::new(&home);
    Ok((home, runs))
}
