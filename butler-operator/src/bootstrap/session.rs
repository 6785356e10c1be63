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

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use butler_core::{
        bootstrap::{
            config::{Source, read},
            run::RunError,
        },
        event::Outcome,
        settings::{Environment, Home},
    };
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    struct Bench {
        dir: tempfile::TempDir,
        runs: Runs,
        text: Secret,
        config: Config,
    }

    impl Bench {
        fn new() -> Self {
            let text = "provider: proxmox
cluster: {name: m, topology: single-node, controlPlane: {replicas: 1, cpu: 4, memoryMB: 8192, diskGB: 60}}
network: {vip: 192.168.7.10}
providerConfig:
  proxmox: {endpoint: 'https://pve:8006', username: u, password: hush, nodes: [pve1], storage: lvm, templateID: 9000}
";
            let source = Source { name: "b.yaml", text, directory: Path::new("/"), home: None, shared: None };
            let config = read(&source, None).unwrap().config;
            let dir = tempfile::tempdir().unwrap();
            let home = Home::resolve(&Environment::of([("BUTLER_HOME", dir.path())])).unwrap();
            Self { runs: Runs::new(&home), dir, text: text.to_owned().into(), config }
        }

        fn begin(&self) -> Result<Started, BootstrapError> {
            begin(&RunOptions {
                runs: &self.runs,
                config: &self.config,
                text: &self.text,
                directory: self.dir.path(),
                rehearsal: false,
                version: "0.0.0",
                now: Timestamp::now(),
            })
        }

        /// A run that came to an end, with a machine or without.
        fn ended(&self, verb: Verb, machine: bool, outcome: Option<Outcome>) -> RunDir {
            let started = self.begin().unwrap();
            let step = steps::machine("m-cp-0");
            if machine {
                started.ledger.append(EventKind::Intent { step, data: json!({}) }).unwrap();
            }
            let dir = started.dir.clone();
            let started = match verb {
                Verb::Run => started,
                verb => {
                    drop(started);
                    take_up(&self.runs, dir.clone(), verb).unwrap()
                }
            };
            if let Some(outcome) = outcome {
                started.ledger.append(EventKind::finished(outcome)).unwrap();
            }
            dir
        }
    }

    fn failed() -> Option<Outcome> {
        Some(Outcome::Failed { code: "BTL-1".into(), message: "words".into() })
    }

    fn mode(path: &Path) -> u32 {
        fs_err::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_run_keeps_its_configuration_from_others_and_its_secrets_from_the_journal() {
        let bench = Bench::new();
        let started = bench.begin().unwrap();
        assert_eq!(mode(started.dir.path()), 0o700);
        assert_eq!(mode(&started.dir.config()), 0o600);
        assert_eq!(fs_err::read_to_string(started.dir.config()).unwrap(), bench.text.expose());
        assert!(!fs_err::read_to_string(started.dir.journal()).unwrap().contains("hush"));
        let state = started.dir.state().unwrap();
        assert_eq!((state.stage, state.cluster.as_deref()), (Stage::Running, Some("m")));
        assert_eq!(state.facts, started.state.facts);
        assert_eq!(state.facts.unwrap().config_sha256.len(), 64);
        let verbs: Vec<Verb> = state.sessions.iter().map(|session| session.verb).collect();
        assert_eq!(verbs, [Verb::Run]);
    }

    #[test]
    fn a_cluster_that_another_run_works_on_is_refused() {
        let bench = Bench::new();
        let first = bench.begin().unwrap();
        let error = bench.begin().unwrap_err();
        assert!(matches!(error, BootstrapError::Run(RunError::Held { .. })), "{error:?}");
        assert_eq!(bench.runs.list().unwrap().len(), 1, "nothing is left of the second");
        drop(first);
        bench.begin().unwrap();
    }

    #[rstest]
    #[case::made(Verb::Run, true, Some(Outcome::Succeeded), Some("Succeeded"))]
    #[case::made_without_machines(Verb::Run, false, Some(Outcome::Succeeded), Some("Succeeded"))]
    #[case::failed_with_machines(Verb::Run, true, failed(), Some("Failed"))]
    #[case::stopped_with_machines(Verb::Run, true, Some(Outcome::Cancelled), Some("Stopped"))]
    #[case::died_with_machines(Verb::Run, true, None, Some("Interrupted"))]
    #[case::failed_before_it_made_anything(Verb::Run, false, failed(), None)]
    #[case::died_before_it_made_anything(Verb::Run, false, None, None)]
    #[case::destroyed(Verb::Destroy, true, Some(Outcome::Succeeded), None)]
    #[case::not_quite_destroyed(Verb::Destroy, true, failed(), Some("Failed"))]
    fn a_run_holds_the_name_of_its_cluster_while_something_may_be_left_of_it(
        #[case] verb: Verb,
        #[case] machine: bool,
        #[case] outcome: Option<Outcome>,
        #[case] held: Option<&str>,
    ) {
        let bench = Bench::new();
        let dir = bench.ended(verb, machine, outcome);
        let result = bench.begin();
        match held {
            None => drop(result.unwrap()),
            Some(expected) => match result.unwrap_err() {
                BootstrapError::ClusterTaken { cluster, run, stage } => {
                    assert_eq!((cluster.as_str(), &run, stage), ("m", dir.id(), expected));
                }
                other => panic!("{other:?}"),
            },
        }
        assert_eq!(bench.runs.list().unwrap().len(), if held.is_some() { 1 } else { 2 });
    }

    #[rstest]
    #[case::succeeded(Verb::Run, Some(Outcome::Succeeded), false)]
    #[case::destroyed(Verb::Destroy, Some(Outcome::Succeeded), false)]
    #[case::failed(Verb::Run, failed(), true)]
    #[case::stopped(Verb::Run, Some(Outcome::Cancelled), true)]
    #[case::died(Verb::Run, None, true)]
    fn what_has_come_to_its_end_is_not_resumed_but_can_be_destroyed(
        #[case] verb: Verb,
        #[case] outcome: Option<Outcome>,
        #[case] resumable: bool,
    ) {
        let bench = Bench::new();
        let dir = bench.ended(verb, true, outcome);
        let records = dir.state().unwrap().records;
        match take_up(&bench.runs, dir.clone(), Verb::Resume) {
            Ok(started) => {
                assert!(resumable);
                assert_eq!(started.past.len(), records, "it knows what was before");
                assert!(started.state.machines.contains_key("m-cp-0"));
            }
            Err(BootstrapError::NotResumable { run, .. }) => {
                assert!(!resumable);
                assert_eq!(run, *dir.id());
                assert_eq!(dir.state().unwrap().records, records, "nothing is written");
            }
            Err(other) => panic!("{other:?}"),
        }
        drop(take_up(&bench.runs, dir.clone(), Verb::Destroy).unwrap());
        let last = dir.state().unwrap().sessions.pop().unwrap();
        assert_eq!((last.verb, last.pid), (Verb::Destroy, std::process::id()));
    }

    #[test]
    fn a_run_that_is_worked_on_is_not_taken_up_by_another() {
        let bench = Bench::new();
        let started = bench.begin().unwrap();
        for verb in [Verb::Resume, Verb::Abort, Verb::Destroy] {
            let error = take_up(&bench.runs, started.dir.clone(), verb).unwrap_err();
            assert!(error.to_string().contains(&std::process::id().to_string()), "{error}");
        }
        assert_eq!(started.dir.state().unwrap().sessions.len(), 1);
    }

    #[test]
    fn a_run_that_made_nothing_is_not_resumed_once_another_has_the_cluster() {
        let bench = Bench::new();
        let first = bench.ended(Verb::Run, false, failed());
        let second = bench.ended(Verb::Run, true, Some(Outcome::Succeeded));
        match take_up(&bench.runs, first.clone(), Verb::Resume).unwrap_err() {
            BootstrapError::ClusterTaken { run, .. } => assert_eq!(run, *second.id()),
            other => panic!("{other:?}"),
        }
        drop(take_up(&bench.runs, first, Verb::Destroy).unwrap());
    }
}
