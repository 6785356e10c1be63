//! `bootstrap resume`

use std::path::PathBuf;

use butler_core::bootstrap::run::Verb;
use butler_operator::bootstrap::{accept, resumable, take_up};
use butler_term::{CommandResult, complete, run::Session};
use clap::{Args, ValueHint};

use super::{
    go::GoArgs,
    kept,
    repair::{self, RepairArgs},
    run::{go_on, runs},
    setup::Setup,
};

/// Go on with a run that was stopped, interrupted or has failed
///
/// What exists is found by the run's mark and taken over; what is missing is made. A temporary control
/// plane that is gone is made again. A run goes on with the configuration that it began with: one that was
/// changed is refused with every change listed, and with --accept-config taken where nothing was made from
/// the old value yet.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  butleradm bootstrap resume
  butleradm bootstrap resume mgmt --events ndjson
  butleradm bootstrap resume mgmt --config bootstrap.yaml --accept-config
  butleradm bootstrap resume 20260114-101112-00ff00 --repair")]
pub(crate) struct ResumeArgs {
    /// Id of the run, its beginning, or the name of the cluster [default: the newest run]
    #[arg(add = complete::runs())]
    run: Option<String>,

    /// A changed configuration to go on with [default: the one in the run's directory]
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    config: Option<PathBuf>,

    /// Take the changes of the configuration that are safe in a run that is this far
    #[arg(long)]
    accept_config: bool,

    /// Repair a damaged journal first, as `bootstrap repair --yes` does
    #[arg(long, requires = "run")]
    repair: bool,

    #[command(flatten)]
    pub(super) go: GoArgs,
}

/// Runs the command.
pub(crate) fn run(args: &ResumeArgs, session: &Session) -> CommandResult {
    if let (true, Some(run)) = (args.repair, &args.run) {
        repair::run(&RepairArgs::unasked(run.clone(), args.config.clone()), session)?;
    }
    let (_, runs) = runs(session)?;
    let (dir, state) = super::runs::choose(&runs, args.run.as_deref())?;
    resumable(&state)?;
    let facts = super::runs::facts(&dir, &state)?;
    let kept = kept::to_resume(&dir, &state, &facts, args.config.as_ref(), args.accept_config, session)?;
    args.go.check(session)?;
    let setup = Setup::new(&kept.config, session)?;
    let started = take_up(&runs, dir, Verb::Resume)?;
    if let Some(changed) = &kept.changed {
        let runtime = kept.config.bootstrap_cluster.runtime.as_str();
        accept(&started, &changed.text, &changed.given, runtime, &changed.changes)?;
        for change in &changed.changes {
            session.ui.status(format_args!("accepted: {change}"));
        }
    }
    session.ui.status(format_args!("run `{}` of cluster `{}` goes on", started.dir.id(), facts.cluster));
    go_on(&setup, kept.config, &started, &args.go, session)
}
