use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};
use butler_core::event::{Event, EventKind, Outcome};
use butler_tests::{Env, Invocation, Signal};

/// Longer than anything here takes on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

/// Stands in for Go: counts builds in a file beside it, writes the first half of `kind`, and the
/// second when `$0.hold` is gone.
const GO: &str = r#"#!/bin/sh
if [ "$1" = env ]; then echo go1.26.8; exit; fi
echo build >> "$0.builds"
while [ "$1" != -o ]; do shift; done
printf '#!/bin/sh\n' > "$2kind"
while [ -e "$0.hold" ]; do /bin/sleep 0.05; done
printf 'echo kind v0.33.0\n' >> "$2kind"
"#;

/// A machine without a way out, and with nothing on `PATH` but what a test puts there.
struct Machine {
    env: Env,
}

impl Machine {
    fn new() -> Result<Self> {
        Ok(Self { env: Env::new()? })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.env.work_dir().join(name)
    }

    fn write(&self, path: &Path, text: &str) -> Result<()> {
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::write(path, text)?;
        Ok(fs::set_permissions(path, Permissions::from_mode(0o755))?)
    }

    fn script(&self, name: &str, text: &str) -> Result<()> {
        self.write(&self.path(name), text)
    }

    fn tools(&self, args: &[&str]) -> Invocation {
        self.env
            .command(env!("CARGO_BIN_EXE_butleradm"))
            .arg("tools")
            .args(args)
            .env("PATH", self.path("bin"))
            // Nobody listens on port 1.
            .env("HTTPS_PROXY", "http://127.0.0.1:1")
    }

    fn builds(&self) -> usize {
        fs::read_to_string(self.path("bin/go.builds")).map_or(0, |text| text.lines().count())
    }

    fn cache(&self, name: &str) -> PathBuf {
        self.env.butler_home().join("tools").join(name)
    }
}

