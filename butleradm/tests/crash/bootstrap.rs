//! A bootstrap in the sandbox as a scenario of crash tests.

use std::{
    collections::{BTreeMap, BTreeSet},
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    sync::OnceLock,
    time::Duration,
};

use anyhow::{Context, Result, ensure};
use butler_core::settings::home::write_private;
use butler_operator::driver::{Driver, Power, sandbox::SandboxDriver};
use butler_tests::{
    Env, Invocation, Output,
    crash::{Bench, Disturbance, Objects, Scenario, Secrets, leftovers},
    part,
};
use serde_json::{Value, json};

/// Longer than anything here takes on a busy machine.
const LIMIT: Duration = Duration::from_secs(240);
const PARTS: [&str; 5] = ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "helm"];
const CLUSTER: &str = "crash";
/// Stands in the configuration, and may stand nowhere else.
const PLANTED: &str = "planted-7f3Qw9-password";
/// Clusters are compared by every kind of object that their servers list, but for these, which are other ones
/// each time: what happened on the way, who is at work, and what gets a name or an address by lot.
const MOMENTARY: [&str; 11] = [
    "certificatesigningrequests.certificates.k8s.io",
    "componentstatuses",
    "controllerrevisions.apps",
    "endpoints",
    "endpointslices.discovery.k8s.io",
    "events",
    "events.events.k8s.io",
    "ipaddresses.networking.k8s.io",
    "leases.coordination.k8s.io",
    "pods",
    "replicasets.apps",
];

/// How many machines there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Topology {
    Single,
    /// Three control planes and a worker behind a load balancer.
    Ha,
}

impl Scenario for Topology {
    fn name(&self) -> &str {
        match self {
            Self::Single => "single-node",
            Self::Ha => "ha",
        }
    }

    fn bench(&self) -> Result<Box<dyn Bench>> {
        Ok(Box::new(self.lab()?))
    }
}

impl Topology {
    /// The place itself, for what the kit does not ask.
    pub(crate) fn lab(self) -> Result<Lab> {
        let env = Env::new()?;
        let (home, tools) = (env.butler_home(), env.work_dir().join("tools"));
        std::fs::create_dir(&tools)?;
        for name in PARTS {
            symlink(part(name)?, tools.join(name))?;
        }
        let (nodes, workers) = match self {
            Self::Single => ("topology: single-node, controlPlane: {replicas: 1, ", ""),
            Self::Ha => (
                "topology: ha, controlPlane: {replicas: 3, ",
                ", workers: {replicas: 1, cpu: 2, memoryMB: 2048, diskGB: 20}",
            ),
        };
        let config = format!(
            "provider: sandbox
cluster: {{name: {CLUSTER}, {nodes}cpu: 2, memoryMB: 2048, diskGB: 20}}{workers}}}
# Nothing is fetched from it, because nothing that would be is switched on.
charts: {{mirror: 'https://robot:{PLANTED}@charts.example.com/all'}}
addons:
  certManager: {{enabled: false}}
  ingress: {{enabled: false}}
  controlPlaneProvider: {{enabled: false}}
  capi: {{enabled: false}}
  console: {{enabled: false}}
bootstrapCluster: {{runtime: process}}
"
        );
        write_private(&env.work_dir().join("bootstrap.yaml"), config.as_bytes())?;
        Ok(Lab { env, home, tools })
    }
}

/// A person's machine with the real parts and nothing made yet.
pub(crate) struct Lab {
    env: Env,
    home: PathBuf,
    tools: PathBuf,
}

impl Lab {
    pub(crate) fn bootstrap(&self, args: &[&str]) -> Invocation {
        let command = self.env.command(env!("CARGO_BIN_EXE_butleradm")).arg("bootstrap").args(args);
        // Its clock is the system's, or what a case makes of it.
        command.env("BUTLER_TOOLS_DIR", &self.tools).env_remove("BUTLER_CLOCK").timeout(LIMIT)
    }

    /// The run that was worked on last.
    fn run(&self) -> Option<PathBuf> {
        let entries = std::fs::read_dir(self.home.join("runs")).ok()?.flatten().map(|entry| entry.path());
        let worked_on =
            |path: &PathBuf| path.join("journal.ndjson").metadata().and_then(|data| data.modified()).ok();
        entries.filter(|path| path.is_dir()).max_by_key(worked_on)
    }

