//! `sandbox node`: the simulated machines themselves.

mod fault;
mod list;
mod run;

use butler_operator::sandbox::Place;
use butler_term::{CommandResult, run::Session};
use clap::{Args, Subcommand};

/// Look at the simulated machines, and let them fail on purpose
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  butleradm sandbox node list
  butleradm sandbox node fault cp-0 --set neverBoots=true
  butleradm sandbox node fault cp-0 --clear")]
pub(crate) struct NodeArgs {
    #[command(subcommand)]
    pub(super) command: NodeCommand,
}

#[derive(Debug, Subcommand)]
pub(super) enum NodeCommand {
    List(list::ListArgs),
    Fault(fault::FaultArgs),
    #[command(hide = true)]
    Run(run::RunArgs),
}

/// Runs the chosen command.
pub(super) fn run(args: NodeArgs, place: &Place, session: &Session) -> CommandResult {
    match args.command {
        NodeCommand::List(args) => list::run(&args, place, session),
        NodeCommand::Fault(args) => fault::run(&args, place, session),
        NodeCommand::Run(args) => run::run(args, session),
    }
}

pub(super) use run::run as run_machine;
