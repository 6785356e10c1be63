//! The state that changes too quickly for a journal, kept beside it for whoever watches from another
//! process: the latest state of each task and machine. Nothing depends on it.

use std::{collections::BTreeMap, fs::OpenOptions, io::Write, os::unix::fs::OpenOptionsExt, path::Path};

use serde::{Deserialize, Serialize};

use super::RunDir;
use crate::event::{Event, EventKind, Progress, StatusSnapshot};

/// How machines and tasks are at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Live {
    /// The machines and the phase they are in.
    pub snapshot: StatusSnapshot,
    /// Countable tasks that are going on, by name.
    pub tasks: BTreeMap<String, Progress>,
}

impl Live {
    /// Takes an event; true when it changed something.
    pub fn take(&mut self, event: &Event) -> bool {
        let before = self.clone();
        match &event.kind {
            EventKind::Snapshot(snapshot) => self.snapshot = snapshot.clone(),
            EventKind::Progress(progress) if progress.total.is_some_and(|total| progress.done >= total) => {
                self.tasks.remove(&progress.task);
            }
            EventKind::Progress(progress) => {
                self.tasks.insert(progress.task.clone(), progress.clone());
            }
            // A task belongs to its phase.
            EventKind::PhaseFinished { .. } | EventKind::Finished { .. } => self.tasks.clear(),
            _ => {}
        }
        *self != before
    }

    /// What was written last; nothing where there is no such file, or one of another version.
    pub fn read(path: &Path) -> Self {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    }
}

/// Writes the state of a run as it changes.
#[derive(Debug)]
pub struct LiveWriter {
    dir: RunDir,
    live: Live,
}

impl LiveWriter {
    /// For the process that works on the run.
    pub fn new(dir: &RunDir) -> Self {
        Self { dir: dir.clone(), live: Live::default() }
    }

    /// Takes an event.
    pub fn event(&mut self, event: &Event) {
        if self.live.take(event) {
            let text = serde_json::to_vec(&self.live).unwrap_or_default();
            // Whoever watches sees less; the run goes on.
            let _ = replace(&self.dir.live(), &text);
        }
    }
}

/// Whole by rename, but not waiting for the disk: what is lost in a crash is old anyway.
fn replace(path: &Path, content: &[u8]) -> std::io::Result<()> {
    let next = path.with_extension("next");
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&next)?;
    file.write_all(content)?;
    std::fs::rename(next, path)
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::event::{Outcome, RunId, Unit};

    #[test]
    fn tasks_are_kept_while_they_go_on() {
        let mut live = Live::default();
        let mut take = |kind| {
            let (time, run_id) = (Timestamp::UNIX_EPOCH, RunId::new(Timestamp::UNIX_EPOCH));
            let changed = live.take(&Event { version: 1, seq: 1, time, run_id, kind });
            (changed, live.tasks.len())
        };
        let progress = |task: &str, done| {
            EventKind::Progress(Progress { task: task.into(), done, total: Some(9), unit: Unit::Items })
        };
        assert_eq!(take(progress("a", 1)), (true, 1));
        assert_eq!(take(progress("a", 1)), (false, 1));
        assert_eq!(take(progress("b", 1)), (true, 2));
        assert_eq!(take(progress("a", 9)), (true, 1));
        let finished = EventKind::PhaseFinished { phase: "A".into(), result: Outcome::Succeeded };
        assert_eq!(take(finished), (true, 0));
    }
}
