//! `sandbox down`: stops everything, and looks whether that is so.

use butler_operator::sandbox::{
    Place,
    supervisor::{Halted, halt},
};
use butler_term::{CommandResult, run::Session};
use clap::Args;

use super::command;

/// Stop the sandbox
///
/// Its data stays and comes back with `sandbox up`. Ends only after the system shows none of its
/// processes and none of its ports.
#[derive(Args, Debug)]
pub(crate) struct DownArgs {}

/// Runs the command.
pub(crate) fn run(_args: &DownArgs, place: &Place, session: &Session) -> CommandResult {
    let halted = stop(place, session)?;
    let name = place.name();
    if halted.processes == 0 {
        session.ui.status(format_args!("sandbox `{name}` is not running"));
    }
    if place.exists() {
        session.ui.status(format_args!("its data stays in {}", place.dir().display()));
        session.ui.hint(format_args!("{}", command(place, "up")));
    }
    Ok(())
}

/// Stops a sandbox and says what was seen.
pub(super) fn stop(place: &Place, session: &Session) -> CommandResult<Halted> {
    session.block_on(async {
        let waiting = session.ui.spinner(format!("stopping sandbox `{}`", place.name()));
        let halted = halt(place).await?;
        drop(waiting);
        if halted.killed {
            session.ui.warning(format_args!("the supervisor did not stop in time and was killed"));
        }
        if halted.processes > 0 {
            session.ui.status(format_args!(
                "sandbox `{}` is stopped: {} processes ended and {} ports closed, none is left",
                place.name(),
                halted.processes,
                halted.ports,
            ));
        }
        Ok(halted)
    })
}
