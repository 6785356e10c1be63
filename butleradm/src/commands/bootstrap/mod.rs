//! `bootstrap`: from a configuration file to a management cluster.

mod report;
mod schema;
mod source;
mod validate;

use butler_term::{CommandResult, run::Session};
use clap::{Args, Subcommand};

/// Make a management cluster from a configuration file
#[derive(Args, Debug)]
#[command(
    arg_required_else_help = true,
    after_help = "Examples:
  butleradm bootstrap validate --config examples/sandbox.yaml
  butleradm bootstrap schema > bootstrap.schema.json"
)]
pub(crate) struct BootstrapArgs {
    #[command(subcommand)]
    command: BootstrapCommand,
}

#[derive(Debug, Subcommand)]
enum BootstrapCommand {
    Validate(validate::BootstrapValidateArgs),
    Schema(schema::BootstrapSchemaArgs),
}

/// Runs the chosen command.
pub(crate) fn run(args: &BootstrapArgs, session: &Session) -> CommandResult {
    match &args.command {
        BootstrapCommand::Validate(args) => validate::run(args, session),
        BootstrapCommand::Schema(args) => schema::run(args, session),
    }
}
