//! `butleradm crds apply`: installs the definitions and waits until they are served.

use std::time::Duration;

use butler_core::{cluster::crds, settings::keys::duration};
use butler_term::{CommandResult, args::ConnectArgs, run::Session};
use clap::Args;

/// Install the definitions on the management cluster, or update them
///
/// Applies all definitions on the server side and waits until each one is established. Objects that
/// exist stay as they are. Running it again changes nothing.
#[derive(Args, Debug)]
pub(crate) struct ApplyArgs {
    /// Let the API server check the definitions, but store nothing
    #[arg(long)]
    dry_run: bool,

    /// How long to wait until the definitions are established
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = duration)]
    timeout: Duration,

    #[command(flatten)]
    connect: ConnectArgs,
}

/// Runs the command.
pub(crate) fn run(args: &ApplyArgs, session: &Session) -> CommandResult {
    session.block_on(async {
        let client = session.connect(&args.connect).await?.client;
        let names = crds::apply(&client, args.dry_run).await?;
        let state = if args.dry_run {
            "would be applied (dry run)"
        } else {
            crds::established(&client, &names, args.timeout).await?;
            "established"
        };
        names.iter().for_each(|name| session.ui.status(format_args!("{name} {state}")));
        Ok(())
    })
}
