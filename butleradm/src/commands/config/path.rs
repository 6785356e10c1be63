//! `config path`: where the user's file is.

use butler_term::{CommandResult, run::Session};
use clap::Args;

use super::user_file;

/// Print the path of the user's config.toml
///
/// The file need not exist; `config set` creates it.
#[derive(Args, Debug)]
pub(super) struct ConfigPathArgs {}

/// Runs the command.
pub(super) fn run(_: &ConfigPathArgs, session: &Session) -> CommandResult {
    session.ui.data(&format!("{}\n", user_file(session)?.path().display()))
}
