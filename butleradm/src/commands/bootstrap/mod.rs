//! `bootstrap`: from a configuration file to a management cluster.

mod list;
mod logs;
mod plan;
mod plan_report;
mod replay;
mod report;
mod runs;
mod status;

use butler_term::{CommandResult, run::Session};
use clap::{Args, Subcommand};

/// Make a management cluster from a configuration file
///
/// Every run keeps a journal under the Butler home: what it will do before it does it, and what became of
/// it. So a run that was interrupted can be looked at and taken up again.
#[derive(Args, Debug)]
#[command(
    arg_required_else_help = true,
    after_help = "Examples:
  butleradm bootstrap list
  butleradm bootstrap status --watch
  butleradm bootstrap logs mgmt --follow"
)]
pub(crate) struct BootstrapArgs {
    #[command(subcommand)]
    command: BootstrapCommand,
}

#[derive(Debug, Subcommand)]
enum BootstrapCommand {
    #[command(visible_alias = "ls")]
    List(list::ListArgs),
    Plan(plan::PlanArgs),
    Status(status::StatusArgs),
    Logs(logs::LogsArgs),
    Replay(replay::ReplayArgs),
}

/// Runs the chosen command.
pub(crate) fn run(args: &BootstrapArgs, session: &Session) -> CommandResult {
    match &args.command {
        BootstrapCommand::List(args) => list::run(args, session),
        BootstrapCommand::Plan(args) => plan::run(args, session),
        BootstrapCommand::Status(args) => status::run(args, session),
        BootstrapCommand::Logs(args) => logs::run(args, session),
        BootstrapCommand::Replay(args) => replay::run(args, session),
    }
}
