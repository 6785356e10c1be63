//! `sandbox node run`: one simulated machine; started by the host, not by people.

use std::path::PathBuf;

use butler_core::error::Code;
use butler_term::{CommandError, CommandResult, run::Session};
use clap::{Args, ValueHint};

/// Run a simulated machine
#[derive(Args, Debug)]
pub(crate) struct RunArgs {
    /// Directory of the machine, with its machine.json
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    dir: PathBuf,
}

/// Runs the command.
pub(crate) fn run(args: RunArgs, _session: &Session) -> CommandResult {
    Err(CommandError::new(Code::Internal, format!("machines are not simulated yet: {}", args.dir.display())))
}
