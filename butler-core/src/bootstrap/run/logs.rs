//! What was said in a run: the events of its journal and the words of its controllers, in order of time.

use std::io::{self, Read, Seek, SeekFrom};

use fs_err as fs;
use jiff::Timestamp;
use serde_json::Value;

use super::{RunDir, RunError, Session, steps};
use crate::event::{Event, EventKind, JournalReader, Level, Outcome, elapsed};

/// Bytes of a log that are read at once.
const CHUNK: u64 = 4 << 20;

/// One line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// When; none when the log does not say.
    pub time: Option<Timestamp>,
    /// How much it matters.
    pub level: Level,
    /// The words.
    pub text: String,
}

/// Reads journal and log of a run piece by piece, also while another process writes them.
#[derive(Debug)]
pub struct LogReader {
    dir: RunDir,
    journal: JournalReader,
    narrator: Narrator,
    log: Tail,
}

impl LogReader {
    /// Begins at the beginning.
    pub fn new(dir: RunDir) -> Self {
        let (journal, log) = (JournalReader::new(dir.journal()), Tail::default());
        Self { dir, journal, narrator: Narrator::default(), log }
    }

    /// Of a log that has grown, only so many bytes at its end are read; the journal is read whole.
    pub fn latest(dir: RunDir, bytes: u64) -> Self {
        let mut reader = Self::new(dir);
        let length = fs::metadata(reader.dir.log()).map_or(0, |meta| meta.len());
        reader.log.at = length.saturating_sub(bytes);
        // What is left of the line that was cut is no line.
        reader.log.torn = reader.log.at > 0;
        reader
    }

    /// What was added since the last look, in order of time; of a log that grows quickly some of it, the
    /// rest the next time.
    pub fn more(&mut self) -> Result<Vec<Said>, RunError> {
        let events = self.journal.more()?;
        let mut said: Vec<Said> = events.iter().filter_map(|event| self.narrator.said(event)).collect();
        let path = self.dir.log();
        let added = self.log.added(&path).map_err(|source| RunError::Read { path, source })?;
        said.extend(added);
        // Stable: lines of one source stay as they were written.
        said.sort_by_key(|said| said.time);
        Ok(said)
    }
}

/// Puts events into words.
#[derive(Debug, Default)]
pub struct Narrator {
    /// Phases that run, with their start.
    phases: Vec<(String, Timestamp)>,
}

impl Narrator {
    /// What an event says; nothing when it is for programs only.
    pub fn said(&mut self, event: &Event) -> Option<Said> {
        let (level, text) = self.words(event)?;
        Some(Said { time: Some(event.time), level, text })
    }

    fn words(&mut self, event: &Event) -> Option<(Level, String)> {
        Some(match &event.kind {
            EventKind::PhaseStarted { phase } => {
                self.phases.push((phase.clone(), event.time));
                (Level::Info, format!("▸ {phase}"))
            }
            EventKind::PhaseFinished { phase, result } => {
                let at = self.phases.iter().rposition(|(running, _)| running == phase);
                let took = at.map(|at| elapsed(self.phases.remove(at).1, event.time)).unwrap_or_default();
                match result {
                    Outcome::Succeeded => (Level::Info, format!("✓ {phase} ({took})")),
                    Outcome::Failed { code, message } => {
                        (Level::Error, format!("✗ {phase} ({took}): {message} ({code})"))
                    }
                    Outcome::Cancelled => (Level::Warn, format!("✗ {phase} ({took}): cancelled")),
                }
            }
            EventKind::Resource { reference, change } => {
                (Level::Info, format!("{reference} {}", format!("{change:?}").to_lowercase()))
            }
            EventKind::Log { level, message, .. } => (*level, message.clone()),
            EventKind::Stalled(stall) => (Level::Warn, stall.lines().join("; ")),
            EventKind::Moving {} => (Level::Info, "moving again".to_owned()),
            EventKind::Intent { step, data } if step == steps::SESSION => {
                let Session { verb, pid, host } = serde_json::from_value(data.clone()).ok()?;
                let verb = format!("{verb:?}").to_lowercase();
                (Level::Info, format!("bootstrap {verb} by process {pid} on `{host}`"))
            }
            EventKind::Intent { step, .. } => (Level::Debug, format!("→ {step}")),
            EventKind::Result { step, .. } => (Level::Debug, format!("← {step}")),
            EventKind::Finished { outcome } => match outcome {
                Outcome::Succeeded => (Level::Info, "finished".to_owned()),
                Outcome::Failed { code, message } => (Level::Error, format!("failed: {message} ({code})")),
                Outcome::Cancelled => (Level::Warn, "stopped".to_owned()),
            },
            EventKind::Progress(_) | EventKind::Snapshot(_) | EventKind::Unknown(_) => return None,
        })
    }
}

/// A text file that grows.
#[derive(Debug, Default)]
struct Tail {
    at: u64,
    /// What comes first is the end of a line.
    torn: bool,
    rest: Vec<u8>,
    /// Time and level of the last line that had some: lines without are its continuation.
    last: Option<(Timestamp, Level)>,
}

