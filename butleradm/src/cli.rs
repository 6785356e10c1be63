//! The command line and the one `match` that dispatches it.

use butler_term::{
    CommandResult,
    args::GlobalArgs,
    commands::{completion, explain, man, version},
    run::{Logs, Program, Session},
};
use clap::{Parser, Subcommand};

use crate::commands::{
    backup, bootstrap, config, crds, doctor, machine, sandbox, serve, status, support_bundle, sweep, tools,
    tui,
};

const NAME: &str = "butleradm";

/// Install and run the Butler platform
#[derive(Debug, Parser)]
#[command(name = NAME, version = butler_term::commands::version::VERSION, arg_required_else_help = true)]
pub struct Cli {
    #[command(flatten)]
    global: GlobalArgs,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Backup(backup::BackupArgs),
    Bootstrap(bootstrap::BootstrapArgs),
    #[command(after_help = completion::examples(NAME))]
    Completion(completion::CompletionArgs),
    Config(config::ConfigArgs),
    Crds(crds::CrdsArgs),
    Doctor(doctor::DoctorArgs),
    Explain(explain::ExplainArgs),
    Machine(machine::MachineArgs),
    #[command(after_help = man::examples(NAME))]
    Man(man::ManArgs),
    Sandbox(sandbox::SandboxArgs),
    Serve(serve::ServeArgs),
    Status(status::StatusArgs),
    SupportBundle(support_bundle::SupportBundleArgs),
    Sweep(sweep::SweepArgs),
    Tools(tools::ToolsArgs),
    Tui(tui::TuiArgs),
    Version(version::VersionArgs),
}

impl Program for Cli {
    fn global(&self) -> &GlobalArgs {
        &self.global
    }

    fn logs(&self) -> Logs {
        match &self.command {
            Command::Serve(_) => Logs::Json,
            Command::Tui(_) => Logs::File,
            Command::Backup(args) => args.logs(),
            Command::Bootstrap(args) => args.logs(),
            _ => Logs::OnDemand,
        }
    }

    fn run(self, session: &Session) -> CommandResult {
        match self.command {
            Command::Backup(args) => backup::run(&args, session),
            Command::Bootstrap(args) => bootstrap::run(&args, session),
            Command::Completion(args) => completion::run::<Self>(&args, session),
            Command::Config(args) => config::run(&args, session),
            Command::Crds(args) => crds::run(&args, session),
            Command::Doctor(args) => doctor::run(&args, session),
            Command::Explain(args) => explain::run(&args, session),
            Command::Machine(args) => machine::run(&args, session),
            Command::Man(args) => man::run::<Self>(&args, session),
            Command::Sandbox(args) => sandbox::run(args, session),
            Command::Serve(args) => serve::run(args, session),
            Command::Status(args) => status::run(&args, session),
            Command::SupportBundle(args) => support_bundle::run(&args, session),
            Command::Sweep(args) => sweep::run(&args, session),
            Command::Tools(args) => tools::run(args, session),
            Command::Tui(args) => tui::run(&args, session),
            Command::Version(args) => version::run::<Self>(&args, session),
        }
    }
}
