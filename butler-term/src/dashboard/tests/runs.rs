//! Runs of bootstraps.

use butler_core::{
    bootstrap::run::{Live, RunState, Said},
    event::{
        Event as Record, EventKind, Level, ObjectRef, ObjectStatus, Outcome, Progress, RunId, StatusSnapshot,
        Unit, journal::Holder,
    },
};

use super::*;
use crate::dashboard::{tabs::RunNews, world::RunRow};

fn id() -> RunId {
    RunId::parse("20300101-115900-00ff00").unwrap()
}

fn records(kinds: Vec<(i64, EventKind)>) -> Vec<Record> {
    let record = |(seq, (age, kind)): (u64, (i64, EventKind))| Record {
        version: 1,
        seq,
        time: ago(age),
        run_id: id(),
        kind,
    };
    (1..).zip(kinds).map(record).collect()
}

fn intent(step: &str, data: Value) -> EventKind {
    EventKind::Intent { step: step.into(), data }
}

fn result(step: &str, data: Value) -> EventKind {
    EventKind::Result { step: step.into(), data }
}

fn phase(name: &str) -> EventKind {
    EventKind::PhaseStarted { phase: name.into() }
}

fn finished(name: &str) -> EventKind {
    EventKind::PhaseFinished { phase: name.into(), result: Outcome::Succeeded }
}

/// A run on its way.
fn going() -> Vec<(i64, EventKind)> {
    let facts = json!({"cluster": "mgmt", "provider": "sandbox", "runtime": "process", "configSha256": "", "version": "0"});
    vec![
        (60, intent("run", facts)),
        (60, intent("session", json!({"verb": "run", "pid": 7, "host": "h"}))),
        (59, phase("CheckingTheWorld")),
        (58, finished("CheckingTheWorld")),
        (58, phase("StartingTemporaryCluster")),
        (54, finished("StartingTemporaryCluster")),
        (54, phase("ProvisioningMachines")),
        (53, intent("machine/mgmt-cp-0", json!({"role": "controlPlane"}))),
        (52, result("machine/mgmt-cp-0", json!({"id": "vm-1"}))),
        (50, intent("talos/configure/mgmt-cp-0", json!({}))),
        (49, result("talos/configure/mgmt-cp-0", json!({}))),
        (48, finished("ProvisioningMachines")),
        (48, phase("InstallingAddons")),
        (48, intent("addon/cilium", json!({"title": "Cilium, the network of Pods"}))),
        (40, result("addon/cilium", json!({}))),
        (40, intent("addon/longhorn", json!({"title": "Longhorn"}))),
        (38, EventKind::info("bootstrap", "waiting for Deployment longhorn-ui: 0 of 2 ready")),
    ]
}

fn holder() -> Option<Holder> {
    Some(Holder { pid: 4242, host: "h".into(), since: ago(60) })
}

fn news(kinds: Vec<(i64, EventKind)>, holder: Option<Holder>) -> RunNews {
    let reference = ObjectRef { kind: "MachineRequest".into(), namespace: None, name: "mgmt-cp-0".into() };
    let machine = ObjectStatus { reference, phase: "Running".into(), message: Some("127.51.0.10".into()) };
    let task = Progress { task: "addons".into(), done: 1, total: Some(4), unit: Unit::Items };
    let line = |age, level, text: &str| Said { time: Some(ago(age)), level, text: text.into() };
    RunNews {
        events: records(kinds),
        said: vec![
            line(59, Level::Info, "▸ CheckingTheWorld"),
            line(45, Level::Debug, "→ addon/longhorn"),
            line(38, Level::Warn, "helm: chart longhorn is slow"),
        ],
        holder,
        live: Some(Live {
            snapshot: StatusSnapshot { phase: None, objects: vec![machine] },
            tasks: [("addons".to_owned(), task)].into(),
        }),
        expected: Some(vec![
            ("CheckingTheWorld", Some(1)),
            ("StartingTemporaryCluster", Some(4)),
            ("ProvisioningMachines", Some(3)),
            ("InstallingAddons", Some(10)),
            ("Pivoting", Some(5)),
            ("SavingCredentials", None),
        ]),
        ..RunNews::default()
    }
}

