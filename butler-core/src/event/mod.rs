//! What a long job tells the world while it runs: one versioned stream of events.
//!
//! A job gets a [`Reporter`] and never prints; terminal views, `--events ndjson` and the
//! [`journal`] read the same [`Event`]. How events travel is in [`reporter`], what a terminal
//! makes of them belongs to the terminal layer.

mod follow;
pub mod journal;
pub mod reporter;
pub mod schema;
mod secret;

use std::{
    fmt,
    hash::{BuildHasher, Hasher, RandomState},
};

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use follow::JournalReader;
pub use journal::{Journal, JournalError};
pub use reporter::{Consumer, Recording, Reporter, run};
pub use secret::SecretFile;

use crate::error::{Diagnose, ErrorKind};

/// The version of the event format that this program writes.
pub const VERSION: u32 = 1;

/// One thing that happened in a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// Version of the format it was written in.
    pub version: u32,
    /// Position in its stream or journal, from 1 without gaps.
    pub seq: u64,
    /// When it happened.
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub time: Timestamp,
    /// The run it belongs to.
    pub run_id: RunId,
    /// What happened.
    #[serde(flatten)]
    pub kind: EventKind,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum EventKind {
    /// A phase of the run began.
    PhaseStarted {
        /// Its name, such as `InstallingAddons`.
        phase: String,
    },
    /// A phase ended.
    PhaseFinished {
        /// Its name.
        phase: String,
        /// How it ended.
        result: Outcome,
    },
    /// A countable task moved on. Only the latest state of a task is kept for a slow reader.
    Progress(Progress),
    /// An object was touched.
    Resource {
        /// The object.
        reference: ObjectRef,
        /// What was done to it.
        change: Change,
    },
    /// Something to tell the person.
    Log {
        /// How much it matters.
        level: Level,
        /// The part of the job that speaks.
        target: String,
        /// One line, without a final period.
        message: String,
    },
    /// The whole state at one moment. Only the latest is kept for a slow reader.
    Snapshot(StatusSnapshot),
    /// Nothing has moved for a while; what was found about it. Told again, ever more rarely, while it lasts.
    Stalled(Stall),
    /// The run moves again.
    Moving {},
    /// An effect outside this machine's memory is about to be tried.
    Intent {
        /// The step that will have the effect.
        step: String,
        /// What is needed to find or repeat the effect; secrets only as [`SecretFile`].
        data: Value,
    },
    /// What became of the intent of the same step.
    Result {
        /// The step.
        step: String,
        /// Ids and copies of what now exists; secrets only as [`SecretFile`].
        data: Value,
    },
    /// The run ended. Always the last event of a stream, and always there.
    Finished {
        /// How it ended.
        outcome: Outcome,
    },
    /// An event of a newer version, kept as it came.
    #[serde(untagged)]
    #[schemars(skip)]
    Unknown(Map<String, Value>),
}

impl EventKind {
    /// The end of a run.
    pub fn finished(outcome: Outcome) -> Self {
        Self::Finished { outcome }
    }

    /// A line of information.
    pub fn info(target: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Log { level: Level::Info, target: target.into(), message: message.into() }
    }

    /// A warning.
    pub fn warning(target: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Log { level: Level::Warn, target: target.into(), message: message.into() }
    }
}

/// How far a task is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    /// What is being done, such as `download etcd`.
    pub task: String,
    /// How much is done.
    pub done: u64,
    /// How much there is, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// What is counted.
    pub unit: Unit,
}

/// What a [`Progress`] counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Unit {
    /// Bytes.
    Bytes,
    /// Things: objects, files, machines.
    Items,
}

/// Names an object of a cluster or a provider.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ObjectRef {
    /// Its kind, such as `MachineRequest`.
    pub kind: String,
    /// Its namespace, if the kind has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
}

impl fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, namespace, name } = self;
        match namespace {
            Some(namespace) => write!(f, "{kind} {namespace}/{name}"),
            None => write!(f, "{kind} {name}"),
        }
    }
}

/// What was done to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Change {
    /// It is new.
    Created,
    /// It was there and was changed.
    Updated,
    /// It was there already and is now part of the run.
    Adopted,
    /// It is gone.
    Deleted,
}

/// How much a message matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Level {
    /// For `-v`.
    Debug,
    /// Worth a line.
    Info,
    /// Said under `--quiet` too.
    Warn,
    /// Something failed; the run may go on.
    Error,
}

/// The state of a run at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StatusSnapshot {
    /// The phase the run is in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// The objects of the run.
    pub objects: Vec<ObjectStatus>,
}

/// The state of one object of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ObjectStatus {
    /// The object.
    pub reference: ObjectRef,
    /// Its phase.
    pub phase: String,
    /// What it waits for or why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Why a run does not move on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Stall {
    /// The stable code of what was found.
    pub code: String,
    /// One line: what is the matter, with the object named.
    pub what: String,
    /// What was seen that shows it, one line each.
    pub evidence: Vec<String>,
    /// Commands that help, to copy.
    pub next: Vec<String>,
    /// For how many seconds nothing has moved.
    pub seconds: u64,
}

impl Stall {
    /// In words: what is the matter, then what shows it, then what helps.
    pub fn lines(&self) -> Vec<String> {
        let Self { code, what, evidence, next, seconds } = self;
        let mut lines = vec![format!("stalled for {seconds} s: {what} ({code})")];
        lines.extend(evidence.iter().cloned());
        lines.extend(next.iter().map(|command| format!("next: {command}")));
        lines
    }
}

/// How a phase or a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "result", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum Outcome {
    /// As it should.
    Succeeded,
    /// With an error.
    Failed {
        /// Its stable code.
        code: String,
        /// Its message, with the causes behind it.
        message: String,
    },
    /// Stopped by the person, a signal, or because nobody carried it on.
    Cancelled,
}

