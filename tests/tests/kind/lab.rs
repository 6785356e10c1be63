//! `butleradm` as a person with a container engine runs it.

use std::{
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use butler_core::{
    bootstrap::run::steps,
    event::{Event, EventKind, journal},
};
use butler_tests::{Env, Invocation, Signal, part};
use rustix::process::{Pid, kill_process};
use serde_json::Value;

use crate::{Engine, Gone};

/// Longer than a bootstrap over KIND takes on a busy machine.
pub(super) const LIMIT: Duration = Duration::from_secs(600);
const PARTS: [&str; 6] =
    ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kind", "helm"];
/// What the engine's programs need of the person's environment.
const INHERITED: [&str; 3] = ["PATH", "DOCKER_HOST", "DOCKER_CONTEXT"];

/// A person's machine with the real parts and an engine, and nothing made yet.
pub(super) struct Lab {
    pub(super) env: Env,
    pub(super) home: PathBuf,
    pub(super) engine: Engine,
    /// The KIND cluster that the test makes.
    gone: Gone,
}

impl Lab {
    /// `kind` is the name of the KIND cluster that will be there.
    pub(super) fn new(kind: &str) -> Result<Self> {
        let (engine, env) = (Engine::find()?, Env::new()?);
        let gone = Gone { name: kind.to_owned() };
        let lab = Self { home: env.butler_home(), env, engine, gone };
        ensure!(lab.containers()?.is_empty(), "a KIND cluster `{kind}` is there already");
        std::fs::create_dir(lab.tools())?;
        for name in PARTS {
            symlink(part(name)?, lab.tools().join(name))?;
        }
        Ok(lab)
    }

    fn tools(&self) -> PathBuf {
        self.env.work_dir().join("tools")
    }

    /// `butleradm bootstrap …`
    pub(super) fn bootstrap(&self, args: &[&str]) -> Result<Invocation> {
        let mut command = self.env.command(self.engine.program()?).arg("bootstrap").args(args).timeout(LIMIT);
        for name in INHERITED {
            if let Some(value) = self.engine.environment.get_os(name) {
                command = command.env(name, value);
            }
        }
        Ok(command.env("BUTLER_TOOLS_DIR", self.tools()))
    }

    /// Writes a configuration.
    pub(super) fn config(&self, text: &str) -> Result<String> {
        let path = self.env.work_dir().join("bootstrap.yaml");
        std::fs::write(&path, text)?;
        Ok(path.display().to_string())
    }

    pub(super) fn status(&self, cluster: &str) -> Result<Value> {
        self.bootstrap(&["status", cluster, "-o", "json"])?.run()?.success()?.json()
    }

    pub(super) fn destroy(&self, cluster: &str) -> Result<()> {
        let gone = self.bootstrap(&["destroy", cluster, "--yes", cluster])?.run()?.success()?;
        ensure!(gone.stderr.contains("is left"), "{gone}");
        Ok(())
    }

    /// kubectl as the administrator of the cluster that was made.
    pub(super) fn kubectl(&self, cluster: &str, args: &[&str]) -> Result<Invocation> {
        let kubeconfig = self.home.join(format!("{cluster}-kubeconfig"));
        Ok(self.env.command(part("kubectl")?).args(args).env("KUBECONFIG", kubeconfig).timeout(LIMIT))
    }

    /// What kubectl prints.
    pub(super) fn get(&self, cluster: &str, args: &[&str]) -> Result<String> {
        Ok(self.kubectl(cluster, args)?.run()?.success()?.stdout)
    }

    /// The only run's journal.
    pub(super) fn journal(&self) -> Result<Vec<Event>> {
        let runs = std::fs::read_dir(self.home.join("runs"))?.flatten().map(|entry| entry.path());
        let mut runs: Vec<_> = runs.filter(|path| path.is_dir()).collect();
        ensure!(runs.len() == 1, "{runs:?}");
        Ok(journal::read(&runs.pop().context("a run")?.join("journal.ndjson"))?)
    }

    /// What became of an effect, each time it was done.
    pub(super) fn results(&self, step: &str) -> Result<Vec<Value>> {
        let data = |event: Event| match event.kind {
            EventKind::Result { step: found, data } if found == step => Some(data),
            _ => None,
        };
        Ok(self.journal()?.into_iter().filter_map(data).collect())
    }

    /// Effects that were announced and never came to an end.
    pub(super) fn open_effects(&self) -> Result<Vec<String>> {
        let mut open = Vec::new();
        for event in self.journal()? {
            match event.kind {
                // What the run is, and who works on it, has no end of its own.
                EventKind::Intent { step, .. } if [steps::RUN, steps::SESSION].contains(&step.as_str()) => {}
                EventKind::Intent { step, .. } => open.push(step),
                EventKind::Result { step, .. } => open.retain(|known| *known != step),
                _ => {}
            }
        }
        Ok(open)
    }

    /// Containers of the KIND cluster, running or not.
    pub(super) fn containers(&self) -> Result<String> {
        let filter = format!("label=io.x-k8s.kind.cluster={}", self.gone.name);
        self.engine.docker(&["ps", "-aq", "--filter", &filter])
    }

    /// Deletes the KIND cluster as a person would.
    pub(super) fn delete_cluster(&self) -> Result<()> {
        self.gone.delete()?;
        ensure!(self.containers()?.is_empty(), "`kind delete` left a container");
        Ok(())
    }

    /// Everything that runs and has to do with this home.
    pub(super) fn processes(&self) -> Vec<(u32, String)> {
        let home = self.home.display().to_string();
        let has = |path: PathBuf| {
            std::fs::read(path).is_ok_and(|text| String::from_utf8_lossy(&text).contains(&home))
        };
        let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let ours = |pid: &u32| {
            let dir = Path::new("/proc").join(pid.to_string());
            *pid != std::process::id()
                && (has(dir.join("cmdline")) || has(dir.join("environ")))
                && alive(*pid)
        };
        pids.filter(ours)
            .map(|pid| (pid, std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default()))
            .collect()
    }

    /// Demands that nothing of the cluster is left.
    pub(super) fn nothing_left(&self, cluster: &str) -> Result<()> {
        until("every process is gone", Duration::from_secs(20), || Ok(self.processes().is_empty()))?;
        ensure!(self.containers()?.is_empty(), "a container is left");
        for file in ["kubeconfig", "talosconfig"] {
            let path = self.home.join(format!("{cluster}-{file}"));
            ensure!(!path.exists(), "{} is left", path.display());
        }
        ensure!(!self.home.join("sandbox").join(cluster).exists(), "the sandbox is left");
        ensure!(self.status(cluster)?["stage"] == "Destroyed");
        Ok(())
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        // A test that failed half way leaves nothing behind either: children go with their parents.
        for (pid, name) in self.processes() {
            if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw)
                && name.starts_with("butleradm")
            {
                let _ = kill_process(pid, Signal::KILL);
            }
        }
    }
}

fn alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ")
}

/// Waits for a condition that only the system can tell.
pub(super) fn until(what: &str, limit: Duration, mut condition: impl FnMut() -> Result<bool>) -> Result<()> {
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
