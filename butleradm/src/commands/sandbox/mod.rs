//! `sandbox`: the whole platform on one machine.

mod node;

use butler_term::{CommandResult, run::Session};
use clap::{Args, Subcommand};

/// Try the platform on this machine
#[derive(Args, Debug)]
pub(crate) struct SandboxArgs {
    #[command(subcommand)]
    command: SandboxCommand,
}

#[derive(Debug, Subcommand)]
enum SandboxCommand {
    #[command(hide = true)]
    Node(node::NodeArgs),
}

/// Runs the chosen command.
pub(crate) fn run(args: SandboxArgs, session: &Session) -> CommandResult {
    match args.command {
        SandboxCommand::Node(args) => node::run(args, session),
    }
}
