//! One line per event, for logs and CI: time, mark, text. What was said is not said again, and a job
//! that is silent for long is seen to be alive.

use std::collections::{BTreeMap, HashMap};

use butler_core::event::{Consumer, Event, EventKind, Level, Outcome, Progress, Unit};
use indicatif::BinaryBytes;
use jiff::{SignedDuration, Timestamp, tz::TimeZone};

use super::elapsed;
use crate::{Ui, theme};

/// After so long without a line, a heartbeat.
const SILENCE: SignedDuration = SignedDuration::from_secs(10);

pub(super) struct LineReporter<'a> {
    ui: &'a Ui,
    lines: Lines,
}

impl<'a> LineReporter<'a> {
    pub(super) fn new(ui: &'a Ui) -> Self {
        let level = match (ui.is_quiet(), ui.verbosity()) {
            (true, _) => Level::Warn,
            (_, 0) => Level::Info,
            _ => Level::Debug,
        };
        Self { ui, lines: Lines::new(level, TimeZone::system()) }
    }
}

impl Consumer for LineReporter<'_> {
    fn event(&mut self, event: &Event) {
        if let Some(line) = self.lines.event(event) {
            self.ui.talk(format_args!("{line}"));
        }
    }

    fn tick(&mut self, now: Timestamp) {
        if let Some(line) = self.lines.heartbeat(now) {
            self.ui.talk(format_args!("{line}"));
        }
    }
}

/// Turns events into lines; knows nothing of streams.
struct Lines {
    level: Level,
    zone: TimeZone,
    last_line: Option<Timestamp>,
    /// Phases that run, with their start.
    phases: Vec<(String, Timestamp)>,
    /// What each target said last.
    said: HashMap<String, String>,
    /// How far each task is, in quarters.
    quarters: BTreeMap<String, u64>,
    progress: Option<Progress>,
}

impl Lines {
    fn new(level: Level, zone: TimeZone) -> Self {
        Self {
            level,
            zone,
            last_line: None,
            phases: Vec::new(),
            said: HashMap::new(),
            quarters: BTreeMap::new(),
            progress: None,
        }
    }

    fn event(&mut self, event: &Event) -> Option<String> {
        // Silence is counted from the first event, not from a first line.
        self.last_line.get_or_insert(event.time);
        let (level, text) = self.text(event)?;
        (level >= self.level).then(|| self.line(event.time, &text))
    }

    fn heartbeat(&mut self, now: Timestamp) -> Option<String> {
        if self.level > Level::Info || now.duration_since(self.last_line?) < SILENCE {
            return None;
        }
        let task = self.progress.as_ref().map(|progress| format!("{} {}", progress.task, amount(progress)));
        let text = match (self.phases.last(), task) {
            (Some((phase, started)), task) => {
                let task = task.map(|task| format!(", {task}")).unwrap_or_default();
                format!("… {phase}: still running after {}{task}", elapsed(*started, now))
            }
            (None, Some(task)) => format!("… {task}"),
            (None, None) => "… still running".to_owned(),
        };
        Some(self.line(now, &text))
    }

    fn line(&mut self, time: Timestamp, text: &str) -> String {
        self.last_line = Some(time);
        let dim = theme::DIM;
        format!("{dim}{}{dim:#} {text}", time.to_zoned(self.zone.clone()).strftime("%H:%M:%S"))
    }

    fn text(&mut self, event: &Event) -> Option<(Level, String)> {
        let (good, bad, warn) = (theme::SUCCESS, theme::ERROR, theme::WARNING);
        match &event.kind {
            EventKind::PhaseStarted { phase } => {
                self.phases.push((phase.clone(), event.time));
                Some((Level::Info, format!("▸ {phase}")))
            }
            EventKind::PhaseFinished { phase, result } => {
                let at = self.phases.iter().rposition(|(running, _)| running == phase);
                let took = at.map(|at| elapsed(self.phases.remove(at).1, event.time)).unwrap_or_default();
                self.progress = None;
                Some(match result {
                    Outcome::Succeeded => (Level::Info, format!("{good}✓{good:#} {phase} ({took})")),
                    Outcome::Failed { message, .. } => {
                        (Level::Error, format!("{bad}✗{bad:#} {phase} ({took}): {message}"))
                    }
                    _ => (Level::Warn, format!("{warn}✗{warn:#} {phase} ({took}): cancelled")),
                })
            }
            EventKind::Progress(progress) => {
                let unfinished = progress.total.is_none_or(|total| progress.done < total);
                self.progress = unfinished.then(|| progress.clone());
                let total = progress.total.filter(|total| *total > 0)?;
                let quarter = progress.done.min(total).saturating_mul(4) / total;
                let before = self.quarters.insert(progress.task.clone(), quarter).unwrap_or_default();
                (quarter > before).then(|| (Level::Info, format!("  {} {}", progress.task, amount(progress))))
            }
            EventKind::Resource { reference, change } => {
                let change = format!("{change:?}").to_lowercase();
                Some((Level::Info, format!("  {reference} {change}")))
            }
            EventKind::Log { level, target, message } => {
                if self.said.insert(target.clone(), message.clone()).as_ref() == Some(message) {
                    return None;
                }
                let text = match level {
                    Level::Error => format!("{bad}error{bad:#}: {message}"),
                    Level::Warn => format!("{warn}warning{warn:#}: {message}"),
                    Level::Debug | Level::Info => format!("  {message}"),
                };
                Some((*level, text))
            }
            EventKind::Stalled(stall) => {
                let text = stall.lines().join("\n             ");
                Some((Level::Warn, format!("{warn}!{warn:#} {text}")))
            }
            EventKind::Moving {} => Some((Level::Info, "  moving again".to_owned())),
            EventKind::Intent { step, .. } => Some((Level::Debug, format!("→ {step}"))),
            EventKind::Result { step, .. } => Some((Level::Debug, format!("← {step}"))),
            // The command tells how the run ended; the rest is for machines.
            _ => None,
        }
    }
}

