//! `bootstrap resume`

use butler_core::bootstrap::run::Verb;
use butler_operator::bootstrap::take_up;
use butler_term::{CommandResult, complete, run::Session};
use clap::Args;

use super::{
    run::{GoArgs, go_on, runs},
    setup::{Setup, reread},
};

/// Go on with a run that was stopped, interrupted or has failed
///
/// What exists is found by the run's mark and taken over; what is missing is made. A temporary control
/// plane that is gone is made again.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  butleradm bootstrap resume
  butleradm bootstrap resume mgmt --events ndjson")]
pub(crate) struct ResumeArgs {
    /// Id of the run, its beginning, or the name of the cluster [default: the newest run]
    #[arg(add = complete::runs())]
    run: Option<String>,

    #[command(flatten)]
    go: GoArgs,
}

/// Runs the command.
pub(crate) fn run(args: &ResumeArgs, session: &Session) -> CommandResult {
    let (_, runs) = runs(session)?;
    let (dir, state) = super::runs::choose(&runs, args.run.as_deref())?;
    let facts = super::runs::facts(&dir, &state)?;
    let config = reread(&dir, &facts, session)?;
    let setup = Setup::new(&config, session)?;
    let started = take_up(&runs, dir, Verb::Resume)?;
    session.ui.status(format_args!("run `{}` of cluster `{}` goes on", started.dir.id(), facts.cluster));
    go_on(&setup, config, &started, &args.go, session)
}
