//! `machine`: machines that the platform's controllers make at a provider.

mod console;
mod create;
mod delete;
mod driver;
mod get;
mod list;
mod power;
mod rows;

use butler_core::{
    api::names::namespaces,
    cluster::{ApiError, Connection},
    machine,
    nearest::nearest,
};
use butler_term::{CommandError, CommandResult, complete, run::Session};
use clap::{Args, Subcommand};

/// What is shown when an answer takes a while.
const WAITING: &str = "waiting for the API server";

/// Make, look at and remove machines
///
/// A machine is asked for with a MachineRequest; the controllers (`butleradm serve`) have a provider
/// make it and keep the request's status up to date.
#[derive(Args, Debug)]
#[command(
    arg_required_else_help = true,
    after_help = "Examples:
  butleradm machine create cp-0 --provider sandbox --role control-plane --wait
  butleradm machine list -A
  butleradm machine console cp-0 --tail 50
  butleradm machine delete cp-0"
)]
pub(crate) struct MachineArgs {
    #[command(subcommand)]
    command: MachineCommand,
}

#[derive(Debug, Subcommand)]
enum MachineCommand {
    #[command(visible_alias = "ls")]
    List(list::MachineListArgs),
    Get(get::MachineGetArgs),
    Create(create::MachineCreateArgs),
    Delete(delete::MachineDeleteArgs),
    Power(power::MachinePowerArgs),
    Console(console::MachineConsoleArgs),
}

/// Runs the chosen command.
pub(crate) fn run(args: &MachineArgs, session: &Session) -> CommandResult {
    match &args.command {
        MachineCommand::List(args) => list::run(args, session),
        MachineCommand::Get(args) => get::run(args, session),
        MachineCommand::Create(args) => create::run(args, session),
        MachineCommand::Delete(args) => delete::run(args, session),
        MachineCommand::Power(args) => power::run(args, session),
        MachineCommand::Console(args) => console::run(args, session),
    }
}

/// One machine request.
#[derive(Args, Clone, Debug)]
struct NameArgs {
    /// Name of the machine request
    #[arg(add = complete::machines())]
    name: String,

    #[command(flatten)]
    namespace: NamespaceArgs,
}

/// The namespace of machine requests.
#[derive(Args, Clone, Debug)]
struct NamespaceArgs {
    /// Namespace of the machine request
    #[arg(short, long, value_name = "NAMESPACE", default_value = namespaces::SYSTEM, add = complete::namespaces())]
    namespace: String,
}

/// Adds the name that was probably meant to an error about one that is not there.
async fn missing(connection: &Connection, args: &NameArgs, error: ApiError) -> CommandError {
    if !error.is_not_found() {
        return error.into();
    }
    let namespace = &args.namespace.namespace;
    let known = machine::names(&connection.client, namespace, 500).await.unwrap_or_default();
    let guess = nearest(&args.name, known.iter().map(String::as_str));
    let error = CommandError::from(error);
    match guess {
        Some(guess) => error.hint(format!("did you mean `{guess}`")),
        None => error,
    }
    .hint("butleradm machine list -A")
}
