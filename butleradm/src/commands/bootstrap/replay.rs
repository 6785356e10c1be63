//! `bootstrap replay`

use butler_core::{
    bootstrap::run::{RunError, Stage},
    event::{Event, EventKind, Outcome, journal},
};
use butler_term::{
    CommandResult,
    report::{self, EventArgs},
    run::Session,
};
use clap::Args;

use super::runs::RunArgs;

/// Show a run again, as it was shown when it ran
///
/// Bars on a terminal, lines off it, or the events themselves. Nothing is done. With -v also every effect
/// and its result.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  butleradm bootstrap replay
  butleradm bootstrap replay mgmt --speed 100
  butleradm bootstrap replay mgmt --speed max --events ndjson")]
pub(super) struct ReplayArgs {
    #[command(flatten)]
    run: RunArgs,

    /// How many times as fast as it was, or max for no pause at all
    #[arg(long, value_name = "N", default_value = "10", value_parser = speed)]
    speed: Speed,

    #[command(flatten)]
    events: EventArgs,
}

#[derive(Clone, Copy, Debug)]
enum Speed {
    Times(f64),
    Max,
}

fn speed(text: &str) -> Result<Speed, String> {
    if text == "max" {
        return Ok(Speed::Max);
    }
    let times = text.parse().ok().filter(|times: &f64| (0.01..=1e6).contains(times));
    times.map(Speed::Times).ok_or_else(|| "expected a number from 0.01 to 1000000, or max".to_owned())
}

/// Runs the command.
pub(super) fn run(args: &ReplayArgs, session: &Session) -> CommandResult {
    let (dir, state) = args.run.find(session)?;
    let events = journal::read(&dir.journal()).map_err(RunError::from)?;
    let events = whole(events, state.stage);
    let speed = match args.speed {
        Speed::Times(times) => Some(times),
        Speed::Max => None,
    };
    session.block_on(report::replay(session, &args.events, &events, speed))?;
    let (id, word) = (dir.id(), state.stage.as_str());
    session.ui.status(format_args!("run {id}: {word}"));
    if state.stage == Stage::Running {
        session.ui.hint(format_args!("butleradm bootstrap logs {id} --follow"));
    }
    Ok(())
}

/// A journal as one stream, which ends once: earlier ends are those of processes, not of the run.
fn whole(mut events: Vec<Event>, stage: Stage) -> Vec<Event> {
    let last = events.len();
    let mut seq = 0;
    events.retain(|event| {
        seq += 1;
        seq == last || !matches!(event.kind, EventKind::Finished { .. })
    });
    if let (Some(end), Stage::Interrupted) = (events.last().cloned(), stage) {
        // Nobody carried it on.
        events.push(Event { kind: EventKind::finished(Outcome::Cancelled), ..end });
    }
    events
}
