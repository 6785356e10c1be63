//! A spinner per phase and a bar per task, for a terminal. What remains on the screen afterwards is
//! one line per finished phase, and what the job said.

use std::{collections::HashMap, time::Duration};

use butler_core::event::{Consumer, Event, EventKind, Level, Outcome, Progress, Unit};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use jiff::Timestamp;

use super::elapsed;
use crate::{Ui, theme};

const SPIN: Duration = Duration::from_millis(100);

pub(super) struct Bars<'a> {
    ui: &'a Ui,
    all: MultiProgress,
    phases: HashMap<String, (ProgressBar, Timestamp)>,
    tasks: HashMap<String, ProgressBar>,
}

impl<'a> Bars<'a> {
    pub(super) fn new(ui: &'a Ui) -> Self {
        let all = MultiProgress::with_draw_target(ProgressDrawTarget::stderr());
        Self { ui, all, phases: HashMap::new(), tasks: HashMap::new() }
    }

    fn say(&self, text: std::fmt::Arguments<'_>) {
        self.all.suspend(|| self.ui.talk(text));
    }

    fn spinner(&self, text: &str) -> ProgressBar {
        let bar = self.all.add(ProgressBar::new_spinner());
        bar.set_style(style("{spinner} {wide_msg} {elapsed}"));
        bar.set_message(text.to_owned());
        bar.enable_steady_tick(SPIN);
        bar
    }

    fn progress(&mut self, progress: &Progress) {
        let bar = self.tasks.entry(progress.task.clone()).or_insert_with(|| {
            let bar = self.all.add(ProgressBar::new(0));
            bar.set_style(style(match (progress.unit, progress.total) {
                (Unit::Bytes, Some(_)) => "  {msg} {wide_bar} {binary_bytes}/{binary_total_bytes} {eta}",
                (Unit::Bytes, None) => "  {spinner} {wide_msg} {binary_bytes}",
                (_, Some(_)) => "  {msg} {wide_bar} {pos}/{len}",
                (_, None) => "  {spinner} {wide_msg} {pos}",
            }));
            bar.set_message(progress.task.clone());
            bar
        });
        if let Some(total) = progress.total {
            bar.set_length(total);
        }
        bar.set_position(progress.done);
        if progress.total.is_some_and(|total| progress.done >= total) {
            bar.finish_and_clear();
            self.tasks.remove(&progress.task);
        }
    }
}

impl Consumer for Bars<'_> {
    fn event(&mut self, event: &Event) {
        match &event.kind {
            EventKind::PhaseStarted { phase } => {
                self.phases.insert(phase.clone(), (self.spinner(phase), event.time));
            }
            EventKind::PhaseFinished { phase, result } => {
                let Some((bar, started)) = self.phases.remove(phase) else { return };
                bar.finish_and_clear();
                // The tasks of other phases come back with their next progress.
                self.tasks.drain().for_each(|(_, bar)| bar.finish_and_clear());
                let (style, mark) = match result {
                    Outcome::Succeeded => (theme::SUCCESS, '✓'),
                    _ => (theme::ERROR, '✗'),
                };
                let took = elapsed(started, event.time);
                self.say(format_args!("{style}{mark}{style:#} {phase} ({took})"));
            }
            EventKind::Progress(progress) => self.progress(progress),
            EventKind::Resource { reference, change } => {
                self.say(format_args!("  {reference} {}", format!("{change:?}").to_lowercase()));
            }
            EventKind::Log { level, message, .. } => match level {
                Level::Error => self.say(format_args!("{0}error{0:#}: {message}", theme::ERROR)),
                Level::Warn => self.say(format_args!("{0}warning{0:#}: {message}", theme::WARNING)),
                Level::Info => self.say(format_args!("  {message}")),
                Level::Debug if self.ui.verbosity() > 0 => self.say(format_args!("  {message}")),
                Level::Debug => {}
            },
            EventKind::Stalled(stall) => {
                let text = stall.lines().join("\n    ");
                self.say(format_args!("{0}!{0:#} {text}", theme::WARNING));
            }
            EventKind::Moving {} => self.say(format_args!("  moving again")),
            EventKind::Intent { step, .. } if self.ui.verbosity() > 0 => {
                self.say(format_args!("  → {step}"));
            }
            EventKind::Result { step, .. } if self.ui.verbosity() > 0 => {
                self.say(format_args!("  ← {step}"));
            }
            EventKind::Finished { .. } => {
                self.tasks.drain().for_each(|(_, bar)| bar.finish_and_clear());
                self.phases.drain().for_each(|(_, (bar, _))| bar.finish_and_clear());
            }
            _ => {}
        }
    }
}

/// A template of ours; they are constants, and a bad one shows itself as the default bar.
fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}
