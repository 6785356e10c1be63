//! `cluster`: reading tenant clusters.

mod events;
mod get;
mod list;
mod missing;
mod rows;
mod scope;
mod watch;

use butler_term::{CommandResult, run::Session};
use clap::{Args, Subcommand};

/// What is shown when an answer takes a while.
const WAITING: &str = "waiting for the API server";

/// List, inspect and follow tenant clusters
#[derive(Args, Debug)]
#[command(arg_required_else_help = true)]
pub(crate) struct ClusterArgs {
    #[command(subcommand)]
    command: ClusterCommand,
}

#[derive(Debug, Subcommand)]
enum ClusterCommand {
    #[command(visible_alias = "ls")]
    List(list::ClusterListArgs),
    Get(get::ClusterGetArgs),
    Events(events::ClusterEventsArgs),
    Watch(watch::ClusterWatchArgs),
}

/// Runs the chosen command.
pub(crate) fn run(args: &ClusterArgs, session: &Session) -> CommandResult {
    match &args.command {
        ClusterCommand::List(args) => list::run(args, session),
        ClusterCommand::Get(args) => get::run(args, session),
        ClusterCommand::Events(args) => events::run(args, session),
        ClusterCommand::Watch(args) => watch::run(args, session),
    }
}
