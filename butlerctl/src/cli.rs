//! The command line and the one `match` that dispatches it.

use butler_term::{
    CommandResult,
    args::GlobalArgs,
    commands::{completion, explain, man, version},
    run::{Program, Session},
};
use clap::{Parser, Subcommand};

use crate::commands::cluster;

const NAME: &str = "butlerctl";

/// Work with Butler's tenant clusters
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
    Cluster(cluster::ClusterArgs),
    #[command(after_help = completion::examples(NAME))]
    Completion(completion::CompletionArgs),
    Explain(explain::ExplainArgs),
    #[command(after_help = man::examples(NAME))]
    Man(man::ManArgs),
    Version(version::VersionArgs),
}

impl Program for Cli {
    fn global(&self) -> &GlobalArgs {
        &self.global
    }

    fn run(self, session: &Session) -> CommandResult {
        match self.command {
            Command::Cluster(args) => cluster::run(&args, session),
            Command::Completion(args) => completion::run::<Self>(&args, session),
            Command::Explain(args) => explain::run(&args, session),
            Command::Man(args) => man::run::<Self>(&args, session),
            Command::Version(args) => version::run::<Self>(&args, session),
        }
    }
}
