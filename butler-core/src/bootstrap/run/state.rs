//! From the journal of a run to how far it is.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::steps;
use crate::event::{Event, EventKind, Outcome, RunId, Stall, journal::Holder};

/// What a run is, as its first record says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunFacts {
    /// The management cluster it makes.
    pub cluster: String,
    /// The provider that the configuration names.
    pub provider: String,
    /// What the temporary control plane is made of.
    pub runtime: String,
    /// SHA-256 of the configuration's text.
    pub config_sha256: String,
    /// What paths in the configuration are relative to.
    #[serde(default)]
    pub directory: PathBuf,
    /// True when simulated machines stand in for the provider's.
    #[serde(default)]
    pub rehearsal: bool,
    /// Version of the program that began it.
    pub version: String,
    /// The backup that the cluster is made from again, if it is not a new one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restored: Option<Restored>,
}

/// What a cluster is made from that was there before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Restored {
    /// The file.
    pub file: PathBuf,
    /// When it was written.
    pub created: Timestamp,
    /// The run that had made the cluster.
    pub run: RunId,
}

/// What a run is made from, so that it can be gone on with, compared and removed when the file is gone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Given {
    /// SHA-256 of the configuration's text.
    pub sha256: String,
    /// The configuration as [`Config::document`](crate::bootstrap::config::Config::document) writes it:
    /// no secret is in it.
    pub document: Value,
    /// What the temporary control plane is made of.
    pub runtime: String,
    /// The changes that a person accepted; none when the run began.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accepted: Vec<String>,
}

/// A process that worked on a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Session {
    /// What it was to do.
    pub verb: Verb,
    /// Its process id.
    pub pid: u32,
    /// Its machine.
    pub host: String,
}

/// What a person asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Verb {
    /// A new run.
    Run,
    /// Going on with one.
    Resume,
    /// Stopping one whose process is gone.
    Abort,
    /// Removing everything it made.
    Destroy,
}

/// Where a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stage {
    /// It ended before its first record; nothing was made.
    NeverStarted,
    /// A process works on it.
    Running,
    /// Its process ended without a word.
    Interrupted,
    /// Stopped by a person.
    Stopped,
    /// It ended with an error.
    Failed,
    /// The cluster is there.
    Succeeded,
    /// Everything it made is gone.
    Destroyed,
}

impl Stage {
    /// Its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NeverStarted => "NeverStarted",
            Self::Running => "Running",
            Self::Interrupted => "Interrupted",
            Self::Stopped => "Stopped",
            Self::Failed => "Failed",
            Self::Succeeded => "Succeeded",
            Self::Destroyed => "Destroyed",
        }
    }
}

/// A machine at the provider.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Machine {
    /// The provider's id; none while it is only announced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// True when it was removed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub removed: bool,
}

/// When a phase began and ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PhaseTime {
    /// Its name.
    pub phase: String,
    /// When it began.
    pub started: Timestamp,
    /// When it ended, if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finished: Option<Timestamp>,
    /// How it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Outcome>,
}

/// How far a run is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunState {
    /// The run.
    pub run_id: RunId,
    /// Where it stands.
    pub stage: Stage,
    /// The cluster it makes; none when the journal ends before the first record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
    /// What it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub facts: Option<RunFacts>,
    /// Who works on it now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holder: Option<Holder>,
    /// The processes that worked on it.
    pub sessions: Vec<Session>,
    /// When it began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started: Option<Timestamp>,
    /// When its last record was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated: Option<Timestamp>,
    /// The phases of the last session, in order.
    pub phases: Vec<PhaseTime>,
    /// Its machines, by name.
    pub machines: BTreeMap<String, Machine>,
    /// Its load balancers, by name.
    pub load_balancers: BTreeSet<String>,
    /// Addons that are installed, in order.
    pub addons: Vec<String>,
    /// Effects that were announced and of which nothing more is known.
    pub open: Vec<String>,
    /// True when its removal was begun and has not come to its end.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub half_destroyed: bool,
    /// Records that were lost when the journal was damaged.
    #[serde(skip_serializing_if = "is_zero")]
    pub lost: u64,
    /// What it is made from.
    #[serde(skip)]
    pub given: Option<Given>,
    /// Every effect that was ever announced.
    #[serde(skip)]
    pub announced: BTreeSet<String>,
    /// True when everything was seen to be gone after the last session that made something.
    #[serde(skip)]
    pub seen_gone: bool,
    /// Why it does not move on, or did not when its process ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stall: Option<Stall>,
    /// How the last session ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// Records in the journal.
    pub records: usize,
}

