//! Runs on a full screen: begun, killed, resumed, left and shown again.

use std::{os::unix::fs::symlink, path::PathBuf};

use anyhow::{Context, Result, ensure};
use butler_core::event::{EventKind, Journal, Outcome, RunId};
use butler_tests::{Env, Invocation, Signal, part};
use rustix::process::{Pid, kill_process};
use serde_json::{Value, json};

use crate::{LIMIT, adm, leave};

const PARTS: [&str; 5] = ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "helm"];

/// A machine with the real parts.
pub(crate) struct Lab {
    pub(crate) env: Env,
}

impl Lab {
    pub(crate) fn new() -> Result<Self> {
        let lab = Self { env: Env::new()? };
        std::fs::create_dir(lab.tools())?;
        for name in PARTS {
            symlink(part(name)?, lab.tools().join(name))?;
        }
        Ok(lab)
    }

    fn tools(&self) -> PathBuf {
        self.env.work_dir().join("tools")
    }

    pub(crate) fn bootstrap(&self, args: &[&str]) -> Invocation {
        adm(&self.env, &[&["bootstrap"], args].concat()).env("BUTLER_TOOLS_DIR", self.tools()).timeout(LIMIT)
    }

    fn config(&self, cluster: &str) -> Result<String> {
        let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/sandbox.yaml");
        let text =
            std::fs::read_to_string(example)?.replace("name: sandbox\n", &format!("name: {cluster}\n"));
        let path = self.env.work_dir().join(format!("{cluster}.yaml"));
        std::fs::write(&path, text)?;
        Ok(path.display().to_string())
    }

    pub(crate) fn status(&self, run: &str) -> Result<Value> {
        self.bootstrap(&["status", run, "-o", "json"]).run()?.success()?.json()
    }
}

impl Drop for Lab {
    /// Nothing is left, also when a test fails half way.
    fn drop(&mut self) {
        let names = std::fs::read_dir(self.env.butler_home().join("sandbox")).into_iter().flatten().flatten();
        for name in names.filter_map(|entry| entry.file_name().into_string().ok()) {
            let down = adm(&self.env, &["sandbox", "reset", "--name", &name, "--yes", &name])
                .env("BUTLER_TOOLS_DIR", self.tools());
            let _ = down.timeout(LIMIT).run();
        }
    }
}

#[test]
fn a_run_is_killed_half_way_and_resumed_on_the_screen() -> Result<()> {
    let lab = Lab::new()?;
    let config = lab.config("mgmt")?;
    let mut pty = lab.bootstrap(&["--config", &config, "--tui"]).pty(120, 40)?;
    pty.wait_until("a run with its phases", LIMIT, |screen| {
        screen.contains("◐ Running mgmt on sandbox") && screen.contains("StartingTemporaryCluster")
    })?;
    pty.wait_until("a machine", LIMIT, |screen| screen.contains("mgmt-cp-0"))?;
    let pid = lab.status("mgmt")?["holder"]["pid"].as_i64().context("nobody works on the run")?;
    let pid = Pid::from_raw(pid.try_into()?).context("no process")?;
    ensure!(pid.as_raw_nonzero().get().unsigned_abs() != pty.pid(), "the run is a process of its own");
    kill_process(pid, Signal::KILL)?;
    pty.wait_for("! Interrupted", LIMIT)?;
    pty.send("R")?;
    pty.wait_for("Resume mgmt?", LIMIT)?;
    pty.send("y")?;
    pty.wait_for("✓ Succeeded", LIMIT)?;
    pty.send("q")?;
    assert!(pty.wait(LIMIT)?.success(), "{}", pty.screen());
    pty.wait_for("Succeeded", LIMIT)?;
    assert!(pty.is_sane(), "{}", pty.screen());
    let status = lab.status("mgmt")?;
    assert_eq!(
        (&status["stage"], status["sessions"].as_array().map(Vec::len)),
        (&json!("Succeeded"), Some(2))
    );

    // The log of the controllers is kept beside the journal.
    let log = std::fs::read_to_string(
        PathBuf::from(status["directory"].as_str().context("no directory")?).join("run.log"),
    )?;
    assert!(log.contains("INFO"), "{log}");

    // The list of the dashboard has it, and removes it after its name was typed.
    let mut pty = adm(&lab.env, &["tui"]).env("BUTLER_TOOLS_DIR", lab.tools()).pty(100, 30)?;
    pty.send("0")?;
    pty.wait_for("✓ Succeeded", LIMIT)?;
    pty.send("\r")?;
    pty.wait_for("the cluster is ready", LIMIT)?;
    pty.send("X")?;
    pty.wait_for("Type mgmt", LIMIT)?;
    pty.send("mgmt\r")?;
    pty.wait_for("↓ Destroyed", LIMIT)?;
    leave(pty, "q")
}

