//! The questions for a new management cluster.

use std::path::PathBuf;

use butler_core::{
    bootstrap::wizard::{Amount, Answers, Found, Resource, Survey, answers::find, keep::Draft},
    redact::Secret,
};

use super::*;
use crate::dashboard::{Origin, WizardDo, tabs::WizardNews};

const HARVESTER: &[(&str, &str)] = &[
    ("provider", "harvester"),
    ("providerConfig.harvester.networkName", "platform/vlan50"),
    ("network.vip", "192.168.50.10"),
    ("network.loadBalancerPool.start", "192.168.50.40"),
    ("network.loadBalancerPool.end", "192.168.50.79"),
    ("networkPool.cidr", "192.168.50.0/23"),
    ("networkPool.reserved", "192.168.50.0/25"),
    ("networkPool.tenantAllocation.start", "192.168.50.130"),
    ("networkPool.tenantAllocation.end", "192.168.51.250"),
];

fn begin(draft: Option<Draft>, ask: bool) -> News {
    News::Tab(TabNews::Wizard(WizardNews::Begin {
        directory: "/srv/site".into(),
        home: Some("/home/me".into()),
        draft,
        ask,
    }))
}

/// A wizard at a page, with answers.
fn at(page: &str, given: &[(&str, &str)]) -> Dashboard {
    let mut answers = Answers::default();
    for (key, answer) in given {
        answers.give(find(key).unwrap(), answer);
    }
    let mut dashboard = dashboard(0, false);
    learn(&mut dashboard, News::Runs(Ok(Vec::new())));
    learn(&mut dashboard, begin(Some(Draft { page: page.into(), answers, edited: None }), false));
    dashboard
}

fn wanted(effects: &[Effect<Do>]) -> Vec<&WizardDo> {
    let own = effects.iter().filter_map(|effect| match effect {
        Effect::App(Do::Wizard(effect)) => Some(effect),
        _ => None,
    });
    // The draft is kept with every page.
    own.filter(|effect| !matches!(effect, WizardDo::Save(_))).collect()
}

fn told(dashboard: &mut Dashboard, news: WizardNews) -> Vec<Effect<Do>> {
    learn(dashboard, News::Tab(TabNews::Wizard(news)))
}

fn survey() -> Survey {
    let found = |id: &str| Found { id: id.into(), label: format!("{id} (VLAN 50)") };
    Survey {
        facts: vec![("Harvester".into(), "v1.5.0".into())],
        capacity: Some(Amount { cpu: 16, memory_mb: 65536, disk_gb: 2000 }),
        found: [
            (Resource::Networks, Ok(vec![found("platform/vlan50"), found("platform/vlan60")])),
            (Resource::Images, Ok(Vec::new())),
            (Resource::Storage, Err("cannot list storage classes: forbidden".into())),
        ]
        .into(),
    }
}

#[test]
fn every_page_as_it_begins() {
    look("wizard-provider", &mut at("provider", &[]));
    look("wizard-credentials", &mut at("credentials", &[("provider", "nutanix")]));
    look("wizard-cluster", &mut at("cluster", &[("provider", "sandbox")]));
    look("wizard-own-sizes", &mut at("cluster", &[("provider", "aws"), ("size", "own")]));
    look("wizard-network", &mut at("network", HARVESTER));
    look("wizard-tenants", &mut at("tenants", HARVESTER));
    look("wizard-addons", &mut at("addons", &[("provider", "sandbox"), ("extras", "choose")]));
    look(
        "wizard-exposure",
        &mut at("exposure", &[("provider", "gcp"), ("controlPlaneExposure.mode", "Ingress")]),
    );
    look("wizard-review", &mut at("review", &[("provider", "sandbox")]));
}

#[test]
fn overlaps_are_said_in_words() {
    let clash = [("provider", "sandbox"), ("network.serviceCIDR", "10.244.0.0/20")];
    let mut dashboard = at("network", &clash);
    look("wizard-overlap", &mut dashboard);
    press(&mut dashboard, "<enter><enter>");
    assert!(drawn(&mut dashboard, (120, 40)).contains("new cluster › Network"), "it stays");
}

