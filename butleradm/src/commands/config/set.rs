//! `config set KEY VALUE`: writes the user's file.

use butler_core::settings::{
    SettingsError,
    keys::Key,
    layers::{Entry, Origin},
};
use butler_term::{CommandResult, complete, run::Session};
use clap::Args;

use super::user_file;

/// Set a value in the user's config.toml
///
/// The value is checked first. Comments, order and formatting of the file stay as they are.
#[derive(Args, Debug)]
pub(super) struct ConfigSetArgs {
    /// Name of the setting, such as namespace
    #[arg(add = complete::settings())]
    key: String,

    /// New value
    value: String,
}

/// Runs the command.
pub(super) fn run(args: &ConfigSetArgs, session: &Session) -> CommandResult {
    let key = Key::find(&args.key).map_err(SettingsError::from)?;
    let file = user_file(session)?;
    file.set(key, &args.value)?;
    let ui = &session.ui;
    ui.status(format_args!("set `{}` to `{}` in {}", key.name, args.value, file.path().display()));
    if let Ok(settings) = session.settings()
        && let Ok(Entry { origin: origin @ Origin::Variable(_), .. }) = settings.entry(key.name)
    {
        ui.warning(format_args!("the value from {origin} still wins"));
    }
    Ok(())
}
