//! Keys on the command line.

use std::path::{Path, PathBuf};

use butler_core::{
    bootstrap::config::{NoKeyring, SecretSource},
    error::Code,
};
use butler_operator::backup::{Identities, Recipients};
use butler_term::{CommandError, CommandResult, run::Session};
use clap::{Args, ValueHint};

/// To whom a backup is encrypted.
#[derive(Args, Clone, Debug)]
pub(super) struct RecipientArgs {
    /// Encrypt to this public key, age1…; may be given several times, and each opens the backup alone
    #[arg(short, long, value_name = "KEY", required_unless_present = "recipients_file")]
    recipient: Vec<String>,

    /// Encrypt to the public keys in this file, one on a line
    #[arg(short = 'R', long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    recipients_file: Option<PathBuf>,
}

impl RecipientArgs {
    /// Reads them.
    pub(super) fn read(&self) -> CommandResult<Recipients> {
        let mut keys = self.recipient.clone();
        if let Some(path) = &self.recipients_file {
            let text = fs_err::read_to_string(path).map_err(|error| {
                let message = format!("cannot read recipients from `{}`", path.display());
                CommandError::new(Code::FileUnreadable, message).caused_by(&error)
            })?;
            let lines = text.lines().map(str::trim);
            keys.extend(lines.filter(|line| !line.is_empty() && !line.starts_with('#')).map(str::to_owned));
        }
        Ok(Recipients::parse(keys.iter().map(String::as_str))?)
    }
}

/// Reads an identity file, which only this user may be able to read.
pub(super) fn identities(path: &Path, session: &Session) -> CommandResult<Identities> {
    let text = SecretSource::File(path.to_owned()).resolve(&session.environment, &NoKeyring)?;
    Ok(Identities::parse(path, &text)?)
}