fn list(dashboard: &mut Dashboard, kinds: Vec<(i64, EventKind)>, holder: Option<Holder>) {
    let state = RunState::of(&id(), &records(kinds), holder);
    let row = RunRow { id: id(), state: Ok(state) };
    let damaged = RunRow { id: RunId::parse("20290101-115900-00ff00").unwrap(), state: Err(fault()) };
    learn(dashboard, News::Runs(Ok(vec![damaged, row])));
}

/// A dashboard with a run open.
fn open(kinds: Vec<(i64, EventKind)>, holder: Option<Holder>) -> Dashboard {
    let mut dashboard = dashboard(0, false);
    list(&mut dashboard, kinds.clone(), holder.clone());
    let followed = press(&mut dashboard, "<enter>");
    assert_eq!(followed, [Effect::App(Do::Follow { ticket: 1, id: id() })]);
    learn(&mut dashboard, News::Tab(TabNews::Run(1, Box::new(news(kinds, holder)))));
    dashboard
}

fn failed() -> Vec<(i64, EventKind)> {
    let outcome =
        Outcome::Failed { code: "BTL-2001".into(), message: "no capacity for machine mgmt-cp-0".into() };
    let ended = EventKind::PhaseFinished { phase: "InstallingAddons".into(), result: outcome.clone() };
    going().into_iter().chain([(5, ended), (5, EventKind::finished(outcome))]).collect()
}

#[test]
fn runs_as_a_list_and_when_there_are_none() {
    let mut dashboard = dashboard(0, false);
    learn(&mut dashboard, News::Runs(Ok(Vec::new())));
    look("runs-empty", &mut dashboard);
    list(&mut dashboard, going(), holder());
    look("runs-ready", &mut dashboard);
}

#[test]
fn a_run_on_its_way_says_what_it_waits_for() {
    let mut dashboard = open(going(), holder());
    look("run-going", &mut dashboard);
    press(&mut dashboard, "z");
    insta::assert_snapshot!("run-zoomed", drawn(&mut dashboard, (80, 24)));
    press(&mut dashboard, "<tab>");
    insta::assert_snapshot!("run-zoomed-phases", drawn(&mut dashboard, (80, 24)));
}

#[test]
fn a_run_that_failed_says_why_and_can_be_retried() {
    let mut dashboard = open(failed(), None);
    look("run-failed", &mut dashboard);
    assert_eq!(press(&mut dashboard, "R"), [], "it asks");
    insta::assert_snapshot!("run-retry", drawn(&mut dashboard, (80, 24)));
    let args = vec!["bootstrap".to_owned(), "resume".to_owned(), id().to_string()];
    let what = format!("resuming {}", id());
    assert_eq!(press(&mut dashboard, "y"), [Effect::App(Do::Program { what, args })]);
    assert_eq!(press(&mut dashboard, "A"), []);
    assert!(drawn(&mut dashboard, (80, 24)).contains("nobody works on it"));
}

#[test]
fn what_a_run_made_is_removed_only_after_its_name_was_typed() {
    let mut dashboard = open(failed(), None);
    assert_eq!(press(&mut dashboard, "Xyes<enter><esc>"), []);
    let effects = press(&mut dashboard, "Xmgmt<enter>");
    let [Effect::App(Do::Program { args, .. })] = effects.as_slice() else { panic!("{effects:?}") };
    assert_eq!(args[1..], ["destroy", id().as_str(), "--yes", "mgmt"]);
}

#[test]
fn a_run_that_goes_on_is_neither_resumed_nor_removed() {
    let mut dashboard = open(going(), holder());
    assert_eq!(press(&mut dashboard, "RyXmgmt<enter>"), []);
    let effects = press(&mut dashboard, "Ay");
    let [Effect::App(Do::Program { args, .. })] = effects.as_slice() else { panic!("{effects:?}") };
    assert_eq!(args[1], "abort");
}

