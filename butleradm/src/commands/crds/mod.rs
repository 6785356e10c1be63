//! `butleradm crds`: the definitions of Butler's kinds, printed or installed.

mod apply;

use butler_core::api::crds_yaml;
use butler_term::{CommandResult, run::Session};
use clap::{Args, Subcommand};

/// Print or install the custom resource definitions
///
/// Without a subcommand, prints all definitions as one YAML stream:
///
///   butleradm crds | kubectl apply --server-side -f -
#[derive(Args, Debug)]
#[command(verbatim_doc_comment)]
pub(crate) struct CrdsArgs {
    #[command(subcommand)]
    command: Option<CrdsCommand>,
}

#[derive(Debug, Subcommand)]
enum CrdsCommand {
    Apply(apply::ApplyArgs),
}

/// Runs the command.
pub(crate) fn run(args: &CrdsArgs, session: &Session) -> CommandResult {
    match &args.command {
        None => session.ui.data(&crds_yaml()),
        Some(CrdsCommand::Apply(args)) => apply::run(args, session),
    }
}
