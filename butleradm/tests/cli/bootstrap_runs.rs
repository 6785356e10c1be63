//! Runs on disk as the reading commands show them. Every journal is written by the real [`Journal`].

use std::{
    fs,
    io::{BufRead, BufReader},
    path::PathBuf,
    process::{Command, Stdio},
    time::Duration,
};

use anyhow::{Context, Result, ensure};
use butler_core::{
    event::{Change, Event, EventKind, Journal, ObjectRef, Outcome, RunId},
    settings::Environment,
};
use butler_tests::{Env, Invocation, Signal};
use regex::Regex;
use serde_json::{Value, json};

const LIMIT: Duration = Duration::from_secs(60);
const FIRST: &str = "20261114-101112-00ff00";
const SECOND: &str = "20261114-111213-0a0a0a";

struct Home {
    env: Env,
}

impl Home {
    fn new() -> Result<Self> {
        Ok(Self { env: Env::new()? })
    }

    fn bootstrap(&self, args: &[&str]) -> Invocation {
        self.env.command(env!("CARGO_BIN_EXE_butleradm")).arg("bootstrap").args(args)
    }

    fn path(&self, id: &str) -> PathBuf {
        self.env.butler_home().join("runs").join(id).join("journal.ndjson")
    }

    fn journal(&self, id: &str) -> Result<Journal> {
        let id = RunId::parse(id).context("not an id")?;
        Ok(Journal::open(&self.path(id.as_str()), id)?.0)
    }

    fn write(&self, id: &str, kinds: Vec<EventKind>) -> Result<()> {
        let mut journal = self.journal(id)?;
        kinds.into_iter().try_for_each(|kind| Ok(journal.append(kind).map(drop)?))
    }
}

fn intent(step: &str, data: Value) -> EventKind {
    EventKind::Intent { step: step.into(), data }
}

fn result(step: &str, data: Value) -> EventKind {
    EventKind::Result { step: step.into(), data }
}

fn started(phase: &str) -> EventKind {
    EventKind::PhaseStarted { phase: phase.into() }
}

fn ended(phase: &str, result: Outcome) -> EventKind {
    EventKind::PhaseFinished { phase: phase.into(), result }
}

/// A run that is in the middle of making its second machine.
fn half(cluster: &str) -> Vec<EventKind> {
    let facts = json!({
        "cluster": cluster, "provider": "harvester", "runtime": "kind", "configSha256": "00", "version": "0",
    });
    let request = ObjectRef {
        kind: "MachineRequest".into(),
        namespace: Some("butler-system".into()),
        name: format!("{cluster}-cp-0"),
    };
    vec![
        intent("run", facts),
        intent("session", json!({"verb": "run", "pid": 41, "host": "desk"})),
        started("CreatingTemporaryCluster"),
        ended("CreatingTemporaryCluster", Outcome::Succeeded),
        started("ProvisioningMachines"),
        EventKind::Resource { reference: request, change: Change::Created },
        intent(&format!("machine/{cluster}-cp-0"), json!({"cpu": 4})),
        result(&format!("machine/{cluster}-cp-0"), json!({"id": "vm-1"})),
        intent(&format!("machine/{cluster}-cp-1"), json!({"cpu": 4})),
    ]
}

fn failed(cluster: &str) -> Vec<EventKind> {
    let outcome = Outcome::Failed { code: "BTL-1604".into(), message: "no room left: 12 of 12 cores".into() };
    let mut kinds = half(cluster);
    kinds.push(EventKind::warning("driver", "the provider is nearly full"));
    kinds.push(ended("ProvisioningMachines", outcome.clone()));
    kinds.push(EventKind::finished(outcome));
    kinds
}

fn succeeded(cluster: &str) -> Vec<EventKind> {
    let mut kinds = half(cluster);
    kinds.extend([
        result(&format!("machine/{cluster}-cp-1"), json!({"id": "vm-2"})),
        ended("ProvisioningMachines", Outcome::Succeeded),
        intent("addon/cilium", json!({})),
        result("addon/cilium", json!({})),
        EventKind::finished(Outcome::Succeeded),
    ]);
    kinds
}

