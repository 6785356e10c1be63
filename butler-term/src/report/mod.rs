//! Viewers of a job's event stream: lines, bars or NDJSON. Jobs report through
//! `butler_core::event::Reporter` and know nothing of terminals.

mod bars;
mod line;
mod ndjson;

use butler_core::{
    error::Diagnose,
    event::{self, Consumer, Event, Reporter, RunId},
};
use clap::{Args, ValueEnum};
use jiff::Timestamp;

use crate::{CommandResult, Ui, run::Session};

/// The `--events` flag of commands that run a job.
#[derive(Args, Clone, Debug, Default)]
pub struct EventArgs {
    /// Print every event of the job to stdout in this format
    #[arg(long, value_name = "FORMAT")]
    events: Option<EventFormat>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum EventFormat {
    /// One JSON object per line
    Ndjson,
}

/// Runs a job and shows it the way that fits: events if asked for, bars on a terminal, else lines.
pub async fn run<T, E: Diagnose>(
    session: &Session,
    args: &EventArgs,
    job: impl AsyncFnOnce(Reporter) -> Result<T, E>,
) -> CommandResult<T> {
    let mut viewer = Viewer::choose(&session.ui, args);
    let result = event::run(RunId::new(session.ui.now()), &mut [&mut viewer], job).await;
    let value = result?;
    viewer.finish()?;
    Ok(value)
}

enum Viewer<'a> {
    Line(line::LineReporter<'a>),
    Bars(bars::Bars<'a>),
    Ndjson(ndjson::Ndjson<'a>),
}

impl<'a> Viewer<'a> {
    fn choose(ui: &'a Ui, args: &EventArgs) -> Self {
        match args.events {
            Some(EventFormat::Ndjson) => Self::Ndjson(ndjson::Ndjson::new(ui)),
            None if ui.animates() && !ui.is_quiet() => Self::Bars(bars::Bars::new(ui)),
            None => Self::Line(line::LineReporter::new(ui)),
        }
    }

    /// Tells of events that could not be shown.
    fn finish(self) -> CommandResult {
        match self {
            Self::Ndjson(ndjson) => ndjson.finish(),
            Self::Line(_) | Self::Bars(_) => Ok(()),
        }
    }
}

impl Consumer for Viewer<'_> {
    fn event(&mut self, event: &Event) {
        match self {
            Self::Line(line) => line.event(event),
            Self::Bars(bars) => bars.event(event),
            Self::Ndjson(ndjson) => ndjson.event(event),
        }
    }

    fn tick(&mut self, now: Timestamp) {
        match self {
            Self::Line(line) => line.tick(now),
            Self::Bars(_) | Self::Ndjson(_) => {}
        }
    }
}

/// `250 ms`, `12 s`, `3 min 20 s`.
fn elapsed(from: Timestamp, to: Timestamp) -> String {
    let millis = to.duration_since(from).as_millis().max(0);
    match millis {
        0..1_000 => format!("{millis} ms"),
        1_000..60_000 => format!("{} s", millis / 1_000),
        _ => format!("{} min {} s", millis / 60_000, millis / 1_000 % 60),
    }
}
