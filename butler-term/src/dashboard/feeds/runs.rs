//! Runs on this machine: the list, one that goes on, one that is shown again.

use std::{
    collections::BTreeMap,
    time::{Duration, SystemTime},
};

use butler_core::{
    api::common::ProviderKind,
    bootstrap::{
        config::RuntimeKind,
        plan::{Past, phases},
        run::{Live, LogReader, Narrator, RunDir, RunState, Runs, steps},
    },
    event::{Event, EventKind, JournalReader, RunId, journal::Holder},
};
use jiff::SignedDuration;

use crate::{
    dashboard::{
        News,
        tabs::{RunNews, TabNews},
        world::RunRow,
    },
    tui::{Fault, Mail},
};

/// Pause between two looks at the list.
const LIST: Duration = Duration::from_secs(1);
/// Pause between two looks at a run.
const LOOK: Duration = Duration::from_millis(100);
/// Pause between two looks at a run that nobody works on.
const REST: Duration = Duration::from_millis(500);
/// Bytes of a long log that are read at the beginning.
const LOG: u64 = 4 << 20;

/// Tells of the runs when one is new or has changed. A journal that has not grown is not read again.
pub(super) async fn list(runs: Runs, mail: Mail<News>) {
    let mut known: BTreeMap<RunId, (u64, Option<Holder>, RunRow)> = BTreeMap::new();
    let mut first = true;
    loop {
        let mut changed = std::mem::take(&mut first);
        match runs.ids() {
            Ok(ids) => {
                let before = known.len();
                known.retain(|id, _| ids.contains(id));
                changed |= known.len() != before;
                for id in ids {
                    let dir = runs.dir(&id);
                    let length = std::fs::metadata(dir.journal()).map_or(0, |meta| meta.len());
                    let holder = dir.holder();
                    let same = known.get(&id).is_some_and(|(old, held, _)| *old == length && *held == holder);
                    if !same {
                        let row = RunRow::of(id.clone(), dir.state());
                        known.insert(id, (length, holder, row));
                        changed = true;
                    }
                }
                let rows = known.values().map(|(_, _, row)| row.clone()).collect();
                if changed && !mail.send(News::Runs(Ok(rows))).await {
                    return;
                }
            }
            Err(error) => {
                if !mail.send(News::Runs(Err(Fault::from(&error)))).await {
                    return;
                }
            }
        }
        tokio::time::sleep(LIST).await;
    }
}

/// Tells what is added to a run, whoever works on it.
pub(super) async fn follow(ticket: u64, runs: &Runs, id: &RunId, mail: Mail<News>) {
    let dir = runs.dir(id);
    let mut journal = JournalReader::new(dir.journal());
    let mut log = LogReader::latest(dir.clone(), LOG);
    let mut live = LiveFile::default();
    let mut holder = None;
    let (mut first, mut known) = (true, false);
    loop {
        // Asked before reading: what was written until the end is then read too.
        let held = dir.holder();
        let mut news = RunNews { holder: held.clone(), ..RunNews::default() };
        match journal.more() {
            Ok(events) => news.events = events,
            Err(error) => news.fault = Some(Fault::from(&error)),
        }
        match log.more() {
            Ok(said) => news.said = said,
            Err(error) => news.fault = Some(Fault::from(&error)),
        }
        news.live = live.news(&dir);
        if !known && let Some(expected) = expected(runs, &news.events) {
            news.expected = Some(expected);
            known = true;
        }
        let much = news.said.len() > 1000;
        let changed = first || held != holder || news.live.is_some() || news.fault.is_some();
        if changed || !news.events.is_empty() || !news.said.is_empty() {
            (first, holder) = (false, held.clone());
            if !mail.send(News::Tab(TabNews::Run(ticket, Box::new(news)))).await {
                return;
            }
        }
        // What is long is read without a pause.
        if !much {
            tokio::time::sleep(if held.is_some() { LOOK } else { REST }).await;
        }
    }
}

/// How long the phases of a run should take: as long as in the past runs of its provider.
fn expected(runs: &Runs, events: &[Event]) -> Option<Vec<(&'static str, Option<u64>)>> {
    let facts = events.iter().find_map(|event| match &event.kind {
        EventKind::Intent { step, data } if step == steps::RUN => {
            serde_json::from_value::<butler_core::bootstrap::run::RunFacts>(data.clone()).ok()
        }
        _ => None,
    })?;
    let provider =
        if facts.rehearsal { ProviderKind::Sandbox } else { ProviderKind::from(facts.provider.as_str()) };
    let runtime = if facts.runtime == "process" { RuntimeKind::Process } else { RuntimeKind::Kind };
    let id = events.first().map(|event| event.run_id.clone());
    let past: Vec<RunState> =
        runs.list().unwrap_or_default().into_iter().filter_map(|(_, state)| state.ok()).collect();
    // What a run took is no expectation of it.
    let past: Vec<RunState> = past.into_iter().filter(|run| Some(&run.run_id) != id.as_ref()).collect();
    Some(phases(&provider, runtime, &Past::of(&past, &ProviderKind::from(facts.provider.as_str()))))
}

/// The live state of a run, read when it was written anew.
#[derive(Default)]
struct LiveFile {
    written: Option<SystemTime>,
}

impl LiveFile {
    fn news(&mut self, dir: &RunDir) -> Option<Live> {
        let written = std::fs::metadata(dir.live()).and_then(|meta| meta.modified()).ok()?;
        if self.written == Some(written) {
            return None;
        }
        self.written = Some(written);
        Some(Live::read(&dir.live()))
    }
}

/// Tells the events of a run of the past as they came, `speed` times as fast or without any pause.
pub(super) async fn replay(
    ticket: u64,
    events: &[Event],
    speed: Option<f64>,
    runs: Option<&Runs>,
    mail: Mail<News>,
) {
    let mut narrator = Narrator::default();
    let mut live = Live::default();
    let mut before = events.first().map(|event| event.time);
    for (at, event) in events.iter().enumerate() {
        let gap = before.map_or(SignedDuration::ZERO, |before| event.time.duration_since(before));
        if let (Some(speed), Ok(gap)) = (speed, Duration::try_from(gap)) {
            // In steps, so that clocks go on in long phases.
            let (mut left, mut time) = (gap.div_f64(speed), before.unwrap_or(event.time));
            while left > LOOK {
                tokio::time::sleep(LOOK).await;
                left -= LOOK;
                time += SignedDuration::try_from(LOOK.mul_f64(speed)).unwrap_or_default();
                let news = RunNews { now: Some(time), ..RunNews::default() };
                if !mail.send(News::Tab(TabNews::Run(ticket, Box::new(news)))).await {
                    return;
                }
            }
            tokio::time::sleep(left).await;
        }
        before = Some(event.time);
        let news = RunNews {
            events: vec![event.clone()],
            said: narrator.said(event).into_iter().collect(),
            live: live.take(event).then(|| live.clone()),
            expected: (at == 0).then(|| expected(runs?, events)).flatten(),
            now: Some(event.time),
            ..RunNews::default()
        };
        if !mail.send(News::Tab(TabNews::Run(ticket, Box::new(news)))).await {
            return;
        }
    }
}
