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
pub struct CompletionArgs {
    /// The shell
    shell: Shell,
}

/// Examples for the help of a program.
pub fn examples(program: &str) -> String {
    format!(
        "Examples:
  source <({program} completion bash)
  {program} completion zsh > ~/.zfunc/_{program}   # ~/.zfunc is in fpath
  {program} completion fish | source"
    )
}

/// Runs the command.
pub fn run<P: CommandFactory>(args: &CompletionArgs, session: &Session) -> CommandResult {
    let script = docs::script(&P::command(), args.shell).map_err(|error| CommandError::output(&error))?;
    session.ui.text(&script.content)
}
