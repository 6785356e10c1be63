//! `tools install`: downloads or builds what is missing.

use butler_operator::parts::{self, Origin, Part, Parts};
use butler_term::{
    CommandResult,
    output::counted,
    report::{self, EventArgs},
    run::Session,
};
use clap::Args;

/// Install the programs Butler works with
///
/// Installs those that are missing, into the Butler home. Programs that are found elsewhere are left
/// alone. A second run goes on where the first one stopped; several at once do the work only once.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  butleradm tools install
  butleradm tools install kubectl helm")]
pub(crate) struct InstallArgs {
    /// Names of programs; all if none is given
    #[arg(value_name = "NAME", value_parser = super::part_parser())]
    parts: Vec<&'static Part>,

    #[command(flatten)]
    events: EventArgs,
}

/// Runs the command.
pub(crate) fn run(args: InstallArgs, parts: &Parts, session: &Session) -> CommandResult {
    let chosen: Vec<&'static Part> =
        parts::ALL.into_iter().filter(|part| args.parts.is_empty() || args.parts.contains(part)).collect();
    let job = report::run(session, &args.events, async |reporter| parts.install(&chosen, &reporter).await);
    let installed = session.block_on(job)?;
    let count = |origin| installed.iter().filter(|installed| installed.origin == origin).count();
    session.ui.status(format_args!(
        "{} ready: {} found, {} downloaded, {} built",
        counted(installed.len(), "program"),
        count(Origin::Present),
        count(Origin::Downloaded),
        count(Origin::Built),
    ));
    Ok(())
}