#[test]
fn what_a_provider_has_is_loading_found_empty_or_not_to_be_had() {
    let mut dashboard = at("discovery", &[("provider", "harvester")]);
    look("wizard-discovery-loading", &mut dashboard);
    told(&mut dashboard, WizardNews::Surveyed(1, Ok(survey())));
    press(&mut dashboard, "<tab>");
    look("wizard-discovery", &mut dashboard);
    press(&mut dashboard, "<down><down>");
    assert!(drawn(&mut dashboard, (80, 24)).contains("Network        platform/vlan60"));
    // What was asked for is not asked for again, unless somebody wants it or signs in otherwise.
    assert!(wanted(&press(&mut dashboard, "<esc><ctrl-n>")).is_empty());
    let again = press(&mut dashboard, "<ctrl-r>");
    assert!(matches!(wanted(&again).as_slice(), [WizardDo::Survey { ticket: 2, .. }]), "{again:?}");
    told(&mut dashboard, WizardNews::Surveyed(1, Ok(Survey::default())));
    told(&mut dashboard, WizardNews::Surveyed(2, Err(fault())));
    look("wizard-discovery-failed", &mut dashboard);
    press(&mut dashboard, "<esc>/other<ctrl-n>");
    assert!(drawn(&mut dashboard, (80, 24)).contains("loading what the provider has"));
}

#[test]
fn enter_and_enter_again_comes_to_a_run() {
    let mut dashboard = dashboard(0, false);
    learn(&mut dashboard, News::Runs(Ok(Vec::new())));
    let effects = press(&mut dashboard, "c");
    assert_eq!(wanted(&effects), [&WizardDo::Begin(Origin::Ask)]);
    learn(&mut dashboard, begin(None, true));
    for _ in 0..20 {
        press(&mut dashboard, "<enter>");
        if drawn(&mut dashboard, (80, 24)).contains("new cluster › Review") {
            break;
        }
    }
    // In the text Enter is a line.
    let effects = press(&mut dashboard, "<ctrl-n>");
    let [WizardDo::Plan { ticket, path, text, replace: false }] = wanted(&effects)[..] else {
        panic!("{effects:?}")
    };
    assert_eq!(path, &PathBuf::from("/srv/site/sandbox.yaml"));
    assert!(text.starts_with("# A management cluster"), "{text}");
    let ticket = *ticket;
    assert!(press(&mut dashboard, "<enter>").is_empty(), "there is no plan yet");
    look("wizard-plan-loading", &mut dashboard);
    told(&mut dashboard, WizardNews::Planned(ticket, Ok("cluster sandbox: sandbox, single-node\n".into())));
    look("wizard-plan", &mut dashboard);
    let effects = press(&mut dashboard, "<enter>");
    let [Effect::App(Do::Program { args, .. })] = effects.as_slice() else { panic!("{effects:?}") };
    assert_eq!(args, &["bootstrap", "run", "--config", "/srv/site/sandbox.yaml"]);
}

#[test]
fn a_plan_that_cannot_be_made_says_why_and_a_file_of_another_is_not_taken() {
    let mut dashboard = at("review", &[("provider", "sandbox")]);
    press(&mut dashboard, "<ctrl-n>");
    told(&mut dashboard, WizardNews::Planned(1, Err(fault())));
    assert!(drawn(&mut dashboard, (80, 24)).contains("error[BTL-1001]"));
    press(&mut dashboard, "<ctrl-r>");
    told(&mut dashboard, WizardNews::Taken("/srv/site/sandbox.yaml".into()));
    assert!(drawn(&mut dashboard, (80, 24)).contains("Replace the file?"));
    let effects = press(&mut dashboard, "y");
    assert!(matches!(wanted(&effects).as_slice(), [WizardDo::Plan { replace: true, .. }]), "{effects:?}");
}

#[test]
fn a_secret_goes_to_a_file_and_is_never_drawn() {
    let mut dashboard = at("credentials", &[("provider", "nutanix")]);
    press(&mut dashboard, "prism.example.org<tab><tab><tab>admin<tab><tab>hunter2");
    let screen = drawn(&mut dashboard, (120, 40));
    assert!(screen.contains("•••••••") && !screen.contains("hunter"), "{screen}");
    let effects = press(&mut dashboard, "<enter>");
    let kept = wanted(&effects);
    let [WizardDo::Keep { key, secret, answers }] = kept[..] else { panic!("{effects:?}") };
    assert_eq!((*key, secret), ("providerConfig.nutanix.password", &Secret::from("hunter2")));
    assert!(!format!("{answers:?}").contains("hunter"));
    let kept = WizardNews::Kept("providerConfig.nutanix.password", Ok("/home/me/.butler/secrets/a".into()));
    let effects = told(&mut dashboard, kept);
    assert!(matches!(wanted(&effects).as_slice(), [WizardDo::Survey { .. }]), "{effects:?}");
    assert!(!format!("{effects:?}").contains("hunter"));
    press(&mut dashboard, "<esc>");
    assert!(drawn(&mut dashboard, (120, 40)).contains("/home/me/.butler/secrets/a"));
}

