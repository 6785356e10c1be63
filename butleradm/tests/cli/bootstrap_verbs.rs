//! What each verb does with a run in each state. Every journal is written by the real [`Journal`]; no
//! provider is asked, and nothing is begun.

use std::{collections::BTreeMap, fs, os::unix::fs::PermissionsExt, path::PathBuf, time::SystemTime};

use anyhow::{Context, Result, ensure};
use butler_core::{
    bootstrap::config,
    event::{EventKind, Journal, Outcome, RunId, journal},
};
use butler_tests::{Env, Invocation, Output};
use serde_json::{Value, json};

const ID: &str = "20261114-101112-00ff00";
const LAB: &str = "\
provider: sandbox
cluster: {name: lab, topology: single-node, controlPlane: {replicas: 1, cpu: 2, memoryMB: 2048, diskGB: 20}}
bootstrapCluster: {runtime: process}
";
const PROXMOX: &str = "\
provider: proxmox
cluster: {name: lab, topology: single-node, controlPlane: {replicas: 1, cpu: 4, memoryMB: 8192, diskGB: 60}}
network: {vip: 192.168.7.10}
providerConfig:
  proxmox: {endpoint: 'https://pve:8006', username: u, password: hush-one, nodes: [pve1], storage: lvm, templateID: 9000}
bootstrapCluster: {runtime: process}
";

struct Home {
    env: Env,
}

impl Home {
    fn new() -> Result<Self> {
        Ok(Self { env: Env::new()? })
    }

    /// A home with one run that has these records.
    fn with(kinds: Vec<EventKind>) -> Result<Self> {
        let home = Self::new()?;
        home.append(kinds)?;
        Ok(home)
    }

    fn dir(&self) -> PathBuf {
        self.env.butler_home().join("runs").join(ID)
    }

    fn journal(&self) -> PathBuf {
        self.dir().join("journal.ndjson")
    }

    fn append(&self, kinds: Vec<EventKind>) -> Result<()> {
        let (mut journal, _) = Journal::open(&self.journal(), RunId::parse(ID).context("an id")?)?;
        kinds.into_iter().try_for_each(|kind| Ok(journal.append(kind).map(drop)?))
    }

    fn write(&self, name: &str, text: &str) -> Result<String> {
        let path = self.env.work_dir().join(name);
        fs::write(&path, text)?;
        // A file with a secret that others can read is refused.
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600))?;
        Ok(path.display().to_string())
    }

    fn keep_config(&self, text: &str) -> Result<()> {
        Ok(fs::write(self.dir().join("config.yaml"), text)?)
    }

    fn bootstrap(&self, args: &[&str]) -> Invocation {
        self.env.command(env!("CARGO_BIN_EXE_butleradm")).arg("bootstrap").args(args)
    }

    fn says(&self, args: &[&str]) -> Result<Output> {
        self.bootstrap(args).run()
    }

    fn state(&self) -> Result<Value> {
        self.says(&["status", ID, "-o", "json"])?.success()?.json()
    }

    /// Every file with its size and time.
    fn tree(&self) -> Result<BTreeMap<PathBuf, (u64, SystemTime)>> {
        let mut found = BTreeMap::new();
        let mut todo = vec![self.env.butler_home()];
        while let Some(dir) = todo.pop() {
            for entry in fs::read_dir(&dir)? {
                let entry = entry?;
                let meta = entry.metadata()?;
                if meta.is_dir() {
                    todo.push(entry.path());
                }
                found.insert(entry.path(), (meta.len(), meta.modified()?));
            }
        }
        Ok(found)
    }
}

fn intent(step: &str, data: Value) -> EventKind {
    EventKind::Intent { step: step.into(), data }
}

fn result(step: &str, data: Value) -> EventKind {
    EventKind::Result { step: step.into(), data }
}

fn session(verb: &str) -> EventKind {
    intent("session", json!({"verb": verb, "pid": 41, "host": "desk"}))
}

