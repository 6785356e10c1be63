//! JSONPath templates give what the real kubectl prints.

use std::{path::Path, process::Command, thread};

use anyhow::{Context, Result, ensure};
use butler_term::output::jsonpath::Template;
use butler_tests::{Env, part};
use serde_json::{Value, json};

/// Templates of kubectl's documentation and its neighbours. Go walks maps in any order, so none of them
/// prints two values of one map.
const TEMPLATES: &[&str] = &[
    // text, roots, quotes
    "kind is {.kind}",
    "{.kind}{.apiVersion}",
    "{@.kind} {$.kind} {['kind']} { .kind }",
    "{'single'} {\"double\"} \\n is text",
    r#"{"tab\tquote\"backslash\\é\u00e9\x41\101"}"#,
    "{true} {12} {-1.5}",
    "{.}",
    // lists
    "{.nodes[*].metadata.name}",
    "{.nodes[0].metadata.name}",
    "{.nodes[-1].metadata.name}",
    "{.nodes[1].status.tags[0:2]}",
    "{.nodes[1].status.tags[-2:]}",
    "{.nodes[1].status.tags[:-1]}",
    "{.nodes[1].status.tags[::2]}",
    "{.nodes[1].status.tags[0,2]}",
    "{.nodes[1].status.tags[1:1]}",
    "{.nodes[*].status.tags[*]}",
    "{.nodes[1].status.empty[*]}",
    // keys
    r"{.metadata.labels.kubernetes\.io/hostname}",
    r"{.metadata.labels['kubernetes\.io/hostname']}",
    "{.nodes[*]['metadata.name', 'status.capacity']}",
    "{.nodes[*]['metadata.name','kind']}",
    "{.nodes[0].status.capacity.*}",
    "{.users..name}",
    "{.missing.key}|{.nodes[0].nope}|{.missing[*]}",
    // kinds of values
    "{.nodes[0].status.ready} {.nodes[0].status.load} {.nodes[0].status.pods} {.nodes[0].status.gone}",
    "{.nodes[1].status.tags} {.nodes[1].status.empty} {.users[0].user}",
    "{.nodes[0].metadata.labels}",
    // filters
    "{.users[?(@.name==\"e2e\")].user.password}",
    "{.nodes[?(@.status.pods>5)].metadata.name}",
    "{.nodes[?(@.status.pods <= 3)].metadata.name}",
    "{.nodes[?(@.status.ready==true)].metadata.name}",
    "{.nodes[?(@.metadata.name!='127.0.0.1')].metadata.name}",
    "{.nodes[?(@.status.tags)].metadata.name}",
    r"{.nodes[?(@.metadata.labels.kubernetes\.io/hostname=='host1')].kind}",
    "{.users[?(@.name=='a)]')].name}",
    // ranges
    "{range .nodes[*]}[{.metadata.name}, {.status.capacity}] {end}",
    r#"{range .nodes[*]}{.metadata.name}{"\t"}{.status.ready}{"\n"}{end}"#,
    "{range .nodes[*]}{.metadata.name}:{range .status.tags[*]}{@},{end};{end}",
    "{range .missing[*]}{.x}{end}.",
    "{range .nodes[*]}{$.kind}{end}",
];

/// Templates that kubectl refuses; so do we.
const REFUSED: &[&str] = &[
    "{.kind",
    "{.nodes[a]}",
    "{.nodes[0}",
    "{\"open}",
    "{end}",
    "{unknown}",
    "{&}",
    "{.nodes[7]}",
    "{.nodes[0:5]}",
    "{.kind[0]}",
    "{.kind[?(@.a)]}",
    "{.nodes[?(@.status.pods=='x')]}",
    "{.nodes[?(@.a=='x' && @.b=='y')]}",
];

fn object() -> Value {
    json!({
        "apiVersion": "example.com/v1",
        "kind": "Example",
        "metadata": {"name": "example", "labels": {"kubernetes.io/hostname": "host"}},
        "nodes": [
            {"kind": "Node",
             "metadata": {"name": "127.0.0.1", "labels": {"kubernetes.io/hostname": "host1", "a": "1<2&3>2"}},
             "status": {"capacity": {"cpu": "4"}, "ready": true, "load": 1.5, "pods": 12, "gone": null}},
            {"kind": "Node", "metadata": {"name": "127.0.0.2"},
             "status": {"capacity": {"cpu": "8"}, "ready": false, "pods": 3, "tags": ["x", "y", "z"], "empty": []}},
        ],
        "users": [
            {"name": "myself", "user": {}},
            {"name": "e2e", "user": {"username": "admin", "password": "secret"}},
        ],
    })
}

/// What kubectl makes of the object in a file, without any server; none when it refuses.
fn kubectl(env: &Env, program: &Path, file: &Path, template: &str) -> Result<Option<String>> {
    // Removing a label that is not there changes nothing, and prints the object.
    let output = Command::new(program)
        .env_clear()
        .env("HOME", env.home())
        .args(["label", "--local", "none-", "-f"])
        .arg(file)
        .arg(format!("--output=jsonpath={template}"))
        .output()?;
    Ok(output.status.success().then(|| String::from_utf8(output.stdout)).transpose()?)
}

#[test]
fn templates_give_what_kubectl_prints() -> Result<()> {
    let (env, program) = (Env::new()?, part("kubectl")?);
    let file = env.work_dir().join("object.json");
    std::fs::write(&file, object().to_string())?;
    let ours = |template: &str| Template::parse(template).and_then(|template| template.apply(&object())).ok();
    let check = |template: &&str| -> Result<()> {
        let theirs = kubectl(&env, &program, &file, template)?;
        ensure!(ours(template) == theirs, "{template}\nkubectl: {theirs:?}\nours:    {:?}", ours(template));
        ensure!(theirs.is_none() == REFUSED.contains(template), "kubectl on {template}: {theirs:?}");
        Ok(())
    };
    let all: Vec<&str> = TEMPLATES.iter().chain(REFUSED).copied().collect();
    // Each run of kubectl takes a while to start; four at a time.
    thread::scope(|scope| {
        let runs: Vec<_> = all
            .chunks(all.len().div_ceil(4))
            .map(|templates| scope.spawn(move || templates.iter().try_for_each(check)))
            .collect();
        runs.into_iter().try_for_each(|run| run.join().ok().context("a run of kubectl panicked")?)
    })
}