/// `45% (12.00 MiB of 27.00 MiB)`, `3 of 9`, or what there is when the total is not known.
pub(super) fn amount(progress: &Progress) -> String {
    let Progress { done, total, unit, .. } = progress;
    let count = |number: u64| match unit {
        Unit::Bytes => BinaryBytes(number).to_string(),
        _ => number.to_string(),
    };
    match total {
        Some(total) if *unit == Unit::Bytes && *total > 0 => {
            let percent = done.min(total).saturating_mul(100) / total;
            format!("{percent}% ({} of {})", count(*done), count(*total))
        }
        Some(total) => format!("{} of {}", count(*done), count(*total)),
        None => count(*done),
    }
}

#[cfg(test)]
mod tests {
    use butler_core::event::{Change, ObjectRef, RunId};

    use super::*;

    /// The lines of events that come one second apart, without colours.
    fn lines(level: Level, kinds: impl IntoIterator<Item = EventKind>) -> String {
        let mut lines = Lines::new(level, TimeZone::UTC);
        let start: Timestamp = "2026-11-14T10:11:12Z".parse().unwrap();
        let mut out = String::new();
        let mut end = start;
        for (seq, kind) in (1..).zip(kinds) {
            end = start + SignedDuration::from_secs(seq);
            let event = Event { version: 1, seq: seq as u64, time: end, run_id: RunId::new(start), kind };
            out.extend(lines.event(&event).map(|line| line + "\n"));
        }
        for silent in [5, 9, 10, 15, 25] {
            out.extend(lines.heartbeat(end + SignedDuration::from_secs(silent)).map(|line| line + "\n"));
        }
        anstream::adapter::strip_str(&out).to_string()
    }

    fn bytes(done: u64) -> EventKind {
        let task = "download etcd".to_owned();
        EventKind::Progress(Progress { task, done: done << 20, total: Some(8 << 20), unit: Unit::Bytes })
    }

    fn job() -> Vec<EventKind> {
        let team = ObjectRef { kind: "Team".into(), namespace: None, name: "a".into() };
        let failed = Outcome::Failed { code: "BTL-1403".into(), message: "no route".into() };
        let mut kinds = vec![EventKind::PhaseStarted { phase: "Preparing".into() }];
        kinds.extend((0..=8).map(bytes));
        kinds.extend(["waiting for etcd", "waiting for etcd"].map(|text| EventKind::info("etcd", text)));
        kinds.push(EventKind::warning("disk", "little space"));
        kinds.push(EventKind::info("etcd", "waiting for etcd"));
        kinds.push(EventKind::Log { level: Level::Debug, target: "x".into(), message: "detail".into() });
        kinds.push(EventKind::Resource { reference: team, change: Change::Created });
        kinds.push(EventKind::PhaseFinished { phase: "Preparing".into(), result: Outcome::Succeeded });
        kinds.push(EventKind::PhaseStarted { phase: "Installing".into() });
        kinds.push(EventKind::PhaseFinished { phase: "Installing".into(), result: failed });
        kinds.push(EventKind::PhaseStarted { phase: "Waiting".into() });
        kinds.push(bytes(1));
        kinds
    }

    #[test]
    fn a_job_reads_like_a_short_log() {
        insta::assert_snapshot!(lines(Level::Info, job()), @r"
        10:11:13 ▸ Preparing
        10:11:16   download etcd 25% (2.00 MiB of 8.00 MiB)
        10:11:18   download etcd 50% (4.00 MiB of 8.00 MiB)
        10:11:20   download etcd 75% (6.00 MiB of 8.00 MiB)
        10:11:22   download etcd 100% (8.00 MiB of 8.00 MiB)
        10:11:23   waiting for etcd
        10:11:25 warning: little space
        10:11:28   Team a created
        10:11:29 ✓ Preparing (16 s)
        10:11:30 ▸ Installing
        10:11:31 ✗ Installing (1 s): no route
        10:11:32 ▸ Waiting
        10:11:42 … Waiting: still running after 10 s, download etcd 12% (1.00 MiB of 8.00 MiB)
        10:11:58 … Waiting: still running after 26 s, download etcd 12% (1.00 MiB of 8.00 MiB)
        ");
    }

    #[test]
    fn a_stall_is_told_with_what_shows_it_and_what_helps_and_under_quiet_too() {
        let stall = butler_core::event::Stall {
            code: "BTL-2031".into(),
            what: "machine `a` has no address".into(),
            evidence: vec!["the provider says that it is being made".into()],
            next: vec!["butleradm machine console a".into()],
            seconds: 20,
        };
        let kinds = || vec![EventKind::Stalled(stall.clone()), EventKind::Moving {}];
        insta::assert_snapshot!(lines(Level::Info, kinds()), @r"
        10:11:13 ! stalled for 20 s: machine `a` has no address (BTL-2031)
                     the provider says that it is being made
                     next: butleradm machine console a
        10:11:14   moving again
        10:11:24 … still running
        10:11:39 … still running
        ");
        assert!(lines(Level::Warn, kinds()).contains("BTL-2031"));
    }

    #[test]
    fn quiet_leaves_warnings_and_failures() {
        insta::assert_snapshot!(lines(Level::Warn, job()), @r"
        10:11:25 warning: little space
        10:11:31 ✗ Installing (1 s): no route
        ");
    }
}
