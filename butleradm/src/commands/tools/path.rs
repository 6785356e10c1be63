//! `tools path`: where one program is, for scripts.

use butler_operator::parts::{Part, Parts};
use butler_term::{CommandResult, run::Session};
use clap::Args;

/// Print the path of a program
///
/// Installs nothing: when the program is missing, the exit status is 3.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  butleradm tools path etcd
  $(butleradm tools path kubectl) get nodes")]
pub(crate) struct PathArgs {
    /// Name of the program
    #[arg(value_name = "NAME", value_parser = super::part_parser())]
    part: &'static Part,
}

/// Runs the command.
pub(crate) fn run(args: &PathArgs, parts: &Parts, session: &Session) -> CommandResult {
    session.block_on(async {
        let found = parts.find(args.part).await?;
        session.ui.data(&format!("{}\n", found.path.display()))
    })
}
