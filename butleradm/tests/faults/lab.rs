//! A person's machine, a run that meets faults, and the table of what became of them.

use std::{
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};
use butler_tests::{Env, Invocation, Running, Signal, part};
use rustix::process::{Pid, kill_process};
use serde_json::Value;

/// Longer than anything here takes on a busy machine.
pub(super) const LIMIT: Duration = Duration::from_secs(240);
/// After this time without progress a run under test looks for the reason; a person's after 20 s.
pub(super) const STALL_AFTER: &str = "3s";
const PARTS: [&str; 5] = ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "helm"];

pub(super) struct Lab {
    pub(super) env: Env,
    pub(super) home: PathBuf,
    pub(super) cluster: &'static str,
    /// What every program is started with; nothing unless it is to live in a network of its own.
    pub(super) inside: Vec<String>,
}

impl Lab {
    pub(super) fn new(cluster: &'static str) -> Result<Self> {
        let env = Env::new()?;
        let lab = Self { home: env.butler_home(), env, cluster, inside: Vec::new() };
        std::fs::create_dir(lab.tools())?;
        for name in PARTS {
            symlink(part(name)?, lab.tools().join(name))?;
        }
        Ok(lab)
    }

    fn tools(&self) -> PathBuf {
        self.env.work_dir().join("tools")
    }

    fn command(&self, program: impl AsRef<Path>, args: &[&str]) -> Invocation {
        let program = program.as_ref().display().to_string();
        let mut line = self.inside.clone();
        line.push(program);
        line.extend(args.iter().map(|arg| (*arg).to_owned()));
        self.env.command(line.remove(0)).args(line).timeout(LIMIT)
    }

    /// `butleradm …`
    pub(super) fn adm(&self, args: &[&str]) -> Invocation {
        let command = self.command(env!("CARGO_BIN_EXE_butleradm"), args);
        let command = command.env("BUTLER_HOME", &self.home).env("BUTLER_TOOLS_DIR", self.tools());
        command.env("BUTLER_STALL_AFTER", STALL_AFTER)
    }

    /// kubectl in the cluster that is being made.
    pub(super) fn kubectl(&self, args: &[&str]) -> Result<Invocation> {
        let kubeconfig = self.run_dir()?.join("work/kubeconfig");
        Ok(self.command(part("kubectl")?, args).env("KUBECONFIG", kubeconfig))
    }

    /// The configuration of one machine, with more keys.
    pub(super) fn config(&self, more: &str) -> Result<String> {
        let example = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/sandbox.yaml"));
        let text = std::fs::read_to_string(example)?;
        let text = text.replace("name: sandbox\n", &format!("name: {}\n", self.cluster));
        // Whoever says where charts come from wants one.
        let text = match more {
            "" => text,
            _ => text.replace("certManager: {enabled: false}", "certManager: {enabled: true}"),
        };
        let path = self.env.work_dir().join("bootstrap.yaml");
        std::fs::write(&path, text + more)?;
        Ok(path.display().to_string())
    }

    /// Begins or goes on with the run; its events come as lines.
    pub(super) fn start(&self, args: &[&str]) -> Result<Watched> {
        let run = self.adm(&[&["bootstrap"], args, &["--events", "ndjson"]].concat()).spawn()?;
        Ok(Watched { run, since: Instant::now() })
    }

    /// Sets faults of the host: none but these.
    pub(super) fn host(&self, faults: &[&str]) -> Result<()> {
        self.set(&["sandbox", "fault", "--clear"], faults)
    }

    /// Sets faults of the machine: none but these.
    pub(super) fn machine(&self, faults: &[&str]) -> Result<()> {
        let ahead =
            if self.host_dir().join("machines").join(self.name()).exists() { None } else { Some("--ahead") };
        let name = self.name();
        let mut args = vec!["sandbox", "node", "fault", name.as_str(), "--clear"];
        args.extend(ahead);
        self.set(&args, faults)
    }

    fn set(&self, args: &[&str], faults: &[&str]) -> Result<()> {
        let mut args = args.to_vec();
        faults.iter().for_each(|fault| args.extend(["--set", *fault]));
        args.extend(["--name", self.cluster]);
        self.adm(&args).run()?.success().map(drop)
    }

    /// The only machine.
    pub(super) fn name(&self) -> String {
        format!("{}-cp-0", self.cluster)
    }

    fn host_dir(&self) -> PathBuf {
        self.home.join("sandbox").join(self.cluster)
    }

    pub(super) fn run_dir(&self) -> Result<PathBuf> {
        let runs = std::fs::read_dir(self.home.join("runs"))?.flatten().map(|entry| entry.path());
        let mut runs: Vec<_> = runs.filter(|path| path.is_dir()).collect();
        ensure!(runs.len() == 1, "{runs:?}");
        runs.pop().context("a run")
    }

    pub(super) fn status(&self) -> Result<Value> {
        self.adm(&["bootstrap", "status", self.cluster, "-o", "json"]).run()?.success()?.json()
    }

