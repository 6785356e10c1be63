//! Runs on disk: where they are, and what their journals say of them.
//!
//! | in `BUTLER_HOME/runs/<run-id>/` | is |
//! |---|---|
//! | `journal.ndjson` | every event of the run, and every effect before and after it |
//! | `journal.damaged-*.ndjson` | a journal before it was repaired |
//! | `config.yaml` | the configuration as it was given; may hold secrets, so 0600 |
//! | `secrets/` | what the journal names by file: the Talos secrets, kubeconfigs |
//! | `temporary/` | the temporary control plane; can be made again |
//! | `work/` | files for programs that need them, such as helm |
//! | `run.log` | what the controllers say, for developers |
//! | `live.json` | how machines and tasks are at this moment, for whoever watches; may be lost |
//!
//! [`RunState`] is derived from the journal each time; nothing else says how far a run is.

pub mod compare;
mod error;
mod live;
mod logs;
pub mod repair;
mod state;
pub mod steps;

use std::path::{Path, PathBuf};

use fs_err as fs;

pub use error::RunError;
pub use live::{Live, LiveWriter};
pub use logs::{LogReader, Narrator, Said};
pub use state::{Given, Machine, PhaseTime, Restored, RunFacts, RunState, Session, Stage, Verb};

use crate::{
    event::{
        Event, JournalError, RunId,
        journal::{self, Holder},
    },
    settings::{Home, home::make_private_dir},
};

/// A run on disk, and how far it is or why that cannot be told.
pub type Listed = (RunDir, Result<RunState, RunError>);

/// Every run of a user.
#[derive(Clone, Debug)]
pub struct Runs {
    dir: PathBuf,
}

impl Runs {
    /// The runs of this home; touches nothing.
    pub fn new(home: &Home) -> Self {
        Self { dir: home.dir().join("runs") }
    }

    /// The directory of one run, existing or not.
    pub fn dir(&self, id: &RunId) -> RunDir {
        RunDir { dir: self.dir.join(id.as_str()), id: id.clone() }
    }

    /// Makes this process the only one that works on a cluster, for as long as the file is held.
    pub fn claim(&self, cluster: &str) -> Result<std::fs::File, RunError> {
        make_private_dir(&self.dir).map_err(JournalError::from)?;
        journal::lock(&self.dir.join(format!("{cluster}.claim"))).map_err(|error| match error {
            JournalError::Held { holder, .. } => RunError::Held { cluster: cluster.to_owned(), holder },
            error => error.into(),
        })
    }

    /// The ids of every run, oldest first.
    pub fn ids(&self) -> Result<Vec<RunId>, RunError> {
        let entries = match fs::read_dir(&self.dir) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(RunError::Read { path: self.dir.clone(), source }),
        };
        let names = entries
            .flatten()
            .filter(|entry| entry.path().is_dir())
            .filter_map(|entry| entry.file_name().into_string().ok());
        let mut ids: Vec<RunId> = names.filter_map(|name| RunId::parse(&name)).collect();
        ids.sort();
        Ok(ids)
    }

    /// Every run, oldest first. One whose journal is damaged is among them, with what is wrong.
    pub fn list(&self) -> Result<Vec<Listed>, RunError> {
        let runs = self.ids()?.into_iter();
        let mut all: Vec<Listed> =
            runs.map(|id| self.dir(&id)).map(|dir| (dir.clone(), dir.state())).collect();
        // Of two that began in the same second the ids do not tell which was first.
        all.sort_by_cached_key(|(dir, state)| {
            let second = dir.id().as_str().rsplit_once('-').map(|(second, _)| second.to_owned());
            (second, state.as_ref().ok().and_then(|state| state.started), dir.id().clone())
        });
        Ok(all)
    }

    /// The run that is meant by an id, the beginning of one, or the name of a cluster; then its newest.
    pub fn find(&self, name: &str) -> Result<(RunDir, RunState), RunError> {
        let all = self.list()?;
        if name.is_empty() {
            // The beginning of every id, and what a script passes whose variable is not set.
            return Err(self.unknown(name, &all));
        }
        let by_id: Vec<&RunDir> =
            all.iter().map(|(dir, _)| dir).filter(|dir| dir.id().as_str().starts_with(name)).collect();
        let of_cluster = |(dir, state): &&Listed| match state {
            Ok(state) => state.cluster.as_deref() == Some(name),
            // It must not be passed over for an older run of the same cluster.
            Err(_) => dir.salvaged().is_some_and(|state| state.cluster.as_deref() == Some(name)),
        };
        let cluster = all.iter().rev().find(of_cluster).map(|(dir, _)| dir);
        let found = match (cluster, by_id.as_slice()) {
            (Some(dir), _) => dir.clone(),
            (None, [dir]) => (*dir).clone(),
            (None, []) => return Err(self.unknown(name, &all)),
            (None, several) => {
                let ids = several.iter().map(|dir| dir.id().to_string()).collect();
                return Err(RunError::Ambiguous { name: name.to_owned(), ids });
            }
        };
        let state = found.state()?;
        Ok((found, state))
    }

    /// The directory of the run that an id or the beginning of one means, whatever its journal is like; or
    /// the run that a cluster's name means.
    pub fn locate(&self, name: &str) -> Result<RunDir, RunError> {
        let all = self.list()?;
        let mut by_id = all.iter().filter(|(dir, _)| dir.id().as_str().starts_with(name));
        match (by_id.next(), by_id.next()) {
            (Some((dir, _)), None) => Ok(dir.clone()),
            _ => match self.find(name) {
                Ok((dir, _)) => Ok(dir),
                // Found, and damaged.
                Err(error @ RunError::Journal(_)) => {
                    let of_cluster = |dir: &RunDir| {
                        dir.salvaged().is_some_and(|state| state.cluster.as_deref() == Some(name))
                    };
                    all.into_iter().rev().map(|(dir, _)| dir).find(of_cluster).ok_or(error)
                }
                Err(error) => Err(error),
            },
        }
    }

    /// The newest run.
    pub fn newest(&self) -> Result<(RunDir, RunState), RunError> {
        let newest = self.list()?.pop().map(|(dir, _)| dir).ok_or(RunError::None)?;
        let state = newest.state()?;
        Ok((newest, state))
    }

    fn unknown(&self, name: &str, all: &[Listed]) -> RunError {
        let clusters = all.iter().filter_map(|(_, state)| state.as_ref().ok()?.cluster.clone());
        let mut known: Vec<String> = clusters.collect();
        known.sort();
        known.dedup();
        RunError::Unknown { name: name.to_owned(), known }
    }
}