impl RunState {
    /// Reads a journal. `holder` is who writes it now.
    pub fn of(id: &RunId, events: &[Event], holder: Option<Holder>) -> Self {
        let mut state = Self::begin(id);
        for event in events {
            state.take(event);
        }
        state.held(holder);
        state
    }

    /// A run of which nothing is known yet.
    pub fn begin(id: &RunId) -> Self {
        Self {
            run_id: id.clone(),
            stage: Stage::Interrupted,
            cluster: None,
            facts: None,
            holder: None,
            sessions: Vec::new(),
            started: None,
            updated: None,
            phases: Vec::new(),
            machines: BTreeMap::new(),
            load_balancers: BTreeSet::new(),
            addons: Vec::new(),
            open: Vec::new(),
            half_destroyed: false,
            lost: 0,
            given: None,
            announced: BTreeSet::new(),
            seen_gone: false,
            stall: None,
            outcome: None,
            records: 0,
        }
    }

    /// Learns who works on the run now.
    pub fn held(&mut self, holder: Option<Holder>) {
        self.holder = holder;
        let last = self.sessions.iter().rev().find(|session| session.verb != Verb::Abort);
        let destroys = last.is_some_and(|session| session.verb == Verb::Destroy);
        let destroyed = destroys || self.seen_gone;
        self.stage = match (&self.holder, &self.outcome) {
            (Some(_), _) => Stage::Running,
            (None, None) if self.records == 0 => Stage::NeverStarted,
            (None, None) => Stage::Interrupted,
            (None, Some(Outcome::Succeeded)) if destroyed => Stage::Destroyed,
            (None, Some(Outcome::Succeeded)) => Stage::Succeeded,
            (None, Some(Outcome::Failed { .. })) => Stage::Failed,
            (None, Some(Outcome::Cancelled)) => Stage::Stopped,
        };
        self.half_destroyed = destroyed && self.stage != Stage::Destroyed;
    }

    /// The phase the run is in, or was in last.
    pub fn phase(&self) -> Option<&str> {
        let unfinished = self.phases.iter().rev().find(|phase| phase.finished.is_none());
        unfinished.or(self.phases.last()).map(|phase| phase.phase.as_str())
    }

    /// True when something may exist outside because of the run: it was announced and not removed.
    pub fn has_effects(&self) -> bool {
        self.machines.values().any(|machine| !machine.removed)
            || !self.load_balancers.is_empty()
            || !self.open.is_empty()
            || self.stage == Stage::Succeeded
            || self.lost > 0 && !self.seen_gone
    }

    /// True when an effect whose name begins like this was ever announced.
    pub fn has_announced(&self, beginning: &str) -> bool {
        self.announced.iter().any(|step| step.starts_with(beginning))
    }

