//! `backup`: a management cluster in one encrypted file, and the same cluster from it.

mod create;
mod keygen;
mod keys;
mod list;
mod report;
mod restore;
mod verify;

use std::path::PathBuf;

use butler_core::settings::Home;
use butler_term::{
    CommandResult,
    run::{Logs, Session},
};
use clap::{Args, Subcommand};

/// Keep a management cluster in an encrypted file, and make it again
///
/// A backup has everything that makes the cluster the one it is: a snapshot of etcd from its nodes, the Talos
/// secrets, the run's configuration and journal, and Butler's objects to read. It is encrypted to keys of the
/// program `age`; whoever has one of their identities can make the same cluster again, on new machines, with
/// `backup restore`. Its format is open: docs/backup.md shows how to take one apart by hand.
#[derive(Args, Debug)]
#[command(
    arg_required_else_help = true,
    after_help = "Examples:
  butleradm backup keygen --out backup.key
  butleradm backup create mgmt --recipient age1…
  butleradm backup list
  butleradm backup verify FILE --identity backup.key
  butleradm backup restore FILE --identity backup.key"
)]
pub(crate) struct BackupArgs {
    #[command(subcommand)]
    command: BackupCommand,
}

#[derive(Debug, Subcommand)]
enum BackupCommand {
    Create(create::CreateArgs),
    #[command(visible_alias = "ls")]
    List(list::ListArgs),
    Verify(verify::VerifyArgs),
    Restore(restore::RestoreArgs),
    Keygen(keygen::KeygenArgs),
}

impl BackupArgs {
    /// How the chosen command logs: a restore is a run.
    pub(crate) fn logs(&self) -> Logs {
        match &self.command {
            BackupCommand::Restore(args) if args.go.tui => Logs::File,
            BackupCommand::Restore(_) => Logs::Run,
            _ => Logs::OnDemand,
        }
    }
}

/// Runs the chosen command.
pub(crate) fn run(args: &BackupArgs, session: &Session) -> CommandResult {
    match &args.command {
        BackupCommand::Create(args) => create::run(args, session),
        BackupCommand::List(args) => list::run(args, session),
        BackupCommand::Verify(args) => verify::run(args, session),
        BackupCommand::Restore(args) => restore::run(args, session),
        BackupCommand::Keygen(args) => keygen::run(args, session),
    }
}

/// Where backups are, unless a person says otherwise.
fn usual_dir(session: &Session) -> CommandResult<PathBuf> {
    Ok(Home::resolve(&session.environment)?.dir().join("backups"))
}
