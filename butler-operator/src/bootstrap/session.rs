//! Who works on a run: one process at a time, with its first words in the journal.

use std::path::Path;

use butler_core::{
    bootstrap::{
        config::Config,
        run::{RunDir, RunFacts, RunState, Runs, Session, Stage, Verb, steps},
    },
    event::{Event, EventKind, Journal, RunId},
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
    /// The configuration.
    pub config: &'a Config,
    /// Its text, as it was given.
    pub text: &'a Secret,
    /// What paths in it are relative to.
    pub directory: &'a Path,
    /// True when simulated machines stand in for the provider's.
    pub rehearsal: bool,
    /// Version of this program.
    pub version: &'a str,
    /// When it begins.
    pub now: Timestamp,
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
    let RunOptions { runs, config, text, .. } = options;
    let cluster = &config.cluster.name;
    let claimed = runs.claim(cluster)?;
    if let Some((run, stage)) = claim(runs, cluster)? {
        return Err(BootstrapError::ClusterTaken { cluster: cluster.clone(), run, stage: stage.as_str() });
    }
    let dir = runs.dir(&RunId::new(options.now));
    make_private_dir(dir.path())?;
    write_private(&dir.config(), text.expose().as_bytes())?;
    let facts = RunFacts {
        cluster: cluster.clone(),
        provider: config.provider_kind().to_string(),
        runtime: config.bootstrap_cluster.runtime.as_str().to_owned(),
        config_sha256: sha256(text),
        directory: options.directory.to_owned(),
        rehearsal: options.rehearsal,
        version: options.version.to_owned(),
    };
    let mut started = open(dir, claimed, Verb::Run, |ledger| {
        let data = serde_json::to_value(&facts).unwrap_or_default();
        Ok(ledger.append(EventKind::Intent { step: steps::RUN.to_owned(), data })?)
    })?;
    started.state.facts = Some(facts);
    started.state.cluster = Some(cluster.clone());
    Ok(started)
}

/// The run that makes or has made a cluster and was not destroyed.
pub fn claim(runs: &Runs, cluster: &str) -> Result<Option<(RunId, Stage)>, BootstrapError> {
    let states = runs.list()?.into_iter().filter_map(|(_, state)| state.ok());
    let mut of_cluster = states.filter(|state| state.cluster.as_deref() == Some(cluster));
    // A run that ended before it made anything outside holds nothing.
    let holds =
        |state: &RunState| state.stage != Stage::Destroyed && (state.holder.is_some() || state.has_effects());
    Ok(of_cluster.rfind(holds).map(|state| (state.run_id, state.stage)))
}

/// Takes a run up, to go on with it or to remove what it made.
pub fn take_up(runs: &Runs, dir: RunDir, verb: Verb) -> Result<Started, BootstrapError> {
    let state = dir.state()?;
    let claimed = match &state.cluster {
        Some(cluster) if state.holder.is_none() => runs.claim(cluster)?,
        // The journal's own lock says who works on it.
        _ => runs.claim(dir.id().as_str())?,
    };
    let resumable =
        matches!(state.stage, Stage::Interrupted | Stage::Stopped | Stage::Failed | Stage::Running);
    if verb == Verb::Resume && !resumable {
        return Err(BootstrapError::NotResumable { run: state.run_id, stage: state.stage.as_str() });
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

fn sha256(text: &Secret) -> String {
    let digest = digest::digest(&digest::SHA256, text.expose().as_bytes());
    digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}