#[test]
fn the_way_back_keeps_answers_and_leads_out_after_a_question() {
    let mut dashboard = at("network", HARVESTER);
    press(&mut dashboard, "<esc><esc><esc>");
    assert!(drawn(&mut dashboard, (80, 24)).contains("new cluster › Discovery"));
    press(&mut dashboard, "<ctrl-n><ctrl-n><ctrl-n>");
    assert!(drawn(&mut dashboard, (80, 24)).contains("192.168.50.10"));
    press(&mut dashboard, "<ctrl-c>");
    look("wizard-leave", &mut dashboard);
    press(&mut dashboard, "<esc>");
    assert!(drawn(&mut dashboard, (80, 24)).contains("new cluster › Network"), "neither is no answer");
    let kept = press(&mut dashboard, "<ctrl-c>y");
    assert!(matches!(wanted(&kept).as_slice(), [WizardDo::Leave(Some(_))]), "{kept:?}");
    let dropped = press(&mut dashboard, "<ctrl-c>n");
    assert_eq!(wanted(&dropped), [&WizardDo::Leave(None)]);
    told(&mut dashboard, WizardNews::Left(Ok(None)));
    assert!(drawn(&mut dashboard, (80, 24)).contains("Bootstrap runs on this machine"));
}

#[test]
fn a_draft_is_gone_on_with_when_the_person_wants_it() {
    let mut dashboard = dashboard(0, false);
    learn(&mut dashboard, begin(Some(Draft::default()), true));
    assert!(drawn(&mut dashboard, (80, 24)).contains("Go on with the draft?"));
    assert_eq!(wanted(&press(&mut dashboard, "n")), [&WizardDo::Begin(Origin::Fresh)]);
    learn(&mut dashboard, begin(Some(Draft::default()), true));
    assert_eq!(wanted(&press(&mut dashboard, "y")), [&WizardDo::Begin(Origin::Resume)]);
    told(&mut dashboard, WizardNews::Failed(fault()));
    assert!(drawn(&mut dashboard, (80, 24)).contains("beginning the questions"));
}

#[test]
fn the_configuration_is_changed_in_place_and_checked_as_one_types() {
    let mut dashboard = at("review", &[("provider", "sandbox")]);
    press(&mut dashboard, "nonsense: 1<enter>");
    look("wizard-review-wrong", &mut dashboard);
    let effects = press(&mut dashboard, "<ctrl-n>");
    assert!(wanted(&effects).is_empty(), "{effects:?}");
    press(&mut dashboard, "<esc>");
    let screen = drawn(&mut dashboard, (80, 24));
    assert!(screen.contains("stays until an answer changes"), "{screen}");
    press(&mut dashboard, "<esc><esc>x");
    assert!(drawn(&mut dashboard, (80, 24)).contains("follows the answers again"));
    assert!(wanted(&press(&mut dashboard, "<ctrl-n><ctrl-n><ctrl-n><ctrl-n>")).len() == 1, "now it is right");
}

#[test]
fn letters_are_letters_and_a_whole_file_does_no_harm() {
    let mut dashboard = at("cluster", &[("provider", "sandbox")]);
    press(&mut dashboard, "q?:1");
    let screen = drawn(&mut dashboard, (80, 24));
    assert!(screen.contains("sandboxq?:1") && screen.contains("must be a name of a-z"), "{screen}");
    press(&mut dashboard, "<f1>");
    assert!(drawn(&mut dashboard, (80, 24)).contains("Help · esc closes"));
    press(&mut dashboard, "<esc>");
    dashboard.update(Msg::Input(Event::Paste("x".repeat(100 * 1024))));
    drawn(&mut dashboard, (20, 10));
    let mut dashboard = at("review", &[("provider", "sandbox")]);
    dashboard.update(Msg::Input(Event::Paste("x: y\n".repeat(20 * 1024))));
    for (width, height) in [(20, 10), (80, 24)] {
        drawn(&mut dashboard, (width, height));
    }
}

#[test]
fn impatience_skips_no_page() {
    let mut dashboard = at("credentials", &[("provider", "nutanix")]);
    press(&mut dashboard, "prism.example.org<tab><tab><tab>admin<tab><tab>hunter2<enter>");
    assert!(press(&mut dashboard, "<enter><enter>").is_empty(), "the secret is on its way");
    let kept =
        || WizardNews::Kept("providerConfig.nutanix.password", Ok("/home/me/.butler/secrets/a".into()));
    told(&mut dashboard, kept());
    told(&mut dashboard, kept());
    assert!(drawn(&mut dashboard, (80, 24)).contains("new cluster › Discovery"));
}
