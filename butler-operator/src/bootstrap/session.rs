//! Who works on a run: one process at a time, with its first words in the journal.

use std::path::Path;

use butler_core::{
    bootstrap::{
        config::Config,
        run::{
            Given, Restored, RunDir, RunFacts, RunState, Runs, Session, Stage, Verb, compare::Change, steps,
        },
    },
    event::{Event, EventKind, Journal, RunId, journal},
    redact::Secret,
    settings::home::{make_private_dir, write_private},
};
use jiff::Timestamp;
use ring::digest;

use super::BootstrapError;
use crate::ledger::Ledger;

/// What a new run is made of.
#[derive(Debug)]
pub struct RunOptions<'a> {
    /// Every run.
    pub runs: &'a Runs,
    /// The configuration that is carried out.
    pub config: &'a Config,
    /// The configuration as the file has it.
    pub given: &'a Config,
    /// Its text.
    pub text: &'a Secret,
    /// What paths in it are relative to.
    pub directory: &'a Path,
    /// True when simulated machines stand in for the provider's.
    pub rehearsal: bool,
    /// Version of this program.
    pub version: &'a str,
    /// When it begins.
    pub now: Timestamp,
    /// The backup that the cluster is made from again.
    pub restored: Option<Restored>,
}

impl RunOptions<'_> {
    fn facts(&self) -> RunFacts {
        RunFacts {
            cluster: self.config.cluster.name.clone(),
            provider: self.config.provider_kind().to_string(),
            runtime: self.config.bootstrap_cluster.runtime.as_str().to_owned(),
            config_sha256: sha256(self.text),
            directory: self.directory.to_owned(),
            rehearsal: self.rehearsal,
            version: self.version.to_owned(),
            restored: self.restored.clone(),
        }
    }

    /// The first records: what the run is, and what it is made from.
    fn first(&self, ledger: &Ledger) -> Result<(), BootstrapError> {
        let facts = self.facts();
        let data = serde_json::to_value(&facts).unwrap_or_default();
        ledger.append(EventKind::Intent { step: steps::RUN.to_owned(), data })?;
        given(ledger, self.text, self.given, &facts.runtime, Vec::new())
    }
}

/// Writes down what a run is made from.
fn given(
    ledger: &Ledger,
    text: &Secret,
    config: &Config,
    runtime: &str,
    accepted: Vec<String>,
) -> Result<(), BootstrapError> {
    let document = config.document();
    let given = Given { sha256: sha256(text), document, runtime: runtime.to_owned(), accepted };
    let data = serde_json::to_value(&given).unwrap_or_default();
    Ok(ledger.append(EventKind::Result { step: steps::CONFIG.to_owned(), data })?)
}

/// A run that this process works on; no other can meanwhile.
#[derive(Debug)]
pub struct Started {
    /// Its directory.
    pub dir: RunDir,
    /// Where its effects are written down.
    pub ledger: Ledger,
    /// What was written before.
    pub past: Vec<Event>,
    /// How far it was.
    pub state: RunState,
    /// Makes this process the only one that works on the cluster.
    _claim: std::fs::File,
}

/// Begins a new run, unless another makes or has made this cluster.
pub fn begin(options: &RunOptions<'_>) -> Result<Started, BootstrapError> {
    begin_with(options, |_| Ok(()))
}

/// The same, with files that must be in the run's directory before its first record: killed before that,
/// there is nothing to resume and nothing was made.
pub fn begin_with<E: From<BootstrapError>>(
    options: &RunOptions<'_>,
    fill: impl FnOnce(&RunDir) -> Result<(), E>,
) -> Result<Started, E> {
    let RunOptions { runs, config, .. } = options;
    let cluster = &config.cluster.name;
    let claimed = runs.claim(cluster).map_err(BootstrapError::from)?;
    if let Some((run, stage)) = claim(runs, cluster)? {
        let cluster = cluster.clone();
        return Err(BootstrapError::ClusterTaken { cluster, run, stage: stage.as_str() }.into());
    }
    let dir = runs.dir(&RunId::new(options.now));
    let filled =
        make_private_dir(dir.path()).map_err(|error| E::from(error.into())).and_then(|()| fill(&dir));
    let begun = filled.and_then(|()| Ok(first_words(options, dir.clone(), claimed)?));
    let empty =
        || journal::read(&dir.journal()).is_ok_and(|events| events.is_empty()) || !dir.journal().exists();
    if begun.is_err() && empty() {
        // Nobody would find it again, and the configuration may hold secrets.
        let _ = fs_err::remove_dir_all(dir.path());
    }
    begun
}

