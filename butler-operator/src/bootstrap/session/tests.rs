//! Who may work on a run, and when.

use std::os::unix::fs::PermissionsExt;

use butler_core::{
    bootstrap::{
        config::{Source, read},
        run::RunError,
    },
    error::Diagnose,
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
            given: &self.config,
            text: &self.text,
            directory: self.dir.path(),
            rehearsal: false,
            version: "0.0.0",
            now: Timestamp::now(),
            restored: None,
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
            error @ BootstrapError::ClusterTaken { .. } => {
                let resumes = error.hints().iter().any(|hint| hint.contains("bootstrap resume"));
                assert_eq!(resumes, expected != "Succeeded", "what is made cannot be gone on with");
                let BootstrapError::ClusterTaken { cluster, run, stage } = error else { panic!() };
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

#[test]
fn what_is_half_destroyed_is_removed_and_not_built_on() {
    let bench = Bench::new();
    let dir = bench.ended(Verb::Destroy, true, failed());
    match take_up(&bench.runs, dir.clone(), Verb::Resume).unwrap_err() {
        BootstrapError::NotResumable { stage, next, .. } => {
            assert_eq!((stage, next), ("half destroyed", "destroy"));
        }
        other => panic!("{other:?}"),
    }
    // Stopping it changes nothing about that.
    let stopped = take_up(&bench.runs, dir.clone(), Verb::Abort).unwrap();
    stopped.ledger.append(EventKind::finished(Outcome::Cancelled)).unwrap();
    drop(stopped);
    take_up(&bench.runs, dir.clone(), Verb::Resume).unwrap_err();
    drop(take_up(&bench.runs, dir, Verb::Destroy).unwrap());
}

#[test]
fn the_journal_keeps_what_the_run_is_made_from_without_its_secrets() {
    let bench = Bench::new();
    let started = bench.begin().unwrap();
    let state = started.dir.state().unwrap();
    let given = state.given.unwrap();
    assert_eq!(given.document["cluster"]["name"], "m");
    assert_eq!(given.sha256, state.facts.unwrap().config_sha256);
    assert!(!given.document.to_string().contains("hush"));
}

#[test]
fn a_cluster_of_a_run_with_a_damaged_journal_is_not_begun_again() {
    let bench = Bench::new();
    let dir = bench.ended(Verb::Run, true, failed());
    let text = fs_err::read_to_string(dir.journal()).unwrap();
    fs_err::write(dir.journal(), text.replacen("m-cp-0", "m-cp-1", 1)).unwrap();
    let error = bench.begin().unwrap_err();
    assert!(matches!(error, BootstrapError::Run(RunError::Journal(_))), "{error:?}");
}

#[test]
fn a_run_whose_directory_is_lost_is_taken_over_by_its_mark() {
    let bench = Bench::new();
    let id = RunId::new(Timestamp::now());
    let options = RunOptions {
        runs: &bench.runs,
        config: &bench.config,
        given: &bench.config,
        text: &bench.text,
        directory: bench.dir.path(),
        rehearsal: false,
        version: "0.0.0",
        now: Timestamp::now(),
        restored: None,
    };
    drop(take_over(&options, &id).unwrap());
    let state = bench.runs.dir(&id).state().unwrap();
    assert_eq!((state.run_id, state.half_destroyed), (id, true));
    assert_eq!(state.cluster.as_deref(), Some("m"));
}
