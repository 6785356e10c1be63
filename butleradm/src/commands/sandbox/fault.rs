//! `sandbox fault`: what should go wrong with the host of the machines. How faults are shown and changed is
//! the same for machines.

use std::path::Path;

use butler_core::{error::Code, settings::home::make_private_dir};
use butler_operator::sandbox::{
    Place,
    faults::{HostFaults, Scripted},
};
use butler_term::{CommandError, CommandResult, run::Session};
use clap::Args;

/// Show or set what goes wrong with the host of machines on purpose
///
/// The host is what a hypervisor or a cloud is elsewhere; its calls are in `sandbox logs calls`. Faults count
/// from the next call on, and may be set before there is a sandbox. They are: throttledSeconds=N (429 with
/// Retry-After), fails=WORDS (500), silent=true (no answer), credentialsExpired=true (401), quotaExceeded=WORDS
/// (nothing is made), and only=list|create|get|delete|power|console|load-balancer|other for one call alone.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  butleradm sandbox fault
  butleradm sandbox fault --set throttledSeconds=5 --set only=create
  butleradm sandbox fault --set quotaExceeded='32 of 32 processors are used' --name mgmt
  butleradm sandbox fault --clear")]
pub(crate) struct FaultArgs {
    #[command(flatten)]
    change: ChangeArgs,
}

/// Runs the command.
pub(crate) fn run(args: &FaultArgs, place: &Place, session: &Session) -> CommandResult {
    let whose = format!("the host of sandbox `{}`", place.name());
    args.change.apply::<HostFaults>(&whose, &place.host_faults(), session)
}

/// How faults are changed.
#[derive(Args, Debug)]
pub(super) struct ChangeArgs {
    /// Set a fault; can be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair)]
    set: Vec<(String, String)>,

    /// Remove the faults that are set, before any --set
    #[arg(long)]
    clear: bool,
}

fn pair(text: &str) -> Result<(String, String), &'static str> {
    let pair = text.split_once('=').filter(|(key, _)| !key.is_empty());
    pair.map(|(key, value)| (key.to_owned(), value.to_owned())).ok_or("it has the form KEY=VALUE")
}

impl ChangeArgs {
    /// Changes a file of faults as asked, and prints those that are set.
    pub(super) fn apply<F: Scripted>(&self, whose: &str, path: &Path, session: &Session) -> CommandResult {
        let mut faults = match F::read(path) {
            // What cannot be read can still be cleared.
            Err(_) if self.clear => F::default(),
            Err(error) => {
                let message = format!("cannot read the faults of {whose}");
                return Err(CommandError::new(Code::FaultUnknown, message).caused_by(&error));
            }
            Ok(_) if self.clear => F::default(),
            Ok(faults) => faults,
        };
        for (name, value) in &self.set {
            faults = faults.with(name, value)?;
        }
        if !self.set.is_empty() {
            make_private_dir(path.parent().unwrap_or(path))?;
        }
        if self.clear || !self.set.is_empty() {
            faults.write(path)?;
        }
        let set: String = faults.set().into_iter().map(|(name, value)| format!("{name}={value}\n")).collect();
        if set.is_empty() {
            session.ui.status(format_args!("{whose} has no faults"));
        }
        session.ui.text(&set)
    }
}