/// The records of a run that began with this file and announced a machine.
fn begun(text: &str) -> Result<Vec<EventKind>> {
    let directory = std::path::Path::new("/");
    let source = config::Source { name: "b.yaml", text, directory, home: None, shared: None };
    let config = config::read(&source, None)?.config;
    let facts = json!({
        "cluster": "lab", "provider": config.provider_kind().to_string(), "runtime": "process",
        "configSha256": "", "version": "0", "directory": "/",
    });
    let sha256 = butler_operator::bootstrap::sha256(&text.to_owned().into());
    let given = json!({"sha256": sha256, "document": config.document(), "runtime": "process"});
    Ok(vec![
        intent("run", facts),
        result("config", given),
        session("run"),
        intent("machine/lab-cp-0", json!({})),
        result("machine/lab-cp-0", json!({"id": "vm-1"})),
    ])
}

fn lab(more: Vec<EventKind>) -> Result<Vec<EventKind>> {
    let mut kinds = begun(LAB)?;
    kinds.extend(more);
    Ok(kinds)
}

fn failed() -> EventKind {
    EventKind::finished(Outcome::Failed { code: "BTL-1604".into(), message: "no room".into() })
}

/// What the verbs do with a run.
struct Row {
    name: &'static str,
    kinds: Vec<EventKind>,
    stage: &'static str,
    /// The code with which `resume` is refused; none when it would go on.
    resume: Option<&'static str>,
    /// What `abort` says.
    abort: &'static str,
    /// What goes on with it.
    next: Option<&'static str>,
}

fn rows() -> Result<Vec<Row>> {
    let gone = || vec![session("destroy"), result("delete-machine/lab-cp-0", json!({"gone": true}))];
    let destroyed = [gone(), vec![result("destroyed", json!({})), EventKind::finished(Outcome::Succeeded)]];
    let row = |name, kinds, stage, resume, abort, next| Row { name, kinds, stage, resume, abort, next };
    let (stop, nothing) = ("is stopped; what it made stays", "nothing to stop");
    let over = Some("BTL-2004");
    Ok(vec![
        row("never started", vec![], "NeverStarted", over, nothing, Some("destroy")),
        row("interrupted", lab(vec![])?, "Interrupted", None, stop, Some("resume")),
        row(
            "stopped",
            lab(vec![EventKind::finished(Outcome::Cancelled)])?,
            "Stopped",
            None,
            nothing,
            Some("resume"),
        ),
        row("failed", lab(vec![failed()])?, "Failed", None, nothing, Some("resume")),
        row(
            "succeeded",
            lab(vec![EventKind::finished(Outcome::Succeeded)])?,
            "Succeeded",
            over,
            nothing,
            None,
        ),
        row("half destroyed", lab(gone())?, "Interrupted", over, stop, Some("destroy")),
        row(
            "destroy failed",
            lab([gone(), vec![failed()]].concat())?,
            "Failed",
            over,
            nothing,
            Some("destroy"),
        ),
        row("destroyed", lab(destroyed.concat())?, "Destroyed", over, nothing, None),
    ])
}

#[test]
fn every_verb_knows_every_state() -> Result<()> {
    for Row { name, kinds, stage, resume, abort, next } in rows()? {
        let home = Home::with(kinds)?;
        home.keep_config(LAB)?;
        let state = home.state()?;
        ensure!(state["stage"] == stage, "{name}: {state}");
        let expected = next.map(|verb| json!(format!("butleradm bootstrap {verb} {ID}")));
        ensure!(state.get("next") == expected.as_ref(), "{name}: {state}");
        let list = home.says(&["list", "-o", "json"])?.success()?.json()?;
        ensure!(list["items"][0]["stage"] == stage, "{name}: {list}");
        let before = home.tree()?;
        if let Some(code) = resume {
            let refused = home.says(&["resume", ID])?.failed_with(1)?;
            ensure!(refused.stderr.contains(code), "{name}: {refused}");
            let verb = next.unwrap_or("status");
            ensure!(refused.stderr.contains(&format!("bootstrap {verb} {ID}")), "{name}: {refused}");
        }
        let dry = home.says(&["destroy", ID, "--dry-run", "-o", "json"])?.success()?;
        let report = dry.json()?;
        ensure!(report["cluster"] == "lab" && report.get("removed").is_none(), "{name}: {dry}");
        ensure!(home.tree()? == before, "{name}: nothing was to change");
        let aborted = home.says(&["abort", ID])?.success()?;
        ensure!(aborted.stderr.contains(abort), "{name}: {aborted}");
        if abort.contains("stopped") {
            // What was being removed is still being removed.
            let state = home.state()?;
            ensure!(state["stage"] == "Stopped", "{name}: {state}");
            ensure!(state.get("next") == expected.as_ref(), "{name}: {state}");
        }
    }
    Ok(())
}

