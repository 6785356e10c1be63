//! Files that are wrong, and what is said about them.

use proptest::prelude::*;
use rstest::rstest;

use super::*;
use crate::{
    bootstrap::config::keys::{Key, ROOT, Shape},
    error::{Code, Diagnose},
};

/// One mistake, one problem: the first line that is told, which is also the only one.
#[rstest]
// Missing.
#[case(
    "provider: nutanix\n",
    "",
    "error 1:1: `provider` is missing [add `provider:` with one of harvester, nutanix, proxmox, azure, aws, gcp, local, sandbox]"
)]
#[case(
    "  name: mgmt\n",
    "",
    "error 2:1: `cluster.name` is missing [add `name:` with a name of a-z, 0-9 and `-`, at most 63 long, with a letter or digit at both ends]"
)]
#[case(
    "replicas: 3, ",
    "",
    "error 5:3: `cluster.controlPlane.replicas` is missing [add `replicas: 1` or more]"
)]
#[case(
    "    password: hunter2\n",
    "",
    "error 11:3: `providerConfig.nutanix.password` is missing [add `password: {env: NAME}`]"
)]
#[case(
    "  vip: 172.20.8.20\n",
    "",
    "error 7:1: `network.vip` is missing: control planes of `ha` share an address [add `vip:` with a free address of the machines' network]"
)]
// Wrong type.
#[case("name: mgmt", "name: [mgmt]", "error 3:9: `cluster.name` must be text, not a list")]
#[case(
    "replicas: 3",
    "replicas: three",
    "error 5:28: `cluster.controlPlane.replicas` must be a whole number, not text"
)]
#[case(
    "replicas: 3",
    "replicas: 3.5",
    "error 5:28: `cluster.controlPlane.replicas` must be a whole number, not a number"
)]
#[case(
    "replicas: 3",
    "replicas: {a: 3}",
    "error 5:28: `cluster.controlPlane.replicas` must be a whole number, not a mapping"
)]
#[case("cluster:\n", "cluster: x\ncluster2:\n", "error 2:10: `cluster` must be a mapping, not text")]
#[case(
    "network:\n",
    "network:\n  jumboFrames: yes\n",
    "error 8:16: `network.jumboFrames` must be `true` or `false`, not text [write `true`]"
)]
#[case(
    "network:\n",
    "talos: {timeServers: 10.9.9.9}\nnetwork:\n",
    "error 7:22: `talos.timeServers` must be a list, not text [put it in brackets: [ … ]]"
)]
// Empty.
#[case(
    "name: mgmt",
    "name:",
    "error 3:3: `cluster.name` is empty [add `name:` with a name of a-z, 0-9 and `-`, at most 63 long, with a letter or digit at both ends]"
)]
#[case(
    "name: mgmt",
    "name: '  '",
    "error 3:3: `cluster.name` is empty [add `name:` with a name of a-z, 0-9 and `-`, at most 63 long, with a letter or digit at both ends]"
)]
#[case(
    "network:\n",
    "charts:\nnetwork:\n",
    "warning 7:1: `charts` is empty and counts as not given [give it a value, or remove it]"
)]
#[case("network:\n", "talos: {timeServers: [~]}\nnetwork:\n", "error 7:23: `talos.timeServers[0]` is empty")]
// Misspelt.
#[case(
    "topology: ha",
    "topolgy: ha",
    "error 4:3: `topolgy` is not a key of `cluster` [did you mean `topology`?]"
)]
#[case(
    "network:\n",
    "netwrok: {}\nnetwork:\n",
    "error 7:1: `netwrok` is not a key of the configuration [did you mean `network`?]"
)]
#[case("  vip:", "  Vpi: 1\n  vip:", "error 8:3: `Vpi` is not a key of `network` [did you mean `vip`?]")]
#[case(
    "start: 172.20.8.30",
    "start: 172.20.8.30, whatever: 1",
    "error 9:42: `whatever` is not a key of `network.loadBalancerPool` [known keys: start, end]"
)]
#[case(
    "topology: ha",
    "topology: single",
    "error 4:13: `cluster.topology` cannot be `single`: it is one of `single-node`, `ha`"
)]
#[case(
    "topology: ha",
    "topology: HA",
    "error 4:13: `cluster.topology` cannot be `HA`: it is one of `single-node`, `ha` [did you mean `ha`?]"
)]
#[case(
    "provider: nutanix",
    "provider: nutanx",
    "error 1:11: `provider` cannot be `nutanx`: it is one of `harvester`, `nutanix`, `proxmox`, `azure`, `aws`, `gcp`, `local`, `sandbox` [did you mean `nutanix`?]"
)]
// Given twice.
#[case(
    "  vip: 172.20.8.20\n",
    "  vip: 172.20.8.20\n  vip: 172.20.8.21\n",
    "error 9:3: `network.vip` is given a second time [keep one of them; the first is in line 8]"
)]
#[case(
    "  vip: 172.20.8.20\n",
    "  vip: 172.20.8.20\n  VIP: 172.20.8.21\n",
    "error 9:3: `network.VIP` is given a second time [keep one of them; the first is in line 8]"
)]
// Values.
#[case(
    "name: mgmt",
    "name: Mgmt_1",
    "error 3:9: `cluster.name` must be a name of a-z, 0-9 and `-`, at most 63 long, with a letter or digit at both ends, not `Mgmt_1` [write `mgmt-1`]"
)]
#[case(
    "replicas: 3",
    "replicas: 11",
    "error 5:28: `cluster.controlPlane.replicas` must be between 1 and 10, not 11"
)]
#[case(
    "replicas: 3",
    "replicas: 0",
    "error 5:28: `cluster.controlPlane.replicas` must be between 1 and 10, not 0"
)]
#[case("cpu: 4", "cpu: 129", "error 5:36: `cluster.controlPlane.cpu` must be between 1 and 128, not 129")]
#[case(
    "memoryMB: 8192",
    "memoryMB: 1024",
    "error 5:49: `cluster.controlPlane.memoryMB` must be at least 2048, not 1024"
)]
#[case("diskGB: 60", "diskGB: 19", "error 5:63: `cluster.controlPlane.diskGB` must be at least 20, not 19")]
#[case(
    "diskGB: 60",
    "diskGB: 99999999999999999999",
    "error 5:63: `cluster.controlPlane.diskGB` must be a whole number, not a number"
)]
#[case(
    "vip: 172.20.8.20",
    "vip: 172.20.8.20/24",
    "error 8:8: `network.vip` must be one address without a length, not `172.20.8.20/24` [write `172.20.8.20`]"
)]
#[case(
    "vip: 172.20.8.20",
    "vip: prism",
    "error 8:8: `network.vip` must be an IPv4 address such as 192.168.50.10, not `prism`"
)]
#[case(
    "network:\n",
    "network:\n  podCIDR: 10.244.1.0/16\n",
    "error 8:12: `network.podCIDR` must be the first address of a /16, not `10.244.1.0/16` [write `10.244.0.0/16`]"
)]
#[case(
    "network:\n",
    "talos: {version: 1.12.1}\nnetwork:\n",
    "error 7:18: `talos.version` must be a version such as v1.12.1, not `1.12.1` [write `v1.12.1`]"
)]
#[case(
    "replicas: 3",
    "replicas: '3'",
    "warning 5:28: `cluster.controlPlane.replicas` is text [write `3`, without quotes]"
)]
// Refused, because nothing would come of it.
#[case(
    "network:\n",
    "addons: {console: {auth: {adminPassword: secret}}}\nnetwork:\n",
    "error 7:27: `addons.console.auth.adminPassword` is not supported: the console makes its own; read it from the Secret `butler-console-admin` after the bootstrap [remove it]"
)]
// The block of another provider.
#[case(
    "  nutanix:\n",
    "  aws: {region: x}\n  nutanix:\n",
    "error 11:3: `providerConfig.aws` does not go with provider `nutanix` [remove it; the block of this provider is `providerConfig.nutanix`]"
)]
#[case(
    "providerConfig:\n  nutanix:\n",
    "charts:\n  mirror:\n",
    "error 1:1: `providerConfig.nutanix` is missing [add `nutanix:` and its keys under `providerConfig:`]"
)]
fn one_mistake_is_one_problem(#[case] old: &str, #[case] new: &str, #[case] expected: &str) {
    let found = told(&with(NUTANIX, old, new));
    if found.len() > 1 {
        // A key that was replaced by another one takes what stands below it along.
        assert!(old.contains(":\n") && found.iter().any(|line| line == expected), "{found:#?}");
    } else {
        assert_eq!(found, [expected]);
    }
}

