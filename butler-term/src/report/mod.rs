//! Viewers of a job's event stream: lines, bars or NDJSON. Jobs report through
//! `butler_core::event::Reporter` and know nothing of terminals.

mod bars;
mod line;
mod ndjson;

use std::time::Duration;

use butler_core::{
    error::Diagnose,
    event::{self, Consumer, Event, EventKind, Reporter, RunId, elapsed},
};
use clap::{Args, ValueEnum};
use jiff::{SignedDuration, Timestamp};

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
    run_as(session, args, RunId::new(session.ui.now()), &mut |_: &Event| {}, job).await
}

/// As [`run`], under the id of a run that is kept, and with somebody who keeps its events.
pub async fn run_as<T, E: Diagnose>(
    session: &Session,
    args: &EventArgs,
    run_id: RunId,
    keeper: &mut dyn Consumer,
    job: impl AsyncFnOnce(Reporter) -> Result<T, E>,
) -> CommandResult<T> {
    let mut viewer = Viewer::choose(&session.ui, args);
    // What a person sees is on disk before.
    let result = event::run(run_id, &mut [keeper, &mut viewer], job).await;
    let value = result?;
    viewer.finish()?;
    Ok(value)
}

/// Shows events that happened earlier the way they were shown then, `speed` times as fast, or at once
/// when there is no speed. What only a journal holds is shown with `-v`.
pub async fn replay(
    session: &Session,
    args: &EventArgs,
    events: &[Event],
    speed: Option<f64>,
) -> CommandResult {
    let mut viewer = Viewer::choose(&session.ui, args);
    let is_record = |event: &Event| matches!(event.kind, EventKind::Intent { .. } | EventKind::Result { .. });
    let shown = events.iter().filter(|event| session.ui.verbosity() > 0 || !is_record(event));
    let mut before: Option<Timestamp> = None;
    for (seq, event) in (1..).zip(shown) {
        let gap = before.map_or(SignedDuration::ZERO, |before| event.time.duration_since(before));
        before = Some(event.time);
        if let (Some(speed), Ok(gap)) = (speed, Duration::try_from(gap)) {
            tokio::time::sleep(gap.div_f64(speed)).await;
        }
        // A stream has no gaps, also when records are left out.
        viewer.event(&Event { seq, ..event.clone() });
        if viewer.is_broken() {
            break;
        }
    }
    viewer.finish()
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

    /// True when nobody reads any more.
    fn is_broken(&self) -> bool {
        matches!(self, Self::Ndjson(ndjson) if ndjson.is_broken())
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
