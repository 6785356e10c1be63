//! Runs that are lost in part: what is left is found by the run's mark.

use anyhow::{Context, Result, ensure};
use butler_core::event::{EventKind, journal};
use butler_operator::process::Signal;
use serde_json::Value;

use super::{LIMIT, Lab, until};

impl Lab {
    /// Begins a run and kills it when this stands in its events.
    fn killed_at(&self, args: &[&str], text: &str) -> Result<()> {
        let mut run = self.bootstrap(&[args, &["--events", "ndjson"]].concat()).spawn()?;
        let _begun = run.line_with(text, LIMIT)?;
        run.signal(Signal::KILL);
        drop(run);
        let lock = self.run_dirs()?.into_iter().map(|dir| dir.join("journal.ndjson"));
        let journals: Vec<_> = lock.collect();
        until("nobody holds a journal", LIMIT, || {
            Ok(journals.iter().all(|journal| journal::holder(journal).is_none()))
        })
    }

    /// Waits until the journal has this record, then kills.
    fn killed_after(&self, args: &[&str], record: fn(&EventKind) -> bool) -> Result<()> {
        let run = self.bootstrap(args).spawn()?;
        until("the record is written", LIMIT, || {
            Ok(self.journal()?.iter().any(|event| record(&event.kind)))
        })?;
        run.signal(Signal::KILL);
        drop(run);
        let journal = self.run_dir()?.join("journal.ndjson");
        until("nobody holds the journal", LIMIT, || Ok(journal::holder(&journal).is_none()))
    }

    fn run_dirs(&self) -> Result<Vec<std::path::PathBuf>> {
        let entries = std::fs::read_dir(self.home.join("runs"))?.flatten().map(|entry| entry.path());
        Ok(entries.filter(|path| path.is_dir()).collect())
    }