    fn witness_kept(&self) -> PathBuf {
        self.env.work_dir().join("witness.ndjson")
    }

    fn sandbox(&self) -> PathBuf {
        self.home.join("sandbox").join(CLUSTER)
    }

    fn kubectl(&self, args: &[&str]) -> Result<String> {
        Ok(self.ask("kubectl", args)?.stdout)
    }

    /// What a real program says of the cluster, as its administrator.
    fn ask(&self, program: &str, args: &[&str]) -> Result<Output> {
        let kubeconfig = self.home.join(format!("{CLUSTER}-kubeconfig"));
        ensure!(kubeconfig.exists(), "there is no kubeconfig");
        // Its cache of what the server knows must not outlive a cluster that was begun anew.
        let scratch = self.env.work_dir().join("cache");
        let command = self.env.command(part(program)?).args(args).timeout(LIMIT);
        command.env("KUBECONFIG", kubeconfig).env("HOME", scratch).run()?.success()
    }

    /// Everything that is compared, as kubectl takes it; the same in every cluster of this version.
    fn kinds(&self) -> Result<&'static str> {
        static KNOWN: OnceLock<String> = OnceLock::new();
        if let Some(known) = KNOWN.get() {
            return Ok(known);
        }
        let listed = self.kubectl(&["api-resources", "--verbs=list,get", "-o", "name"])?;
        let kinds: Vec<&str> = listed.lines().filter(|kind| !MOMENTARY.contains(kind)).collect();
        let ours = kinds.iter().filter(|kind| kind.ends_with(".butler.butlerlabs.dev")).count();
        ensure!(ours > 10 && kinds.contains(&"nodes"), "{listed}");
        Ok(KNOWN.get_or_init(|| kinds.join(",")))
    }

    /// The Pods by whom they belong to: how many there are, and in which phases.
    fn pods(&self) -> Result<BTreeMap<String, Value>> {
        let mut pods: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let list: Value = serde_json::from_str(&self.kubectl(&["get", "pods", "-A", "-o", "json"])?)?;
        for pod in list["items"].as_array().context("Pods")? {
            let owner = &pod["metadata"]["ownerReferences"][0];
            let name = if owner.is_null() { &pod["metadata"]["name"] } else { &owner["name"] };
            let key = format!("Pods {}/{}", text(&pod["metadata"]["namespace"]), text(name));
            pods.entry(key).or_default().push(text(&pod["status"]["phase"]));
        }
        Ok(pods.into_iter().map(|(key, phases)| (key, json!(phases))).collect())
    }
}

impl Bench for Lab {
    fn home(&self) -> &Path {
        &self.home
    }

    fn temp_dir(&self) -> PathBuf {
        self.env.temp_dir()
    }

    fn start(&self) -> Invocation {
        let config = self.env.work_dir().join("bootstrap.yaml").display().to_string();
        self.bootstrap(&["--config", &config, "--events", "ndjson", "--verbose"])
    }

    fn resume(&self) -> Invocation {
        self.bootstrap(&["resume", CLUSTER, "--events", "ndjson", "--verbose"])
    }

    fn destroy(&self) -> Invocation {
        self.bootstrap(&["destroy", CLUSTER, "--yes", CLUSTER])
    }

    fn journal(&self) -> Option<PathBuf> {
        Some(self.run()?.join("journal.ndjson")).filter(|path| path.exists())
    }