#[test]
fn an_empty_directory_and_an_empty_journal_are_runs_that_never_began() -> Result<()> {
    let home = Home::new()?;
    fs::create_dir_all(home.dir())?;
    for content in [None, Some(""), Some("{\"version\":1,\"se")] {
        if let Some(content) = content {
            fs::write(home.journal(), content)?;
        }
        ensure!(home.state()?["stage"] == "NeverStarted");
        let refused = home.says(&["resume"])?.failed_with(1)?;
        ensure!(refused.stderr.contains("NeverStarted and cannot be taken up"), "{refused}");
        // Nobody knows whose provider to ask.
        let lost = home.says(&["destroy", ID, "--yes", "lab"])?.failed_with(1)?;
        ensure!(lost.stderr.contains("BTL-2022") && lost.stderr.contains("--config FILE"), "{lost}");
    }
    Ok(())
}

#[test]
fn a_run_goes_on_without_its_configuration_file_as_its_journal_knows_it() -> Result<()> {
    let home = Home::with(lab(vec![])?)?;
    let dry = home.says(&["destroy", "lab", "--dry-run"])?.success()?;
    ensure!(dry.stderr.contains("nothing was removed (dry run)"), "{dry}");
    // One of an older version does not; then a person must say it.
    let facts = json!({
        "cluster": "lab", "provider": "sandbox", "runtime": "process", "configSha256": "", "version": "0",
    });
    let home = Home::with(vec![intent("run", facts), session("run")])?;
    for verb in ["resume", "destroy"] {
        let lost = home.says(&[verb, "lab"])?.failed_with(1)?;
        ensure!(lost.stderr.contains("BTL-2022") && lost.stderr.contains("--config FILE"), "{lost}");
    }
    let config = home.write("lab.yaml", LAB)?;
    let _dry = home.says(&["destroy", "lab", "--config", &config, "--dry-run"])?.success()?;
    let other = home.write("other.yaml", &LAB.replace("name: lab", "name: other"))?;
    let refused = home.says(&["destroy", "lab", "--config", &other, "--dry-run"])?.failed_with(2)?;
    ensure!(refused.stderr.contains("is of cluster `other`"), "{refused}");
    Ok(())
}

#[test]
fn a_secret_that_stood_in_the_lost_file_is_asked_for_by_name() -> Result<()> {
    let home = Home::with(begun(PROXMOX)?)?;
    ensure!(!fs::read_to_string(home.journal())?.contains("hush"), "the journal holds a secret");
    let lost = home.says(&["resume", "lab"])?.failed_with(2)?;
    ensure!(lost.stderr.contains("BUTLER_SECRET_"), "{lost}");
    Ok(())
}

