//! `butleradm tui`: the first frame on a dead server, ten thousand clusters of which a hundred change in a
//! second, a key among them, and nothing at all.

use std::{
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use butler_core::api::TenantCluster;
use butler_tests::{ControlPlane, Env, Pty};
use kube::{
    Api,
    api::{Patch, PatchParams},
};
use serde_json::{Value, json};

use crate::{
    Programs, lists,
    table::{Figure, Results},
};

const CLUSTERS: usize = 10_000;
const STARTS: usize = 11;
const KEYS: usize = 40;
const LIMIT: Duration = Duration::from_secs(60);
/// How long the screen is watched, busy and idle.
const WATCHED: Duration = Duration::from_secs(20);

pub(crate) fn measure(programs: &Programs) -> Result<Results> {
    let mut figures = frames(programs)?;
    figures.push(first_frame(programs)?);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    figures.extend(runtime.block_on(busy(programs))?);
    Ok(Results { rows: Vec::new(), figures })
}

fn figure(job: impl Into<String>, value: f64, unit: &'static str, goal: f64) -> Figure {
    Figure { job: job.into(), value, unit, goal: Some(goal) }
}

/// Update and frame alone, without a terminal and a server.
fn frames(programs: &Programs) -> Result<Vec<Figure>> {
    let release = programs.butleradm.parent().context("no directory")?;
    let example = release.join("examples/frames");
    ensure!(example.exists(), "{} is missing: run `make bench`", example.display());
    let output = Command::new(example).args([CLUSTERS.to_string(), "10".to_owned()]).output()?;
    let found: Value = serde_json::from_slice(&output.stdout)?;
    let micros = |name: &str| found[name].as_f64().context("no figure");
    let job = format!("{CLUSTERS} clusters, 100 updates a second: ");
    Ok(vec![
        figure(format!("{job}update and frame, p99"), micros("frameP99Micros")? / 1e3, "ms", 16.0),
        figure(format!("{job}key and frame, p99"), micros("keyP99Micros")? / 1e3, "ms", 16.0),
    ])
}

fn open(programs: &Programs, env: &Env, kubeconfig: &Path) -> Result<Pty> {
    let command = env.command(&programs.butleradm).env_remove("NO_COLOR").env_remove("BUTLER_CLOCK");
    command.args(["tui", "--kubeconfig"]).arg(kubeconfig).pty(200, 60)
}

/// The median of several starts, from the start of the process to words on the screen.
fn first_frame(programs: &Programs) -> Result<Figure> {
    let env = Env::new()?;
    let kubeconfig = dead(&env)?;
    let mut times = Vec::new();
    for _ in 0..STARTS {
        let start = Instant::now();
        let mut pty = open(programs, &env, &kubeconfig)?;
        pty.wait_for("Overview", LIMIT)?;
        times.push(start.elapsed());
        pty.send("q")?;
        pty.wait(LIMIT)?;
    }
    times.sort();
    let median = times[times.len() / 2].as_secs_f64() * 1e3;
    Ok(figure("tui: first frame with a dead API server", median, "ms", 100.0))
}

/// A kubeconfig for a server that nobody is.
fn dead(env: &Env) -> Result<PathBuf> {
    let server = format!("https://{}", std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?);
    let text = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": server, "insecure-skip-tls-verify": true}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
    });
    let path = env.work_dir().join("dead.yaml");
    butler_core::settings::home::write_private(&path, text.to_string().as_bytes())?;
    Ok(path)
}

/// The program itself on a server whose clusters change.
async fn busy(programs: &Programs) -> Result<Vec<Figure>> {
    let plane = ControlPlane::start().await?;
    let client = plane.client().await?;
    lists::fill(&client, "bench", CLUSTERS).await?;
    let env = Env::new()?;
    let mut pty = open(programs, &env, plane.kubeconfig())?;
    pty.wait_for("Overview", LIMIT)?;
    pty.send("2")?;
    pty.wait_for(&format!("Tenant clusters {CLUSTERS}"), LIMIT)?;
    let idle = share(pty.pid(), async { tokio::time::sleep(WATCHED).await }).await?;

    let clusters: Api<TenantCluster> = Api::namespaced(client, "bench");
    let update = async |turn: usize| {
        let name = format!("cluster-{:05}", turn * 7919 % CLUSTERS);
        let phase = ["Ready", "Updating", "Failed"][turn % 3];
        let status = json!({"status": {"phase": phase}});
        clusters.patch_status(&name, &PatchParams::default(), &Patch::Merge(&status)).await
    };
    let updates = async {
        let mut every = tokio::time::interval(Duration::from_millis(10));
        for turn in 0.. {
            every.tick().await;
            // A server that is slow makes fewer updates, not an error.
            let _ = update(turn).await;
        }
    };
    let load = async {
        let watched = tokio::time::sleep(WATCHED);
        tokio::select! { () = updates => {}, () = watched => {} }
    };
    let load = share(pty.pid(), load).await?;
    let mut keys = Vec::new();
    for turn in 0..KEYS {
        // The mark of the chosen row moves with each key.
        let row = format!("▌ cluster-{:05}", turn + 1);
        let start = Instant::now();
        pty.send("j")?;
        pty.wait_for(&row, LIMIT)?;
        keys.push(start.elapsed());
    }
    keys.sort();
    let memory = peak(pty.pid())?;
    pty.send("q")?;
    pty.wait(LIMIT)?;
    let job = format!("tui, {CLUSTERS} clusters: ");
    Ok(vec![
        figure(format!("{job}idle, of a core"), idle, "%", 1.0),
        figure(format!("{job}100 updates a second, of a core"), load, "%", 30.0),
        figure(
            format!("{job}from a key to the screen, p95"),
            keys[KEYS * 95 / 100].as_secs_f64() * 1e3,
            "ms",
            30.0,
        ),
        figure(format!("{job}peak memory"), memory, "MiB", 100.0),
    ])
}

/// Which part of a core a process used while something went on, in percent.
async fn share(pid: u32, work: impl Future<Output = ()>) -> Result<f64> {
    let (before, start) = (used(pid)?, Instant::now());
    work.await;
    Ok((used(pid)? - before).as_secs_f64() / start.elapsed().as_secs_f64() * 100.0)
}

/// Processor time a process has used.
fn used(pid: u32) -> Result<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let fields = stat.rsplit_once(") ").context("no stat")?.1;
    let ticks: u64 = fields.split(' ').skip(11).take(2).map(|field| field.parse::<u64>().unwrap_or(0)).sum();
    Ok(Duration::from_millis(ticks * 1000 / rustix::param::clock_ticks_per_second()))
}

fn peak(pid: u32) -> Result<f64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("no peak")?;
    Ok(peak.trim().trim_end_matches("kB").trim().parse::<f64>()? / 1024.0)
}
