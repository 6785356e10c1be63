//! `machine power`

use butler_operator::driver::Power;
use butler_term::{CommandResult, run::Session};
use clap::{Args, ValueEnum};

use super::{WAITING, driver};

/// Switch a machine on or off, or reset it
///
/// Works on the provider directly. Switching off is like pulling the plug.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  butleradm machine power worker-0 off
  butleradm machine power worker-0 on")]
pub(crate) struct MachinePowerArgs {
    #[command(flatten)]
    machine: driver::MachineAtProviderArgs,

    /// What to do
    #[arg(value_name = "ACTION")]
    action: Action,

    /// Find the machine, but leave it as it is
    #[arg(long)]
    dry_run: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Action {
    /// Switch on
    On,
    /// Switch off, at once
    Off,
    /// Off and on again
    Reset,
}

/// Runs the command.
pub(crate) fn run(args: &MachinePowerArgs, session: &Session) -> CommandResult {
    let (power, word) = match args.action {
        Action::On => (Power::On, "switched on"),
        Action::Off => (Power::Off, "switched off"),
        Action::Reset => (Power::Reset, "reset"),
    };
    session.block_on(async {
        let _waiting = session.ui.spinner(WAITING);
        let (driver, key) = driver::find(&args.machine, session).await?;
        if args.dry_run {
            driver.get(&key).await?;
            session.ui.status(format_args!("machine `{}` would be {word} (dry run)", key.name));
            return Ok(());
        }
        driver.power(&key, power).await?;
        session.ui.status(format_args!("machine `{}` {word}", key.name));
        Ok(())
    })
}
