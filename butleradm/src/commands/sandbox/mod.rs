//! `sandbox`: the whole platform on one machine.

mod costs;
mod down;
mod fault;
mod logs;
mod node;
mod report;
mod reset;
mod status;
mod supervise;
mod up;

use butler_core::settings::Home;
use butler_operator::sandbox::{DEFAULT_NAME, Place, place::check_name, supervisor::log_files};
use butler_term::{
    CommandResult,
    complete::{ArgValueCandidates, Line, live},
    run::Session,
};
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
    #[arg(
        long, global = true, value_name = "NAME", default_value = DEFAULT_NAME, value_parser = check_name,
        add = sandboxes()
    )]
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
    Fault(fault::FaultArgs),
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
        SandboxCommand::Fault(args) => fault::run(&args, &place, session),
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

/// The sandboxes of this machine, for the shells.
fn sandboxes() -> ArgValueCandidates {
    live(|line| async move {
        let sandboxes = Home::resolve(&line.environment).ok()?.sandboxes();
        Some(sandboxes.iter().filter_map(|dir| Some(dir.file_name()?.to_str()?.to_owned())).collect())
    })
}

/// What has a log in the sandbox that the line names.
fn parts() -> ArgValueCandidates {
    live(|line| async move { Some(logged(&place_of(&line)?)) })
}

/// Its machines.
fn machines() -> ArgValueCandidates {
    live(|line| async move {
        let place = place_of(&line)?;
        Some(logged(&place).into_iter().filter(|name| place.machine_file(name).is_some()).collect())
    })
}

fn place_of(line: &Line) -> Option<Place> {
    let name = line.value("--name", None).unwrap_or_else(|| DEFAULT_NAME.to_owned());
    Some(Place::new(&Home::resolve(&line.environment).ok()?, &check_name(&name).ok()?))
}

fn logged(place: &Place) -> Vec<String> {
    log_files(place).into_iter().map(|(name, _)| name).collect()
}