    /// How often the host was asked for something, in all.
    pub(super) fn calls(&self, call: &str) -> usize {
        let text = std::fs::read_to_string(self.host_dir().join("logs/calls.log")).unwrap_or_default();
        let calls = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        calls.filter(|line| line["call"] == call).count()
    }

    /// Demands that the cluster is there and that its machine was made once.
    pub(super) fn made_once(&self) -> Result<()> {
        let log = std::fs::read_to_string(self.host_dir().join("host.ndjson"))?;
        let events = log.lines().map(serde_json::from_str::<Value>).collect::<Result<Vec<_>, _>>()?;
        let made: Vec<_> = events.iter().filter(|event| event["what"] == "created").collect();
        ensure!(made.len() == 1 && made[0]["name"] == self.name(), "{made:?}");
        ensure!(self.status()?["stage"] == "Succeeded", "{}", self.status()?);
        Ok(())
    }

    pub(super) fn destroy(&self) -> Result<()> {
        let args = ["bootstrap", "destroy", self.cluster, "--yes", self.cluster];
        self.adm(&args).run()?.success().map(drop)
    }

    fn processes(&self) -> Vec<u32> {
        let home = self.home.display().to_string();
        let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        pids.filter(|pid| *pid != std::process::id())
            .filter(|pid| {
                ["cmdline", "environ"].iter().any(|file| {
                    let text = std::fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
                    String::from_utf8_lossy(&text).contains(&home)
                })
            })
            .collect()
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        // A test that failed half way leaves nothing behind: children go with their parents.
        for pid in self.processes() {
            let comm = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            if let Some(pid) =
                i32::try_from(pid).ok().and_then(Pid::from_raw).filter(|_| comm.starts_with("butleradm"))
            {
                let _ = kill_process(pid, Signal::KILL);
            }
        }
    }
}

/// A run that is listened to.
pub(super) struct Watched {
    pub(super) run: Running,
    /// The last sign of progress.
    since: Instant,
}

impl Watched {
    /// Waits for an event; notes when the run got further.
    pub(super) fn event(&mut self, what: &str, wanted: impl Fn(&Value) -> bool) -> Result<Value> {
        let end = Instant::now() + LIMIT;
        loop {
            let line = self.run.line(end.saturating_duration_since(Instant::now()));
            let line = line.with_context(|| format!("waited in vain for {what}"))?;
            let event: Value = serde_json::from_str(&line)?;
            if ["PhaseStarted", "PhaseFinished", "Moving", "Resource"]
                .iter()
                .any(|kind| event["kind"] == *kind)
            {
                self.since = Instant::now();
            }
            if wanted(&event) {
                return Ok(event);
            }
            if event["kind"] == "Finished" {
                bail!("the run ended before {what}: {event}");
            }
        }
    }

    /// Waits until the run says that it is stalled for this reason; how long that took after the last
    /// progress, and what it said.
    pub(super) fn stalled(&mut self, code: &str) -> Result<(Duration, Value)> {
        let stall = self.event(code, |event| event["kind"] == "Stalled" && event["code"] == code)?;
        ensure!(stall["what"].as_str().is_some_and(|what| !what.is_empty()), "{stall}");
        ensure!(
            stall["next"].as_array().is_some_and(|next| next.len() > 1 || code.starts_with("BTL-16")),
            "{stall}"
        );
        Ok((self.since.elapsed(), stall))
    }

    pub(super) fn moving(&mut self) -> Result<()> {
        self.event("progress", |event| event["kind"] == "Moving").map(drop)
    }

    pub(super) fn phase(&mut self, phase: &str) -> Result<()> {
        let started = |event: &Value| event["kind"] == "PhaseStarted" && event["phase"] == phase;
        self.event(phase, started).map(drop)
    }

    /// Waits for its end, which is this exit status.
    pub(super) fn ends_with(mut self, status: i32) -> Result<Value> {
        let last = self.event("its end", |event| event["kind"] == "Finished")?;
        let _ = self.run.wait(LIMIT)?.failed_with(status)?;
        Ok(last)
    }
}

/// A row of the table.
pub(super) struct Row {
    pub(super) fault: &'static str,
    /// `retry` or `stop`.
    pub(super) class: &'static str,
    pub(super) code: String,
    /// From the last progress to the words.
    pub(super) diagnosis: Duration,
    /// How often the host was asked for what did not work.
    pub(super) calls: Option<usize>,
    /// From the end of the fault to the next progress, or to the end of the run that was taken up.
    pub(super) success: Duration,
}

/// Rows as text; `--nocapture` shows them.
pub(super) fn table(rows: &[Row]) -> String {
    let row = |Row { fault, class, code, diagnosis, calls, success }: &Row| {
        let calls = calls.map_or_else(|| "-".to_owned(), |calls| calls.to_string());
        let (diagnosis, success) = (diagnosis.as_secs_f64(), success.as_secs_f64());
        format!("| {fault:32} | {class:5} | {diagnosis:5.1} s | {code} | {calls:>3} | {success:5.1} s |")
    };
    rows.iter().map(row).collect::<Vec<_>>().join("\n")
}