    /// Takes the next record of the journal.
    pub fn take(&mut self, event: &Event) {
        self.started.get_or_insert(event.time);
        self.updated = Some(event.time);
        self.records += 1;
        match &event.kind {
            EventKind::Intent { step, data } if step == steps::RUN => {
                self.facts = serde_json::from_value(data.clone()).ok();
                self.cluster = self.facts.as_ref().map(|facts| facts.cluster.clone());
            }
            EventKind::Intent { step, data } if step == steps::SESSION => {
                let session = serde_json::from_value::<Session>(data.clone()).ok();
                let makes = |session: &Session| matches!(session.verb, Verb::Run | Verb::Resume);
                self.seen_gone &= !session.as_ref().is_some_and(makes);
                self.sessions.extend(session);
                self.phases.clear();
                self.stall = None;
                self.outcome = None;
            }
            EventKind::Result { step, data } if step == steps::CONFIG => {
                let given: Option<Given> = serde_json::from_value(data.clone()).ok();
                if let (Some(given), Some(facts)) = (&given, &mut self.facts) {
                    facts.config_sha256.clone_from(&given.sha256);
                    facts.runtime.clone_from(&given.runtime);
                }
                self.given = given.or(self.given.take());
            }
            EventKind::Result { step, data } if step == steps::REPAIRED => {
                self.lost += data["lost"].as_u64().unwrap_or_default();
                if data["outcomeKnown"] != true {
                    self.outcome = None;
                }
            }
            EventKind::Result { step, .. } if step == steps::DESTROYED => {
                self.seen_gone = true;
                self.open.clear();
                self.load_balancers.clear();
                self.machines.values_mut().for_each(|machine| machine.removed = true);
            }
            EventKind::Intent { step, .. } => {
                self.announced.insert(step.clone());
                if let Some(name) = step.strip_prefix("machine/") {
                    self.machines.entry(name.to_owned()).or_default();
                }
                if !self.open.contains(step) {
                    self.open.push(step.clone());
                }
            }
            EventKind::Result { step, data } => {
                self.open.retain(|open| open != step);
                if let Some(name) = step.strip_prefix("machine/") {
                    let made = serde_json::from_value(data.clone()).unwrap_or_default();
                    self.machines.insert(name.to_owned(), made);
                } else if let Some(name) = step.strip_prefix("delete-machine/") {
                    self.machines.entry(name.to_owned()).or_default().removed = data["gone"] == true;
                } else if let Some(name) = step.strip_prefix("load-balancer/") {
                    self.load_balancers.insert(name.to_owned());
                } else if let Some(name) = step.strip_prefix("delete-load-balancer/") {
                    if data["gone"] == true {
                        self.load_balancers.remove(name);
                    }
                } else if let Some(key) = step.strip_prefix("addon/")
                    && !self.addons.iter().any(|known| known == key)
                {
                    self.addons.push(key.to_owned());
                }
            }
            EventKind::Stalled(stall) => self.stall = Some(stall.clone()),
            EventKind::Moving {} => self.stall = None,
            EventKind::PhaseStarted { phase } => {
                self.stall = None;
                let started = event.time;
                self.phases.push(PhaseTime { phase: phase.clone(), started, finished: None, result: None });
            }
            EventKind::PhaseFinished { phase, result } => {
                let open = self.phases.iter_mut().rev().find(|open| open.phase == *phase);
                if let Some(open) = open {
                    open.finished = Some(event.time);
                    open.result = Some(result.clone());
                }
            }
            EventKind::Finished { outcome } => {
                if *outcome == Outcome::Succeeded {
                    self.stall = None;
                }
                self.outcome = Some(outcome.clone());
            }
            _ => {}
        }
    }
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn events(kinds: Vec<EventKind>) -> (RunId, Vec<Event>) {
        let id = RunId::new(Timestamp::UNIX_EPOCH);
        let time = |seq: u64| Timestamp::from_second(i64::try_from(seq).unwrap()).unwrap();
        let event = |(index, kind)| {
            let seq = index as u64 + 1;
            Event { version: 1, seq, time: time(seq), run_id: id.clone(), kind }
        };
        let events = kinds.into_iter().enumerate().map(event).collect();
        (id, events)
    }

    fn intent(step: &str, data: Value) -> EventKind {
        EventKind::Intent { step: step.into(), data }
    }

    fn result(step: &str, data: Value) -> EventKind {
        EventKind::Result { step: step.into(), data }
    }

