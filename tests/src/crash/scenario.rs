//! What is tried.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use anyhow::Result;
use serde_json::Value;

use super::Secrets;
use crate::Invocation;

/// Something that a program with a journal does: a bootstrap, an upgrade, an export.
pub trait Scenario: Sync {
    /// Its name in reports.
    fn name(&self) -> &str;

    /// A place of its own where nothing has happened yet.
    fn bench(&self) -> Result<Box<dyn Bench>>;
}

/// A place in which the program works. What it started there is stopped when this value is dropped.
pub trait Bench {
    /// Everything that the program writes is below it, and everything that it starts names it.
    fn home(&self) -> &Path;

    /// Its directory for temporary files; empty at the end.
    fn temp_dir(&self) -> PathBuf;

    /// Begins.
    fn start(&self) -> Invocation;

    /// Goes on with what was begun.
    fn resume(&self) -> Invocation;

    /// Removes what was made.
    fn destroy(&self) -> Invocation;

    /// The journal, once there is one.
    fn journal(&self) -> Option<PathBuf>;

    /// What was made, without what differs between two runs; an error as long as it is not at its end.
    fn state(&self) -> Result<BTreeMap<String, Value>>;

    /// The name of everything that was made outside, once for each time it was, sorted; from whoever makes
    /// it, not from the program.
    fn witness(&self) -> Result<Vec<String>>;

    /// Values that may stand in none of [`texts`](Self::texts).
    fn secrets(&self) -> Result<Secrets>;

    /// Files in which no secret may stand.
    fn texts(&self) -> Vec<PathBuf>;

    /// Does this to the surroundings.
    fn disturb(&self, disturbance: Disturbance) -> Result<()>;

    /// What is still there of what was made, in words, besides processes, ports and temporary files.
    fn left(&self) -> Result<Vec<String>>;
}

/// What happens between two processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disturbance {
    /// What the program needs on the way, and can make again, is deleted.
    ScratchLost,
    /// Every machine is switched off and on.
    MachinesRebooted,
    /// Every process of the place is gone at once.
    HostRebooted,
    /// Half of a line is appended to the journal.
    JournalTorn,
}

/// What an undisturbed run is like.
#[derive(Clone, Debug)]
pub struct Reference {
    /// What it made.
    pub state: BTreeMap<String, Value>,
    /// Who witnessed it.
    pub witness: Vec<String>,
    /// The records of its journal, in words.
    pub records: Vec<String>,
    /// The records of its removal.
    pub removal: Vec<String>,
    /// Operations that needed room.
    pub operations: Vec<super::Operation>,
    /// How long it took.
    pub took: std::time::Duration,
}
