//! Answers in, configurations out.

use std::path::Path;

use proptest::prelude::*;
use rstest::rstest;

use super::{answers::find, keep::*, question::YES_NO, *};
use crate::{
    bootstrap::config::Severity,
    redact::Secret,
    settings::{Environment, Home},
};

fn answered(provider: &str, answers: &[(&str, &str)]) -> Wizard {
    let mut wizard = Wizard::new(None, "/srv/site".into(), Some("/home/me".into()));
    for (key, answer) in [("provider", provider)].iter().chain(answers) {
        wizard.answer(find(key).unwrap_or_else(|| panic!("no question {key}")), answer);
    }
    wizard
}

/// What nobody can answer for a person.
fn needed(provider: &str) -> Vec<(&'static str, &'static str)> {
    let on_prem = [
        ("network.vip", "192.168.50.10"),
        ("network.loadBalancerPool.start", "192.168.50.40"),
        ("network.loadBalancerPool.end", "192.168.50.79"),
        ("networkPool.cidr", "192.168.50.0/23"),
        ("networkPool.reserved", "192.168.50.0-192.168.50.127"),
        ("networkPool.tenantAllocation.start", "192.168.50.130"),
        ("networkPool.tenantAllocation.end", "192.168.51.250"),
    ];
    let own: &[(&str, &str)] = match provider {
        "harvester" => &[("providerConfig.harvester.networkName", "platform/vlan50")],
        "nutanix" => &[
            ("providerConfig.nutanix.endpoint", "prism.example.org"),
            ("providerConfig.nutanix.username", "admin"),
            ("providerConfig.nutanix.password.from", "env"),
            ("providerConfig.nutanix.password", "NUTANIX_PASSWORD"),
            ("providerConfig.nutanix.clusterUUID", "11111111-2222-3333-4444-555555555555"),
            ("providerConfig.nutanix.subnetUUID", "66666666-7777-8888-9999-000000000000"),
        ],
        "proxmox" => &[
            ("providerConfig.proxmox.endpoint", "https://pve1.example.org:8006"),
            ("providerConfig.proxmox.token", "butler@pve!bootstrap"),
            ("providerConfig.proxmox.tokenSecret.from", "file"),
            ("providerConfig.proxmox.tokenSecret", "~/.butler/pve token"),
            ("providerConfig.proxmox.nodes", "pve1, pve2"),
            ("providerConfig.proxmox.storage", "local-lvm"),
        ],
        "aws" => &[
            ("providerConfig.aws.accessKeyID", "AKIA123"),
            ("providerConfig.aws.secretAccessKey.from", "keyring"),
            ("providerConfig.aws.secretAccessKey", "aws"),
            ("providerConfig.aws.vpcID", "vpc-1"),
            ("providerConfig.aws.subnetID", "subnet-1"),
        ],
        "azure" => &[
            ("providerConfig.azure.clientID", "app"),
            ("providerConfig.azure.clientSecret.from", "env"),
            ("providerConfig.azure.clientSecret", "AZURE_CLIENT_SECRET"),
            ("providerConfig.azure.tenantID", "t"),
            ("providerConfig.azure.subscriptionID", "s"),
            ("providerConfig.azure.resourceGroup", "rg"),
        ],
        "gcp" => &[("providerConfig.gcp.projectID", "acme")],
        _ => &[],
    };
    let shared: &[(&str, &str)] =
        if ["harvester", "nutanix", "proxmox"].contains(&provider) { &on_prem } else { &[] };
    own.iter().chain(shared).copied().collect()
}

const PROVIDERS: [&str; 8] = ["sandbox", "local", "harvester", "nutanix", "proxmox", "aws", "azure", "gcp"];

#[test]
fn whoever_answers_only_what_nobody_else_can_gets_a_configuration_without_a_problem() {
    for provider in PROVIDERS {
        let wizard = answered(provider, &needed(provider));
        let read =
            wizard.read().unwrap_or_else(|error| panic!("{provider}: {error:?}\n{}", wizard.document()));
        assert_eq!(read.warnings, [], "{provider}\n{}", wizard.document());
        assert_eq!(read.config.provider_kind().as_str(), provider);
        insta::assert_snapshot!(format!("document-{provider}"), wizard.document());
    }
}

