//! How events travel from a job to those who watch it.
//!
//! What must not be lost goes through a bounded queue: a slow reader slows the job down. State that
//! changes quickly (progress, snapshots) goes through a cell where the latest value wins. A stamp
//! keeps the two in order, and the reading side numbers the events, so a stream has no gaps. It
//! ends with exactly one `Finished`, even when the job is dropped half way.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use jiff::Timestamp;
use tokio::{
    sync::{mpsc, watch},
    time::{Instant, MissedTickBehavior, interval, sleep_until},
};

use super::{Event, EventKind, ObjectRef, Outcome, Progress, RunId, StatusSnapshot, Unit, VERSION};
use crate::error::Diagnose;

/// Events that may wait for a slow reader before the job waits too.
const QUEUE: usize = 256;
/// How often changing state is shown, at most.
const LIVE_EVERY: Duration = Duration::from_millis(100);
/// How often consumers hear of the passing time.
const TICK: Duration = Duration::from_secs(1);

/// Sees the events of a run, in order.
pub trait Consumer {
    /// Takes the next event.
    fn event(&mut self, event: &Event);

    /// Time passes. Called about once a second.
    fn tick(&mut self, _now: Timestamp) {}
}

impl<F: FnMut(&Event)> Consumer for F {
    fn event(&mut self, event: &Event) {
        self(event);
    }
}

/// Keeps every event, for tests.
#[derive(Debug, Default)]
pub struct Recording {
    /// What came, in order.
    pub events: Vec<Event>,
}

impl Consumer for Recording {
    fn event(&mut self, event: &Event) {
        self.events.push(event.clone());
    }
}

/// Runs a job to its end and shows its events to every consumer.
///
/// Dropping the returned future stops the job; the consumers then still see what the job had said,
/// and `Finished`.
pub async fn run<T, E: Diagnose>(
    run_id: RunId,
    consumers: &mut [&mut dyn Consumer],
    job: impl AsyncFnOnce(Reporter) -> Result<T, E>,
) -> Result<T, E> {
    let (reporter, events) = channel(run_id);
    let mut pump = Pump { events, consumers };
    let work = async {
        let result = job(reporter.clone()).await;
        reporter.emit(EventKind::finished(Outcome::of(&result))).await;
        result
    };
    tokio::join!(work, pump.drain()).0
}

/// What a job reports through. Clones are cheap and report to the same stream.
#[derive(Clone, Debug)]
pub struct Reporter {
    inner: Option<Arc<Inner>>,
}

#[derive(Debug)]
struct Inner {
    queue: mpsc::Sender<Stamped>,
    live: watch::Sender<Live>,
    stamp: AtomicU64,
}

/// The latest state of each task, and under no name that of the whole run.
type Live = BTreeMap<Option<String>, Stamped>;

#[derive(Clone, Debug)]
struct Stamped {
    stamp: u64,
    time: Timestamp,
    kind: EventKind,
}

impl Reporter {
    /// A reporter nobody listens to.
    pub fn null() -> Self {
        Self { inner: None }
    }

    /// Reports something that must not be lost; waits while the reader is behind.
    pub async fn emit(&self, kind: EventKind) {
        let Some(inner) = &self.inner else { return };
        // A reader that is gone has seen `Finished`; what comes after it has no place.
        let _ = inner.queue.send(inner.stamp(kind)).await;
    }

    /// Reports how far a countable task is.
    pub fn progress(&self, task: impl Into<String>, done: u64, total: Option<u64>, unit: Unit) {
        let task = task.into();
        let progress = Progress { task: task.clone(), done, total, unit };
        self.live(Some(task), EventKind::Progress(progress));
    }

    /// Reports the state of the whole run.
    pub fn snapshot(&self, snapshot: StatusSnapshot) {
        self.live(None, EventKind::Snapshot(snapshot));
    }

    /// Reports that an object was touched.
    pub async fn resource(&self, reference: ObjectRef, change: super::Change) {
        self.emit(EventKind::Resource { reference, change }).await;
    }

    /// Does the work of a phase between its two events.
    pub async fn phase<T, E: Diagnose>(
        &self,
        phase: &str,
        work: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        self.emit(EventKind::PhaseStarted { phase: phase.to_owned() }).await;
        let result = work.await;
        self.emit(EventKind::PhaseFinished { phase: phase.to_owned(), result: Outcome::of(&result) }).await;
        result
    }

    fn live(&self, name: Option<String>, kind: EventKind) {
        let Some(inner) = &self.inner else { return };
        // Stamped under the cell's lock, so that stamps in the cell only grow.
        inner.live.send_modify(|live| {
            live.insert(name, inner.stamp(kind));
        });
    }
}

