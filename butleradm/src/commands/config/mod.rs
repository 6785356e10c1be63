//! `config`: the settings of this user, and where each comes from.

mod get;
mod list;
mod path;
mod set;
mod unset;

use butler_core::settings::{Home, file::ConfigFile, keys::KEYS};
use butler_term::{CommandResult, run::Session};
use clap::{Args, Subcommand, builder::StyledStr};

/// See and change settings
///
/// A value comes from the first of: flag, environment variable, the user's config.toml,
/// /etc/butler/config.toml, built-in default.
#[derive(Args, Debug)]
#[command(after_help = keys_help(), arg_required_else_help = true)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    command: ConfigCommand,
}

#[derive(Debug, Subcommand)]
enum ConfigCommand {
    List(list::ConfigListArgs),
    Get(get::ConfigGetArgs),
    Set(set::ConfigSetArgs),
    Unset(unset::ConfigUnsetArgs),
    Path(path::ConfigPathArgs),
}

/// Runs the command.
pub(crate) fn run(args: &ConfigArgs, session: &Session) -> CommandResult {
    match &args.command {
        ConfigCommand::List(args) => list::run(args, session),
        ConfigCommand::Get(args) => get::run(args, session),
        ConfigCommand::Set(args) => set::run(args, session),
        ConfigCommand::Unset(args) => unset::run(args, session),
        ConfigCommand::Path(args) => path::run(args, session),
    }
}

/// The user's file; it need not exist.
fn user_file(session: &Session) -> CommandResult<ConfigFile> {
    Ok(ConfigFile::of(&Home::resolve(&session.environment)?))
}

/// The table of settings, for the end of the help.
fn keys_help() -> StyledStr {
    let width = KEYS.iter().map(|key| key.name.len()).max().unwrap_or_default();
    let mut help = String::from("Settings:\n");
    for key in KEYS {
        help += &format!("  {:width$}  {}\n", key.name, key.doc);
    }
    help.into()
}
