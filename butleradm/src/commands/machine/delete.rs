//! `machine delete`

use std::time::Duration;

use butler_core::{
    machine::{self, Summary},
    settings::keys::duration,
};
use butler_term::{CommandResult, args::ConnectArgs, run::Session};
use clap::Args;

use super::{NameArgs, WAITING, missing};

/// Remove a machine with its disks
///
/// Says what it will touch and asks for the name. The controllers remove the machine at the provider;
/// the request stays until they have seen that it is gone.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  butleradm machine delete worker-0
  butleradm machine delete worker-0 --dry-run
  butleradm machine delete worker-0 --yes --wait")]
pub(crate) struct MachineDeleteArgs {
    #[command(flatten)]
    name: NameArgs,

    /// Do not ask
    #[arg(short, long)]
    yes: bool,

    /// Say what would be removed, but remove nothing
    #[arg(long, conflicts_with = "wait")]
    dry_run: bool,

    /// Wait until the machine is gone
    #[arg(long)]
    wait: bool,

    /// How long to wait
    #[arg(long, value_name = "DURATION", default_value = "10m", value_parser = duration)]
    timeout: Duration,

    #[command(flatten)]
    connect: ConnectArgs,
}

/// Runs the command.
pub(crate) fn run(args: &MachineDeleteArgs, session: &Session) -> CommandResult {
    let (namespace, name) = (&args.name.namespace.namespace, &args.name.name);
    session.block_on(async {
        let connection = session.connect(&args.connect).await?;
        let _waiting = session.ui.spinner(WAITING);
        let object = match machine::get(&connection.client, namespace, name).await {
            Ok(object) => serde_json::to_value(object).unwrap_or_default(),
            Err(error) => return Err(missing(&connection, &args.name, error).await),
        };
        session.ui.status(format_args!("{}", touches(&Summary::of(&object))));
        Ok(())
    })?;
    if !args.yes && !args.dry_run {
        session.ui.confirm_name("remove machine", name)?;
    }
    // The client belongs to the runtime that ended with the question.
    session.block_on(async {
        let client = session.connect(&args.connect).await?.client;
        machine::delete(&client, namespace, name, args.dry_run).await?;
        if args.dry_run {
            session.ui.status(format_args!("nothing was removed (dry run)"));
            return Ok(());
        }
        if !args.wait {
            session.ui.status(format_args!("machine `{name}` is being removed"));
            return Ok(());
        }
        let waiting = session.ui.spinner(format!("waiting until machine `{name}` is gone"));
        machine::gone(&client, namespace, name, args.timeout, |_| {}).await?;
        drop(waiting);
        session.ui.status(format_args!("machine `{name}` is gone"));
        Ok(())
    })
}

/// What goes, in one line.
fn touches(machine: &Summary) -> String {
    let at = |text: &Option<String>| text.as_deref().unwrap_or("-").to_owned();
    let place = match &machine.provider_id {
        Some(id) => {
            format!(
                "machine `{}` ({id}) at provider `{}`, with its disks",
                at(&machine.machine),
                at(&machine.provider)
            )
        }
        None => format!("no machine yet at provider `{}`", at(&machine.provider)),
    };
    format!("machine request `{}` in namespace `{}`: {place}", machine.name, machine.namespace)
}