#[test]
fn every_problem_is_told_in_one_pass() {
    let text = "provider: nutanix
cluster:
  name: Mgmt
  toplogy: ha
  controlPlane: {replicas: 2, cpu: many, memoryMB: 8192, diskGB: 60}
network:
  vip: 172.20.8.20/24
  mtu: 9000
providerConfig:
  nutanix: {endpoint: prism.example.org, username: admin, password: hunter2}
";
    let found = problems(text);
    let paths: Vec<&str> = found.iter().map(|problem| problem.path.as_str()).collect();
    assert_eq!(
        paths,
        [
            "cluster.name",
            "cluster.toplogy",
            "cluster.controlPlane.replicas",
            "cluster.controlPlane.cpu",
            "network",
            "network.vip",
            "network.mtu",
            "providerConfig.nutanix.clusterUUID",
            "providerConfig.nutanix.subnetUUID",
        ]
    );
    let error = read_text(text).unwrap_err();
    assert_eq!((error.code(), error.kind().exit_code()), (Code::BootstrapConfigInvalid, 2));
    assert_eq!(error.to_string(), "the bootstrap configuration `bootstrap.yaml` has 8 errors");
    assert_eq!(error.problems().len(), 8, "the warning is no error");
    assert!(
        error.problems()[0].starts_with("bootstrap.yaml:3:9: `cluster.name` must be"),
        "{:?}",
        error.problems()
    );
}

