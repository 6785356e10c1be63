//! Message sequences in, effects and frames out.

mod acting;
mod looking;
mod runs;
mod wizard;

use butler_core::{
    error::{Code, Diagnose},
    live::{EventRow, NodeRow, PoolRow, Seen},
    platform::{Basics, Workload, WorkloadKind},
    tenant::{Summary, Workers},
};
use jiff::{SignedDuration, Timestamp};
use ratatui::{Terminal, backend::TestBackend};
use serde_json::{Value, json};

use super::{
    Dashboard, Do, News,
    keys::TABLE,
    tabs::{
        Tab, TabNews,
        bootstrap::{Beginning, Bootstrap},
        clusters::Clusters,
        overview::Overview,
    },
    world::Link,
};
use crate::tui::{
    App, Effect, Event, Fault, KeyCode, KeyEvent, KeyModifiers, Keymap, Msg, Theme, theme::Palette,
};

/// The sizes that every screen is looked at in.
const SIZES: [(u16, u16); 3] = [(60, 20), (80, 24), (120, 40)];

fn now() -> Timestamp {
    "2030-01-01T12:00:00Z".parse().unwrap()
}

fn ago(seconds: i64) -> Timestamp {
    now() - SignedDuration::from_secs(seconds)
}

/// A dashboard with all tabs, at one of them.
fn dashboard(first: u8, read_only: bool) -> Dashboard {
    let tabs: Vec<Box<dyn Tab>> = vec![
        Box::new(Bootstrap::new(Beginning::List, false)),
        Box::new(Overview::default()),
        Box::new(Clusters::new()),
    ];
    let keymap = Keymap::new(TABLE, &[], read_only).unwrap();
    let mut dashboard = Dashboard::new(tabs, first, keymap, Theme::new(Palette::None), true);
    dashboard.update(Msg::Tick(now()));
    dashboard
}

/// Presses keys: letters, and names in angle brackets such as `<enter>`.
fn press(dashboard: &mut Dashboard, keys: &str) -> Vec<Effect<Do>> {
    let mut effects = Vec::new();
    let mut rest = keys;
    while let Some(c) = rest.chars().next() {
        let named = rest.strip_prefix('<').and_then(|after| after.split_once('>'));
        let (code, modifiers) = match named {
            Some((name, after)) => {
                rest = after;
                match name {
                    "enter" => (KeyCode::Enter, KeyModifiers::NONE),
                    "esc" => (KeyCode::Esc, KeyModifiers::NONE),
                    "tab" => (KeyCode::Tab, KeyModifiers::NONE),
                    "down" => (KeyCode::Down, KeyModifiers::NONE),
                    "pgdn" => (KeyCode::PageDown, KeyModifiers::NONE),
                    "up" => (KeyCode::Up, KeyModifiers::NONE),
                    "f1" => (KeyCode::F(1), KeyModifiers::NONE),
                    other => match other.strip_prefix("ctrl-").and_then(|key| key.chars().next()) {
                        Some(c) => (KeyCode::Char(c), KeyModifiers::CONTROL),
                        None => panic!("no key {other}"),
                    },
                }
            }
            None => {
                rest = &rest[c.len_utf8()..];
                (KeyCode::Char(c), KeyModifiers::NONE)
            }
        };
        effects.extend(dashboard.update(Msg::Input(Event::Key(KeyEvent::new(code, modifiers)))));
        dashboard.settle();
    }
    effects
}

fn learn(dashboard: &mut Dashboard, news: News) -> Vec<Effect<Do>> {
    let effects = dashboard.update(Msg::App(news));
    dashboard.settle();
    effects
}

fn drawn(dashboard: &mut Dashboard, (width, height): (u16, u16)) -> String {
    dashboard.settle();
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| dashboard.view(frame)).unwrap();
    let buffer = terminal.backend().buffer().clone();
    let row =
        |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned() + "\n";
    (0..height).map(row).collect()
}

/// Compares a screen in every size with what was committed.
fn look(name: &str, dashboard: &mut Dashboard) {
    for (width, height) in SIZES {
        insta::assert_snapshot!(format!("{name}-{width}x{height}"), drawn(dashboard, (width, height)));
    }
    // No size may end the program.
    for (width, height) in
        [(1, 1), (3, 2), (10, 5), (20, 10), (20, 24), (39, 8), (40, 4), (200, 60), (300, 3)]
    {
        drawn(dashboard, (width, height));
    }
}

fn fault() -> Fault {
    Fault {
        code: Code::ApiUnreachable.to_string(),
        message: "cannot ask the API server for its version: connection refused".to_owned(),
        hints: vec!["try again when the server is back".to_owned()],
    }
}

