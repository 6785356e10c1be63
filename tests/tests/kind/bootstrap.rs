//! Bootstraps whose temporary cluster is KIND: made, cut off, taken up again, removed.

use anyhow::{Context, Result, ensure};
use butler_core::bootstrap::run::steps;
use butler_operator::runtime::kind::DEFAULT_NAME;
use butler_tests::Signal;
use serde_json::{Value, json};

use crate::{
    lab::{LIMIT, Lab, until},
    say,
};

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/sandbox.yaml");

/// The example, with KIND under it.
fn config(lab: &Lab, cluster: &str) -> Result<String> {
    let text = std::fs::read_to_string(EXAMPLE)?;
    let text = text.replace("name: sandbox\n", &format!("name: {cluster}\n")).replace(
        "  runtime: process\n",
        &format!("  runtime: kind\n  kind: {{image: \"{}\"}}\n", lab.engine.image),
    );
    ensure!(text.contains("runtime: kind") && text.contains(cluster), "the example is another: {text}");
    lab.config(&text)
}

/// How often the host made each machine.
fn machines_made(lab: &Lab, cluster: &str) -> Result<Vec<String>> {
    let lines = std::fs::read_to_string(lab.home.join("sandbox").join(cluster).join("host.ndjson"))?;
    let events = lines.lines().map(serde_json::from_str::<Value>).collect::<Result<Vec<_>, _>>()?;
    let made = events.iter().filter(|event| event["what"] == "created" && event["kind"] == "machine");
    Ok(made.filter_map(|event| Some(event["name"].as_str()?.to_owned())).collect())
}

#[test]
fn simulated_machines_become_a_cluster_over_kind_and_nothing_again() -> Result<()> {
    let lab = Lab::new(DEFAULT_NAME)?;
    let config = config(&lab, "kinds")?;
    let run = lab.bootstrap(&["--config", &config])?.run()?.success()?;
    say(format_args!("$ butleradm bootstrap --config bootstrap.yaml\n{}", run.stderr));
    ensure!(run.stderr.contains("creating KIND cluster `butler-bootstrap`"), "{run}");
    ensure!(run.stderr.contains("cluster `kinds` is ready"), "{run}");

    let nodes = lab.get("kinds", &["get", "nodes", "--no-headers"])?;
    say(format_args!("$ kubectl get nodes --no-headers\n{nodes}"));
    ensure!(nodes.contains("kinds-cp-0") && nodes.contains(" Ready "), "{nodes}");
    ensure!(lab.containers()?.is_empty(), "the temporary cluster is left");
    assert_eq!(lab.results(steps::TEMPORARY)?, [json!({ "reused": false })]);
    assert_eq!(lab.results(steps::REMOVE_TEMPORARY)?.len(), 1);
    assert_eq!(lab.open_effects()?, [] as [&str; 0], "everything that was announced was done");
    let status = lab.status("kinds")?;
    ensure!(status["stage"] == "Succeeded", "{status}");

    lab.destroy("kinds")?;
    lab.nothing_left("kinds")
}

#[test]
fn a_run_over_kind_outlives_kills_and_the_loss_of_its_cluster() -> Result<()> {
    let lab = Lab::new(DEFAULT_NAME)?;
    let config = config(&lab, "tough")?;
    let interrupted = || until("it is seen", LIMIT, || Ok(lab.status("tough")?["stage"] == "Interrupted"));

    // While `kind` makes the cluster: its container is there, and the rest is not.
    let mut run = lab.bootstrap(&["--config", &config, "--events", "ndjson"])?.spawn()?;
    let _begun = run.line_with("creating KIND cluster", LIMIT)?;
    until("the container is there", LIMIT, || Ok(!lab.containers()?.is_empty()))?;
    run.signal(Signal::KILL);
    drop(run);
    interrupted()?;
    // A `kind` that went on by itself would remove what the next one makes.
    let is_kind = |(_, name): &(u32, String)| name.trim() == "kind" || name.trim() == "docker";
    until("kind has ended too", LIMIT, || Ok(!lab.processes().iter().any(is_kind)))?;
    ensure!(lab.results(steps::TEMPORARY)?.is_empty(), "it was too quick");

    let mut run = lab.bootstrap(&["resume", "tough", "--events", "ndjson"])?.spawn()?;
    let _anew = run.line_with("was not finished; it is made anew", LIMIT)?;
    let _begun = run.line_with(r#""kind":"PhaseStarted","phase":"ProvisioningMachines""#, LIMIT)?;
    run.signal(Signal::KILL);
    drop(run);
    interrupted()?;

    // What is there is used again.
    let mut run = lab.bootstrap(&["resume", "tough", "--events", "ndjson"])?.spawn()?;
    let _begun = run.line_with(r#""kind":"PhaseStarted","phase":"BootstrappingCluster""#, LIMIT)?;
    run.signal(Signal::KILL);
    drop(run);
    interrupted()?;

    lab.delete_cluster()?;
    let resumed = lab.bootstrap(&["resume", "tough"])?.run()?.success()?;
    say(format_args!(
        "$ kind delete cluster --name butler-bootstrap\n$ butleradm bootstrap resume\n{}",
        resumed.stderr
    ));
    let reused: Vec<Value> =
        lab.results(steps::TEMPORARY)?.into_iter().map(|data| data["reused"].clone()).collect();
    assert_eq!(reused, [false, true, false], "made, found again, made again");
    assert_eq!(machines_made(&lab, "tough")?, ["tough-cp-0"]);
    assert_eq!(lab.open_effects()?, [] as [&str; 0]);
    let nodes = lab.get("tough", &["get", "nodes", "--no-headers"])?;
    ensure!(nodes.contains(" Ready "), "{nodes}");
    ensure!(lab.containers()?.is_empty(), "the temporary cluster is left");

    lab.destroy("tough")?;
    lab.nothing_left("tough")
}

#[test]
fn a_run_that_was_stopped_over_kind_can_be_destroyed() -> Result<()> {
    let lab = Lab::new(DEFAULT_NAME)?;
    let config = config(&lab, "brief")?;
    let mut run = lab.bootstrap(&["--config", &config, "--events", "ndjson"])?.spawn()?;
    let _begun = run.line_with(r#""kind":"PhaseStarted","phase":"DeployingCRDs""#, LIMIT)?;
    run.signal(Signal::INT);
    let stopped = run.wait(LIMIT)?.failed_with(130)?;
    ensure!(stopped.stderr.contains("butleradm bootstrap resume"), "{stopped}");
    ensure!(!lab.containers()?.is_empty(), "what a stopped run made stays");
    // Another run may not have it, and is told whose it is.
    let other = config_of_another(&lab)?;
    let refused = lab.bootstrap(&["--config", &other])?.run()?.failed_with(1)?;
    for words in ["BTL-1829", "butler-bootstrap", "kind delete cluster --name butler-bootstrap"] {
        ensure!(refused.stderr.contains(words), "{words}: {refused}");
    }
    lab.destroy("other")?;
    ensure!(!lab.containers()?.is_empty(), "nobody removes what another run made");
    lab.destroy("brief")?;
    lab.nothing_left("brief").context("brief")?;
    lab.nothing_left("other").context("other")
}

fn config_of_another(lab: &Lab) -> Result<String> {
    let path = lab.env.work_dir().join("other.yaml");
    std::fs::rename(config(lab, "other")?, &path)?;
    Ok(path.display().to_string())
}
