//! `config unset KEY`: removes a value from the user's file.

use butler_term::{CommandResult, complete, run::Session};
use clap::Args;

use super::user_file;

/// Remove a value from the user's config.toml
///
/// Also removes a key that is no setting, to repair a file. It is no error if the file does not set it.
#[derive(Args, Debug)]
pub(super) struct ConfigUnsetArgs {
    /// Name of the setting, such as namespace
    #[arg(add = complete::settings())]
    key: String,
}

/// Runs the command.
pub(super) fn run(args: &ConfigUnsetArgs, session: &Session) -> CommandResult {
    let file = user_file(session)?;
    let (key, path) = (&args.key, file.path().display());
    if file.unset(key)? {
        session.ui.status(format_args!("removed `{key}` from {path}"));
    } else {
        session.ui.status(format_args!("`{key}` is not set in {path}"));
    }
    Ok(())
}