#[rstest]
#[case("sandbox", &[("cluster.topology", "ha"), ("size", "large")])]
#[case("sandbox", &[("extras", "choose"), ("controlPlaneExposure.mode", "Ingress"), ("controlPlaneExposure.hostname", "*.k8s.example.org")])]
#[case("harvester", &[("cluster.topology", "single-node"), ("network.mtu", "9000"), ("network.jumboFrames", "true")])]
#[case("nutanix", &[("ipam", "false"), ("size", "own"), ("cluster.workers.replicas", "0")])]
#[case("proxmox", &[("providerConfig.proxmox.templateID", "9000"), ("providerNetwork.loadBalancer.allocationMode", "elastic")])]
#[case("aws", &[("controlPlaneExposure.mode", "Gateway"), ("controlPlaneExposure.hostname", "*.k8s.example.org")])]
#[case("gcp", &[("addons.gitOps.type", "flux"), ("addons.console.ingress.enabled", "true"), ("multiTenancyMode", "Enforced")])]
fn other_answers_are_right_too(#[case] provider: &str, #[case] given: &[(&str, &str)]) {
    let wizard = answered(provider, &[needed(provider).as_slice(), given].concat());
    assert_eq!(wizard.problems(), [], "{}", wizard.document());
}

#[test]
fn the_same_answers_are_the_same_bytes_in_whatever_order_they_came() {
    for provider in PROVIDERS {
        let mut answers = needed(provider);
        let first = answered(provider, &answers).document();
        // Where a secret is must be known before it is told.
        answers.sort_by_key(|(key, _)| (!key.ends_with(".from"), std::cmp::Reverse(*key)));
        assert_eq!(first, answered(provider, &answers).document(), "{provider}");
    }
}

#[test]
fn enter_and_enter_again_leads_a_newcomer_to_the_plan() {
    let mut wizard = answered("sandbox", &[]);
    use PageId::{Addons, Cluster, Discovery, Network, Plan, Provider, Review};
    let mut seen = vec![wizard.page().id];
    while wizard.page().id != Plan {
        wizard.forward().unwrap();
        seen.push(wizard.page().id);
    }
    assert_eq!(seen, [Provider, Discovery, Cluster, Network, Addons, Review, Plan]);
    let asked: usize = PAGES.iter().map(|page| page.asked(wizard.answers()).count()).sum();
    assert!(asked <= 7, "{asked} questions for somebody who wants to try it");
    while wizard.back() {}
    assert_eq!(wizard.page().id, Provider);
}

#[rstest]
#[case("sandbox", &[], "cluster.workers.replicas", Show::Absent)]
#[case("sandbox", &[("cluster.topology", "ha")], "cluster.workers.replicas", Show::Implied)]
#[case("harvester", &[("size", "own")], "cluster.workers.replicas", Show::Asked)]
#[case("harvester", &[("size", "own"), ("cluster.topology", "single-node")], "cluster.workers.cpu", Show::Absent)]
#[case("harvester", &[("size", "own"), ("cluster.workers.replicas", "0")], "cluster.workers.cpu", Show::Implied)]
#[case("harvester", &[("size", "own"), ("cluster.topology", "single-node")], "cluster.controlPlane.replicas", Show::Implied)]
#[case("aws", &[], "network.vip", Show::Absent)]
#[case("aws", &[], "network.loadBalancerPool.start", Show::Absent)]
#[case("proxmox", &[], "network.vip", Show::Asked)]
#[case("proxmox", &[("ipam", "false")], "networkPool.cidr", Show::Absent)]
#[case("proxmox", &[("signIn", "password")], "providerConfig.proxmox.token", Show::Absent)]
#[case("local", &[], "network.podCIDR", Show::Absent)]
#[case("gcp", &[("network.mtu", "9000")], "network.jumboFrames", Show::Asked)]
#[case("gcp", &[("network.mtu", "1400")], "network.jumboFrames", Show::Absent)]
#[case("gcp", &[("controlPlaneExposure.mode", "Gateway")], "controlPlaneExposure.gatewayRef", Show::Asked)]
#[case("gcp", &[], "controlPlaneExposure.hostname", Show::Absent)]
#[case("gcp", &[("addons.console.enabled", "false")], "addons.console.ingress.enabled", Show::Absent)]
#[case("sandbox", &[], "addons.gitOps.type", Show::Absent)]
#[case("sandbox", &[("extras", "choose")], "addons.gitOps.type", Show::Asked)]
fn a_question_is_put_where_it_means_something(
    #[case] provider: &str,
    #[case] answers: &[(&str, &str)],
    #[case] key: &str,
    #[case] show: Show,
) {
    let wizard = answered(provider, answers);
    assert_eq!(find(key).unwrap().shown(wizard.answers()), show);
    let name = key.rsplit('.').next().unwrap();
    if show == Show::Absent && !["type", "cpu", "replicas", "enabled"].contains(&name) {
        assert!(!wizard.document().contains(&format!("{name}:")), "{}", wizard.document());
    }
}

