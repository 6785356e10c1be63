//! What keys lead to.

use super::*;

fn done(effects: &[Effect<Do>]) -> Vec<&Do> {
    let own = effects.iter().filter_map(|effect| match effect {
        Effect::App(effect) => Some(effect),
        _ => None,
    });
    own.collect()
}

#[test]
fn a_cluster_is_deleted_only_after_its_name_was_typed() {
    let mut dashboard = dashboard(2, false);
    connected(&mut dashboard);
    let looked = press(&mut dashboard, "D");
    assert!(matches!(done(&looked).as_slice(), [Do::Look { ticket: 1, .. }]), "{looked:?}");
    learn(&mut dashboard, looked_at(1));
    assert_eq!(press(&mut dashboard, "y<enter>ledge<enter>"), []);
    press(&mut dashboard, "<esc>D");
    let effects = press(&mut dashboard, "ledger<enter>");
    let expected = Do::Delete { namespace: "team-payments".into(), name: "ledger".into(), uid: "u-1".into() };
    assert_eq!(done(&effects), [&expected]);
}

#[test]
fn whoever_only_looks_has_nothing_to_delete_with() {
    let mut dashboard = dashboard(2, true);
    connected(&mut dashboard);
    assert_eq!(press(&mut dashboard, "D"), []);
    press(&mut dashboard, "?");
    assert!(!drawn(&mut dashboard, (120, 60)).contains("delete"));
}

#[test]
fn quitting_waits_for_what_was_asked_for() {
    let mut dashboard = dashboard(2, false);
    connected(&mut dashboard);
    press(&mut dashboard, "D");
    learn(&mut dashboard, looked_at(1));
    press(&mut dashboard, "ledger<enter>");
    assert_eq!(press(&mut dashboard, "q"), [], "it waits");
    let ended = News::Ended { what: "deletion".into(), result: Ok(()) };
    assert_eq!(learn(&mut dashboard, ended), [Effect::Quit]);
    let mut idle = super::dashboard(2, false);
    assert_eq!(press(&mut idle, "q"), [Effect::Quit]);
    assert_eq!(press(&mut idle, "<ctrl-c>"), [Effect::Quit]);
    assert_eq!(press(&mut idle, "<ctrl-z>"), [Effect::Suspend]);
}

#[test]
fn the_chosen_cluster_stays_chosen_while_others_come_and_go() {
    let mut dashboard = dashboard(2, false);
    connected(&mut dashboard);
    press(&mut dashboard, "G");
    assert!(drawn(&mut dashboard, (80, 24)).contains("▌ shop-staging"));
    learn(&mut dashboard, News::Tenants(vec![tenant("aaa", "Ready", 3, 5), tenant("zzz", "Ready", 3, 5)]));
    assert!(drawn(&mut dashboard, (80, 24)).contains("▌ shop-staging"));
    learn(&mut dashboard, News::Tenants(vec![Seen::Gone("team-payments/shop-staging".into())]));
    assert!(drawn(&mut dashboard, (80, 24)).contains("▌ zzz"));
}

#[test]
fn answers_to_an_older_question_are_not_shown() {
    let mut dashboard = dashboard(2, false);
    connected(&mut dashboard);
    press(&mut dashboard, "<enter><esc>j<enter>");
    learn(&mut dashboard, looked_at(1));
    assert!(drawn(&mut dashboard, (80, 24)).contains("loading the cluster"));
}

#[test]
fn a_cluster_that_is_gone_says_so() {
    let mut dashboard = dashboard(2, false);
    connected(&mut dashboard);
    press(&mut dashboard, "<enter>");
    learn(&mut dashboard, looked_at(1));
    learn(&mut dashboard, News::Tab(TabNews::Object(1, vec![Seen::Gone("team-payments/ledger".into())])));
    assert!(drawn(&mut dashboard, (80, 24)).contains("It is gone"));
}

#[test]
fn a_whole_file_pasted_into_the_filter_is_cut() {
    let mut dashboard = dashboard(2, false);
    connected(&mut dashboard);
    dashboard.update(Msg::Input(Event::Paste("x".repeat(100 * 1024))));
    assert!(drawn(&mut dashboard, (80, 24)).contains("shop-staging"), "nobody typed a filter");
    press(&mut dashboard, "/");
    dashboard.update(Msg::Input(Event::Paste("x".repeat(100 * 1024))));
    assert!(drawn(&mut dashboard, (80, 24)).contains("No cluster matches"));
    press(&mut dashboard, "<esc>");
    assert!(drawn(&mut dashboard, (80, 24)).contains("shop-staging"));
}

#[test]
fn every_action_is_found_by_name_wherever_one_is() {
    let mut dashboard = dashboard(1, false);
    connected(&mut dashboard);
    press(&mut dashboard, ":sort<enter>");
    let screen = drawn(&mut dashboard, (80, 24));
    assert!(screen.contains("[2 Clusters]") && screen.contains("NAMESPACE ▲"), "{screen}");
    press(&mut dashboard, "<ctrl-p>zoom<enter>");
    assert!(drawn(&mut dashboard, (80, 24)).contains("open a cluster or a run for that"));
}

#[test]
fn a_yaml_goes_to_the_pager() {
    let mut dashboard = dashboard(2, false);
    connected(&mut dashboard);
    press(&mut dashboard, "<enter>");
    learn(&mut dashboard, looked_at(1));
    let effects = press(&mut dashboard, "o");
    let [Effect::Page { name, text }] = effects.as_slice() else { panic!("{effects:?}") };
    assert!(name == "ledger.yaml" && text.contains("kubernetesVersion: v1.34.4"), "{name}\n{text}");
}

#[test]
fn the_mouse_chooses_rows_and_tabs() {
    use crate::tui::{MouseEvent, MouseEventKind};
    let mut dashboard = dashboard(2, false);
    connected(&mut dashboard);
    drawn(&mut dashboard, (80, 24));
    let mut mouse = |kind, column, row| {
        let event = MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE };
        dashboard.update(Msg::Input(Event::Mouse(event)));
        drawn(&mut dashboard, (80, 24))
    };
    let click = MouseEventKind::Down(crossterm::event::MouseButton::Left);
    assert!(mouse(click, 10, 5).contains("▌ shop-production"));
    assert!(mouse(MouseEventKind::ScrollUp, 10, 5).contains("▌ scratch"));
    assert!(mouse(click, 25, 0).contains("[1 Overview]"));
}

/// What a watch tells of errors becomes an old or a missing value, and then a new one.
#[test]
fn lost_and_found() {
    let mut dashboard = dashboard(2, false);
    dashboard.world.tenants.lose(Fault::from(&Refused), now());
    assert!(drawn(&mut dashboard, (80, 24)).contains("BTL-1001"));
    learn(&mut dashboard, News::Tenants(vec![Seen::Back]));
    connected(&mut dashboard);
    assert!(drawn(&mut dashboard, (80, 24)).contains("shop-staging"));
}