/// Journals are written with the real clock, and the program's is fixed: times differ, widths too.
fn timeless(output: impl ToString) -> Result<String> {
    let mut text = output.to_string();
    for (pattern, with) in [
        (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "DATE TIME"),
        (r"\b\d\d:\d\d:\d\d\b", "TIME"),
        (r"\b(\d+ min )?\d+ m?s\b", "TOOK"),
        (r"\b\d+[smhdw] ago", "AGE ago"),
        (r"\b\d+w\b", "AGE"),
        (r"[·█]{24}", "BAR"),
        (r"process \d+ on `[^`]*`", "process PID on `HOST`"),
        (" {2,}", "  "),
    ] {
        text = Regex::new(pattern)?.replace_all(&text, with).into_owned();
    }
    Ok(text)
}

#[test]
fn a_home_without_runs_says_so() -> Result<()> {
    let home = Home::new()?;
    insta::assert_snapshot!(home.bootstrap(&["list"]).run()?, @r"
    exit 0
    [stdout]
    ID  CLUSTER  PROVIDER  STAGE  PHASE  AGE  DURATION  MACHINES
    [stderr]
    no runs
    ");
    let list = home.bootstrap(&["ls", "-o", "json"]).run()?.success()?;
    assert_eq!(list.json()?["items"], json!([]));
    assert_eq!(list.stderr, "");
    for verb in ["status", "logs", "replay"] {
        let output = home.bootstrap(&[verb]).run()?;
        insta::allow_duplicates! {
            insta::assert_snapshot!(output, @r"
            exit 3
            [stderr]
            error[BTL-2001]: there is no run yet

            hint: butleradm bootstrap --config FILE
            ");
        }
    }
    assert!(!home.env.butler_home().exists(), "looking leaves no trace");
    Ok(())
}

#[test]
fn list_shows_every_run_in_every_format() -> Result<()> {
    let home = Home::new()?;
    home.write(FIRST, failed("lab"))?;
    home.write(SECOND, succeeded("prod"))?;
    insta::assert_snapshot!(timeless(home.bootstrap(&["list"]).run()?)?, @r"
    exit 0
    [stdout]
    ID  CLUSTER  PROVIDER  STAGE  PHASE  AGE  DURATION  MACHINES
    20261114-101112-00ff00  lab  harvester  Failed  ProvisioningMachines  AGE  TOOK  1/2
    20261114-111213-0a0a0a  prod  harvester  Succeeded  ProvisioningMachines  AGE  TOOK  2/2
    ");
    let wide = home.bootstrap(&["list", "-o", "wide"]).run()?.success()?;
    assert!(
        wide.stdout
            .lines()
            .next()
            .is_some_and(|line| line.ends_with("RUNTIME  STARTED  RECORDS") || line.contains("RUNTIME")),
        "{wide}"
    );
    let json = home.bootstrap(&["list", "-o", "json"]).run()?.success()?.json()?;
    assert_eq!(json["kind"], "BootstrapRunList");
    assert_eq!(json["items"][0]["stage"], "Failed");
    assert_eq!(json["items"][0]["outcome"]["code"], "BTL-1604");
    assert_eq!(json["items"][1]["machines"]["prod-cp-1"]["id"], "vm-2");
    let yaml = home.bootstrap(&["list", "-o", "yaml"]).run()?.success()?;
    assert!(yaml.stdout.starts_with("apiVersion: butler.butlerlabs.dev/v1alpha1\n"), "{yaml}");
    let names = home.bootstrap(&["list", "-o", "name"]).run()?.success()?;
    assert_eq!(names.stdout, format!("run/{FIRST}\nrun/{SECOND}\n"));
    let path = "jsonpath={.items[*].stage}";
    assert_eq!(home.bootstrap(&["list", "-o", path]).run()?.success()?.stdout, "Failed Succeeded");
    let _output = home.bootstrap(&["list", "-o", "xml"]).run()?.failed_with(2)?;
    Ok(())
}

#[test]
fn status_tells_where_a_run_stands_and_what_goes_on_with_it() -> Result<()> {
    let home = Home::new()?;
    home.write(FIRST, failed("lab"))?;
    insta::assert_snapshot!(timeless(home.bootstrap(&["status", "lab"]).run()?)?, @r"
    exit 0
    [stdout]
    run 20261114-101112-00ff00: Failed
      Cluster  lab (harvester, temporary cluster by kind)
      Started  DATE TIME UTC (AGE ago, TOOK)
      Last  run by process PID on `HOST`
      Directory  [TEMP]/butler/runs/20261114-101112-00ff00

    PHASE  RESULT  STARTED  TOOK  TIMELINE
    CreatingTemporaryCluster  done  TIME  TOOK  BAR
    ProvisioningMachines  failed  TIME  TOOK  BAR

    MACHINE  STATE  ID
    lab-cp-0  made  vm-1
    lab-cp-1  announced  -

    Open effects
      machine/lab-cp-1

    Error BTL-1604: no room left: 12 of 12 cores
    [stderr]
    hint: butleradm bootstrap resume 20261114-101112-00ff00
    ");
    let json = home.bootstrap(&["status", "-o", "json"]).run()?.success()?;
    assert_eq!(json.json()?["next"], format!("butleradm bootstrap resume {FIRST}"));
    assert_eq!(json.json()?["kind"], "BootstrapRun");
    assert_eq!(json.stderr, "");
    let name = home.bootstrap(&["status", "-o", "name"]).run()?.success()?;
    assert_eq!(name.stdout, format!("run/{FIRST}\n"));
    // The next word fits what was tried last.
    home.write(FIRST, vec![intent("session", json!({"verb": "destroy", "pid": 7, "host": "desk"}))])?;
    let again = home.bootstrap(&["status"]).run()?.success()?;
    assert_eq!(again.stderr, format!("hint: butleradm bootstrap destroy {FIRST}\n"));
    home.write(FIRST, vec![EventKind::finished(Outcome::Succeeded)])?;
    let gone = home.bootstrap(&["status", "-o", "json"]).run()?.success()?.json()?;
    assert_eq!((&gone["stage"], gone.get("next")), (&json!("Destroyed"), None));
    Ok(())
}

#[test]
fn a_run_is_found_by_cluster_id_or_its_beginning_and_the_newest_without_a_name() -> Result<()> {
    let home = Home::new()?;
    home.write(FIRST, succeeded("prod"))?;
    home.write(SECOND, half("prod"))?;
    let id = |args: &[&str]| -> Result<Value> {
        let args = [&["status", "-o", "json"], args].concat();
        Ok(home.bootstrap(&args).run()?.success()?.json()?["runId"].clone())
    };
    for (args, expected) in
        [(vec![], SECOND), (vec!["prod"], SECOND), (vec![FIRST], FIRST), (vec!["20261114-10"], FIRST)]
    {
        assert_eq!(id(&args)?, expected, "{args:?}");
    }
    insta::assert_snapshot!(home.bootstrap(&["status", "prdo"]).run()?, @r"
    exit 3
    [stderr]
    error[BTL-2001]: no run is named `prdo`, and none made a cluster of that name

    hint: did you mean `prod`
    hint: butleradm bootstrap list
    ");
    insta::assert_snapshot!(home.bootstrap(&["logs", "20261114"]).run()?, @r"
    exit 2
    [stderr]
    error[BTL-2002]: `20261114` is the beginning of several runs: 20261114-101112-00ff00, 20261114-111213-0a0a0a

    hint: butleradm bootstrap list
    ");
    let _output = home.bootstrap(&["status", ""]).run()?.failed_with(3)?;
    Ok(())
}

#[test]
fn a_damaged_journal_is_a_row_in_the_list_and_an_error_elsewhere() -> Result<()> {
    let home = Home::new()?;
    home.write(FIRST, failed("lab"))?;
    home.write(SECOND, succeeded("prod"))?;
    let path = home.path(SECOND);
    fs::write(&path, fs::read_to_string(&path)?.replace("\"vm-1\"", "\"vm-7\""))?;
    insta::assert_snapshot!(timeless(home.bootstrap(&["list"]).run()?)?, @r"
    exit 0
    [stdout]
    ID  CLUSTER  PROVIDER  STAGE  PHASE  AGE  DURATION  MACHINES
    20261114-101112-00ff00  lab  harvester  Failed  ProvisioningMachines  AGE  TOOK  1/2
    20261114-111213-0a0a0a  -  -  Damaged  -  -  -  -
    [stderr]
    warning: run 20261114-111213-0a0a0a: line 8 of the journal `[TEMP]/butler/runs/20261114-111213-0a0a0a/journal.ndjson` is damaged: its checksum does not fit (BTL-1304)
    ");
    let json = home.bootstrap(&["list", "-o", "json"]).run()?.success()?.json()?;
    assert_eq!(json["items"][1]["stage"], "Damaged");
    assert_eq!(json["items"][1]["code"], "BTL-1304");
    for verb in ["status", "logs", "replay"] {
        let refused = home.bootstrap(&[verb, SECOND]).run()?.failed_with(1)?;
        assert!(refused.stderr.contains("error[BTL-1304]: line 8 of the journal"), "{refused}");
        assert_eq!(refused.stdout, "");
    }
    // The other run is not touched by it.
    let _output = home.bootstrap(&["status", "lab"]).run()?.success()?;
    Ok(())
}

#[test]
fn a_torn_last_line_is_no_damage() -> Result<()> {
    let home = Home::new()?;
    home.write(FIRST, half("lab"))?;
    let path = home.path(FIRST);
    let content = fs::read_to_string(&path)?;
    fs::write(&path, &content[..content.len() - 20])?;
    let json = home.bootstrap(&["status", "-o", "json"]).run()?.success()?.json()?;
    assert_eq!((&json["stage"], &json["records"]), (&json!("Interrupted"), &json!(8)));
    assert_eq!(fs::metadata(&path)?.len(), content.len() as u64 - 20, "a reader mends nothing");
    Ok(())
}

/// Set for the copy of this test binary that holds a journal.
const HOLD: &str = "BUTLER_TEST_HOLD";

/// The process that holds a journal. It appends what it is told on its input and ends with it.
#[test]
#[ignore = "a role that the tests below start"]
fn holder_of_a_journal() -> Result<()> {
    let path = Environment::capture().path(HOLD).context("a role is started by a test")?;
    let id = RunId::parse(FIRST).context("not an id")?;
    let (mut journal, _) = Journal::open(&path, id)?;
    for line in std::io::stdin().lines() {
        journal.append(serde_json::from_str::<Event>(&line?)?.kind)?;
    }
    Ok(())
}

/// A live process that writes the journal of [`FIRST`].
struct Writer {
    child: std::process::Child,
}

impl Writer {
    fn start(home: &Home) -> Result<Self> {
        let child = Command::new(std::env::current_exe()?)
            .args(["bootstrap_runs::holder_of_a_journal", "--exact", "--nocapture", "--ignored"])
            .env(HOLD, home.path(FIRST))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let writer = Self { child };
        let end = std::time::Instant::now() + LIMIT;
        while butler_core::event::journal::holder(&home.path(FIRST)).is_none_or(|holder| holder.pid == 0) {
            ensure!(std::time::Instant::now() < end, "nobody takes the journal");
            std::thread::yield_now();
        }
        Ok(writer)
    }

    fn append(&mut self, kind: EventKind) -> Result<()> {
        use std::io::Write;
        let time = "2026-11-14T10:11:12Z".parse()?;
        let event =
            Event { version: 1, seq: 1, time, run_id: RunId::parse(FIRST).context("not an id")?, kind };
        let input = self.child.stdin.as_mut().context("no input")?;
        writeln!(input, "{}", serde_json::to_string(&event)?)?;
        Ok(input.flush()?)
    }

    fn end(mut self) -> Result<()> {
        drop(self.child.stdin.take());
        ensure!(self.child.wait()?.success(), "the writer failed");
        Ok(())
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_run_is_shown_and_followed_while_another_process_writes_it() -> Result<()> {
    let home = Home::new()?;
    home.write(FIRST, half("lab"))?;
    let mut writer = Writer::start(&home)?;
    let json = home.bootstrap(&["status", "-o", "json"]).run()?.success()?.json()?;
    assert_eq!(json["stage"], "Running");
    assert_eq!(json["holder"]["pid"], writer.child.id());
    assert_eq!(json.get("next"), None);
    let text = home.bootstrap(&["status"]).run()?.success()?;
    let holder = format!("Worked on  by process {} on `", writer.child.id());
    assert!(text.stdout.contains(&holder), "{text}");

    let mut watch = home.bootstrap(&["status", "--watch"]).spawn()?;
    let mut objects = home.bootstrap(&["status", "--watch", "-o", "json"]).spawn()?;
    let mut logs = home.bootstrap(&["logs", "--follow", "--tail", "1"]).spawn()?;
    watch.line_with("machine lab-cp-1 announced", LIMIT)?;
    assert_eq!(serde_json::from_str::<Value>(&objects.line(LIMIT)?)?["records"], 9);
    assert!(logs.line(LIMIT)?.ends_with("MachineRequest butler-system/lab-cp-0 created"));
    fs::write(home.path(FIRST).with_file_name("run.log"), "2026-11-14T10:11:12Z  INFO butler: reconciled\n")?;
    logs.line_with("info  butler: reconciled", LIMIT)?;
    writer.append(result("machine/lab-cp-1", json!({"id": "vm-2"})))?;
    watch.line_with("machine lab-cp-1 made: vm-2", LIMIT)?;
    objects.line_with(r#""vm-2""#, LIMIT)?;
    writer.append(ended("ProvisioningMachines", Outcome::Succeeded))?;
    logs.line_with("✓ ProvisioningMachines (", LIMIT)?;
    writer.append(EventKind::finished(Outcome::Cancelled))?;
    writer.end()?;
    // Every one of them ends with the run.
    let watch = watch.wait(LIMIT)?.success()?;
    assert_eq!(watch.stderr, format!("hint: butleradm bootstrap resume {FIRST}\n"));
    let last = objects.wait(LIMIT)?.success()?.stdout.lines().last().map(serde_json::from_str::<Value>);
    assert_eq!(last.context("no line")??["stage"], "Stopped");
    let logs = logs.wait(LIMIT)?.success()?;
    assert!(logs.stdout.ends_with(" warn  stopped\n"), "{logs}");
    // Each change was said once.
    for line in ["▸ ProvisioningMachines", "machine lab-cp-0 made: vm-1", "Stopped"] {
        assert_eq!(watch.stdout.matches(line).count(), 1, "{line}: {watch}");
    }
    let _output = home.bootstrap(&["status", "--watch", "-o", "yaml"]).run()?.failed_with(2)?;
    Ok(())
}

#[test]
fn a_watch_redraws_a_terminal_and_ends_with_the_run() -> Result<()> {
    let home = Home::new()?;
    home.write(FIRST, half("lab"))?;
    let mut writer = Writer::start(&home)?;
    let mut screen = home.bootstrap(&["status", "--watch"]).pty(100, 40)?;
    screen.wait_for("announced", LIMIT)?;
    writer.append(result("machine/lab-cp-1", json!({"id": "vm-2"})))?;
    screen.wait_until("the second machine", LIMIT, |screen| {
        screen.contains("vm-2") && !screen.contains("announced") && screen.matches("lab-cp-1").count() == 1
    })?;
    writer.append(EventKind::finished(Outcome::Succeeded))?;
    writer.end()?;
    screen.wait_for(&format!("run {FIRST}: Succeeded"), LIMIT)?;
    assert!(screen.wait(LIMIT)?.success());
    Ok(())
}

#[test]
fn logs_have_levels_and_a_tail() -> Result<()> {
    let home = Home::new()?;
    home.write(FIRST, failed("lab"))?;
    insta::assert_snapshot!(timeless(home.bootstrap(&["logs"]).run()?)?, @r"
    exit 0
    [stdout]
    DATE TIME info  bootstrap run by process PID on `HOST`
    DATE TIME info  ▸ CreatingTemporaryCluster
    DATE TIME info  ✓ CreatingTemporaryCluster (TOOK)
    DATE TIME info  ▸ ProvisioningMachines
    DATE TIME info  MachineRequest butler-system/lab-cp-0 created
    DATE TIME warn  the provider is nearly full
    DATE TIME error ✗ ProvisioningMachines (TOOK): no room left: 12 of 12 cores (BTL-1604)
    DATE TIME error failed: no room left: 12 of 12 cores (BTL-1604)
    ");
    let count = |args: &[&str]| -> Result<usize> {
        let args = [&["logs"], args].concat();
        Ok(home.bootstrap(&args).run()?.success()?.stdout.lines().count())
    };
    assert_eq!(count(&["--level", "warn"])?, 3);
    assert_eq!(count(&["--level", "error", "--tail", "1"])?, 1);
    assert_eq!(count(&["--tail", "0"])?, 0);
    assert_eq!(count(&["--level", "debug"])?, 12);
    // Nobody works on it, so there is nothing to follow.
    assert_eq!(count(&["--follow"])?, 8);
    Ok(())
}

#[test]
fn replay_goes_through_the_viewers_of_a_live_run() -> Result<()> {
    let home = Home::new()?;
    home.write(FIRST, failed("lab"))?;
    let fast = ["replay", "--speed", "max"];
    insta::assert_snapshot!(timeless(home.bootstrap(&fast).run()?)?, @r"
    exit 0
    [stderr]
    TIME ▸ CreatingTemporaryCluster
    TIME ✓ CreatingTemporaryCluster (TOOK)
    TIME ▸ ProvisioningMachines
    TIME  MachineRequest butler-system/lab-cp-0 created
    TIME warning: the provider is nearly full
    TIME ✗ ProvisioningMachines (TOOK): no room left: 12 of 12 cores
    run 20261114-101112-00ff00: Failed
    ");
    let verbose = home.bootstrap(&[&fast[..], &["-v"]].concat()).run()?.success()?;
    assert!(verbose.stderr.contains(" → machine/lab-cp-0\n"), "{verbose}");
    assert!(verbose.stderr.contains(" ← machine/lab-cp-0\n"), "{verbose}");
    let events = |args: &[&str]| -> Result<Vec<Event>> {
        let args = [&fast[..], &["--events", "ndjson"], args].concat();
        let output = home.bootstrap(&args).run()?.success()?;
        output.stdout.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
    };
    let stream = events(&[])?;
    assert!(stream.iter().map(|event| event.seq).eq(1..=stream.len() as u64), "{stream:?}");
    let is_record =
        |event: &&Event| matches!(event.kind, EventKind::Intent { .. } | EventKind::Result { .. });
    assert_eq!(stream.iter().filter(is_record).count(), 0);
    assert_eq!(events(&["-v"])?.iter().filter(is_record).count(), 5);
    for bad in ["0", "-1", "quick", "nan", "inf"] {
        let _output = home.bootstrap(&["replay", &format!("--speed={bad}")]).run()?.failed_with(2)?;
    }
    Ok(())
}

#[test]
fn a_replayed_stream_ends_once() -> Result<()> {
    let home = Home::new()?;
    let mut kinds = half("lab");
    kinds.push(EventKind::finished(Outcome::Cancelled));
    kinds.push(intent("session", json!({"verb": "resume", "pid": 42, "host": "desk"})));
    kinds.push(started("ProvisioningMachines"));
    home.write(FIRST, kinds)?;
    let ends = || -> Result<Vec<usize>> {
        let args = ["replay", "--speed", "max", "--events", "ndjson"];
        let output = home.bootstrap(&args).run()?.success()?;
        let ends =
            output.stdout.lines().enumerate().filter(|(_, line)| line.contains(r#""kind":"Finished""#));
        let count = output.stdout.lines().count();
        Ok(ends.map(|(at, _)| count - at).collect())
    };
    assert_eq!(ends()?, [1], "an interrupted run ends as cancelled");
    home.write(FIRST, vec![EventKind::finished(Outcome::Succeeded)])?;
    assert_eq!(ends()?, [1]);
    Ok(())
}

#[test]
fn replay_draws_bars_on_a_terminal() -> Result<()> {
    let home = Home::new()?;
    home.write(FIRST, succeeded("prod"))?;
    let mut screen = home.bootstrap(&["replay", "--speed", "max"]).pty(80, 24)?;
    screen.wait_for(&format!("run {FIRST}: Succeeded"), LIMIT)?;
    screen.wait_for("✓ ProvisioningMachines", LIMIT)?;
    assert!(screen.wait(LIMIT)?.success());
    Ok(())
}

#[test]
fn twenty_columns_lose_no_value() -> Result<()> {
    let home = Home::new()?;
    home.write(FIRST, failed("lab"))?;
    for (args, words) in [
        (vec!["list"], vec!["DURATION", "harvester", "1/2"]),
        (vec!["status"], vec!["lab-cp-1", "announced", "BTL-1604"]),
    ] {
        let mut screen = home.bootstrap(&args).pty(20, 60)?;
        assert!(screen.wait(LIMIT)?.success());
        for word in words {
            screen.wait_for(word, LIMIT)?;
        }
    }
    Ok(())
}

#[test]
fn a_reader_that_goes_away_is_no_error() -> Result<()> {
    let home = Home::new()?;
    let many = (0..5000).map(|number| EventKind::info("test", format!("line {number}")));
    let path = home.path(FIRST);
    home.write(FIRST, half("lab"))?;
    // Longer than a pipe holds, in the log: five thousand records on disk would take a while.
    let lines = many.map(|kind| format!("2026-11-14T10:11:12Z INFO t: {kind:?}\n"));
    fs::write(path.with_file_name("run.log"), lines.collect::<String>())?;
    let program = env!("CARGO_BIN_EXE_butleradm");
    for args in ["logs", "replay --speed max --events ndjson -v", "status --watch", "list"] {
        let script = format!("{program} bootstrap {args} | head -n 1; echo ${{PIPESTATUS[0]}}");
        let output = home.env.command("/bin/bash").args(["-c", &script]).run()?.success()?;
        assert_eq!(output.stdout.lines().last(), Some("0"), "{args}: {output}");
        assert_eq!(
            output
                .stderr
                .replace(&format!("run {FIRST}: Interrupted\n"), "")
                .replace(&format!("hint: butleradm bootstrap resume {FIRST}\n"), ""),
            "",
            "{args}: {output}"
        );
    }
    Ok(())
}

#[test]
fn looking_writes_nothing_into_the_home() -> Result<()> {
    let home = Home::new()?;
    home.write(FIRST, failed("lab"))?;
    let tree = || -> Result<Vec<String>> {
        let mut find = Command::new("find");
        let output = find.arg(home.env.butler_home()).args(["-printf", "%p %m %s %T@\n"]).output()?;
        ensure!(output.status.success(), "find failed");
        Ok(BufReader::new(output.stdout.as_slice()).lines().collect::<Result<_, _>>()?)
    };
    // A home that cannot be written; whoever is root could write it all the same, so the tree is compared.
    let dir = home.path(FIRST).parent().context("no directory")?.to_owned();
    let modes = |dirs: u32, files: u32| -> Result<()> {
        use std::os::unix::fs::PermissionsExt;
        for entry in fs::read_dir(&dir)? {
            fs::set_permissions(entry?.path(), fs::Permissions::from_mode(files))?;
        }
        fs::set_permissions(&dir, fs::Permissions::from_mode(dirs))?;
        Ok(fs::set_permissions(home.env.butler_home(), fs::Permissions::from_mode(dirs))?)
    };
    modes(0o500, 0o400)?;
    let before = tree()?;
    for args in [vec!["list"], vec!["status"], vec!["logs"], vec!["replay", "--speed", "max"]] {
        let _output = home.bootstrap(&args).run()?.success()?;
    }
    assert_eq!(tree()?, before);
    modes(0o700, 0o600)
}

#[test]
fn runs_and_clusters_are_completed() -> Result<()> {
    let home = Home::new()?;
    home.write(FIRST, failed("lab"))?;
    home.write(SECOND, succeeded("prod"))?;
    for (verb, word, expected) in [
        ("status", "", vec!["lab", "prod", SECOND, FIRST]),
        ("logs", "pr", vec!["prod"]),
        ("replay", "20261114-10", vec![FIRST]),
    ] {
        let end = std::time::Instant::now() + LIMIT;
        loop {
            let output = home
                .env
                .command(env!("CARGO_BIN_EXE_butleradm"))
                .args(["--", "butleradm", "bootstrap", verb, word])
                .env("BUTLER_COMPLETE", "bash")
                .env("_CLAP_COMPLETE_INDEX", "3")
                .env("_CLAP_IFS", "\n")
                .run()?
                .success()?;
            let found: Vec<&str> = output.stdout.lines().filter(|line| !line.starts_with('-')).collect();
            // On a busy machine the names may miss their deadline.
            if found == expected {
                break;
            }
            ensure!(std::time::Instant::now() < end, "{verb} {word:?}: {output}");
        }
    }
    Ok(())
}

#[test]
fn ctrl_c_ends_a_watch() -> Result<()> {
    let home = Home::new()?;
    home.write(FIRST, half("lab"))?;
    let _writer = Writer::start(&home)?;
    let mut watch = home.bootstrap(&["status", "--watch"]).spawn()?;
    watch.line_with("announced", LIMIT)?;
    watch.signal(Signal::INT);
    let _output = watch.wait(LIMIT)?.failed_with(130)?;
    Ok(())
}