impl Outcome {
    /// How a result ends a phase or a run.
    pub fn of<T, E: Diagnose>(result: &Result<T, E>) -> Self {
        match result {
            Ok(_) => Self::Succeeded,
            Err(error) if error.kind() == ErrorKind::Cancelled => Self::Cancelled,
            Err(error) => Self::Failed { code: error.code().to_string(), message: with_causes(error) },
        }
    }
}

fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text += &format!(": {cause}");
        next = cause.source();
    }
    text
}

/// `250 ms`, `12 s`, `3 min 20 s`.
pub fn elapsed(from: Timestamp, to: Timestamp) -> String {
    let millis = to.duration_since(from).as_millis().max(0);
    match millis {
        0..1_000 => format!("{millis} ms"),
        1_000..60_000 => format!("{} s", millis / 1_000),
        _ => format!("{} min {} s", millis / 60_000, millis / 1_000 % 60),
    }
}

/// Names a run: its start in UTC and a few random digits, so that runs sort by time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct RunId(#[schemars(regex(pattern = r"^[0-9]{8}-[0-9]{6}-[0-9a-f]{6}$"))] String);

impl RunId {
    /// A new id for a run that starts now.
    pub fn new(now: Timestamp) -> Self {
        // Ids must differ, not be secret, so the seed of the standard hasher is random enough.
        let random = RandomState::new().build_hasher().finish() & 0xff_ffff;
        Self(format!("{}-{random:06x}", now.strftime("%Y%m%d-%H%M%S")))
    }

    /// The id that a directory or a person names; none when it does not look like one.
    pub fn parse(text: &str) -> Option<Self> {
        let shape = text.len() == "20060102-150405-ffffff".len()
            && text
                .bytes()
                .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte) || byte == b'-');
        shape.then(|| Self(text.to_owned()))
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::HomeError;

    fn event(kind: EventKind) -> Event {
        let time = "2026-11-14T10:11:12Z".parse().unwrap();
        Event { version: VERSION, seq: 7, time, run_id: RunId("20261114-101112-00ff00".into()), kind }
    }

    #[test]
    fn an_event_is_one_flat_object() {
        let progress = Progress { task: "download etcd".into(), done: 5, total: Some(9), unit: Unit::Bytes };
        insta::assert_snapshot!(
            serde_json::to_string(&event(EventKind::Progress(progress))).unwrap(),
            @r#"{"version":1,"seq":7,"time":"2026-11-14T10:11:12Z","runId":"20261114-101112-00ff00","kind":"Progress","task":"download etcd","done":5,"total":9,"unit":"bytes"}"#
        );
        let failed: Result<(), _> = Err(HomeError::Unknown);
        insta::assert_snapshot!(
            serde_json::to_string(&event(EventKind::finished(Outcome::of(&failed)))).unwrap(),
            @r#"{"version":1,"seq":7,"time":"2026-11-14T10:11:12Z","runId":"20261114-101112-00ff00","kind":"Finished","outcome":{"result":"Failed","code":"BTL-1301","message":"cannot tell where the Butler home is: neither BUTLER_HOME nor HOME is set"}}"#
        );
    }

    #[test]
    fn every_kind_survives_the_way_through_json() {
        let object = ObjectRef { kind: "Team".into(), namespace: Some("a".into()), name: "b".into() };
        let kinds = [
            EventKind::PhaseStarted { phase: "A".into() },
            EventKind::PhaseFinished { phase: "A".into(), result: Outcome::Cancelled },
            EventKind::Progress(Progress { task: "t".into(), done: 1, total: None, unit: Unit::Items }),
            EventKind::Resource { reference: object.clone(), change: Change::Adopted },
            EventKind::warning("net", "slow"),
            EventKind::Snapshot(StatusSnapshot {
                phase: Some("A".into()),
                objects: vec![ObjectStatus { reference: object, phase: "Ready".into(), message: None }],
            }),
            EventKind::Stalled(Stall {
                code: "BTL-2031".into(),
                what: "machine `a` has no address".into(),
                evidence: vec!["the provider says that it runs".into()],
                next: Vec::new(),
                seconds: 20,
            }),
            EventKind::Moving {},
            EventKind::Intent { step: "vm/a".into(), data: serde_json::json!({"cpu": 2}) },
            EventKind::Result { step: "vm/a".into(), data: serde_json::json!("id-1") },
            EventKind::finished(Outcome::Succeeded),
        ];
        for kind in kinds {
            let text = serde_json::to_string(&event(kind.clone())).unwrap();
            assert_eq!(serde_json::from_str::<Event>(&text).unwrap(), event(kind), "{text}");
        }
    }

    #[test]
    fn an_event_of_a_newer_version_is_passed_on_whole() {
        let text = r#"{"version":2,"seq":1,"time":"2026-11-14T10:11:12Z","runId":"r","kind":"Weather","sky":{"blue":1}}"#;
        let event: Event = serde_json::from_str(text).unwrap();
        assert!(matches!(event.kind, EventKind::Unknown(_)));
        let back: Value = serde_json::from_str(&serde_json::to_string(&event).unwrap()).unwrap();
        assert_eq!(back, serde_json::from_str::<Value>(text).unwrap());
    }

    #[test]
    fn run_ids_sort_by_time_and_differ() {
        let (early, late) = ("2026-11-14T10:11:12Z", "2026-11-14T10:11:13Z");
        let id = |time: &str| RunId::new(time.parse().unwrap());
        assert!(id(early) < id(late));
        assert_ne!(id(early), id(early));
        assert!(id(early).as_str().starts_with("20261114-101112-"));
    }
}