    /// Every object of ours, machines, what addons brought, and Helm's releases.
    fn state(&self) -> Result<BTreeMap<String, Value>> {
        let list: Value =
            serde_json::from_str(&self.kubectl(&["get", self.kinds()?, "-A", "-o", "json"])?)?;
        let items = list["items"].as_array().context("objects")?;
        let of = |kind: &str| items.iter().filter(|item| item["kind"] == kind).collect::<Vec<_>>();
        let (machines, balancers) = (of("MachineRequest"), of("LoadBalancerRequest"));
        let mut objects = Objects::default();
        let run = self.run().context("a run")?;
        objects.replace(run.file_name().unwrap_or_default().to_string_lossy(), "[run]");
        objects.replace(self.home.display().to_string(), "[home]");
        for secret in
            of("Secret").into_iter().filter(|secret| secret["type"] == "bootstrap.kubernetes.io/token")
        {
            // The id of a token is generated with it, and is its name.
            objects.replace(text(&secret["metadata"]["name"]), "bootstrap-token-[id]");
        }
        for machine in &machines {
            let name = machine["metadata"]["name"].as_str().unwrap_or_default();
            let status = &machine["status"];
            ensure!(status["phase"] == "Running", "machine `{name}` is {}", status["phase"]);
            let address = status["ipAddress"].as_str().context("a running machine has an address")?;
            objects.replace(address, format!("[{name}]"));
            if let Some(mac) = status["macAddress"].as_str() {
                objects.replace(mac, "[mac]");
            }
        }
        for balancer in &balancers {
            let endpoint = balancer["status"]["endpoint"].as_str().context("a balancer has an endpoint")?;
            objects.replace(endpoint, "[endpoint]");
        }
        ensure!(!machines.is_empty(), "there are no machine requests");
        let mut networks = BTreeSet::new();
        for node in of("Node") {
            ensure!(networks.insert(text(&node["spec"]["podCIDR"])), "two nodes have one network of Pods");
            let conditions = node["status"]["conditions"].as_array().context("conditions")?;
            let ready = |condition: &Value| condition["type"] == "Ready" && condition["status"] == "True";
            ensure!(conditions.iter().any(ready), "a node is not ready");
        }
        let kept = items.iter().filter(|item| !is_helms(item));
        let mut state = objects.of(&json!({ "items": kept.collect::<Vec<_>>() }))?;
        state.extend(self.pods()?);
        let releases =
            self.ask("helm", &["list", "--all", "--all-namespaces", "--output", "json"])?.json()?;
        for release in releases.as_array().context("releases")? {
            // How often helm was run is not part of the end.
            let kept = json!({ "chart": release["chart"], "status": release["status"] });
            state.insert(format!("Release {}/{}", text(&release["namespace"]), text(&release["name"])), kept);
        }
        Ok(state)
    }

    fn witness(&self) -> Result<Vec<String>> {
        let path = self.sandbox().join("host.ndjson");
        let made = seen(&path)?;
        // The same file under another name: it stays when the host goes, and says what happened until then.
        let kept = self.witness_kept();
        if !kept.exists() {
            std::fs::hard_link(&path, &kept)?;
        }
        Ok(made)
    }

    fn secrets(&self) -> Result<Secrets> {
        let mut secrets = Secrets::default();
        secrets.add("the configuration", PLANTED);
        let run = self.run().context("a run")?;
        let files = [
            (run.join("secrets/talos.yaml"), &["token", "bootstraptoken", "secret", "key", SECRETBOX][..]),
            (self.home.join(format!("{CLUSTER}-kubeconfig")), &["client-key-data", "token"]),
            (self.home.join(format!("{CLUSTER}-talosconfig")), &["key"]),
        ];
        for (path, keys) in files {
            let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let before = secrets.len();
            secrets.add_keys(&name, &text, keys);
            ensure!(secrets.len() > before, "`{name}` has no secret");
        }
        Ok(secrets)
    }