#[test]
fn the_place_is_shown_in_its_line() {
    let found = problems(&with(NUTANIX, "172.20.8.20", "172.20.8.256"));
    let excerpt = found[0].excerpt.as_ref().unwrap();
    assert_eq!((excerpt.line.as_str(), excerpt.before, excerpt.width), ("  vip: 172.20.8.256", 7, 12));
    assert_eq!(found[0].text.as_deref(), Some("172.20.8.256"));
}

#[rstest]
#[case("cluster:\n\tname: x\n\ttopology: ha\n", &["2:1: the line is indented with a tab", "3:1: the line is indented with a tab"])]
#[case("cluster:\n  name: \"x\n", &["a quote is opened above and never closed"])]
#[case("name: x\nnote: |\n  a\n  \tb\nc: 1\nd: 1\nnetwork: {\n", &["`{` is opened and never closed"])]
#[case("cluster: {name: x\n", &["`{` is opened and never closed"])]
#[case("cluster: [name: x\n", &["`[` is opened and never closed"])]
#[case("cluster:\n  name: x\n   topology: ha\n", &["3:"])]
#[case("cluster:\n  name: x: y\n", &["2:10: a second `:` stands where no key can be"])]
#[case("cluster:\n  name: @x\n", &["2:9: a value cannot begin with `@`"])]
#[case("cluster: *nothing\n", &["1:10: nothing before this line is called `&nothing`"])]
#[case("a: 1\n---\nb: 2\n", &["the file holds more than one document"])]
#[case("? [a]\n: b\n", &["a key must be a word, not a list"])]
#[case("", &["1:1: the file is empty"])]
#[case("# nothing\n", &["1:1: the file is empty"])]
#[case("~\n", &["1:1: the file is empty"])]
#[case("[]\n", &["the configuration must be a mapping, not a list"])]
#[case("just words\n", &["the configuration must be a mapping, not text"])]
#[case("<<: [1]\n", &["`<<` takes a mapping, not a number"])]
fn what_is_not_yaml_is_told_in_plain_words(#[case] text: &str, #[case] expected: &[&str]) {
    let found = told(text);
    for expected in expected {
        assert!(found.iter().any(|line| line.contains(expected)), "{found:#?}");
    }
}

#[test]
fn a_misspelt_key_is_not_missing_as_well() {
    let found = told(&with(NUTANIX, "password:", "pasword:"));
    assert_eq!(
        found,
        ["error 14:5: `pasword` is not a key of `providerConfig.nutanix` [did you mean `password`?]"]
    );
    let found = told(&with(NUTANIX, "    password:", "    pasword: x\n    password:"));
    assert_eq!(found.len(), 1, "the right one is no second one: {found:?}");
}

#[test]
fn what_stands_before_a_syntax_error_is_checked_too() {
    let text = "provider: nutanix\nclustr: {}\nnetwork:\n  vip: \"1.2\n";
    let found = told(text);
    assert!(found[0].contains("`clustr` is not a key"), "{found:?}");
    assert!(found.iter().any(|line| line.contains("never closed")), "{found:?}");
    assert!(!found.iter().any(|line| line.contains("missing")), "what comes later is not missed: {found:?}");
}

