//! `config get KEY`: one value, alone, for scripts.

use butler_core::settings::{SettingsError, keys::Key};
use butler_term::{CommandResult, complete, run::Session};
use clap::Args;

/// Print the value of a setting
///
/// Prints nothing when the setting has no default and nobody gave it a value.
#[derive(Args, Debug)]
pub(super) struct ConfigGetArgs {
    /// Name of the setting, such as namespace
    #[arg(add = complete::settings())]
    key: String,
}

/// Runs the command.
pub(super) fn run(args: &ConfigGetArgs, session: &Session) -> CommandResult {
    // A wrong name is told before anything that is wrong elsewhere.
    let key = Key::find(&args.key).map_err(SettingsError::from)?;
    let entry = session.settings()?.entry(key.name).map_err(SettingsError::from)?;
    session.ui.data(&entry.value.as_ref().map(|value| format!("{value}\n")).unwrap_or_default())
}
