//! `sandbox up` beside the bare parts it is made of, and one simulated node.

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use butler_operator::{
    driver::{Ownership, Role},
    sandbox::machine::{MachineDir, MachineFile, NodeParts, NodePorts},
    talos::client,
};
use butler_tests::ControlPlane;
use serde_json::Value;

use crate::{
    Programs,
    cost::Cost,
    table::{Figure, Results, Row},
};

const STARTS: usize = 3;
const NODE_STARTS: usize = 11;

pub(crate) fn measure(programs: &Programs) -> Result<Results> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut bare = Vec::new();
    let mut ups = Vec::new();
    for _ in 0..STARTS {
        // One after the other: that is what the sum of their times means.
        let start = Instant::now();
        let plane = runtime.block_on(ControlPlane::builder().controllers().start())?;
        bare.push(start.elapsed());
        drop(plane);
        let sandbox = Sandbox::new(programs)?;
        let start = Instant::now();
        sandbox.butleradm(&["sandbox", "up", "--quiet"])?;
        ups.push(start.elapsed());
    }
    let cost = |mut walls: Vec<Duration>| {
        walls.sort();
        Cost { wall: walls[walls.len() / 2], memory: 0 }
    };
    let row = Row::new("sandbox up", cost(ups), "etcd, API server, controllers: bare", cost(bare));
    let mut results = Results::from(vec![row.time_goal(1.5)]);
    results.figures = runtime.block_on(node(programs))?;
    Ok(results)
}

/// A sandbox of its own; stopped with this value.
pub(crate) struct Sandbox {
    butleradm: PathBuf,
    home: tempfile::TempDir,
}

impl Sandbox {
    pub(crate) fn new(programs: &Programs) -> Result<Self> {
        Ok(Self { butleradm: programs.butleradm.clone(), home: tempfile::tempdir()? })
    }

    /// `butleradm …` in this home, with the parts of the cache, found as a person's would be.
    pub(crate) fn command(&self, args: &[&str]) -> Result<Command> {
        let tools = butler_tests::part("etcd")?;
        let tools = tools.ancestors().nth(2).context("etcd has no home")?;
        let link = self.home.path().join("tools");
        if !link.exists() {
            std::os::unix::fs::symlink(tools, &link)?;
        }
        let mut command = Command::new(&self.butleradm);
        command.args(args).env("BUTLER_HOME", self.home.path()).stdin(Stdio::null());
        Ok(command)
    }

    pub(crate) fn butleradm(&self, args: &[&str]) -> Result<String> {
        let output = self.command(args)?.stderr(Stdio::inherit()).output()?;
        ensure!(output.status.success(), "butleradm {} ended with {}", args.join(" "), output.status);
        Ok(String::from_utf8(output.stdout)?)
    }

    pub(crate) fn status(&self) -> Result<Value> {
        Ok(serde_json::from_str(&self.butleradm(&["sandbox", "status", "-o", "json"])?)?)
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        let _ = self.butleradm(&["sandbox", "down", "--quiet"]);
    }
}

/// How soon a node answers, and what it holds in memory.
async fn node(programs: &Programs) -> Result<Vec<Figure>> {
    let (mut walls, mut memory) = (Vec::new(), 0);
    for _ in 0..NODE_STARTS {
        let dir = tempfile::tempdir()?;
        let address = IpAddr::V4(Ipv4Addr::new(127, 213, 7, 11));
        machine_file(dir.path(), address)?.write(&MachineDir(dir.path().to_owned()).machine_file())?;
        let start = Instant::now();
        let mut child = Command::new(&programs.butleradm)
            .args(["sandbox", "node", "run"])
            .arg(dir.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .stdin(Stdio::null())
            .spawn()?;
        let talos = SocketAddr::new(address, 50_000);
        while TcpStream::connect(talos).is_err() {
            ensure!(start.elapsed() < Duration::from_secs(10), "the node does not listen");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        client::observe(&address.to_string()).await?;
        walls.push(start.elapsed());
        memory = memory.max(resident(child.id())?);
        child.kill()?;
        child.wait()?;
    }
    walls.sort();
    let wall = walls[NODE_STARTS / 2].as_secs_f64() * 1e3;
    Ok(vec![
        Figure {
            job: "a node, from its start to the first answer".into(),
            value: wall,
            unit: "ms",
            goal: Some(150.0),
        },
        Figure {
            job: "a node in maintenance mode, memory".into(),
            value: memory as f64 / 1024.0,
            unit: "MiB",
            goal: Some(15.0),
        },
    ])
}

/// Resident memory of a process in KiB.
fn resident(pid: u32) -> Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
    Ok(line.trim().trim_end_matches("kB").trim().parse()?)
}

fn machine_file(dir: &Path, address: IpAddr) -> Result<MachineFile> {
    let parts = NodeParts {
        etcd: butler_tests::part("etcd")?,
        kube_apiserver: butler_tests::part("kube-apiserver")?,
        kube_controller_manager: butler_tests::part("kube-controller-manager")?,
        kube_scheduler: butler_tests::part("kube-scheduler")?,
        etcdutl: None,
    };
    Ok(MachineFile {
        id: "sandbox://bench/node".into(),
        name: "node".into(),
        ownership: Ownership::new("bench", "butler-system", "node"),
        role: Role::Worker,
        cpu: 2,
        memory_mb: 4096,
        disk_gb: 20,
        address,
        ports: NodePorts::default(),
        mac: "52:54:00:00:00:01".into(),
        talos_version: "v1.11.5".into(),
        parts,
        discovery_dir: dir.join("discovery"),
    })
}