    /// Whatever is a log, a journal or a note for others, wherever it lies: of the run, of the sandbox, of its
    /// machines, and of the programs that they run.
    fn texts(&self) -> Vec<PathBuf> {
        let (mut texts, mut dirs) = (Vec::new(), vec![self.home.clone()]);
        while let Some(dir) = dirs.pop() {
            for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
                let (path, kind) = (entry.path(), entry.file_type());
                if kind.as_ref().is_ok_and(std::fs::FileType::is_dir) {
                    dirs.push(path);
                } else if kind.is_ok_and(|kind| kind.is_file()) && is_for_reading(&path) {
                    texts.push(path);
                }
            }
        }
        texts
    }

    fn disturb(&self, disturbance: Disturbance) -> Result<()> {
        let run = self.run().context("a run")?;
        match disturbance {
            Disturbance::ScratchLost => {
                // Its programs go a moment after the process that started them.
                let _gone = leftovers::until("the temporary control plane is not in use", || {
                    let users = leftovers::processes(&run.join("temporary"));
                    ensure!(users.is_empty(), "{users:?}");
                    Ok(())
                });
                std::fs::remove_dir_all(run.join("temporary"))?;
            }
            Disturbance::MachinesRebooted => self.reboot_machines()?,
            Disturbance::HostRebooted => leftovers::kill(&self.home, "")?,
            Disturbance::JournalTorn => {
                let path = run.join("journal.ndjson");
                let text = std::fs::read_to_string(&path)?;
                let last = text.lines().last().context("a record")?;
                std::fs::write(&path, format!("{text}{}", &last[..last.len() / 2]))?;
            }
        }
        Ok(())
    }

    fn left(&self) -> Result<Vec<String>> {
        let run = self.run().context("a run")?;
        let paths = [
            self.sandbox(),
            self.home.join(format!("{CLUSTER}-kubeconfig")),
            self.home.join(format!("{CLUSTER}-talosconfig")),
            run.join("temporary"),
            run.join("work"),
            run.join("secrets/talos.yaml"),
        ];
        let mut left: Vec<String> =
            paths.iter().filter(|path| path.exists()).map(|path| path.display().to_string()).collect();
        // A file that was being written when its process was killed.
        for dir in [self.home.clone(), self.home.join("runs"), run.clone(), run.join("secrets")] {
            let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
            let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
            left.extend(names.filter(|name| name.starts_with(".butler-")));
        }
        let runs = std::fs::read_dir(self.home.join("runs"))?.flatten().map(|entry| entry.path());
        let unknown = runs.filter(|path| path.is_dir() && !path.join("journal.ndjson").exists());
        left.extend(unknown.map(|path| format!("`{}` without a journal", path.display())));
        let status = self.bootstrap(&["status", CLUSTER, "-o", "json"]).run()?.success()?.json()?;
        if status["stage"] != "Destroyed" {
            left.push(format!("a run that is {}", status["stage"]));
        }
        if self.witness_kept().exists() {
            left.extend(unbalanced(&seen(&self.witness_kept())?));
        }
        Ok(left)
    }
}

/// What a host wrote down of what was made and removed, in the order of the alphabet.
fn seen(path: &Path) -> Result<Vec<String>> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let mut seen = Vec::new();
    for line in text.lines() {
        let line: Value = serde_json::from_str(line).with_context(|| line.to_owned())?;
        seen.push(["what", "kind", "name"].map(|key| self::text(&line[key])).join(" "));
    }
    seen.sort();
    Ok(seen)
}

/// What was not made once and then removed, though it must have been: a removal makes nothing again.
fn unbalanced(seen: &[String]) -> Vec<String> {
    let count =
        |what: &str, name: &str| seen.iter().filter(|line| **line == format!("{what} {name}")).count();
    let names: BTreeSet<&str> = seen.iter().filter_map(|line| Some(line.split_once(' ')?.1)).collect();
    let counted = names.into_iter().map(|name| (name, count("created", name), count("deleted", name)));
    let wrong = counted.filter(|(_, created, deleted)| *created != 1 || *deleted == 0);
    wrong
        .map(|(name, created, deleted)| format!("{name}: created {created} times, deleted {deleted} times"))
        .collect()
}

const SECRETBOX: &str = "secretboxencryptionsecret";

impl Lab {
    fn reboot_machines(&self) -> Result<()> {
        let driver = SandboxDriver::new(self.sandbox().join("host.sock"));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let machines = driver.list(None).await?;
            ensure!(!machines.is_empty(), "there is no machine to reboot");
            for machine in machines {
                let key = butler_operator::driver::MachineKey {
                    name: machine.name,
                    ownership: machine.ownership,
                    id: Some(machine.id),
                };
                driver.power(&key, Power::Reset).await?;
            }
            Ok(())
        })
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        // A case that failed half way leaves nothing behind either: children go with their parents.
        let _ = leftovers::kill(&self.home, "butleradm");
    }
}

/// True for files that somebody reads who should learn no secret.
fn is_for_reading(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let endings = [".log", ".log.1", ".ndjson", ".lock", ".claim"];
    endings.iter().any(|ending| name.ends_with(ending)) || name == "live.json"
}

/// Helm keeps what it knows in Secrets, numbered by how often it was run.
fn is_helms(object: &Value) -> bool {
    object["type"] == "helm.sh/release.v1"
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
