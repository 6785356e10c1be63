//! What is known of a run, from the records of its journal, its log and its live state.

use std::collections::BTreeMap;

use butler_core::{
    bootstrap::run::{Live, PhaseTime, RunState, Stage},
    event::{Event, EventKind, Level, Outcome, RunId},
};
use jiff::{SignedDuration, Timestamp};

use crate::{
    dashboard::tabs::RunNews,
    tui::{
        Fault,
        widgets::{
            log::{Entry, LogPanel},
            text::Scroll,
        },
    },
};

/// After so long without a word a run is asked what it waits for.
const SILENCE: SignedDuration = SignedDuration::from_secs(20);

/// A part of the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Phases,
    Machines,
    Addons,
    Log,
}

const PARTS: [Part; 4] = [Part::Phases, Part::Machines, Part::Addons, Part::Log];

/// When something was begun and done.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Times {
    pub(super) begun: Option<Timestamp>,
    pub(super) done: Option<Timestamp>,
}

/// A machine, as far as the journal tells.
#[derive(Clone, Debug, Default)]
pub(super) struct MachineFacts {
    pub(super) role: Option<String>,
    pub(super) made: Times,
    pub(super) configured: Times,
}

/// An addon.
#[derive(Clone, Debug)]
pub(super) struct AddonFacts {
    pub(super) key: String,
    pub(super) title: String,
    pub(super) times: Times,
}

/// A run and what is shown of it.
pub(super) struct RunModel {
    pub(super) ticket: u64,
    pub(super) state: RunState,
    pub(super) replay: bool,
    pub(super) machines: BTreeMap<String, MachineFacts>,
    pub(super) addons: Vec<AddonFacts>,
    pub(super) live: Live,
    expected: Vec<(&'static str, Option<u64>)>,
    pub(super) log: LogPanel,
    pub(super) fault: Option<Fault>,
    /// What was said last of what is waited for.
    waiting: Option<String>,
    /// When something was heard last.
    heard: Option<Timestamp>,
    /// The time in a run that is shown again.
    clock: Option<Timestamp>,
    pub(super) part: Part,
    pub(super) zoom: bool,
    pub(super) scrolls: [Scroll; 3],
}

/// A phase on the timeline.
#[derive(Debug)]
pub(super) struct PhaseRow<'a> {
    pub(super) name: &'a str,
    pub(super) expected: Option<u64>,
    pub(super) time: Option<&'a PhaseTime>,
    /// Gone through in an earlier session, which nobody measures this one by.
    pub(super) before: bool,
}

impl RunModel {
    pub(super) fn new(ticket: u64, id: RunId, replay: bool) -> Self {
        Self {
            ticket,
            state: RunState::begin(&id),
            replay,
            machines: BTreeMap::new(),
            addons: Vec::new(),
            live: Live::default(),
            expected: Vec::new(),
            log: LogPanel::default(),
            fault: None,
            waiting: None,
            heard: None,
            clock: None,
            part: Part::Log,
            zoom: false,
            scrolls: Default::default(),
        }
    }

    pub(super) fn learn(&mut self, news: RunNews, now: Timestamp) {
        for event in &news.events {
            self.take(event);
        }
        for said in news.said {
            self.log.push(Entry { time: said.time, level: said.level, text: said.text });
        }
        if !news.events.is_empty() || news.live.is_some() {
            self.heard = Some(news.now.unwrap_or(now));
        }
        if let Some(live) = news.live {
            self.live = live;
        }
        self.expected = news.expected.unwrap_or_else(|| std::mem::take(&mut self.expected));
        self.clock = news.now.or(self.clock);
        self.fault = news.fault;
        self.state.held(news.holder);
        if self.replay && self.state.outcome.is_none() {
            self.state.stage = Stage::Running;
        }
    }

    fn take(&mut self, event: &Event) {
        self.state.take(event);
        match &event.kind {
            EventKind::Log { message, level, .. } if *level >= Level::Info => {
                self.waiting = Some(message.clone());
            }
            EventKind::PhaseStarted { .. } | EventKind::PhaseFinished { .. } => self.waiting = None,
            EventKind::Intent { step, data } => {
                if let Some(name) = step.strip_prefix("machine/") {
                    let facts = self.machines.entry(name.to_owned()).or_default();
                    facts.role = data["role"].as_str().map(str::to_owned).or(facts.role.take());
                    facts.made.begun.get_or_insert(event.time);
                } else if let Some(name) = step.strip_prefix("talos/configure/") {
                    let facts = self.machines.entry(name.to_owned()).or_default();
                    facts.configured.begun.get_or_insert(event.time);
                } else if let Some(key) = step.strip_prefix("addon/")
                    && !self.addons.iter().any(|addon| addon.key == key)
                {
                    let title = data["title"].as_str().unwrap_or(key).to_owned();
                    let times = Times { begun: Some(event.time), done: None };
                    self.addons.push(AddonFacts { key: key.to_owned(), title, times });
                }
            }
            EventKind::Result { step, .. } => {
                if let Some(name) = step.strip_prefix("machine/") {
                    self.machines.entry(name.to_owned()).or_default().made.done = Some(event.time);
                } else if let Some(name) = step.strip_prefix("talos/configure/") {
                    self.machines.entry(name.to_owned()).or_default().configured.done = Some(event.time);
                } else if let Some(key) = step.strip_prefix("addon/")
                    && let Some(addon) = self.addons.iter_mut().find(|addon| addon.key == key)
                {
                    addon.times.done = Some(event.time);
                }
            }
            _ => {}
        }
    }