const JOURNAL: &str = "journal.ndjson";

/// The directory of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunDir {
    dir: PathBuf,
    id: RunId,
}

impl RunDir {
    /// The run.
    pub fn id(&self) -> &RunId {
        &self.id
    }

    /// The directory itself.
    pub fn path(&self) -> &Path {
        &self.dir
    }

    /// The journal.
    pub fn journal(&self) -> PathBuf {
        self.dir.join(JOURNAL)
    }

    /// The configuration as it was given.
    pub fn config(&self) -> PathBuf {
        self.dir.join("config.yaml")
    }

    /// Files with secrets.
    pub fn secrets(&self) -> PathBuf {
        self.dir.join("secrets")
    }

    /// A file with a secret.
    pub fn secret(&self, name: &str) -> PathBuf {
        self.secrets().join(name)
    }

    /// The temporary control plane.
    pub fn temporary(&self) -> PathBuf {
        self.dir.join("temporary")
    }

    /// Files for programs.
    pub fn work(&self) -> PathBuf {
        self.dir.join("work")
    }

    /// How machines and tasks are at this moment.
    pub fn live(&self) -> PathBuf {
        self.dir.join("live.json")
    }

    /// What the controllers say.
    pub fn log(&self) -> PathBuf {
        self.dir.join("run.log")
    }

    /// Who works on the run now.
    pub fn holder(&self) -> Option<Holder> {
        journal::holder(&self.journal())
    }

    /// The records of the journal; none when the run ended before it had one.
    pub fn events(&self) -> Result<Vec<Event>, RunError> {
        match journal::read(&self.journal()) {
            Err(JournalError::Read { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
                Ok(Vec::new())
            }
            events => Ok(events?),
        }
    }

    /// What a damaged journal still says; none when it cannot even be read.
    pub fn salvaged(&self) -> Option<RunState> {
        let events = journal::repair::salvage(&self.journal(), &self.id).ok()?.events;
        Some(RunState::of(&self.id, &events, self.holder()))
    }

    /// How far the run is. Works while another process writes the journal.
    pub fn state(&self) -> Result<RunState, RunError> {
        let events = self.events()?;
        let holder = self.holder();
        Ok(RunState::of(&self.id, &events, holder))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        event::{EventKind, Journal},
        settings::Environment,
    };

    #[test]
    fn of_two_runs_of_one_second_the_later_is_the_newest() {
        let home = tempfile::tempdir().unwrap();
        let environment = Environment::of([("BUTLER_HOME", home.path().to_str().unwrap())]);
        let runs = Runs::new(&Home::resolve(&environment).unwrap());
        let ids = ["20260114-101112-ff0000", "20260114-101112-000001", "20260114-101111-ffffff"];
        for id in ids {
            let id = RunId::parse(id).unwrap();
            let (mut journal, _) = Journal::open(&runs.dir(&id).journal(), id).unwrap();
            let facts = json!({
                "cluster": "m", "provider": "sandbox", "runtime": "process", "configSha256": "0", "version": "0",
            });
            journal.append(EventKind::Intent { step: steps::RUN.into(), data: facts }).unwrap();
        }
        let listed: Vec<String> =
            runs.list().unwrap().into_iter().map(|(dir, _)| dir.id().to_string()).collect();
        assert_eq!(listed, [ids[2], ids[0], ids[1]]);
        assert_eq!(runs.find("m").unwrap().0.id().as_str(), ids[1]);
    }
}
