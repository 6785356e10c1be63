//! From a configuration to a cluster that real kubectl and talosctl use.

use anyhow::{Context, Result, ensure};
use butler_core::event::EventKind;
use butler_tests::part;
use serde_json::Value;

use super::{LIMIT, Lab, example_path, mode};

#[test]
fn one_machine_becomes_a_cluster_and_nothing_again() -> Result<()> {
    let lab = Lab::new()?;
    let config = lab.config("solo", "single-node")?;
    let _plan = lab.bootstrap(&["plan", "--config", &config, "--out", "plan.json"]).run()?.success()?;
    let run = lab.bootstrap(&["--config", &config, "--events", "ndjson"]).run()?.success()?;
    let events: Vec<Value> = run.stdout.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    let numbers: Vec<u64> = events.iter().filter_map(|event| event["seq"].as_u64()).collect();
    ensure!(numbers == (1..=events.len() as u64).collect::<Vec<_>>(), "{numbers:?}");
    let last = events.last().context("events")?;
    ensure!(last["kind"] == "Finished" && last["outcome"]["result"] == "Succeeded", "{last}");

    let nodes = lab.kubectl("solo", &["get", "nodes", "--no-headers"])?.run()?.success()?;
    ensure!(nodes.stdout.contains("solo-cp-0") && nodes.stdout.contains(" Ready "), "{nodes}");
    // The new cluster has its own machine as an object, and controllers that know it.
    let wait = ["-n", "butler-system", "wait", "mr/solo-cp-0", "--for=jsonpath={.status.phase}=Running"];
    let _adopted = lab.kubectl("solo", &[&wait[..], &["--timeout=60s"]].concat())?.run()?.success()?;
    assert_eq!(lab.machines_made("solo")?, ["solo-cp-0"]);
    let record = ["-n", "butler-system", "get", "cb", "solo", "-o", "jsonpath={.status.phase}"];
    assert_eq!(lab.kubectl("solo", &record)?.run()?.success()?.stdout, "Ready");
    let talos = lab.env.command(part("talosctl")?).args(["version", "--short"]).timeout(LIMIT);
    let version = talos.env("TALOSCONFIG", lab.home.join("solo-talosconfig")).run()?.success()?;
    ensure!(version.stdout.contains("Server"), "{version}");

    let status = lab.status("solo")?;
    ensure!(status["stage"] == "Succeeded", "{status}");
    ensure!(!lab.run_dir()?.join("temporary").exists(), "the temporary control plane is left");
    secrets_are_kept(&lab)?;

    // The plan of before does not hold any more, and says why: so it would with a run of somebody else.
    let planned =
        lab.bootstrap(&["run", "--config", &config, "--plan", "plan.json"]).run()?.failed_with(1)?;
    let id = lab.run_dir()?.file_name().context("a name")?.to_string_lossy().into_owned();
    let words = [
        "BTL-2006: 2 things changed".to_owned(),
        format!("machine `solo-cp-0` exists at the provider now, of `{id}`"),
        format!("run `{id}` makes this cluster now, and is Succeeded"),
    ];
    ensure!(words.iter().all(|words| planned.stderr.replace(']', "").contains(words)), "{planned}");
    let again = lab.bootstrap(&["--config", &config]).run()?.failed_with(1)?;
    ensure!(again.stderr.contains("BTL-2014") && again.stderr.contains("bootstrap destroy"), "{again}");
    let resumed = lab.bootstrap(&["resume", "solo"]).run()?.failed_with(1)?;
    ensure!(resumed.stderr.contains("BTL-2004"), "{resumed}");

    let other = lab.bootstrap(&["destroy", "solo", "--yes", "other"]).run()?.failed_with(2)?;
    ensure!(other.stderr.contains("nothing was done"), "{other}");
    lab.destroy("solo")?;
    lab.nothing_left("solo")?;
    ensure!(lab.status("solo")?["stage"] == "Destroyed");
    // Once more changes nothing.
    lab.destroy("solo")?;
    lab.nothing_left("solo")
}

