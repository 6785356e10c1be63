//! `bootstrap schema`

use butler_core::bootstrap::config;
use butler_term::{CommandResult, output::to_json, run::Session};
use clap::Args;

/// Print the JSON Schema of the configuration
///
/// Editors complete and check a file that names the schema in its first line:
///
///   # yaml-language-server: $schema=bootstrap.schema.json
#[derive(Args, Debug)]
#[command(
    verbatim_doc_comment,
    after_help = "Examples:
  butleradm bootstrap schema > bootstrap.schema.json"
)]
pub(crate) struct BootstrapSchemaArgs {}

/// Runs the command.
pub(crate) fn run(_: &BootstrapSchemaArgs, session: &Session) -> CommandResult {
    session.ui.text(&to_json(&config::schema())?)
}