#[test]
fn leaving_a_run_that_goes_on_asks_and_leaves_it_going() {
    let keymap = Keymap::new(TABLE, &[], false).unwrap();
    let tabs: Vec<Box<dyn Tab>> = vec![Box::new(Bootstrap::new(Beginning::Run(id()), true))];
    let mut dashboard = Dashboard::new(tabs, 0, keymap, Theme::new(Palette::None), false);
    assert_eq!(dashboard.begin(), [Do::Follow { ticket: 1, id: id() }]);
    dashboard.update(Msg::Tick(now()));
    learn(&mut dashboard, News::Tab(TabNews::Run(1, Box::new(news(going(), holder())))));
    for key in ["q", "d", "<ctrl-c>"] {
        assert_eq!(press(&mut dashboard, key), [], "{key} asks");
        assert!(drawn(&mut dashboard, (80, 24)).contains("Leave the run going?"));
        press(&mut dashboard, "n");
    }
    assert_eq!(press(&mut dashboard, "qy"), [Effect::Quit]);
    assert_eq!(dashboard.closed().run, Some((id(), true)));
}

#[test]
fn a_run_that_was_begun_here_is_shown_when_it_is_there() {
    let mut dashboard = dashboard(0, false);
    learn(&mut dashboard, News::Runs(Ok(Vec::new())));
    press(&mut dashboard, "n");
    look("run-new", &mut dashboard);
    let effects = press(&mut dashboard, "<enter><enter>");
    let [Effect::App(Do::Program { args, .. })] = effects.as_slice() else { panic!("{effects:?}") };
    assert_eq!(args[..], ["bootstrap", "run", "--config", "bootstrap.yaml"]);
    learn(&mut dashboard, News::Tab(TabNews::Started { pid: 4242 }));
    let state = RunState::of(&id(), &records(going()), holder());
    let followed = learn(&mut dashboard, News::Runs(Ok(vec![RunRow { id: id(), state: Ok(state) }])));
    assert_eq!(followed, [Effect::App(Do::Follow { ticket: 1, id: id() })]);
}

#[test]
fn a_program_that_fails_says_why() {
    let mut dashboard = dashboard(0, false);
    learn(&mut dashboard, News::Runs(Ok(Vec::new())));
    let stopped = TabNews::Stopped { pid: Some(1), what: "beginning a run".into(), result: Err(fault()) };
    learn(&mut dashboard, News::Tab(stopped));
    look("runs-trouble", &mut dashboard);
}

#[test]
fn the_log_is_filtered_and_held() {
    let mut dashboard = open(going(), holder());
    press(&mut dashboard, "/HELM<enter>");
    let screen = drawn(&mut dashboard, (120, 40));
    assert!(screen.contains("chart longhorn is slow") && !screen.contains("▸ CheckingTheWorld"), "{screen}");
    press(&mut dashboard, "/<esc>v");
    let screen = drawn(&mut dashboard, (120, 40));
    assert!(screen.contains("warn and above") && !screen.contains("▸ CheckingTheWorld"), "{screen}");
    press(&mut dashboard, "f");
    assert!(drawn(&mut dashboard, (120, 40)).contains("held; f follows"));
}

#[test]
fn a_run_that_is_shown_again_is_only_shown() {
    let keymap = Keymap::new(TABLE, &[], true).unwrap();
    let tabs: Vec<Box<dyn Tab>> = vec![Box::new(Bootstrap::new(Beginning::Replay(id()), true))];
    let mut dashboard = Dashboard::new(tabs, 0, keymap, Theme::new(Palette::None), false);
    dashboard.begin();
    dashboard.update(Msg::Tick(now()));
    let shown = RunNews { now: Some(ago(38)), ..news(going(), None) };
    learn(&mut dashboard, News::Tab(TabNews::Run(1, Box::new(shown))));
    look("run-replay", &mut dashboard);
    assert_eq!(press(&mut dashboard, "q"), [Effect::Quit]);
}