impl Inner {
    fn stamp(&self, kind: EventKind) -> Stamped {
        Stamped { stamp: self.stamp.fetch_add(1, Ordering::Relaxed), time: Timestamp::now(), kind }
    }
}

fn channel(run_id: RunId) -> (Reporter, Events) {
    let (queue_in, queue) = mpsc::channel(QUEUE);
    let (live_in, live) = watch::channel(Live::new());
    let inner = Inner { queue: queue_in, live: live_in, stamp: AtomicU64::new(1) };
    let events = Events {
        queue,
        live,
        run_id,
        seq: 0,
        shown: 0,
        ready: VecDeque::new(),
        live_due: Instant::now(),
        finished: false,
    };
    (Reporter { inner: Some(Arc::new(inner)) }, events)
}

/// The reading side.
struct Events {
    queue: mpsc::Receiver<Stamped>,
    live: watch::Receiver<Live>,
    run_id: RunId,
    seq: u64,
    /// Stamp of the last state taken from the cell.
    shown: u64,
    ready: VecDeque<Stamped>,
    live_due: Instant,
    finished: bool,
}

impl Events {
    /// The next event; none after `Finished`. May be dropped while waiting without losing anything.
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.number() {
                return Some(event);
            }
            if self.finished {
                return None;
            }
            let changed = async {
                sleep_until(self.live_due).await;
                if self.live.changed().await.is_err() {
                    // Every reporter is gone, which the queue tells as well.
                    std::future::pending::<()>().await;
                }
            };
            tokio::select! {
                biased;
                queued = self.queue.recv() => self.take(queued),
                () = changed => {
                    self.take_live(u64::MAX);
                    self.live_due = Instant::now() + LIVE_EVERY;
                }
            }
        }
    }

    /// The next event without waiting: when the job has said nothing more, the run is cancelled.
    fn last(&mut self) -> Option<Event> {
        if self.ready.is_empty() && !self.finished {
            let queued = self.queue.try_recv().ok();
            self.take(queued);
        }
        self.number()
    }

    /// Makes a queued event ready, behind the state that was reported before it. None means that
    /// the job is gone without a word.
    fn take(&mut self, queued: Option<Stamped>) {
        let event = queued.unwrap_or_else(|| Stamped {
            stamp: u64::MAX,
            time: Timestamp::now(),
            kind: EventKind::finished(Outcome::Cancelled),
        });
        self.take_live(event.stamp);
        if matches!(event.kind, EventKind::Finished { .. }) {
            self.finished = true;
            self.queue.close();
        }
        self.ready.push_back(event);
    }

    /// Makes the unseen state ready that was reported before `stamp`.
    fn take_live(&mut self, stamp: u64) {
        let mut fresh: Vec<Stamped> = self
            .live
            .borrow()
            .values()
            .filter(|state| state.stamp > self.shown && state.stamp < stamp)
            .cloned()
            .collect();
        fresh.sort_by_key(|state| state.stamp);
        if let Some(newest) = fresh.last() {
            self.shown = newest.stamp;
        }
        self.ready.extend(fresh);
    }

    fn number(&mut self) -> Option<Event> {
        let Stamped { time, kind, .. } = self.ready.pop_front()?;
        self.seq += 1;
        Some(Event { version: VERSION, seq: self.seq, time, run_id: self.run_id.clone(), kind })
    }
}

/// Carries events to the consumers; when dropped early, the rest of them too.
struct Pump<'a, 'b> {
    events: Events,
    consumers: &'a mut [&'b mut dyn Consumer],
}

impl Pump<'_, '_> {
    async fn drain(&mut self) {
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                event = self.events.next() => match event {
                    Some(event) => self.show(&event),
                    None => return,
                },
                _ = ticks.tick() => {
                    let now = Timestamp::now();
                    self.consumers.iter_mut().for_each(|consumer| consumer.tick(now));
                }
            }
        }
    }

    fn show(&mut self, event: &Event) {
        self.consumers.iter_mut().for_each(|consumer| consumer.event(event));
    }
}