fn wait_for(file: &Path) -> Result<()> {
    let end = Instant::now() + LIMIT;
    while !file.exists() {
        ensure!(Instant::now() < end, "{} does not appear", file.display());
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

#[test]
fn path_of_a_missing_program_names_the_next_command() -> Result<()> {
    insta::assert_snapshot!(Machine::new()?.tools(&["path", "kind"]).run()?, @r"
    exit 3
    [stderr]
    error[BTL-1401]: `kind` 0.33.x was not found

    hint: butleradm tools install kind
    ");
    Ok(())
}

#[test]
fn list_shows_what_is_used_and_what_was_passed_over() -> Result<()> {
    let machine = Machine::new()?;
    machine.script("bin/kind", "#!/bin/sh\necho kind v0.30.0\n")?;
    machine.script("mine/etcd", "#!/bin/sh\necho etcd Version: 3.6.9\n")?;
    machine.script("mine/helm", "#!/bin/sh\necho v4.0.1+g1234567\n")?;
    insta::assert_snapshot!(machine.tools(&["list", "--tools-dir", "mine"]).run()?, @r"
    exit 0
    [stdout]
    NAME                     VERSION                        SOURCE       PATH
    etcd                     3.6.9                          --tools-dir  [TEMP]/work/mine/etcd
    kube-apiserver           missing                        -            -
    kube-controller-manager  missing                        -            -
    kube-scheduler           missing                        -            -
    kubectl                  missing                        -            -
    helm                     4.0.1+g1234567 (needs 3.22.x)  --tools-dir  [TEMP]/work/mine/helm
    kind                     missing                        -            -
    talosctl                 missing                        -            -
    etcdutl                  missing                        -            -
    [stderr]
    hint: butleradm tools install
    ");
    let json = machine.tools(&["list", "-o", "json", "--tools-dir", "mine"]).run()?.success()?.json()?;
    assert_eq!(json["items"][0]["state"], "ready");
    assert_eq!(json["items"][5]["state"], "wrong");
    assert_eq!(json["items"][6]["state"], "missing");
    assert_eq!(json["items"][6]["passedOver"][1]["reason"], "version 0.30.0");
    // The same place stops whoever wants to use it.
    insta::assert_snapshot!(machine.tools(&["path", "helm", "--tools-dir", "mine"]).run()?, @r"
    exit 1
    [stderr]
    error[BTL-1402]: `[TEMP]/work/mine/helm` is version 4.0.1+g1234567, and Butler works with 3.22.x

    hint: butleradm tools list
    hint: unset BUTLER_TOOLS_DIR to use the cache
    ");
    Ok(())
}

#[test]
fn the_settings_name_a_directory_and_forbid_downloads() -> Result<()> {
    let machine = Machine::new()?;
    machine.script("mine/kind", "#!/bin/sh\necho kind v0.33.1\n")?;
    let config = format!("[tools]\ndir = '{}'\ndownload = false\n", machine.path("mine").display());
    machine.write(&machine.env.butler_home().join("config.toml"), &config)?;
    let found = machine.tools(&["path", "kind"]).run()?.success()?;
    assert_eq!(found.stdout, format!("{}\n", machine.path("mine/kind").display()));
    let refused = machine.tools(&["install", "helm"]).run()?.failed_with(3)?;
    assert!(refused.stderr.contains("the setting `tools.download` is off"), "{refused}");
    Ok(())
}

#[test]
fn names_are_checked_before_anything_is_done() -> Result<()> {
    let machine = Machine::new()?;
    let refused = machine.tools(&["install", "kubect"]).run()?.failed_with(2)?;
    assert!(refused.stderr.contains("kubectl"), "{refused}");
    assert!(!machine.env.butler_home().exists());
    Ok(())
}

#[test]
fn two_processes_at_once_build_once() -> Result<()> {
    let machine = Machine::new()?;
    machine.script("bin/go", GO)?;
    machine.script("bin/go.hold", "")?;
    let one = machine.tools(&["install", "kind"]).spawn()?;
    wait_for(&machine.path("bin/go.builds"))?;
    let mut two = machine.tools(&["install", "kind"]).spawn()?;
    let line = two.stderr_line(LIMIT)?;
    assert!(line.ends_with(" waiting for another process that installs kind"), "{line}");
    fs::remove_file(machine.path("bin/go.hold"))?;
    let one = one.wait(LIMIT)?.success()?;
    assert!(one.stderr.ends_with(": 0 found, 0 downloaded, 1 built\n"), "{one}");
    let two = two.wait(LIMIT)?.success()?;
    assert!(two.stderr.ends_with(": 1 found, 0 downloaded, 0 built\n"), "{two}");
    assert_eq!(machine.builds(), 1);
    Ok(())
}

#[test]
fn a_killed_build_is_taken_up_by_the_next_process() -> Result<()> {
    let machine = Machine::new()?;
    machine.script("bin/go", GO)?;
    machine.script("bin/go.hold", "")?;
    let killed = machine.tools(&["install", "kind"]).spawn()?;
    wait_for(&machine.cache(".work-kind/bin/kind"))?;
    killed.signal(Signal::KILL);
    assert_eq!(killed.wait(LIMIT)?.status.code(), None);
    // Half of it lies there, but not where anybody would use it.
    assert_eq!(machine.tools(&["path", "kind"]).run()?.failed_with(3)?.stdout, "");
    fs::remove_file(machine.path("bin/go.hold"))?;
    let taken_up = machine.tools(&["install", "kind"]).run()?.success()?;
    assert!(taken_up.stderr.contains("0 found, 0 downloaded, 1 built"), "{taken_up}");
    assert!(!taken_up.stderr.contains("waiting"), "{taken_up}");
    let found = machine.tools(&["path", "kind"]).run()?.success()?;
    assert_eq!(found.stdout, format!("{}\n", machine.cache("kind-0.33.0/kind").display()));
    assert!(!machine.cache(".work-kind").exists());
    assert_eq!(machine.builds(), 2);
    Ok(())
}

#[test]
fn events_tell_the_whole_job_and_how_it_ended() -> Result<()> {
    let machine = Machine::new()?;
    machine.script("bin/go", GO)?;
    machine.script("bin/go.hold", "")?;
    let events = |output: &str| -> Result<Vec<Event>> {
        output.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
    };
    let args = ["install", "kind", "--events", "ndjson"];
    let stopped = machine.tools(&args).spawn()?;
    wait_for(&machine.path("bin/go.builds"))?;
    stopped.signal(Signal::TERM);
    let stopped = stopped.wait(LIMIT)?.failed_with(130)?;
    let end = events(&stopped.stdout)?.pop().map(|event| event.kind);
    assert_eq!(end, Some(EventKind::finished(Outcome::Cancelled)), "{stopped}");

    fs::remove_file(machine.path("bin/go.hold"))?;
    let said = events(&machine.tools(&args).run()?.success()?.stdout)?;
    assert!(said.iter().map(|event| event.seq).eq(1..=said.len() as u64), "{said:?}");
    let phase = EventKind::PhaseStarted { phase: "Building kind with Go".to_owned() };
    assert!(said.iter().any(|event| event.kind == phase), "{said:?}");
    assert_eq!(said.last().map(|event| &event.kind), Some(&EventKind::finished(Outcome::Succeeded)));
    Ok(())
}