#[test]
fn huge_and_deep_files_are_refused_at_once() {
    let start = std::time::Instant::now();
    let wide: String = (0..90_000).map(|n| format!("k{n}: 1\n")).collect();
    let list = format!("a: [{}]", "1, ".repeat(200_000));
    let aliases = format!("a: &a [1, 2]\nb: [{}]", "*a, ".repeat(100_000));
    let laughs: String = (1..30).fold("a0: &a0 [x, x]\n".to_owned(), |text, n| {
        text + &format!("a{n}: &a{n} [*a{0}, *a{0}, *a{0}, *a{0}]\n", n - 1)
    });
    let cases = [
        (format!("{MINIMAL}# {}", "x".repeat(10 << 20)), "larger than 1024 KiB"),
        ("[".repeat(500_000), "nested more than 48 deep"),
        ("{a: ".repeat(100_000), "nested more than 48 deep"),
        ((0..400).map(|n| format!("{}a:\n", " ".repeat(n))).collect(), "nested more than 48 deep"),
        (wide, "more than 20000 values"),
        (list, "more than 20000 values"),
        (aliases, "more than 20000 values"),
        (laughs, "more than 20000 values"),
        (format!("name: {}", "x".repeat(1_000_000)), "`name` is not a key"),
        (format!("{}: 1", "x".repeat(1000)), "is not a key"),
        (
            with(MINIMAL, "name: lab", &format!("name: {}", "x".repeat(900_000))),
            "`cluster.name` must be a name",
        ),
    ];
    for (text, expected) in cases {
        let found = told(&text);
        assert!(found.iter().any(|line| line.contains(expected)), "{expected}: {:?}", found.first());
        assert!(found.iter().all(|line| line.len() < 1000), "{expected}");
    }
    // Quadratic growth would take minutes.
    assert!(start.elapsed().as_secs() < 30, "{:?}", start.elapsed());
}

#[test]
fn a_flood_of_problems_is_cut() {
    let text = MINIMAL.to_owned() + &(0..5000).map(|n| format!("unknown{n}: 1\n")).collect::<String>();
    let found = told(&text);
    assert_eq!(found.len(), 101);
    assert!(found[100].ends_with("and 4900 more"), "{}", found[100]);
}

/// Replaces the value of one key by something of another type.
fn break_each(keys: &[Key], path: &str, found: &mut Vec<(String, &'static str)>) {
    for key in keys {
        let path = if path.is_empty() { key.name.to_owned() } else { format!("{path}.{}", key.name) };
        let wrong = match key.shape {
            Shape::Object(keys) => {
                break_each(keys, &path, found);
                "5"
            }
            Shape::Refused(_) => "5",
            Shape::List(_) => "{a: 1}",
            _ => "[[1]]",
        };
        found.push((path, wrong));
    }
}

#[test]
fn a_wrong_type_is_told_at_every_key() {
    let mut cases = Vec::new();
    break_each(ROOT, "", &mut cases);
    assert!(cases.len() > 150, "{}", cases.len());
    for (path, wrong) in cases {
        // The key alone, in the mappings around it.
        let text = path.split('.').rev().fold(wrong.to_owned(), |inner, name| format!("{{{name}: {inner}}}"));
        let provider = path.strip_prefix("providerConfig.").and_then(|rest| rest.split('.').next());
        let text = match provider {
            Some(provider) => format!("provider: {provider}\n{}", &text[1..text.len() - 1]),
            None if path == "provider" => text,
            None => format!("provider: sandbox\n{}", &text[1..text.len() - 1]),
        };
        let found = problems(&text);
        assert!(
            found.iter().any(|problem| problem.is_error() && problem.path.starts_with(&path)),
            "{text}: {found:?}"
        );
    }
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "\\PC{0,200}") {
        let _ = problems(&text);
    }

    #[test]
    fn no_yaml_makes_it_panic(text in "[-:{}\\[\\],&*!|>'\"%@`?# \t\n~<a-c0-9é]{0,120}") {
        let _ = problems(&text);
    }

    #[test]
    fn no_damage_to_a_good_file_makes_it_panic(
        at in 0..NUTANIX.len(),
        length in 0..40usize,
        new in "[-:{}\\[\\],&*\"' \t\n~a-z0-9./]{0,12}",
    ) {
        let end = (at + length).min(NUTANIX.len());
        let text = format!("{}{new}{}", &NUTANIX[..at], &NUTANIX[end..]);
        let found = problems(&text);
        for problem in &found {
            prop_assert!(problem.line >= 1 && problem.column >= 1);
        }
        // Whatever was damaged, the secret is not shown. (A piece of it that became a key may be.)
        if text.contains("password: hunter2\n") {
            prop_assert!(!format!("{found:?}").contains("hunter2"), "{found:?}\n{text}");
        }
    }
}
