//! `butleradm sandbox` with real parts: started, killed, starved, stopped.

mod bad;
mod life;
mod starved;
mod together;

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    os::unix::{ffi::OsStrExt, fs::symlink},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use butler_operator::process::{Signal, listeners};
use butler_tests::{Env, Invocation, part};
use rustix::process::{Pid, kill_process};
use serde_json::Value;

/// Longer than anything here takes on a busy machine.
const LIMIT: Duration = Duration::from_secs(120);
const PARTS: [&str; 4] = ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"];

/// A machine with the real parts and no sandbox yet.
struct Machine {
    env: Env,
    home: PathBuf,
}

impl Machine {
    fn new() -> Result<Self> {
        let env = Env::new()?;
        let home = env.butler_home();
        let machine = Self { env, home };
        std::fs::create_dir(machine.tools())?;
        for name in PARTS {
            symlink(part(name)?, machine.tools().join(name))?;
        }
        Ok(machine)
    }

    fn tools(&self) -> PathBuf {
        self.env.work_dir().join("tools")
    }

    fn dir(&self, name: &str) -> PathBuf {
        self.home.join("sandbox").join(name)
    }

    /// `butleradm …`
    fn adm(&self, args: &[&str]) -> Invocation {
        let program = env!("CARGO_BIN_EXE_butleradm");
        let command = self.env.command(program).args(args).timeout(LIMIT);
        command.env("BUTLER_HOME", &self.home).env("BUTLER_TOOLS_DIR", self.tools())
    }

    /// `butleradm sandbox …`
    fn sandbox(&self, args: &[&str]) -> Invocation {
        self.adm(&[&["sandbox"], args].concat())
    }

    fn up(&self) -> Result<()> {
        let up = self.sandbox(&["up"]).run()?.success()?;
        ensure!(up.stderr.contains("is ready"), "{up}");
        Ok(())
    }

    fn down(&self, name: &str) -> Result<()> {
        let down = self.sandbox(&["down", "--name", name]).run()?.success()?;
        ensure!(down.stderr.contains("none is left"), "{down}");
        Ok(())
    }

    fn reset(&self, name: &str) -> Result<()> {
        let reset = self.sandbox(&["reset", "--name", name, "--yes", name]).run()?.success()?;
        ensure!(reset.stderr.contains("is removed"), "{reset}");
        Ok(())
    }

    fn status(&self, name: &str) -> Result<Value> {
        self.sandbox(&["status", "--name", name, "-o", "json"]).run()?.success()?.json()
    }

    fn kubectl(&self, args: &[&str]) -> Result<Invocation> {
        let kubeconfig = self.dir("default").join("kubeconfig");
        Ok(self.env.command(part("kubectl")?).args(args).env("KUBECONFIG", kubeconfig).timeout(LIMIT))
    }

    /// Process ids of the parts by name.
    fn pids(&self, name: &str) -> Result<BTreeMap<String, u32>> {
        let status = self.status(name)?;
        let parts = status["parts"].as_array().context("parts")?.clone();
        let pid = |part: &Value| {
            Some((part["name"].as_str()?.to_owned(), u32::try_from(part["pid"].as_u64()?).ok()?))
        };
        Ok(parts.iter().filter_map(pid).collect())
    }

    /// Every process that has to do with this home, by its arguments or its environment.
    fn processes(&self) -> Vec<(u32, String)> {
        let home = self.home.as_os_str().as_bytes();
        let has = |path: PathBuf| {
            std::fs::read(path).is_ok_and(|text| text.windows(home.len()).any(|window| window == home))
        };
        let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        pids.filter(|pid| *pid != std::process::id())
            .filter(|pid| alive(*pid))
            .filter(|pid| {
                let dir = Path::new("/proc").join(pid.to_string());
                has(dir.join("cmdline")) || has(dir.join("environ"))
            })
            .map(|pid| (pid, std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default()))
            .collect()
    }

    /// Demands that no process of this home runs and nothing listens on these addresses.
    fn nothing_left(&self, addresses: &[SocketAddr]) -> Result<()> {
        let processes = self.processes();
        ensure!(processes.is_empty(), "still running: {processes:?}");
        let open: Vec<_> =
            listeners::all().into_iter().filter(|found| addresses.contains(&found.address)).collect();
        ensure!(open.is_empty(), "still open: {open:?}");
        Ok(())
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // A test that failed half way leaves nothing behind either: children go with their supervisor.
        for (pid, name) in self.processes() {
            if name.starts_with("butleradm") {
                send(pid, Signal::KILL);
            }
        }
    }
}

/// Addresses the parts in a status listen on.
fn addresses(status: &Value) -> Result<Vec<SocketAddr>> {
    let parts = status["parts"].as_array().context("parts")?;
    parts.iter().filter_map(|part| part["address"].as_str()).map(|text| Ok(text.parse()?)).collect()
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
        std::thread::sleep(Duration::from_millis(20));
    }
}