    fn beginning() -> Vec<EventKind> {
        vec![
            intent(
                "run",
                json!({"cluster": "m", "provider": "sandbox", "runtime": "process", "configSha256": "", "version": "0"}),
            ),
            intent("session", json!({"verb": "run", "pid": 1, "host": "h"})),
            EventKind::PhaseStarted { phase: "A".into() },
            intent("machine/m-cp-0", json!({})),
        ]
    }

    #[test]
    fn a_journal_that_breaks_off_is_an_interrupted_run_with_open_effects() {
        let (id, events) = events(beginning());
        let state = RunState::of(&id, &events, None);
        assert_eq!(state.stage, Stage::Interrupted);
        assert_eq!(state.cluster.as_deref(), Some("m"));
        assert_eq!(state.phase(), Some("A"));
        assert_eq!(state.open, ["machine/m-cp-0"]);
        assert_eq!(state.machines["m-cp-0"], Machine::default());
    }

    #[test]
    fn a_stall_is_known_until_the_run_moves_and_after_it_gave_up() {
        let stall = Stall {
            code: "BTL-2031".into(),
            what: "machine `m-cp-0` has no address".into(),
            evidence: Vec::new(),
            next: Vec::new(),
            seconds: 20,
        };
        let mut kinds = beginning();
        kinds.push(EventKind::Stalled(stall.clone()));
        let known = |kinds: &[EventKind]| {
            let (id, events) = events(kinds.to_vec());
            RunState::of(&id, &events, None).stall
        };
        assert_eq!(known(&kinds), Some(stall.clone()));
        for (last, expected) in [
            (EventKind::Moving {}, None),
            (EventKind::PhaseStarted { phase: "B".into() }, None),
            (EventKind::finished(Outcome::Succeeded), None),
            (EventKind::finished(Outcome::Cancelled), Some(stall)),
            (intent("session", json!({"verb": "resume", "pid": 2, "host": "h"})), None),
        ] {
            let kinds = [&kinds[..], &[last]].concat();
            assert_eq!(known(&kinds), expected, "{kinds:?}");
        }
    }

    #[test]
    fn whoever_takes_a_run_up_begins_new_phases_and_keeps_what_exists() {
        let mut kinds = beginning();
        kinds.push(EventKind::finished(Outcome::Cancelled));
        let (id, stopped) = events(kinds.clone());
        assert_eq!(RunState::of(&id, &stopped, None).stage, Stage::Stopped);
        kinds.extend([
            intent("session", json!({"verb": "resume", "pid": 2, "host": "h"})),
            EventKind::PhaseStarted { phase: "B".into() },
            intent("machine/m-cp-0", json!({})),
            result("machine/m-cp-0", json!({"id": "vm-1"})),
            intent("addon/x", json!({})),
            result("addon/x", json!({})),
            EventKind::PhaseFinished { phase: "B".into(), result: Outcome::Succeeded },
        ]);
        let holder = Holder { pid: 2, host: "h".into(), since: Timestamp::UNIX_EPOCH };
        let (id, resumed) = events(kinds.clone());
        let state = RunState::of(&id, &resumed, Some(holder));
        assert_eq!((state.stage, state.phases.len(), state.open.len()), (Stage::Running, 1, 0));
        assert_eq!(state.machines["m-cp-0"].id.as_deref(), Some("vm-1"));
        assert_eq!(state.addons, ["x"]);
        kinds.extend([
            intent("session", json!({"verb": "destroy", "pid": 3, "host": "h"})),
            result("delete-machine/m-cp-0", json!({"gone": true})),
            EventKind::finished(Outcome::Succeeded),
        ]);
        let (id, destroyed) = events(kinds);
        let state = RunState::of(&id, &destroyed, None);
        assert_eq!(state.stage, Stage::Destroyed);
        assert!(state.machines["m-cp-0"].removed);
    }
}
