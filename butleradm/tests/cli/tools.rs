use std::{
    fs::{self, Permissions},
    io::{BufRead, BufReader},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    time::{Duration, Instant},
};

use tempfile::TempDir;

/// Stands in for Go: counts builds in a file beside it, writes the first half of `kind`, and the
/// second when `$0.hold` is gone. When the program that started it dies, it gives up.
const GO: &str = r#"#!/bin/sh
if [ "$1" = env ]; then echo go1.26.8; exit; fi
echo build >> "$0.builds"
while [ "$1" != -o ]; do shift; done
printf '#!/bin/sh\n' > "$2kind"
while [ -e "$0.hold" ]; do kill -0 $PPID || exit 9; /bin/sleep 0.05; done
printf 'echo kind v0.33.0\n' >> "$2kind"
"#;

/// A machine with a home, a `PATH` and no way out.
struct Machine {
    dir: TempDir,
}

impl Machine {
    fn new() -> Self {
        let machine = Self { dir: TempDir::new().unwrap() };
        fs::create_dir(machine.path("bin")).unwrap();
        machine
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn script(&self, name: &str, text: &str) {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs::write(self.path(name), text).unwrap();
        fs::set_permissions(self.path(name), Permissions::from_mode(0o755)).unwrap();
    }

    fn tools(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_butleradm"));
        command
            .env_clear()
            .env("BUTLER_HOME", self.path("home"))
            .env("PATH", self.path("bin"))
            // Nobody listens on port 1.
            .env("HTTPS_PROXY", "http://127.0.0.1:1")
            .arg("tools")
            .args(args)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs `butleradm tools …`; the text has the exit status and both streams, without the names of
    /// temporary directories.
    fn run(&self, args: &[&str]) -> String {
        let Output { status, stdout, stderr } = self.tools(args).output().unwrap();
        let text = |bytes: &[u8]| {
            String::from_utf8_lossy(bytes).replace(&self.dir.path().display().to_string(), "/tmp/x")
        };
        format!("exit {}\n{}---\n{}", status.code().unwrap_or(-1), text(&stdout), text(&stderr))
    }

    fn builds(&self) -> usize {
        fs::read_to_string(self.path("bin/go.builds")).map_or(0, |text| text.lines().count())
    }
}

fn wait_for(what: &Path) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !what.exists() {
        assert!(Instant::now() < deadline, "{} does not appear", what.display());
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn path_of_a_missing_program_names_the_next_command() {
    let machine = Machine::new();
    insta::assert_snapshot!(machine.run(&["path", "kind"]), @r"
    exit 3
    ---
    error[BTL-1401]: `kind` 0.33.x was not found

    hint: butleradm tools install kind
    ");
}

#[test]
fn list_shows_what_is_used_and_what_was_passed_over() {
    let machine = Machine::new();
    machine.script("bin/kind", "#!/bin/sh\necho kind v0.30.0\n");
    machine.script("mine/etcd", "#!/bin/sh\necho etcd Version: 3.6.9\n");
    machine.script("mine/helm", "#!/bin/sh\necho v4.0.1+g1234567\n");
    let dir = machine.path("mine");
    let dir = ["--tools-dir", dir.to_str().unwrap()];
    insta::assert_snapshot!(machine.run(&["list", dir[0], dir[1]]), @r"
    exit 0
    NAME                     VERSION                        SOURCE       PATH
    etcd                     3.6.9                          --tools-dir  /tmp/x/mine/etcd
    kube-apiserver           missing                        -            -
    kube-controller-manager  missing                        -            -
    kube-scheduler           missing                        -            -
    kubectl                  missing                        -            -
    helm                     4.0.1+g1234567 (needs 3.22.x)  --tools-dir  /tmp/x/mine/helm
    kind                     missing                        -            -
    ---
    hint: butleradm tools install
    ");
    let json = machine.tools(&["list", "-o", "json", dir[0], dir[1]]).output().unwrap();
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    let states: Vec<_> =
        json["items"].as_array().unwrap().iter().map(|item| item["state"].as_str()).collect();
    assert_eq!(states[0], Some("ready"));
    assert_eq!(states[5..], [Some("wrong"), Some("missing")]);
    assert_eq!(json["items"][6]["passedOver"][1]["reason"], "version 0.30.0");
    // The same place stops whoever wants to use it.
    insta::assert_snapshot!(machine.run(&["path", "helm", dir[0], dir[1]]), @r"
    exit 1
    ---
    error[BTL-1402]: `/tmp/x/mine/helm` is version 4.0.1+g1234567, and Butler works with 3.22.x

    hint: butleradm tools list
    hint: unset BUTLER_TOOLS_DIR to use the cache
    ");
}

#[test]
fn the_settings_name_a_directory_and_forbid_downloads() {
    let machine = Machine::new();
    machine.script("mine/kind", "#!/bin/sh\necho kind v0.33.1\n");
    let config = format!("[tools]\ndir = '{}'\ndownload = false\n", machine.path("mine").display());
    machine.script("home/config.toml", &config);
    assert_eq!(machine.run(&["path", "kind"]), "exit 0\n/tmp/x/mine/kind\n---\n");
    let said = machine.run(&["install", "helm"]);
    assert!(said.starts_with("exit 3\n") && said.contains("the setting `tools.download` is off"), "{said}");
}

#[test]
fn names_are_checked_before_anything_is_done() {
    let machine = Machine::new();
    let said = machine.run(&["install", "kubect"]);
    assert!(said.starts_with("exit 2\n") && said.contains("kubectl"), "{said}");
    assert!(!machine.path("home").exists());
}

#[test]
fn two_processes_at_once_build_once() {
    let machine = Machine::new();
    machine.script("bin/go", GO);
    machine.script("bin/go.hold", "");
    let one = machine.tools(&["install", "kind"]).spawn().unwrap();
    wait_for(&machine.path("bin/go.builds"));
    let mut two = machine.tools(&["install", "kind"]).spawn().unwrap();
    let mut said = BufReader::new(two.stderr.take().unwrap()).lines();
    assert_eq!(said.next().unwrap().unwrap(), "waiting for another process that installs kind");
    fs::remove_file(machine.path("bin/go.hold")).unwrap();
    assert!(one.wait_with_output().unwrap().status.success());
    assert!(two.wait().unwrap().success());
    let end = said.last().unwrap().unwrap();
    assert!(end.ends_with(": 1 found, 0 downloaded, 0 built"), "{end}");
    assert_eq!(machine.builds(), 1);
}

#[test]
fn a_killed_build_is_taken_up_by_the_next_process() {
    let machine = Machine::new();
    machine.script("bin/go", GO);
    machine.script("bin/go.hold", "");
    let mut killed = machine.tools(&["install", "kind"]).spawn().unwrap();
    wait_for(&machine.path("home/tools/.work-kind/bin/kind"));
    killed.kill().unwrap();
    killed.wait().unwrap();
    // Half of it lies there, but not where anybody would use it.
    assert!(machine.run(&["path", "kind"]).starts_with("exit 3\n"));
    fs::remove_file(machine.path("bin/go.hold")).unwrap();
    let said = machine.run(&["install", "kind"]);
    assert!(said.starts_with("exit 0\n") && said.contains("0 found, 0 downloaded, 1 built"), "{said}");
    assert!(!said.contains("waiting"), "{said}");
    assert_eq!(machine.run(&["path", "kind"]), "exit 0\n/tmp/x/home/tools/kind-0.33.0/kind\n---\n");
    assert!(!machine.path("home/tools/.work-kind").exists());
    assert_eq!(machine.builds(), 2);
}
