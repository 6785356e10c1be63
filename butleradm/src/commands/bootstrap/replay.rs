//! `bootstrap replay`

use std::path::Path;

use butler_core::{
    bootstrap::run::{RunError, RunState, Stage},
    error::Code,
    event::{Event, EventKind, JournalError, Outcome, RunId, journal},
};
use butler_term::{
    CommandError, CommandResult,
    report::{self, EventArgs},
    run::Session,
};
use clap::Args;

use super::runs::RunArgs;

/// Show a run again, as it was shown when it ran
///
/// Bars on a terminal, lines off it, the events themselves, or a full screen. Nothing is done. With -v also
/// every effect and its result. RUN may be a file too: a journal, or what `--events ndjson` printed.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  butleradm bootstrap replay
  butleradm bootstrap replay mgmt --speed 100
  butleradm bootstrap replay events.ndjson --speed 10 --tui
  butleradm bootstrap replay mgmt --speed max --events ndjson")]
pub(super) struct ReplayArgs {
    #[command(flatten)]
    run: RunArgs,

    /// How many times as fast as it was, or max for no pause at all
    #[arg(long, value_name = "N", default_value = "10", value_parser = speed)]
    speed: Speed,

    /// Show it on a full screen
    #[arg(long, conflicts_with = "events")]
    pub(super) tui: bool,

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
    let (id, events, stage) = match args.run.file() {
        Some(path) => from_file(&path)?,
        None => {
            let (dir, state) = args.run.find(session)?;
            let events = journal::read(&dir.journal()).map_err(RunError::from)?;
            (dir.id().clone(), events, state.stage)
        }
    };
    let speed = match args.speed {
        Speed::Times(times) => Some(times),
        Speed::Max => None,
    };
    let events = whole(events, stage);
    if args.tui {
        return super::screen::replay(id, events, speed, session);
    }
    session.block_on(report::replay(session, &args.events, &events, speed))?;
    session.ui.status(format_args!("run {id}: {}", stage.as_str()));
    if stage == Stage::Running {
        session.ui.hint(format_args!("butleradm bootstrap logs {id} --follow"));
    }
    Ok(())
}

/// Reads events from a file: a journal, or a stream that was kept.
fn from_file(path: &Path) -> CommandResult<(RunId, Vec<Event>, Stage)> {
    let events = match journal::read(path) {
        Err(JournalError::Damaged { .. }) => stream(path),
        read => read,
    };
    let events = events.map_err(RunError::from)?;
    let Some(first) = events.first() else {
        let message = format!("`{}` holds no event", path.display());
        return Err(CommandError::new(Code::RunUnknown, message));
    };
    let id = first.run_id.clone();
    let stage = RunState::of(&id, &events, None).stage;
    Ok((id, events, stage))
}

/// What `--events ndjson` printed: one event per line, without a journal's checksums.
fn stream(path: &Path) -> Result<Vec<Event>, JournalError> {
    let text = fs_err::read_to_string(path);
    let text = text.map_err(|source| JournalError::Read { path: path.to_owned(), source })?;
    let event = |(line, text): (usize, &str)| {
        serde_json::from_str(text).map_err(|error| JournalError::Damaged {
            path: path.to_owned(),
            line: line + 1,
            why: format!("it is no event: {error}"),
        })
    };
    text.lines().enumerate().filter(|(_, text)| !text.trim().is_empty()).map(event).collect()
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