/// What opens the cluster stands in files of the user alone, and in no journal.
fn secrets_are_kept(lab: &Lab) -> Result<()> {
    let run = lab.run_dir()?;
    let files = [
        lab.home.join("solo-kubeconfig"),
        lab.home.join("solo-talosconfig"),
        run.join("secrets/talos.yaml"),
        run.join("config.yaml"),
        run.join("journal.ndjson"),
    ];
    for file in &files {
        ensure!(mode(file)? == 0o600, "{} has mode {:o}", file.display(), mode(file)?);
    }
    ensure!(mode(&run)? == 0o700 && mode(&run.join("secrets"))? == 0o700);
    let bundle = std::fs::read_to_string(run.join("secrets/talos.yaml"))?;
    let secret = |line: &str| {
        let (key, value) = line.trim().split_once(": ")?;
        let named = ["token", "bootstraptoken", "secret", "key", "secretboxencryptionsecret"].contains(&key);
        named.then(|| value.trim_matches(['"', '\'']).to_owned())
    };
    let secrets: Vec<String> = bundle.lines().filter_map(secret).filter(|text| text.len() > 10).collect();
    ensure!(secrets.len() > 4, "only {} secrets were found in the bundle", secrets.len());
    let journal = std::fs::read_to_string(run.join("journal.ndjson"))?;
    ensure!(!secrets.iter().any(|secret| journal.contains(secret)), "the journal holds a secret");
    ensure!(!journal.contains("client-key-data"), "the journal holds a kubeconfig");
    Ok(())
}

#[test]
fn three_control_planes_have_one_etcd_and_workers_join_them() -> Result<()> {
    let lab = Lab::new()?;
    let config = lab.config("many", "ha")?;
    let made = lab.bootstrap(&["run", "--config", &config, "-o", "json"]).run()?.success()?.json()?;
    let endpoint = made["endpoint"].as_str().context("endpoint")?;
    let planes = made["controlPlanes"].as_array().context("control planes")?;
    let is_plane = |ip: &Value| endpoint.contains(&format!("//{}:", ip.as_str().unwrap_or_default()));
    ensure!(planes.len() == 3 && !planes.iter().any(is_plane), "{made}");
    let get = ["get", "nodes", "-o", "jsonpath={range .items[*]}{.metadata.name}{'\\n'}{end}"];
    let nodes = lab.kubectl("many", &get)?.run()?.success()?;
    let names = ["many-cp-0", "many-cp-1", "many-cp-2", "many-worker-0", "many-worker-1"];
    assert_eq!(nodes.stdout.lines().collect::<Vec<_>>(), names);
    let first = planes[0].as_str().context("address")?;
    let talos = lab.env.command(part("talosctl")?).args(["-n", first, "etcd", "members"]).timeout(LIMIT);
    let members = talos.env("TALOSCONFIG", lab.home.join("many-talosconfig")).run()?.success()?;
    ensure!(names[..3].iter().all(|name| members.stdout.contains(name)), "{members}");
    assert_eq!(lab.machines_made("many")?, names);
    lab.destroy("many")?;
    lab.nothing_left("many")
}

#[test]
fn a_rehearsal_needs_no_provider_and_leaves_nothing() -> Result<()> {
    let lab = Lab::new()?;
    let text = std::fs::read_to_string(example_path("proxmox.yaml"))?;
    let config = lab.env.work_dir().join("production.yaml");
    std::fs::write(&config, &text)?;
    let path = config.display().to_string();
    let output = lab.bootstrap(&["rehearse", "--config", &path]).run()?.success()?;
    ensure!(output.stderr.contains("went well"), "{output}");
    let effects = lab.journal()?.into_iter().filter(|event| matches!(event.kind, EventKind::Intent { .. }));
    ensure!(effects.count() > 5);
    let listed = lab.bootstrap(&["list", "-o", "json"]).run()?.success()?.json()?;
    let cluster = listed["items"][0]["cluster"].as_str().context("cluster")?.to_owned();
    lab.nothing_left(&cluster)?;
    ensure!(!lab.home.join("sandbox").join(format!("rehearsal-{cluster}")).exists());
    Ok(())
}

#[test]
fn a_rehearsal_removes_what_it_made_and_none_that_was_kept() -> Result<()> {
    let lab = Lab::new()?;
    let config = lab.config("kept", "single-node")?;
    let _kept = lab.bootstrap(&["rehearse", "--config", &config, "--keep"]).run()?.success()?;
    let refused = lab.bootstrap(&["rehearse", "--config", &config]).run()?.failed_with(1)?;
    ensure!(refused.stderr.contains("BTL-2014"), "{refused}");
    ensure!(lab.status("kept")?["stage"] == "Succeeded", "{}", lab.status("kept")?);
    ensure!(lab.home.join("sandbox/rehearsal-kept").exists());
    lab.destroy("kept")?;
    lab.nothing_left("kept")
}