#[test]
fn a_changed_configuration_is_refused_with_every_change_and_no_secret() -> Result<()> {
    let home = Home::with(begun(PROXMOX)?)?;
    home.keep_config(PROXMOX)?;
    let changed = PROXMOX.replace("cpu: 4", "cpu: 8").replace("hush-one", "hush-two");
    let changed =
        changed.replace("bootstrapCluster", "charts: {mirror: 'oci://mirror/charts'}\nbootstrapCluster");
    let file = home.write("changed.yaml", &changed)?;
    let records = fs::read(home.journal())?;
    let same = fs::read_to_string(home.dir().join("config.yaml"))?;
    for accept in [None, Some("--accept-config")] {
        let args: Vec<&str> = ["resume", "lab", "--config", &file].into_iter().chain(accept).collect();
        let refused = home.says(&args)?.failed_with(1)?;
        ensure!(refused.stderr.contains("BTL-2020"), "{refused}");
        ensure!(
            refused.stderr.contains("cluster.controlPlane.cpu: 4 → 8 (not possible: machines were made"),
            "{refused}"
        );
        ensure!(
            refused.stderr.contains("charts.mirror: (not given) → oci://mirror/charts (safe:"),
            "{refused}"
        );
        ensure!(!refused.to_string().contains("hush"), "{refused}");
    }
    // Safe alone, it is still a person who decides.
    let safe = home.write("safe.yaml", &changed.replace("cpu: 8", "cpu: 4"))?;
    let refused = home.says(&["resume", "lab", "--config", &safe])?.failed_with(1)?;
    ensure!(refused.stderr.contains(&format!("--config {safe} --accept-config")), "{refused}");
    ensure!(fs::read(home.journal())? == records, "nothing was written");
    ensure!(fs::read_to_string(home.dir().join("config.yaml"))? == same);
    // Who edits the run's own copy is asked the same.
    home.keep_config(&changed.replace("cpu: 8", "cpu: 4"))?;
    let refused = home.says(&["resume", "lab"])?.failed_with(1)?;
    ensure!(refused.stderr.contains("BTL-2020") && refused.stderr.contains("charts.mirror"), "{refused}");
    Ok(())
}

#[test]
fn locks_of_the_dead_and_process_ids_that_live_again_block_nobody() -> Result<()> {
    let home = Home::with(lab(vec![])?)?;
    home.keep_config(LAB)?;
    for pid in [1, std::process::id(), 999_999_999] {
        let signature = json!({"pid": pid, "host": "desk", "since": "2026-11-14T10:11:12Z"}).to_string();
        fs::write(home.dir().join("journal.lock"), &signature)?;
        fs::write(home.env.butler_home().join("runs/lab.lock"), &signature)?;
        ensure!(home.state()?["stage"] != "Running");
        let _aborted = home.says(&["abort", "lab"])?.success()?;
    }
    Ok(())
}

#[test]
fn whoever_only_looks_leaves_no_trace_and_disturbs_nobody() -> Result<()> {
    let home = Home::with(lab(vec![])?)?;
    let before = home.tree()?;
    for args in [&["status", "-o", "json"][..], &["list"], &["logs"], &["replay", "--speed", "max"]] {
        let _output = home.says(args)?.success()?;
    }
    ensure!(home.tree()? == before, "looking wrote something");
    // A look takes the lock for a moment; who wants to work waits for that moment.
    let path = home.journal();
    let looking = std::thread::spawn(move || {
        let end = std::time::Instant::now() + std::time::Duration::from_secs(2);
        while std::time::Instant::now() < end {
            let _nobody = journal::holder(&path);
        }
    });
    for _ in 0..20 {
        home.append(vec![])?;
    }
    looking.join().ok().context("the looker ended")
}

/// Spoils the record of this number, from 1.
fn spoil(home: &Home, number: usize) -> Result<Vec<u8>> {
    let text = fs::read_to_string(home.journal())?;
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines[number - 1] = lines[number - 1].replacen('e', "3", 1);
    fs::write(home.journal(), lines.join("\n") + "\n")?;
    Ok(fs::read(home.journal())?)
}

