//! `butleradm bootstrap` with real parts: a management cluster on simulated machines, made, interrupted,
//! taken up again and removed.

mod backup;
mod bad;
mod ends;
mod engine;
mod makes;
mod refuses;
mod verbs;
mod workflows;

use std::{
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use butler_core::event::{Event, journal};
use butler_operator::process::Signal;
use butler_tests::{Env, Invocation, part};
use rustix::process::{Pid, kill_process};
use serde_json::Value;

/// Longer than anything here takes on a busy machine.
const LIMIT: Duration = Duration::from_secs(240);
const PARTS: [&str; 6] =
    ["etcd", "etcdutl", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "helm"];

/// A person's machine with the real parts and nothing made yet.
struct Lab {
    env: Env,
    home: PathBuf,
}

impl Lab {
    fn new() -> Result<Self> {
        let env = Env::new()?;
        let lab = Self { home: env.butler_home(), env };
        std::fs::create_dir(lab.tools())?;
        for name in PARTS {
            symlink(part(name)?, lab.tools().join(name))?;
        }
        Ok(lab)
    }

    fn tools(&self) -> PathBuf {
        self.env.work_dir().join("tools")
    }

    /// `butleradm …`
    fn adm(&self, args: &[&str]) -> Invocation {
        let command = self.env.command(env!("CARGO_BIN_EXE_butleradm")).args(args).timeout(LIMIT);
        command.env("BUTLER_HOME", &self.home).env("BUTLER_TOOLS_DIR", self.tools())
    }

    /// `butleradm bootstrap …`
    fn bootstrap(&self, args: &[&str]) -> Invocation {
        self.adm(&[&["bootstrap"], args].concat())
    }

    /// A configuration with this name for its cluster.
    fn config(&self, cluster: &str, topology: &str) -> Result<String> {
        let example = if topology == "ha" { "sandbox-ha" } else { "sandbox" };
        let text = std::fs::read_to_string(example_path(&format!("{example}.yaml")))?;
        let text = text.replace(&format!("name: {example}\n"), &format!("name: {cluster}\n"));
        ensure!(text.contains(&format!("name: {cluster}\n")), "the example has another name");
        let path = self.env.work_dir().join(format!("{cluster}.yaml"));
        std::fs::write(&path, text)?;
        Ok(path.display().to_string())
    }

    fn status(&self, run: &str) -> Result<Value> {
        self.bootstrap(&["status", run, "-o", "json"]).run()?.success()?.json()
    }

    fn destroy(&self, cluster: &str) -> Result<()> {
        let gone = self.bootstrap(&["destroy", cluster, "--yes", cluster]).run()?.success()?;
        ensure!(gone.stderr.contains("is left"), "{gone}");
        Ok(())
    }

    /// kubectl as the administrator of a cluster that was made.
    fn kubectl(&self, cluster: &str, args: &[&str]) -> Result<Invocation> {
        let kubeconfig = self.home.join(format!("{cluster}-kubeconfig"));
        Ok(self.env.command(part("kubectl")?).args(args).env("KUBECONFIG", kubeconfig).timeout(LIMIT))
    }

    /// The only run's directory.
    fn run_dir(&self) -> Result<PathBuf> {
        let runs = std::fs::read_dir(self.home.join("runs"))?.flatten().map(|entry| entry.path());
        let mut runs: Vec<_> = runs.filter(|path| path.is_dir()).collect();
        ensure!(runs.len() == 1, "{runs:?}");
        runs.pop().context("a run")
    }

    fn journal(&self) -> Result<Vec<Event>> {
        Ok(journal::read(&self.run_dir()?.join("journal.ndjson"))?)
    }

    /// The machines that the host made, once for each time: the witness that none was made twice.
    fn machines_made(&self, sandbox: &str) -> Result<Vec<String>> {
        let log = self.home.join("sandbox").join(sandbox).join("host.ndjson");
        let lines = std::fs::read_to_string(&log).with_context(|| log.display().to_string())?;
        let events = lines.lines().map(serde_json::from_str::<Value>).collect::<Result<Vec<_>, _>>()?;
        let made = events.iter().filter(|event| event["what"] == "created" && event["kind"] == "machine");
        let mut names: Vec<String> =
            made.filter_map(|event| Some(event["name"].as_str()?.to_owned())).collect();
        names.sort();
        Ok(names)
    }

    /// Process ids of everything that has to do with this home.
    fn processes(&self) -> Vec<(u32, String)> {
        let home = self.home.display().to_string();
        let has = |path: PathBuf| {
            std::fs::read(path).is_ok_and(|text| String::from_utf8_lossy(&text).contains(&home))
        };
        let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        pids.filter(|pid| *pid != std::process::id())
            .filter(|pid| {
                let dir = Path::new("/proc").join(pid.to_string());
                has(dir.join("cmdline")) || has(dir.join("environ"))
            })
            .map(|pid| (pid, std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default()))
            .filter(|(pid, _)| alive(*pid))
            .collect()
    }

    /// Demands that nothing runs and that no credentials are left.
    fn nothing_left(&self, cluster: &str) -> Result<()> {
        until("every process is gone", Duration::from_secs(20), || Ok(self.processes().is_empty()))?;
        for file in ["kubeconfig", "talosconfig"] {
            let path = self.home.join(format!("{cluster}-{file}"));
            ensure!(!path.exists(), "{} is left", path.display());
        }
        ensure!(!self.home.join("sandbox").join(cluster).exists(), "the sandbox is left");
        Ok(())
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        // A test that failed half way leaves nothing behind either: children go with their parents.
        for (pid, name) in self.processes() {
            if name.starts_with("butleradm") {
                send(pid, Signal::KILL);
            }
        }
    }
}

fn example_path(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../examples")).join(name)
}

fn mode(path: &Path) -> Result<u32> {
    Ok(std::fs::metadata(path).with_context(|| path.display().to_string())?.permissions().mode() & 0o777)
}

fn send(pid: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        let _ = kill_process(pid, signal);
    }
}

fn alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ")
}

/// Waits for a condition that only the system can tell.
fn until(what: &str, limit: Duration, mut condition: impl FnMut() -> Result<bool>) -> Result<()> {
    let end = Instant::now() + limit;
    loop {
        let last = condition();
        if matches!(last, Ok(true)) {
            return Ok(());
        }
        ensure!(Instant::now() < end, "waited in vain until {what}: {last:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}
