//! `sandbox`: the whole platform on one machine.

mod costs;
mod down;
mod logs;
mod node;
mod report;
mod reset;
mod status;
mod supervise;
mod up;

use butler_core::settings::Home;
use butler_operator::sandbox::{DEFAULT_NAME, Place, place::check_name};
use butler_term::{CommandResult, run::Session};
use clap::{Args, Subcommand};

/// Try the platform on this machine
///
/// A management API server, Butler's controllers, a provider, a team and a network pool, all of them real
/// programs on loopback addresses. Only the machines are simulated: each is a process that speaks the
/// Talos API.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  butleradm sandbox up
  butleradm sandbox status --watch
  butleradm sandbox down")]
pub(crate) struct SandboxArgs {
    /// Which sandbox; each has its own data, addresses and processes
    #[arg(long, global = true, value_name = "NAME", default_value = DEFAULT_NAME, value_parser = check_name)]
    name: String,

    #[command(subcommand)]
    command: SandboxCommand,
}

#[derive(Debug, Subcommand)]
enum SandboxCommand {
    Up(up::UpArgs),
    Status(status::StatusArgs),
    Down(down::DownArgs),
    Reset(reset::ResetArgs),
    Logs(logs::LogsArgs),
    Node(node::NodeArgs),
    #[command(hide = true)]
    Supervise(supervise::SuperviseArgs),
}

/// Runs the chosen command.
pub(crate) fn run(args: SandboxArgs, session: &Session) -> CommandResult {
    if let SandboxCommand::Node(node::NodeArgs { command: node::NodeCommand::Run(args) }) = args.command {
        // A machine knows its directory and needs no home.
        return node::run_machine(args, session);
    }
    let home = Home::resolve(&session.environment)?;
    let place = Place::new(&home, &args.name);
    match args.command {
        SandboxCommand::Up(args) => up::run(&args, &home, &place, session),
        SandboxCommand::Status(args) => status::run(&args, &place, session),
        SandboxCommand::Down(args) => down::run(&args, &place, session),
        SandboxCommand::Reset(args) => reset::run(&args, &place, session),
        SandboxCommand::Logs(args) => logs::run(&args, &place, session),
        SandboxCommand::Node(args) => node::run(args, &place, session),
        SandboxCommand::Supervise(args) => supervise::run(&args, &place, session),
    }
}

/// A command for this sandbox, to copy.
fn command(place: &Place, rest: &str) -> String {
    match place.name() {
        DEFAULT_NAME => format!("butleradm sandbox {rest}"),
        name => format!("butleradm sandbox {rest} --name {name}"),
    }
}