    /// The time that durations are counted to.
    pub(super) fn now(&self, now: Timestamp) -> Timestamp {
        match self.state.stage {
            Stage::Running => self.clock.unwrap_or(now),
            _ => self.state.updated.unwrap_or(now),
        }
    }

    /// The phases: those that were gone through and those that are to come.
    pub(super) fn phases(&self) -> Vec<PhaseRow<'_>> {
        let expected =
            |name: &str| self.expected.iter().find(|(known, _)| *known == name).and_then(|known| known.1);
        let mut rows: Vec<PhaseRow<'_>> = self
            .state
            .phases
            .iter()
            .map(|time| PhaseRow {
                name: &time.phase,
                expected: expected(&time.phase),
                time: Some(time),
                before: false,
            })
            .collect();
        let destroys = self.state.sessions.last().is_some_and(|session| {
            !matches!(
                session.verb,
                butler_core::bootstrap::run::Verb::Run | butler_core::bootstrap::run::Verb::Resume
            )
        });
        if !destroys {
            let gone_through = |name: &str| self.state.phases.iter().any(|phase| phase.phase == name);
            let furthest = self.expected.iter().rposition(|(name, _)| gone_through(name)).unwrap_or_default();
            let others = self.expected.iter().enumerate().filter(|(_, (name, _))| !gone_through(name));
            let others = others.map(|(at, (name, expected))| {
                let before = at < furthest || self.state.stage == Stage::Succeeded;
                PhaseRow { name, expected: *expected, time: None, before }
            });
            let (before, to_come): (Vec<_>, Vec<_>) = others.partition(|row| row.before);
            rows.splice(0..0, before);
            rows.extend(to_come);
        }
        rows
    }

    /// How long the whole should take, as far as that is known.
    pub(super) fn expected(&self) -> Option<u64> {
        let known: Vec<u64> = self.expected.iter().filter_map(|(_, seconds)| *seconds).collect();
        (!known.is_empty()).then(|| known.iter().sum())
    }

    /// Why it does not move, if it does not: how long the phase goes on, and what is waited for.
    pub(super) fn stall(&self, now: Timestamp) -> Option<String> {
        if self.state.stage != Stage::Running {
            return None;
        }
        if let Some(stall) = &self.state.stall {
            // Somebody looked for the reason; that is worth more than a guess.
            return Some(stall.lines().join(" · "));
        }
        let now = self.now(now);
        let phase = self.state.phases.iter().rev().find(|phase| phase.finished.is_none())?;
        let took = now.duration_since(phase.started);
        let expected = self.expected.iter().find(|(name, _)| *name == phase.phase).and_then(|known| known.1);
        let late = expected.is_some_and(|expected| {
            took.as_secs() > i64::try_from(expected.saturating_mul(2)).unwrap_or(i64::MAX).max(10)
        });
        let silent = self.heard.is_some_and(|heard| now.duration_since(heard) > SILENCE);
        if !late && !silent {
            return None;
        }
        let open: Vec<&str> = self.state.open.iter().map(String::as_str).collect();
        let why = match (&self.waiting, open.as_slice()) {
            (Some(message), _) => message.clone(),
            (None, []) => "nothing was said of what it waits for".to_owned(),
            (None, open) => format!("waiting for {}", open.join(", ")),
        };
        Some(format!("{}: {why}", if late { "late" } else { "silent" }))
    }

    /// How it ended, in a line, and what to do next.
    pub(super) fn ending(&self) -> Option<(bool, String)> {
        match (self.state.stage, &self.state.outcome) {
            (_, Some(Outcome::Failed { code, message })) if self.state.stage != Stage::Running => {
                Some((false, format!("{message} ({code})")))
            }
            (Stage::Succeeded, _) => {
                let cluster = self.state.cluster.as_deref().unwrap_or("-");
                Some((
                    true,
                    format!("the cluster is ready: export KUBECONFIG=~/.butler/{cluster}-kubeconfig"),
                ))
            }
            (Stage::Destroyed, _) => Some((true, "everything it made is gone".to_owned())),
            (Stage::Stopped, _) => {
                Some((false, "stopped; what it made stays. R resumes, X removes".to_owned()))
            }
            (Stage::Interrupted, _) if self.state.records > 0 => {
                Some((false, "its process is gone. R resumes, X removes".to_owned()))
            }
            _ => None,
        }
    }

    pub(super) fn turn(&mut self, forward: bool) {
        let at = PARTS.iter().position(|part| *part == self.part).unwrap_or(0);
        let step = if forward { 1 } else { PARTS.len() - 1 };
        self.part = PARTS[(at + step) % PARTS.len()];
    }

    fn scrolled(&mut self) -> Option<&mut Scroll> {
        let at = PARTS.iter().position(|part| *part == self.part)?;
        self.scrolls.get_mut(at)
    }

    pub(super) fn scroll(&mut self, lines: isize) {
        match self.scrolled() {
            Some(scroll) => scroll.by(lines),
            None => self.log.by(lines),
        }
    }

    pub(super) fn page(&mut self, screens: isize) {
        match self.scrolled() {
            Some(scroll) => scroll.page(screens),
            None => self.log.page(screens),
        }
    }

    pub(super) fn top(&mut self) {
        match self.scrolled() {
            Some(scroll) => scroll.top(),
            None => self.log.top(),
        }
    }

    pub(super) fn bottom(&mut self) {
        match self.scrolled() {
            Some(scroll) => scroll.bottom(),
            None => self.log.follow(true),
        }
    }
}
