//! A sign of life while something takes longer than a person expects.

use std::{
    sync::mpsc::{self, Receiver, RecvTimeoutError, Sender},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::ui::{Stream, Ui};

/// What is faster needs no sign.
const DELAY: Duration = Duration::from_millis(300);
/// Time between two pictures on a terminal.
const FRAME: Duration = Duration::from_millis(100);
/// Time between two lines off a terminal.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// Shows that work goes on until it is dropped: a spinner on a terminal, else a line now and every ten
/// seconds. It has a thread of its own, so work may block.
#[derive(Debug)]
#[must_use = "the spinner ends when it is dropped"]
pub struct Spinner {
    running: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Ui {
    /// Shows on stderr that something is being done, if it takes a while. Silent under `--quiet`.
    pub fn spinner(&self, message: impl Into<String>) -> Spinner {
        if self.is_quiet() {
            return Spinner { running: None };
        }
        let (stop, stopped) = mpsc::channel();
        let (message, stderr, animates) = (message.into(), self.stderr(), self.animates());
        let run =
            move || if animates { animate(&message, &stopped) } else { beat(&message, stderr, &stopped) };
        // Without a thread there is no sign of life, and the work goes on.
        let thread = thread::Builder::new().name("spinner".to_owned()).spawn(run);
        Spinner { running: thread.ok().map(|thread| (stop, thread)) }
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.running.take() {
            drop(stop);
            // The line is gone when the caller goes on.
            let _ = thread.join();
        }
    }
}

/// True when the time passed and the work goes on.
fn goes_on(stopped: &Receiver<()>, time: Duration) -> bool {
    stopped.recv_timeout(time) == Err(RecvTimeoutError::Timeout)
}

fn animate(message: &str, stopped: &Receiver<()>) {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {elapsed}") {
        bar.set_style(style);
    }
    bar.set_message(message.to_owned());
    let mut wait = DELAY;
    while goes_on(stopped, wait) {
        bar.tick();
        wait = FRAME;
    }
    bar.finish_and_clear();
}

fn beat(message: &str, stderr: Stream, stopped: &Receiver<()>) {
    let start = Instant::now();
    if !goes_on(stopped, DELAY) {
        return;
    }
    stderr.talk(format_args!("{message}"));
    while goes_on(stopped, HEARTBEAT) {
        stderr.talk(format_args!("{message} {}s", start.elapsed().as_secs()));
    }
}