#[test]
fn a_damaged_journal_is_refused_by_every_verb_and_repaired_by_one() -> Result<()> {
    let home = Home::with(lab(vec![EventKind::finished(Outcome::Succeeded)])?)?;
    home.keep_config(LAB)?;
    let damaged = spoil(&home, 5)?;
    let config = home.write("lab.yaml", LAB)?;
    let verbs: [&[&str]; 7] = [
        &["status", ID],
        &["status", "lab"],
        &["resume", ID],
        &["abort", ID],
        &["logs", ID],
        &["destroy", "lab", "--yes", "lab"],
        // Another run could make the same machines.
        &["--config", &config],
    ];
    for args in verbs {
        let refused = home.says(args)?.failed_with(1)?;
        ensure!(
            refused.stderr.contains("BTL-1304") && refused.stderr.contains("line 5 of the journal"),
            "{refused}"
        );
        ensure!(refused.stderr.contains(&format!("butleradm bootstrap repair {ID} --dry-run")), "{refused}");
    }
    ensure!(fs::read(home.journal())? == damaged);

    let explained = home.says(&["repair", "lab", "--dry-run", "-o", "json"])?.success()?;
    let report = explained.json()?;
    ensure!(report["kept"] == 5 && report["lost"] == 1 && report["outcomeKnown"] == false, "{explained}");
    ensure!(
        explained.stderr.contains("line 5: ") && explained.stderr.contains("machine/lab-cp-0"),
        "{explained}"
    );
    ensure!(explained.stderr.contains("counts as interrupted"), "{explained}");
    ensure!(fs::read(home.journal())? == damaged, "a dry run changes nothing");
    let asked = home.says(&["repair", ID])?;
    ensure!(asked.stderr.contains("without a terminal"), "{asked}");
    ensure!(fs::read(home.journal())? == damaged);

    let repaired = home.says(&["repair", ID, "--yes", "-o", "json"])?.success()?;
    let copy = repaired.json()?["copy"].as_str().context("a copy")?.to_owned();
    ensure!(fs::read(&copy)? == damaged, "the damaged file is kept");
    let state = home.state()?;
    // The machine was announced, and nothing is known of its end.
    ensure!(state["stage"] == "Interrupted" && state["lost"] == 1, "{state}");
    ensure!(state["open"] == json!(["machine/lab-cp-0"]), "{state}");
    let whole = home.says(&["repair", ID, "--yes"])?.success()?;
    ensure!(whole.stderr.contains("nothing to repair"), "{whole}");
    Ok(())
}

#[test]
fn the_first_record_is_made_again_from_the_configuration() -> Result<()> {
    let home = Home::with(lab(vec![])?)?;
    home.keep_config(LAB)?;
    spoil(&home, 1)?;
    let _repaired = home.says(&["repair", ID, "--yes"])?.success()?;
    let state = home.state()?;
    ensure!(state["cluster"] == "lab" && state["facts"]["provider"] == "sandbox", "{state}");
    ensure!(state["machines"]["lab-cp-0"]["id"] == "vm-1", "{state}");

    let home = Home::with(lab(vec![])?)?;
    spoil(&home, 1)?;
    let lost = home.says(&["repair", ID, "--yes"])?.failed_with(1)?;
    ensure!(lost.stderr.contains("BTL-2022"), "{lost}");
    let config = home.write("lab.yaml", LAB)?;
    let _repaired = home.says(&["repair", ID, "--yes", "--config", &config])?.success()?;
    ensure!(home.state()?["cluster"] == "lab");
    Ok(())
}

#[test]
fn sweeping_where_nothing_is_finds_nothing_and_bad_flags_are_refused() -> Result<()> {
    let home = Home::new()?;
    let sweep =
        |args: &[&str]| home.env.command(env!("CARGO_BIN_EXE_butleradm")).arg("sweep").args(args).run();
    let none = sweep(&[])?.success()?;
    ensure!(none.stderr.contains("no orphan among 0 marked objects"), "{none}");
    ensure!(sweep(&["-o", "json"])?.success()?.json()?["items"] == json!([]));
    let config = home.write("lab.yaml", LAB)?;
    let _none = sweep(&["--config", &config, "--delete", "--yes", "lab"])?.success()?;
    for bad in [&["--older-than", "soon"][..], &["--yes", "lab"], &["--config", "a", "--provider", "b"]] {
        let _refused = sweep(bad)?.failed_with(2)?;
    }
    Ok(())
}