#[test]
fn answers_survive_on_the_way_back_and_a_hidden_one_comes_again() {
    let mut wizard = answered("harvester", &[("network.vip", "192.168.50.10")]);
    let provider = find("provider").unwrap();
    wizard.answer(provider, "aws");
    assert!(!wizard.document().contains("vip"));
    wizard.answer(provider, "harvester");
    assert!(wizard.document().contains("vip: 192.168.50.10"));
}

#[test]
fn a_page_is_left_only_when_its_answers_can_be_used_and_says_why_not() {
    let mut wizard = answered("harvester", &[("cluster.name", "Not A Name")]);
    wizard.go(PageId::Network);
    let wrong = wizard.forward().unwrap_err();
    assert_eq!(wrong.iter().map(|problem| problem.path.as_str()).collect::<Vec<_>>(), ["network.vip"]);
    wizard.answer(find("network.vip").unwrap(), "192.168.50.10");
    wizard.forward().unwrap();
    // What is wrong on an earlier page is told at the end, with the words of the checker.
    wizard.go(PageId::Review);
    let wrong = wizard.forward().unwrap_err();
    let name = wrong.iter().find(|problem| problem.path == "cluster.name").unwrap();
    assert!(name.message.contains("must be a name of a-z"), "{name:?}");
    assert_eq!(wizard.about(name).unwrap().0, PageId::Cluster);
}

#[test]
fn presets_are_sums_and_own_numbers_begin_with_them() {
    let mut wizard = answered("harvester", &[("size", "medium")]);
    let (machines, total) = sizes::totals(wizard.answers());
    assert_eq!((machines, total), (6, Amount { cpu: 36, memory_mb: 73728, disk_gb: 540 }));
    let there = Amount { cpu: 16, memory_mb: 1 << 20, disk_gb: 540 };
    assert_eq!(sizes::shortage(&total, &there).unwrap(), "more than there is: 36 cores of 16");
    assert_eq!(sizes::shortage(&total, &total), None);
    wizard.answer(find("size").unwrap(), "own");
    wizard.answer(find("cluster.workers.cpu").unwrap(), "6");
    assert!(wizard.document().contains("cpu: 6"));
    wizard.answer(find("size").unwrap(), "large");
    assert!(!wizard.document().contains("cpu: 6"), "a preset is a preset");
    wizard.answer(find("cluster.topology").unwrap(), "single-node");
    assert_eq!(sizes::totals(wizard.answers()).0, 1);
}

#[test]
fn a_secret_is_in_a_file_and_nowhere_else() {
    let secret = Secret::from("hunter2");
    let dir = tempfile::tempdir().unwrap();
    let home = Home::resolve(&Environment::of([("BUTLER_HOME", dir.path().to_str().unwrap())])).unwrap();
    let mut wizard = answered("nutanix", &needed("nutanix"));
    let question = find("providerConfig.nutanix.password").unwrap();
    wizard.answer(find("providerConfig.nutanix.password.from").unwrap(), "typed");
    wizard.answer(question, "hunter2");
    assert!(wizard.answers().of(question).is_empty(), "what is typed is never an answer");
    assert!(wizard.problems().iter().any(|problem| problem.path == question.key));
    // Nor is what somebody types where the name of a variable belongs.
    wizard.answer(find("providerConfig.nutanix.password.from").unwrap(), "env");
    wizard.answer(question, "hunter-2");
    assert!(wizard.answers().of(question).is_empty());

    let path = keep_secret(&home, wizard.answers(), question.key, &secret).unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "hunter2");
    use std::os::unix::fs::PermissionsExt;
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
    let again = |secret| keep_secret(&home, wizard.answers(), question.key, &Secret::from(secret)).unwrap();
    assert_eq!(again("hunter2"), path, "the same secret has one file");
    assert_ne!(again("other"), path, "another configuration may name it");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "hunter2");
    wizard.kept(question, &path);
    assert!(wizard.document().contains(&format!("password: {{file: {}}}", path.display())));
    assert_eq!(wizard.problems(), []);

    let drafts = Drafts::new(&home);
    assert!(drafts.load().is_err());
    let saved = drafts.save(&wizard.draft()).unwrap();
    let text = std::fs::read_to_string(&saved).unwrap();
    assert_eq!(mode(&saved), 0o600);
    assert!(!text.contains("hunter") && !wizard.document().contains("hunter"), "{text}");
    let again = Wizard::new(Some(drafts.load().unwrap()), "/srv/site".into(), Some("/home/me".into()));
    assert_eq!((again.document(), again.page().id), (wizard.document(), wizard.page().id));
    drafts.remove();
    assert!(drafts.load().is_err());
}

