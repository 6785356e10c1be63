//! `sandbox node run`: one simulated machine; started by the host, not by people.

use std::{io, path::PathBuf};

use butler_operator::sandbox::{
    machine::MachineDir,
    node::{self, Streams},
};
use butler_term::{CommandResult, run::Session};
use clap::{Args, ValueHint};

/// Run a simulated machine
///
/// Writes a line of JSON per message to its host on stdout, and its console on stderr. Ends with
/// status 0 when the machine is switched off from inside.
#[derive(Args, Debug)]
pub(crate) struct RunArgs {
    /// Directory of the machine, with its machine.json
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    dir: PathBuf,
}

/// Runs the command.
pub(crate) fn run(args: RunArgs, session: &Session) -> CommandResult {
    let streams = Streams { agent: Box::new(io::stdout()), console: Box::new(io::stderr()) };
    session.block_on(async {
        node::run(MachineDir(args.dir), session.environment.clone(), streams).await.map_err(Into::into)
    })
}
