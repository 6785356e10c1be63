//! `backup verify`

use std::path::PathBuf;

use butler_operator::backup::{Backup, verify};
use butler_term::{CommandResult, args::OutputArgs, run::Session};
use clap::{Args, ValueHint};

use super::{
    keys,
    report::{VerifiedReport, size},
};

/// Read a backup to its end and say whether it could be used
///
/// Without an identity only the file as a whole is checked. With one, everything in it is decrypted and looked at: the
/// checksum of every part and that of etcd in its snapshot, whether objects, secrets and kubeconfigs can be read.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  butleradm backup verify FILE
  butleradm backup verify FILE --identity backup.key
  butleradm backup verify FILE -i backup.key -o json")]
pub(super) struct VerifyArgs {
    /// The backup
    #[arg(value_hint = ValueHint::FilePath)]
    file: PathBuf,

    /// The identity that opens it; a file that only you can read
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    identity: Option<PathBuf>,

    #[command(flatten)]
    output: OutputArgs,
}

/// Runs the command.
pub(super) fn run(args: &VerifyArgs, session: &Session) -> CommandResult {
    let format = session.format(&args.output);
    format.check()?;
    let identities = args.identity.as_deref().map(|path| keys::identities(path, session)).transpose()?;
    let found = verify(&Backup::open(&args.file)?, identities.as_ref())?;
    let (header, file) = (&found.header, args.file.display());
    match &found.contents {
        None => session.ui.status(format_args!(
            "`{file}` is whole: cluster `{}`, {}; what is in it was not looked at, that needs --identity",
            header.cluster,
            size(found.bytes)
        )),
        Some(contents) => session.ui.status(format_args!(
            "`{file}` is whole and can be used: cluster `{}` of {}, etcd {}, {} objects",
            header.cluster,
            header.created.strftime("%F %T UTC"),
            size(contents.snapshot_bytes),
            contents.objects.values().sum::<usize>()
        )),
    }
    match &args.output.output {
        Some(_) => session.ui.render(&VerifiedReport::from(found), &format),
        None => Ok(()),
    }
}
