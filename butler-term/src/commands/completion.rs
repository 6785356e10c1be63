//! `completion SHELL`: the script that teaches a shell this program.

use clap::{Args, CommandFactory};

use crate::{
    CommandError, CommandResult,
    docs::{self, Shell},
    run::Session,
};

/// Print the completion script of a shell
///
/// The script asks this program for candidates, so it knows your clusters, namespaces and contexts.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  source <(PROGRAM completion bash)                  this bash
  PROGRAM completion zsh > ~/.zfunc/_PROGRAM         zsh, with ~/.zfunc in fpath
  PROGRAM completion fish | source                   this fish")]
pub struct CompletionArgs {
    /// The shell
    shell: Shell,
}

/// Runs the command.
pub fn run<P: CommandFactory>(args: &CompletionArgs, session: &Session) -> CommandResult {
    let script = docs::script(&P::command(), args.shell).map_err(|error| CommandError::output(&error))?;
    session.ui.text(&script.content)
}