/// Writes the configuration and the first records of a run.
fn first_words(
    options: &RunOptions<'_>,
    dir: RunDir,
    claimed: std::fs::File,
) -> Result<Started, BootstrapError> {
    let RunOptions { config, text, .. } = options;
    let cluster = &config.cluster.name;
    make_private_dir(dir.path())?;
    write_private(&dir.config(), text.expose().as_bytes())?;
    let mut started = open(dir, claimed, Verb::Run, |ledger| options.first(ledger))?;
    started.state.facts = Some(options.facts());
    started.state.cluster = Some(cluster.clone());
    Ok(started)
}

/// Takes over a run whose directory is lost, to remove what carries its mark.
pub fn take_over(options: &RunOptions<'_>, id: &RunId) -> Result<Started, BootstrapError> {
    let claimed = options.runs.claim(&options.config.cluster.name)?;
    let dir = options.runs.dir(id);
    make_private_dir(dir.path())?;
    write_private(&dir.config(), options.text.expose().as_bytes())?;
    open(dir, claimed, Verb::Destroy, |ledger| options.first(ledger))
}

/// Goes on with a changed configuration, and writes down which changes a person accepted. Killed between
/// the two, it is asked for again.
pub fn accept(
    started: &Started,
    text: &Secret,
    config: &Config,
    runtime: &str,
    changes: &[Change],
) -> Result<(), BootstrapError> {
    write_private(&started.dir.config(), text.expose().as_bytes())?;
    let accepted = changes.iter().map(ToString::to_string).collect();
    given(&started.ledger, text, config, runtime, accepted)
}

/// The run that makes or has made a cluster and was not destroyed.
pub fn claim(runs: &Runs, cluster: &str) -> Result<Option<(RunId, Stage)>, BootstrapError> {
    let is_of = |state: &RunState| state.cluster.as_deref() == Some(cluster);
    let mut of_cluster = Vec::new();
    for (dir, state) in runs.list()? {
        match state {
            Ok(state) if is_of(&state) => of_cluster.push(state),
            // What it made is not known, so it may be anything.
            Err(error) if dir.salvaged().as_ref().is_some_and(is_of) => return Err(error.into()),
            _ => {}
        }
    }
    // A run that ended before it made anything outside holds nothing.
    let holds =
        |state: &RunState| state.stage != Stage::Destroyed && (state.holder.is_some() || state.has_effects());
    Ok(of_cluster.into_iter().rfind(holds).map(|state| (state.run_id, state.stage)))
}

/// Takes a run up, to go on with it or to remove what it made.
pub fn take_up(runs: &Runs, dir: RunDir, verb: Verb) -> Result<Started, BootstrapError> {
    let state = dir.state()?;
    let claimed = match &state.cluster {
        Some(cluster) if state.holder.is_none() => runs.claim(cluster)?,
        // The journal's own lock says who works on it.
        _ => runs.claim(dir.id().as_str())?,
    };
    if verb == Verb::Resume {
        resumable(&state)?;
    }
    if verb == Verb::Resume
        && let Some(cluster) = state.cluster
        && let Some((run, stage)) = claim(runs, &cluster)?.filter(|(run, _)| run != dir.id())
    {
        // It made nothing, so its name was free for another run.
        return Err(BootstrapError::ClusterTaken { cluster, run, stage: stage.as_str() });
    }
    open(dir, claimed, verb, |_| Ok(()))
}

/// Refuses a run that has come to its end, never began, or is being removed.
pub fn resumable(state: &RunState) -> Result<(), BootstrapError> {
    let (stage, next) = match state.stage {
        _ if state.half_destroyed => ("half destroyed", "destroy"),
        Stage::NeverStarted => (state.stage.as_str(), "destroy"),
        Stage::Succeeded | Stage::Destroyed => (state.stage.as_str(), "status"),
        Stage::Interrupted | Stage::Stopped | Stage::Failed | Stage::Running => return Ok(()),
    };
    Err(BootstrapError::NotResumable { run: state.run_id.clone(), stage, next })
}

fn open(
    dir: RunDir,
    claimed: std::fs::File,
    verb: Verb,
    first: impl FnOnce(&Ledger) -> Result<(), BootstrapError>,
) -> Result<Started, BootstrapError> {
    let (journal, past) = Journal::open(&dir.journal(), dir.id().clone())?;
    let state = RunState::of(dir.id(), &past, None);
    let ledger = Ledger::new(journal);
    first(&ledger)?;
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let session = Session { verb, pid: std::process::id(), host };
    let data = serde_json::to_value(&session).unwrap_or_default();
    ledger.append(EventKind::Intent { step: steps::SESSION.to_owned(), data })?;
    Ok(Started { dir, ledger, past, state, _claim: claimed })
}

/// SHA-256 of a configuration's text.
pub fn sha256(text: &Secret) -> String {
    let digest = digest::digest(&digest::SHA256, text.expose().as_bytes());
    digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests;
