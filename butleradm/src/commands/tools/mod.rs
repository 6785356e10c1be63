//! `tools`: the programs Butler works with, such as etcd, kubectl and helm.

mod install;
mod list;
mod path;

use std::path::PathBuf;

use butler_core::settings::Home;
use butler_operator::parts::{self, Part, Parts};
use butler_term::{CommandResult, run::Session};
use clap::{
    Args, Subcommand, ValueHint,
    builder::{PossibleValuesParser, TypedValueParser},
};

/// Find and install the programs Butler works with
///
/// Each program is looked for in this order: --tools-dir, BUTLER_TOOLS_DIR or the setting tools.dir,
/// KUBEBUILDER_ASSETS, PATH, and the cache in the Butler home. The first two must hold the right
/// version; elsewhere another version is passed over. What is missing is downloaded from its publisher
/// and checked against the published checksum, or else built with Go.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  butleradm tools list -o wide
  butleradm tools install
  $(butleradm tools path kubectl) version --client")]
pub(crate) struct ToolsArgs {
    /// Directory to look in before all others
    #[arg(long, global = true, value_name = "DIR", value_hint = ValueHint::DirPath)]
    tools_dir: Option<PathBuf>,

    #[command(subcommand)]
    command: ToolsCommand,
}

#[derive(Debug, Subcommand)]
enum ToolsCommand {
    List(list::ListArgs),
    Install(install::InstallArgs),
    Path(path::PathArgs),
}

/// Runs the chosen command.
pub(crate) fn run(args: ToolsArgs, session: &Session) -> CommandResult {
    let home = Home::resolve(&session.environment)?;
    let parts =
        Parts::new(&session.environment, &home).with_settings(session.settings()?).in_dir(args.tools_dir);
    match args.command {
        ToolsCommand::List(args) => list::run(&args, &parts, session),
        ToolsCommand::Install(args) => install::run(args, &parts, session),
        ToolsCommand::Path(args) => path::run(&args, &parts, session),
    }
}

/// Reads the name of a part; help and completion list them.
fn part_parser() -> impl TypedValueParser<Value = &'static Part> {
    PossibleValuesParser::new(parts::ALL.map(|part| part.name)).try_map(|name| name.parse::<&'static Part>())
}