impl Drop for Pump<'_, '_> {
    fn drop(&mut self) {
        while let Some(event) = self.events.last() {
            self.show(&event);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::HomeError;

    fn kinds(recording: &Recording) -> Vec<String> {
        recording
            .events
            .iter()
            .map(|event| match &event.kind {
                EventKind::PhaseStarted { phase } => format!("+{phase}"),
                EventKind::PhaseFinished { phase, .. } => format!("-{phase}"),
                EventKind::Progress(progress) => format!("{}={}", progress.task, progress.done),
                EventKind::Log { message, .. } => message.clone(),
                EventKind::Finished { outcome: Outcome::Failed { code, .. } } => code.clone(),
                EventKind::Finished { outcome } => format!("{outcome:?}"),
                other => format!("{other:?}"),
            })
            .collect()
    }

    async fn record<T, E: Diagnose>(job: impl AsyncFnOnce(Reporter) -> Result<T, E>) -> Recording {
        let mut recording = Recording::default();
        let _ = run(RunId::new(Timestamp::now()), &mut [&mut recording], job).await;
        recording
    }

    #[tokio::test]
    async fn state_keeps_its_place_among_ordered_events_and_only_the_latest_is_kept() {
        let recording = record(async |reporter| {
            reporter
                .phase("A", async {
                    (0..=100).for_each(|done| reporter.progress("copy", done, Some(100), Unit::Bytes));
                    Ok::<_, HomeError>(())
                })
                .await?;
            reporter.progress("late", 1, None, Unit::Items);
            reporter.emit(EventKind::info("job", "said")).await;
            Ok::<_, HomeError>(())
        })
        .await;
        assert_eq!(kinds(&recording), ["+A", "copy=100", "-A", "late=1", "said", "Succeeded"]);
        assert!(recording.events.iter().map(|event| event.seq).eq(1..=6));
    }

    #[tokio::test]
    async fn a_slow_reader_loses_no_ordered_event() {
        let recording = record(async |reporter| {
            for number in 0..10 * QUEUE {
                reporter.emit(EventKind::info("job", number.to_string())).await;
            }
            Ok::<_, HomeError>(())
        })
        .await;
        assert_eq!(recording.events.len(), 10 * QUEUE + 1);
    }

    #[tokio::test]
    async fn finished_tells_of_a_failure() {
        let recording = record(async |_| Err::<(), _>(HomeError::Unknown)).await;
        assert_eq!(kinds(&recording), ["BTL-1301"]);
    }

    #[tokio::test]
    async fn a_job_that_is_dropped_is_seen_to_the_end() {
        let mut recording = Recording::default();
        {
            let mut consumers: [&mut dyn Consumer; 1] = [&mut recording];
            let job = run(RunId::new(Timestamp::now()), &mut consumers, async |reporter| {
                reporter.emit(EventKind::PhaseStarted { phase: "A".into() }).await;
                reporter.progress("copy", 1, None, Unit::Bytes);
                std::future::pending::<Result<(), HomeError>>().await
            });
            assert!(futures::FutureExt::now_or_never(job).is_none());
        }
        assert_eq!(kinds(&recording), ["+A", "copy=1", "Cancelled"]);
    }

    #[tokio::test]
    async fn a_reporter_that_outlives_its_run_does_not_hold_it() {
        let mut kept = None;
        let recording = record(async |reporter| {
            kept = Some(reporter.clone());
            Ok::<_, HomeError>(())
        })
        .await;
        assert_eq!(kinds(&recording), ["Succeeded"]);
        kept.unwrap().emit(EventKind::info("job", "too late")).await;
    }

    #[tokio::test]
    async fn state_is_shown_while_the_job_is_silent() {
        let (sender, seen) = tokio::sync::oneshot::channel();
        let mut sender = Some(sender);
        let mut consumer = |event: &Event| {
            if let (EventKind::Progress(progress), Some(sender)) = (&event.kind, sender.take()) {
                let _ = sender.send(progress.done);
            }
        };
        let work = run(RunId::new(Timestamp::now()), &mut [&mut consumer], async |reporter| {
            reporter.progress("copy", 3, None, Unit::Bytes);
            assert_eq!(seen.await.unwrap(), 3);
            Ok::<_, HomeError>(())
        })
        .await;
        work.unwrap();
    }

    #[tokio::test]
    async fn consumers_hear_of_the_time_while_events_keep_coming() {
        #[derive(Default)]
        struct Clock(std::rc::Rc<std::cell::Cell<u32>>);
        impl Consumer for Clock {
            fn event(&mut self, _: &Event) {}
            fn tick(&mut self, _: Timestamp) {
                self.0.set(self.0.get() + 1);
            }
        }
        let mut clock = Clock::default();
        let ticks = clock.0.clone();
        let mut consumers: [&mut dyn Consumer; 1] = [&mut clock];
        let work = run(RunId::new(Timestamp::now()), &mut consumers, async |reporter| {
            // The first tick is at the start.
            while ticks.get() < 3 {
                reporter.emit(EventKind::info("job", "busy")).await;
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            Ok::<_, HomeError>(())
        });
        assert!(tokio::time::timeout(Duration::from_secs(30), work).await.is_ok());
    }
}