    /// Cuts the journal off behind the announcement of a step, as if what came after had not been written.
    fn forget_after(&self, announced: &str) -> Result<()> {
        let path = self.run_dir()?.join("journal.ndjson");
        let text = std::fs::read_to_string(&path)?;
        let is_it = |line: &&str| line.contains(r#""kind":"Intent""#) && line.contains(announced);
        let at = text.lines().position(|line| is_it(&line)).context("it was announced")?;
        let kept: String = text.lines().take(at + 1).map(|line| format!("{line}\n")).collect();
        Ok(std::fs::write(path, kept)?)
    }

    fn id(&self) -> Result<String> {
        let dir = self.run_dir()?;
        Ok(dir.file_name().and_then(|name| name.to_str()).context("a name")?.to_owned())
    }

    fn sweep(&self, args: &[&str]) -> Result<Value> {
        self.adm(&[&["sweep", "-o", "json"], args].concat()).run()?.success()?.json()
    }
}

fn is_machine_made(kind: &EventKind) -> bool {
    matches!(kind, EventKind::Result { step, .. } if step.starts_with("machine/"))
}

/// The witnesses that speak against the first object's being an orphan.
fn against(swept: &Value) -> Vec<&str> {
    let checks = swept["items"][0]["checks"].as_array().into_iter().flatten();
    checks.filter(|check| check["orphan"] == false).filter_map(|check| check["witness"].as_str()).collect()
}

#[test]
fn a_machine_whose_result_is_lost_is_adopted_and_a_half_finished_removal_goes_on() -> Result<()> {
    let lab = Lab::new()?;
    let config = lab.config("half", "single-node")?;
    lab.killed_after(&["--config", &config], is_machine_made)?;
    lab.forget_after(r#""step":"machine/half-cp-0""#)?;
    let temporary = lab.run_dir()?.join("temporary");
    std::fs::remove_dir_all(&temporary)?;
    let _ready = lab.bootstrap(&["resume", "half"]).run()?.success()?;
    assert_eq!(lab.machines_made("half")?, ["half-cp-0"]);

    // From the journal alone, killed in the middle.
    std::fs::remove_file(lab.run_dir()?.join("config.yaml"))?;
    let id = lab.id()?;
    let dry = lab.bootstrap(&["destroy", "half", "--dry-run", "-o", "json"]).run()?.success()?.json()?;
    ensure!(dry["found"]["machines"][0]["name"] == "half-cp-0" && dry["found"]["sandbox"] == "half", "{dry}");
    ensure!(dry["found"]["files"].to_string().contains("half-kubeconfig"), "{dry}");
    lab.killed_at(&["destroy", "half", "--yes", "half"], r#""phase":"RemovingSandbox""#)?;
    let status = lab.status("half")?;
    ensure!(status["halfDestroyed"] == true && status["next"].to_string().contains("destroy"), "{status}");
    let refused = lab.bootstrap(&["resume", "half"]).run()?.failed_with(1)?;
    ensure!(refused.stderr.contains("half destroyed"), "{refused}");
    let gone = lab.bootstrap(&["destroy", "half", "--yes", "half", "-o", "json"]).run()?.success()?;
    ensure!(gone.json()?["removed"]["looked"].as_array().is_some_and(|looked| !looked.is_empty()), "{gone}");
    lab.nothing_left("half")?;
    for file in ["secrets", "config.yaml", "temporary", "work"] {
        ensure!(!lab.run_dir()?.join(file).exists(), "{file} is left");
    }
    ensure!(lab.run_dir()?.join("journal.ndjson").exists(), "the journal is evidence");

    // Another run of the same cluster is not touched by destroying the first once more.
    lab.killed_at(&["--config", &config], r#""phase":"ConfiguringTalos""#)?;
    let again = lab.bootstrap(&["destroy", &id, "--yes", "half"]).run()?.success()?;
    ensure!(again.stderr.contains("0 machines"), "{again}");
    let swept = lab.sweep(&["--config", &config])?;
    ensure!(swept["items"][0]["name"] == "half-cp-0" && against(&swept) == ["journal"], "{swept}");
    let second = lab.run_dirs()?.into_iter().find(|dir| !dir.ends_with(&id)).context("the second run")?;
    let second = second.file_name().and_then(|name| name.to_str()).context("a name")?.to_owned();
    let _gone = lab.bootstrap(&["destroy", &second, "--yes", "half"]).run()?.success()?;
    lab.nothing_left("half")
}

#[test]
fn a_load_balancer_is_adopted_and_a_run_whose_directory_is_lost_is_removed_by_its_mark() -> Result<()> {
    let lab = Lab::new()?;
    let config = lab.config("marked", "ha")?;
    let made = |kind: &EventKind| matches!(kind, EventKind::Result { step, .. } if step.starts_with("load-balancer/"));
    lab.killed_after(&["--config", &config], made)?;
    lab.forget_after(r#""step":"load-balancer/"#)?;
    let _ready = lab.bootstrap(&["resume", "marked"]).run()?.success()?;
    let witness = std::fs::read_to_string(lab.home.join("sandbox/marked/host.ndjson"))?;
    let lines = witness.lines().map(serde_json::from_str::<Value>).collect::<Result<Vec<_>, _>>()?;
    let balancers = lines.iter().filter(|line| line["kind"] == "load-balancer" && line["what"] == "created");
    assert_eq!(balancers.count(), 1, "{witness}");
    assert_eq!(lab.machines_made("marked")?.len(), 5);

    let swept = lab.sweep(&["--config", &config])?;
    ensure!(against(&swept) == ["journal", "owner"], "{swept}");
    let id = lab.id()?;
    std::fs::remove_dir_all(lab.home.join("runs"))?;
    // Nobody here knows the run, but its cluster answers.
    let swept = lab.sweep(&["--config", &config, "--delete", "--yes", "marked"])?;
    ensure!(
        against(&swept) == ["owner"] && swept["items"].as_array().is_some_and(|all| all.len() == 6),
        "{swept}"
    );
    ensure!(swept["items"].as_array().into_iter().flatten().all(|item| item["removed"] == false), "{swept}");
    let unknown = lab.bootstrap(&["destroy", &id, "--yes", "marked"]).run()?.failed_with(3)?;
    ensure!(unknown.stderr.contains("butleradm sweep"), "{unknown}");
    let args = ["destroy", &id, "--config", &config, "--yes", "marked", "-o", "json"];
    let gone = lab.bootstrap(&args).run()?.success()?.json()?;
    let count = |kind: &str| gone["removed"][kind].as_array().map_or(0, Vec::len);
    ensure!((count("machines"), count("loadBalancers")) == (5, 1), "{gone}");
    lab.nothing_left("marked")?;
    ensure!(lab.status(&id)?["stage"] == "Destroyed", "the removal has a journal of its own");
    Ok(())
}

#[test]
fn a_sweep_removes_what_all_four_take_for_an_orphan_and_nothing_else() -> Result<()> {
    let lab = Lab::new()?;
    let config = lab.config("swept", "single-node")?;
    lab.killed_after(&["--config", &config], is_machine_made)?;
    let swept = lab.sweep(&["--config", &config, "--delete", "--yes", "swept"])?;
    ensure!(against(&swept) == ["journal"] && swept["items"][0]["removed"] == false, "{swept}");
    std::fs::remove_dir_all(lab.home.join("runs"))?;
    let young =
        lab.sweep(&["--config", &config, "--older-than", "1000000h", "--delete", "--yes", "swept"])?;
    ensure!(against(&young) == ["age"], "{young}");
    let table = lab.adm(&["sweep"]).run()?.success()?;
    ensure!(table.stdout.contains("orphan") && table.stderr.contains("nothing was removed"), "{table}");
    let asked = lab.adm(&["sweep", "--config", &config, "--delete"]).run()?;
    ensure!(asked.stderr.contains("without a terminal"), "{asked}");
    let other =
        lab.adm(&["sweep", "--config", &config, "--delete", "--yes", "other"]).run()?.failed_with(2)?;
    ensure!(other.stderr.contains("nothing was done"), "{other}");
    let removed = lab.sweep(&["--config", &config, "--delete", "--yes", "swept"])?;
    ensure!(removed["items"][0]["removed"] == true, "{removed}");
    ensure!(lab.sweep(&[])?["items"].as_array().is_some_and(Vec::is_empty));
    let _gone = lab.adm(&["sandbox", "reset", "--name", "swept", "--yes", "swept"]).run()?.success()?;
    until("every process is gone", LIMIT, || Ok(lab.processes().is_empty()))
}

#[test]
fn a_machine_that_trusts_lost_secrets_is_not_given_others() -> Result<()> {
    let lab = Lab::new()?;
    let config = lab.config("bare", "single-node")?;
    let configured = |kind: &EventKind| matches!(kind, EventKind::Intent { step, .. } if step.starts_with("talos/configure/"));
    lab.killed_after(&["--config", &config], configured)?;
    std::fs::remove_dir_all(lab.run_dir()?.join("secrets"))?;
    let refused = lab.bootstrap(&["resume", "bare"]).run()?.failed_with(1)?;
    ensure!(refused.stderr.contains("BTL-2021") && refused.stderr.contains("bootstrap destroy"), "{refused}");
    lab.destroy("bare")?;
    lab.nothing_left("bare")
}

#[test]
fn accepted_changes_are_written_down_before_the_run_goes_on() -> Result<()> {
    let lab = Lab::new()?;
    let text = "provider: proxmox
cluster: {name: far, topology: single-node, controlPlane: {replicas: 1, cpu: 4, memoryMB: 8192, diskGB: 60}}
network: {vip: 192.168.7.10}
providerConfig:
  proxmox: {endpoint: 'https://pve:8006', username: u, password: hush, nodes: [pve1], storage: lvm, templateID: 9000}
bootstrapCluster: {runtime: process}
";
    let path = lab.env.work_dir().join("far.yaml");
    let config = path.display().to_string();
    std::fs::write(&path, text)?;
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    // There is no driver for it, so the run ends before it makes anything.
    let _failed = lab.bootstrap(&["--config", &config]).run()?.failed_with(2)?;
    let changed = text.replace("cpu: 4", "cpu: 8").replace("hush", "hush-hush");
    std::fs::write(&path, &changed)?;
    let refused = lab.bootstrap(&["resume", "far", "--config", &config]).run()?.failed_with(1)?;
    ensure!(refused.stderr.contains("cluster.controlPlane.cpu: 4 → 8 (safe: nothing was made"), "{refused}");
    let resume = lab.bootstrap(&["resume", "far", "--config", &config, "--accept-config"]);
    let ended = resume.run()?.failed_with(2)?;
    ensure!(ended.stderr.contains("accepted: cluster.controlPlane.cpu: 4 → 8"), "{ended}");
    ensure!(!format!("{refused}{ended}").contains("hush"), "a secret was shown");
    let accepted = lab.journal()?.into_iter().rev().find_map(|event| match event.kind {
        EventKind::Result { step, data } if step == "config" => Some(data["accepted"].clone()),
        _ => None,
    });
    ensure!(accepted.context("a record")?.to_string().contains("cluster.controlPlane.cpu"));
    ensure!(std::fs::read_to_string(lab.run_dir()?.join("config.yaml"))? == changed);
    // From now on this is what the run is made from.
    let again = lab.bootstrap(&["resume", "far"]).run()?.failed_with(2)?;
    ensure!(again.stderr.contains("no driver"), "{again}");
    Ok(())
}