#[test]
fn leaving_the_screen_leaves_the_run_going() -> Result<()> {
    let lab = Lab::new()?;
    let config = lab.config("alone")?;
    let mut pty = lab.bootstrap(&["--config", &config, "--tui"]).pty(100, 30)?;
    pty.wait_for("◐ Running alone", LIMIT)?;
    pty.send("d")?;
    pty.wait_for("Leave the run going?", LIMIT)?;
    pty.send("y")?;
    assert!(pty.wait(LIMIT)?.success(), "{}", pty.screen());
    pty.wait_for("goes on without this screen", LIMIT)?;
    drop(pty);
    // Another screen comes back to it, and sees its end.
    let pty = lab.bootstrap(&["status", "alone", "--watch", "--tui"]).pty(100, 30)?;
    pty.wait_for("✓ Succeeded", LIMIT)?;
    leave(pty, "q")?;
    let _gone = lab.bootstrap(&["destroy", "alone", "--yes", "alone"]).run()?.success()?;
    Ok(())
}

#[test]
fn a_run_that_cannot_begin_says_why() -> Result<()> {
    let env = Env::new()?;
    let mut pty = adm(&env, &["bootstrap", "--config", "/nonexistent.yaml", "--tui"]).pty(100, 30)?;
    pty.wait_for("nonexistent.yaml", LIMIT)?;
    pty.send("q")?;
    assert_eq!(pty.wait(LIMIT)?.exit_code(), 2, "{}", pty.screen());
    pty.wait_for("error[BTL-", LIMIT)?;
    assert!(pty.is_sane());
    let output = adm(&env, &["bootstrap", "--config", "-", "--tui"]).run()?.failed_with(2)?;
    assert!(output.stderr.contains("must be a file"), "{output}");
    Ok(())
}

/// A journal of a run that ended, with a name that is not ASCII.
fn journal(path: &std::path::Path) -> Result<()> {
    let id = RunId::parse("20300101-115900-00ff00").context("an id")?;
    let (mut journal, _) = Journal::open(path, id)?;
    let facts = json!({"cluster": "クラスタ", "provider": "sandbox", "runtime": "process", "configSha256": "", "version": "0"});
    journal.append(EventKind::Intent { step: "run".into(), data: facts })?;
    let session = json!({"verb": "run", "pid": 7, "host": "h"});
    journal.append(EventKind::Intent { step: "session".into(), data: session })?;
    journal.append(EventKind::PhaseStarted { phase: "CheckingTheWorld".into() })?;
    journal
        .append(EventKind::PhaseFinished { phase: "CheckingTheWorld".into(), result: Outcome::Succeeded })?;
    journal.append(EventKind::Intent { step: "machine/機械-0".into(), data: json!({"role": "worker"}) })?;
    journal.append(EventKind::finished(Outcome::Succeeded))?;
    Ok(())
}

#[test]
fn a_file_is_shown_again_on_the_screen() -> Result<()> {
    let env = Env::new()?;
    let path = env.work_dir().join("journal.ndjson");
    journal(&path)?;
    let file = path.display().to_string();
    let events = adm(&env, &["bootstrap", "replay", &file, "--speed", "max", "--events", "ndjson", "-v"])
        .run()?
        .success()?;
    let kept = env.work_dir().join("kept.ndjson");
    std::fs::write(&kept, &events.stdout)?;
    for file in [file, kept.display().to_string()] {
        let pty = adm(&env, &["bootstrap", "replay", &file, "--speed", "10", "--tui"]).pty(60, 20)?;
        pty.wait_until("the run", LIMIT, |screen| {
            screen.contains("クラスタ") && screen.contains("Succeeded")
        })?;
        leave(pty, "q")?;
    }
    std::fs::write(&kept, "{\"no\": \"event\"}\n")?;
    let args = ["bootstrap", "replay", &kept.display().to_string(), "--tui"];
    let output = adm(&env, &args).run()?;
    assert!(output.stderr.contains("error[BTL-") && !output.status.success(), "{output}");
    Ok(())
}

/// A log of a million lines is opened at its end, and memory stays small.
#[test]
fn a_million_lines_are_no_burden() -> Result<()> {
    let env = Env::new()?;
    let dir = env.butler_home().join("runs/20300101-115900-00ff00");
    butler_core::settings::home::make_private_dir(&env.butler_home())?;
    butler_core::settings::home::make_private_dir(&env.butler_home().join("runs"))?;
    journal(&dir.join("journal.ndjson"))?;
    let line = |n: u32| format!("2030-01-01T11:59:00Z  INFO butler_operator: line {n}\n");
    std::fs::write(dir.join("run.log"), (0..1_000_000).map(line).collect::<String>())?;
    let mut pty = adm(&env, &["bootstrap", "status", "--watch", "--tui"]).pty(120, 40)?;
    pty.wait_for("line 999999", LIMIT)?;
    let more: String = (1_000_000..1_300_000).map(line).collect();
    let mut log = std::fs::OpenOptions::new().append(true).open(dir.join("run.log"))?;
    std::io::Write::write_all(&mut log, more.as_bytes())?;
    pty.wait_for("line 1299999", LIMIT)?;
    let status = std::fs::read_to_string(format!("/proc/{}/status", pty.pid()))?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("no peak")?;
    let peak: u64 = peak.trim().trim_end_matches("kB").trim().parse()?;
    assert!(peak < 150 * 1024, "{peak} KiB");
    pty.send("g")?;
    pty.wait_until("older lines", LIMIT, |screen| screen.contains("held; f follows"))?;
    leave(pty, "q")
}
