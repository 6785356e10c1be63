//! `bootstrap abort`

use std::time::{Duration, Instant};

use butler_core::{
    bootstrap::run::{Stage, Verb},
    error::Code,
    event::{EventKind, Outcome},
};
use butler_operator::{bootstrap::take_up, process};
use butler_term::{CommandError, CommandResult, complete, run::Session};
use clap::Args;

use super::run::runs;

/// How long a process that is told to stop may take.
const LIMIT: Duration = Duration::from_secs(30);

/// Stop a run and keep what it made
///
/// Tells the process that works on the run to stop, and waits until it has. A run whose process is gone is
/// marked as stopped. Nothing is removed: `resume` goes on, `destroy` removes.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  butleradm bootstrap abort
  butleradm bootstrap abort mgmt")]
pub(crate) struct AbortArgs {
    /// Id of the run, its beginning, or the name of the cluster [default: the newest run]
    #[arg(add = complete::runs())]
    run: Option<String>,
}

/// Runs the command.
pub(crate) fn run(args: &AbortArgs, session: &Session) -> CommandResult {
    let (_, runs) = runs(session)?;
    let (dir, state) = super::runs::choose(&runs, args.run.as_deref())?;
    let id = dir.id().clone();
    match (&state.holder, state.stage) {
        (Some(holder), _) if !holder.is_here() => {
            let message = format!("cannot stop {holder} from here");
            return Err(CommandError::new(Code::RunHeld, message)
                .hint(format!("ssh {} butleradm bootstrap abort {id}", holder.host)));
        }
        (Some(holder), _) => {
            process::interrupt(holder.pid).map_err(|error| {
                CommandError::new(Code::RunHeld, format!("cannot stop {holder}")).caused_by(&error)
            })?;
            let end = Instant::now() + LIMIT;
            let held = || dir.state().is_ok_and(|state| state.holder.is_some());
            while held() {
                if Instant::now() >= end {
                    return Err(CommandError::new(Code::RunHeld, format!("{holder} does not stop"))
                        .hint(format!("kill -9 {}", holder.pid)));
                }
                std::thread::sleep(Duration::from_millis(50));
            }
        }
        (None, Stage::Interrupted) => {
            let started = take_up(&runs, dir, Verb::Abort)?;
            started.ledger.append(EventKind::finished(Outcome::Cancelled))?;
        }
        (None, stage) => {
            session.ui.status(format_args!("run `{id}` is {}; nothing to stop", stage.as_str()));
            return Ok(());
        }
    }
    session.ui.status(format_args!("run `{id}` is stopped; what it made stays"));
    if !runs.dir(&id).state()?.half_destroyed {
        session.ui.hint(format_args!("butleradm bootstrap resume {id}"));
    }
    session.ui.hint(format_args!("butleradm bootstrap destroy {id}"));
    Ok(())
}
