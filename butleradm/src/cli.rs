//! The command line and the one `match` that dispatches it.

use butler_term::{
    CommandResult,
    args::GlobalArgs,
    commands::{completion, explain, man, version},
    run::{Program, Session},
};
use clap::{Parser, Subcommand};

use crate::commands::{config, crds, doctor, sandbox, status, tools};

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
    #[command(after_help = completion::examples(NAME))]
    Completion(completion::CompletionArgs),
    Config(config::ConfigArgs),
    Crds(crds::CrdsArgs),
    Doctor(doctor::DoctorArgs),
    Explain(explain::ExplainArgs),
    #[command(after_help = man::examples(NAME))]
    Man(man::ManArgs),
    #[command(hide = true)]
    Sandbox(sandbox::SandboxArgs),
    Status(status::StatusArgs),
    Tools(tools::ToolsArgs),
    Version(version::VersionArgs),
}

impl Program for Cli {
    fn global(&self) -> &GlobalArgs {
        &self.global
    }

    fn run(self, session: &Session) -> CommandResult {
        match self.command {
            Command::Completion(args) => completion::run::<Self>(&args, session),
            Command::Config(args) => config::run(&args, session),
            Command::Crds(args) => crds::run(&args, session),
            Command::Doctor(args) => doctor::run(&args, session),
            Command::Explain(args) => explain::run(&args, session),
            Command::Man(args) => man::run::<Self>(&args, session),
            Command::Sandbox(args) => sandbox::run(args, session),
            Command::Status(args) => status::run(&args, session),
            Command::Tools(args) => tools::run(args, session),
            Command::Version(args) => version::run::<Self>(&args, session),
        }
    }
}
