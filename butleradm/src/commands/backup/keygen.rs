//! `backup keygen`

use std::path::PathBuf;

use butler_core::{error::Code, settings::home::write_private};
use butler_operator::backup::generate;
use butler_term::{CommandError, CommandResult, run::Session};
use clap::{Args, ValueHint};

/// Make a pair of keys for backups
///
/// Writes the identity, which opens backups, into a new file that only you can read, and prints the recipient,
/// which `backup create` encrypts to. Both are keys of the program `age`. Keep the identity where the cluster is not:
/// without it no backup can be opened, by nobody.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  butleradm backup keygen --out backup.key
  butleradm backup create mgmt --recipient \"$(butleradm backup keygen --out backup.key)\"")]
pub(super) struct KeygenArgs {
    /// The file for the identity; one that is there already is left alone
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    out: PathBuf,
}

/// Runs the command.
pub(super) fn run(args: &KeygenArgs, session: &Session) -> CommandResult {
    let path = &args.out;
    if path.exists() {
        let message = format!("`{}` is there already; nothing was written", path.display());
        return Err(CommandError::new(Code::FileUnwritable, message)
            .hint("butleradm backup keygen --out ANOTHER-FILE"));
    }
    let (text, recipient) = generate();
    write_private(path, text.expose().as_bytes())?;
    session.ui.status(format_args!("the identity is in {}; keep it somewhere else too", path.display()));
    session.ui.data(&format!("{recipient}\n"))
}