#[derive(Debug, thiserror::Error)]
#[error("cannot watch tenant clusters in all namespaces")]
struct Refused;

impl Diagnose for Refused {
    fn code(&self) -> Code {
        Code::ApiUnreachable
    }
}

fn tenant(name: &str, phase: &str, ready: i64, age: i64) -> Seen<Summary> {
    let row = Summary {
        name: name.into(),
        namespace: "team-payments".into(),
        phase: Some(phase.into()),
        version: Some("v1.34.4".into()),
        workers: Workers { desired: 3, ready },
        endpoint: Some("10.0.0.5:6443".into()),
        provider: Some("harvester".into()),
        created: Some(ago(age)),
        ..Summary::default()
    };
    Seen::There(format!("team-payments/{name}"), row)
}

fn tenants() -> News {
    News::Tenants(vec![
        Seen::Begun,
        tenant("shop-production", "Ready", 3, 864_000),
        tenant("shop-staging", "Provisioning", 1, 600),
        tenant("ledger", "Failed", 0, 7_200),
        tenant("scratch", "Deleting", 0, 90_000),
        Seen::Complete,
    ])
}

fn link() -> News {
    let basics = Basics { version: "v1.34.4".into(), sandbox: false, butler: true };
    News::Link(Ok(Link { server: "https://127.0.0.1:6443".into(), identity: "kubeconfig".into(), basics }))
}

/// A platform that works, with a few things to see.
fn connected(dashboard: &mut Dashboard) {
    learn(dashboard, link());
    learn(dashboard, tenants());
    let node = |name: &str, ready| Seen::There(name.into(), NodeRow { ready, cpu: 4_000, memory: 16 << 30 });
    learn(
        dashboard,
        News::Nodes(vec![Seen::Begun, node("a", true), node("b", true), node("c", false), Seen::Complete]),
    );
    let pool = PoolRow { name: "underlay".into(), allocated: 46, total: 50 };
    learn(dashboard, News::Pools(vec![Seen::There("butler-system/underlay".into(), pool), Seen::Complete]));
    let workload = |namespace: &str, name: &str, ready| {
        let (namespace, name) = (namespace.to_owned(), name.to_owned());
        let key = format!("{namespace}/{name}");
        Seen::There(key, Workload { kind: WorkloadKind::Deployment, namespace, name, ready, desired: 2 })
    };
    let workloads = vec![
        workload("butler-system", "butler-controller", 2),
        workload("steward-system", "steward", 1),
        workload("cert-manager", "cert-manager", 2),
        Seen::Complete,
    ];
    learn(dashboard, News::Deployments(workloads));
    learn(dashboard, News::Daemons(vec![Seen::Complete]));
    let event = |age, warning, reason: &str, message: &str| {
        let row = EventRow {
            time: Some(ago(age)),
            warning,
            about: "TenantCluster/ledger".into(),
            namespace: "team-payments".into(),
            reason: reason.into(),
            message: message.into(),
        };
        Seen::There(format!("e{age}"), row)
    };
    let events = vec![
        event(30, true, "QuotaExceeded", "the team has 3 of 3 clusters\nand asks for one more"),
        event(300, false, "Created", "control plane 日本語 is being made"),
        Seen::Complete,
    ];
    learn(dashboard, News::Events(events));
    learn(dashboard, News::Runs(Ok(Vec::new())));
}

fn object() -> Value {
    json!({
        "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "TenantCluster",
        "metadata": {"name": "ledger", "namespace": "team-payments", "uid": "u-1", "creationTimestamp": "2030-01-01T10:00:00Z"},
        "spec": {"kubernetesVersion": "v1.34.4", "workers": {"replicas": 3}},
        "status": {"phase": "Failed", "conditions": [
            {"type": "Ready", "status": "False", "reason": "QuotaExceeded", "message": "", "lastTransitionTime": "2030-01-01T11:59:00Z"},
            {"type": "NetworkReady", "status": "True", "reason": "PoolAvailable", "message": "8 addresses", "lastTransitionTime": "2030-01-01T11:00:00Z"},
            {"type": "QuotaAvailable", "status": "False", "reason": "QuotaExceeded", "message": "the team has 3 of 3 clusters and asks for one more than it may have", "lastTransitionTime": "2030-01-01T11:59:00Z"},
        ]},
    })
}

fn looked_at(ticket: u64) -> News {
    let object = vec![Seen::There("team-payments/ledger".into(), object()), Seen::Complete];
    News::Tab(TabNews::Object(ticket, object))
}
