//! `sandbox up`: finds or installs the programs, starts the supervisor, waits until all is ready.

use std::time::{Duration, Instant};

use butler_core::{
    error::{Code, ErrorKind},
    settings::{Home, keys::duration},
};
use butler_operator::{
    parts::Parts,
    sandbox::{
        Place, SandboxError,
        platform::{PARTS, Programs},
        supervisor::{Launch, LaunchOptions, holder, launch},
    },
};
use butler_term::{
    CommandError, CommandResult,
    report::{self, EventArgs},
    run::Session,
};
use clap::Args;

use super::command;

/// Start the sandbox
///
/// Programs that are missing are downloaded or built first; that is the only part that takes minutes.
/// What a sandbox held when it was stopped or killed comes back. One that runs is left as it is. Ctrl-C
/// before the end stops what had been started.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  butleradm sandbox up
  butleradm sandbox up --name second --wait 5m
  export KUBECONFIG=$(butleradm sandbox status -o jsonpath='{.kubeconfig}')")]
pub(crate) struct UpArgs {
    /// How long to wait until everything is ready
    #[arg(long, value_name = "DURATION", default_value = "3m", value_parser = duration)]
    wait: Duration,

    #[command(flatten)]
    events: EventArgs,
}

/// Runs the command.
pub(crate) fn run(args: &UpArgs, home: &Home, place: &Place, session: &Session) -> CommandResult {
    let begun = Instant::now();
    let parts = Parts::new(&session.environment, home).with_settings(session.settings()?);
    let home = std::path::absolute(home.dir()).unwrap_or_else(|_| home.dir().to_owned());
    let program = std::env::current_exe().map_err(|error| {
        CommandError::new(Code::Internal, "cannot tell where this program is").caused_by(&error)
    })?;
    let job = report::run(session, &args.events, async |reporter| {
        place.check_layout()?;
        let find = async { Ok::<_, SandboxError>(parts.install(&PARTS, &reporter).await?) };
        let found = reporter.phase("Finding the programs", find).await?;
        let mut paths = found.into_iter().map(|installed| installed.found.path);
        let programs = Programs::new(std::array::from_fn(|_| paths.next().unwrap_or_default()));
        let programs = programs.with_recovery(&parts).await;
        let options = LaunchOptions { place: place.clone(), home, program, programs, limit: args.wait };
        launch(&options, &reporter).await
    });
    let launched = session.block_on(job).map_err(|error| explain(error, place))?;
    let name = place.name();
    match launched {
        Launch::Started => {
            session.ui.status(format_args!("sandbox `{name}` is ready ({:.1?})", begun.elapsed()));
        }
        Launch::Present => session.ui.status(format_args!("sandbox `{name}` is running")),
    }
    session.ui.status(format_args!(
        "try next:\n  export KUBECONFIG={}\n  butleradm machine create cp-0 --provider sandbox --role control-plane --wait\n  {}",
        place.kubeconfig().display(),
        command(place, "status --watch"),
    ));
    Ok(())
}

/// Says after an interruption what is left of it.
fn explain(error: CommandError, place: &Place) -> CommandError {
    if error.kind() != ErrorKind::Cancelled {
        return error;
    }
    let name = place.name();
    let (what, next) = match holder(place) {
        Some(_) => (format!("sandbox `{name}` is complete and goes on running"), "down"),
        None => (format!("what had been started of sandbox `{name}` was stopped; its data stays"), "up"),
    };
    CommandError::new(error.code(), format!("interrupted: {what}")).hint(command(place, next))
}