impl Tail {
    /// Whole lines that were added. A file that was cut is read from its beginning.
    fn added(&mut self, path: &std::path::Path) -> io::Result<Vec<Said>> {
        let mut file = match std::fs::File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            file => file?,
        };
        if file.metadata()?.len() < self.at {
            self.at = 0;
            self.rest.clear();
        }
        file.seek(SeekFrom::Start(self.at))?;
        self.at += file.take(CHUNK).read_to_end(&mut self.rest)? as u64;
        if self.torn {
            let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') else { return Ok(Vec::new()) };
            self.rest.drain(..=end);
            self.torn = false;
        }
        let end = self.rest.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let whole: Vec<u8> = self.rest.drain(..end).collect();
        let text = String::from_utf8_lossy(&whole);
        Ok(text.lines().filter(|line| !line.trim().is_empty()).map(|line| self.line(line)).collect())
    }

    fn line(&mut self, line: &str) -> Said {
        let read = json(line).or_else(|| plain(line));
        match (read, self.last) {
            (Some((time, level, text)), _) => {
                self.last = Some((time, level));
                Said { time: Some(time), level, text }
            }
            (None, Some((time, level))) => Said { time: Some(time), level, text: line.to_owned() },
            (None, None) => Said { time: None, level: Level::Info, text: line.to_owned() },
        }
    }
}

/// `2026-11-14T10:11:12.5Z  INFO target: message field=value`
fn plain(line: &str) -> Option<(Timestamp, Level, String)> {
    let (time, rest) = line.split_once(' ')?;
    let (level, text) = rest.trim_start().split_once(' ')?;
    Some((time.parse().ok()?, level_of(level)?, text.trim_start().to_owned()))
}

/// `{"timestamp":…,"level":"INFO","message":…,"target":…, further fields}`
fn json(line: &str) -> Option<(Timestamp, Level, String)> {
    let mut fields: serde_json::Map<String, Value> = serde_json::from_str(line).ok()?;
    let mut take = |name: &str| match fields.remove(name) {
        Some(Value::String(text)) => Some(text),
        _ => None,
    };
    let time = take("timestamp")?.parse().ok()?;
    let level = level_of(&take("level")?)?;
    let target = take("target").map(|target| format!("{target}: ")).unwrap_or_default();
    let message = take("message").unwrap_or_default();
    let more = fields.iter().map(|(name, value)| match value {
        Value::String(text) => format!(" {name}={text}"),
        value => format!(" {name}={value}"),
    });
    Some((time, level, format!("{target}{message}{}", more.collect::<String>())))
}

fn level_of(word: &str) -> Option<Level> {
    match word {
        "TRACE" | "DEBUG" => Some(Level::Debug),
        "INFO" => Some(Level::Info),
        "WARN" => Some(Level::Warn),
        "ERROR" => Some(Level::Error),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use serde_json::json;

    use super::*;
    use crate::{
        bootstrap::run::Runs,
        event::{Journal, RunId},
        settings::{Environment, Home},
    };

    #[test]
    fn journal_and_log_are_read_once_each_and_together() {
        let home = tempfile::tempdir().unwrap();
        let environment = Environment::of([("BUTLER_HOME", home.path().to_str().unwrap())]);
        let id = RunId::new(Timestamp::now());
        let dir = Runs::new(&Home::resolve(&environment).unwrap()).dir(&id);
        let (mut journal, _) = Journal::open(&dir.journal(), id).unwrap();
        let session = json!({"verb": "run", "pid": 7, "host": "h"});
        journal.append(EventKind::Intent { step: "session".into(), data: session }).unwrap();
        journal.append(EventKind::PhaseStarted { phase: "A".into() }).unwrap();
        let mut log = fs::File::create(dir.log()).unwrap();
        writeln!(log, "half a beginning\n2000-01-01T00:00:00Z  WARN kube: early\n  and more").unwrap();
        let later = Timestamp::now() + jiff::SignedDuration::from_hours(1);
        writeln!(log, r#"{{"timestamp":"{later}","level":"ERROR","message":"m","target":"t","n":3}}"#)
            .unwrap();
        write!(log, "2000-01-02T00:00:00Z INFO torn").unwrap();
        let mut reader = LogReader::new(dir);
        let texts = |said: Vec<Said>| -> Vec<String> {
            said.into_iter().map(|said| format!("{:?} {}", said.level, said.text)).collect()
        };
        assert_eq!(
            texts(reader.more().unwrap()),
            [
                "Info half a beginning",
                "Warn kube: early",
                "Warn   and more",
                "Info bootstrap run by process 7 on `h`",
                "Info ▸ A",
                "Error t: m n=3",
            ]
        );
        assert_eq!(reader.more().unwrap(), []);
        writeln!(log, " line").unwrap();
        let failed = Outcome::Failed { code: "BTL-1603".into(), message: "busy".into() };
        journal.append(EventKind::PhaseFinished { phase: "A".into(), result: failed }).unwrap();
        let more = texts(reader.more().unwrap());
        assert_eq!(more[0], "Info torn line");
        assert!(more[1].starts_with("Error ✗ A (") && more[1].ends_with("): busy (BTL-1603)"), "{more:?}");
    }
}