#[test]
fn what_was_changed_by_hand_stays_until_an_answer_changes() {
    let mut wizard = answered("sandbox", &[]);
    let written = wizard.document();
    wizard.edit(written.clone());
    assert!(!wizard.is_edited(), "it is the same");
    let by_hand = format!("{written}multiTenancyMode: Enforced\n");
    wizard.edit(by_hand.clone());
    assert_eq!(wizard.draft().edited, Some(by_hand.clone()));
    wizard.answer(find("cluster.name").unwrap(), "sandbox");
    assert_eq!(wizard.document(), by_hand, "the same answer changes nothing");
    wizard.edit(format!("{written}\tnonsense"));
    assert!(wizard.problems().iter().any(|problem| problem.severity == Severity::Error));
    assert_eq!(wizard.draft().edited, None, "nobody knows what is secret in it");
    wizard.answer(find("cluster.name").unwrap(), "other");
    assert!(!wizard.is_edited());
    // A secret that somebody writes by hand is not kept in the draft.
    let mut wizard = answered("nutanix", &needed("nutanix"));
    wizard.edit(wizard.document().replace("{env: NUTANIX_PASSWORD}", "hunter2"));
    assert!(wizard.read().is_ok() && wizard.is_edited());
    assert_eq!(wizard.draft().edited, None);
}

#[test]
fn a_damaged_draft_is_told_and_an_old_one_begins_where_it_can() {
    let dir = tempfile::tempdir().unwrap();
    let home = Home::resolve(&Environment::of([("BUTLER_HOME", dir.path().to_str().unwrap())])).unwrap();
    let drafts = Drafts::new(&home);
    let draft = Draft { page: "a page of another version".into(), ..Draft::default() };
    let path = drafts.save(&draft).unwrap();
    let wizard = Wizard::new(Some(drafts.load().unwrap()), "/".into(), None);
    assert_eq!(wizard.page().id, PageId::Provider);
    std::fs::write(path, "{").unwrap();
    assert!(drafts.load().unwrap_err().to_string().contains("is no draft"));
}

#[test]
fn every_question_has_words_and_every_key_is_one() {
    let own = ["signIn", "size", "ipam", "extras"];
    for question in PAGES.iter().flat_map(|page| page.questions) {
        let wizards_own = own.contains(&question.key) || question.key.ends_with(".from");
        assert!(question.kind().is_some() || wizards_own, "{}", question.key);
        assert!(
            !question.note_text().is_empty() || question.label == "Addons" || question.key == "signIn",
            "{}",
            question.key
        );
        if let (Ask::Choice(options), Some(FactKind::Choice(values))) = (question.ask, question.kind()) {
            assert!(
                options.iter().all(|(value, _)| value.is_empty() || values.contains(value)),
                "{}",
                question.key
            );
        }
        if let Some(FactKind::Flag) = question.kind() {
            assert_eq!(question.ask, Ask::Flag, "{}", question.key);
        }
    }
    assert_eq!(YES_NO.len(), 2);
}

proptest! {
    /// Whatever is typed, the document is YAML that reads back the same, or the checker says why not.
    #[test]
    fn whatever_is_typed_is_read_back_or_refused(text in "[ -~é日\\t\"'#:{}\\[\\]]{0,40}") {
        let wizard = answered("harvester", &[("charts.mirror", &text), ("network.vip", &text)]);
        let syntax = |problem: &Problem| problem.path.is_empty() && problem.is_error();
        prop_assert!(!wizard.problems().iter().any(syntax), "{:?}\n{}", wizard.problems(), wizard.document());
    }
}
