//! `bootstrap` of the sandbox examples beside the bare starts of the programs it ends up running, what
//! it holds in memory meanwhile, and machines that are asked for together.

use std::{
    path::{Path, PathBuf},
    process::{Child, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use butler_core::api::MachineRequest;
use butler_tests::{Builder, ControlPlane, eventually};
use kube::{
    Api,
    api::{ListParams, PostParams},
    config::Kubeconfig,
};

use crate::{
    Programs,
    cost::Cost,
    fleet,
    sandbox::Sandbox,
    table::{Figure, Results, Row},
};

const RUNS: usize = 3;
const CONTROL_PLANES: u32 = 3;
const LIMIT: Duration = Duration::from_secs(300);
/// How often memory is looked at; the kernel keeps its peak.
const LOOK: Duration = Duration::from_millis(20);

pub(crate) fn measure(programs: &Programs) -> Result<Results> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    // Half of a bootstrap is the temporary control plane, which has no controllers.
    let mut temporary = Vec::new();
    let mut plane = Vec::new();
    let (mut single, mut ha, mut peak) = (Vec::new(), Vec::new(), 0);
    for _ in 0..RUNS {
        temporary.push(runtime.block_on(bare(ControlPlane::builder()))?);
        plane.push(runtime.block_on(bare(ControlPlane::builder().controllers()))?);
        for (example, walls) in [("sandbox", &mut single), ("sandbox-ha", &mut ha)] {
            let (wall, memory) = bootstrap(programs, example)?;
            walls.push(wall);
            peak = peak.max(memory);
        }
    }
    let (temporary, plane) = (median(temporary), median(plane));
    let cost = |wall| Cost { wall, memory: 0 };
    let mut results = Results::from(vec![
        Row::new(
            "bootstrap, one machine",
            cost(median(single)),
            "a temporary and a whole control plane, bare",
            cost(temporary + plane),
        )
        .time_goal(1.5),
        Row::new(
            "bootstrap, 3 control planes and 2 workers",
            cost(median(ha)),
            "a temporary and three whole control planes, bare",
            cost(temporary + plane * CONTROL_PLANES),
        )
        .time_goal(1.5),
    ]);
    results.figures.push(Figure {
        job: "butleradm during a bootstrap, peak memory".into(),
        value: peak as f64 / 1024.0,
        unit: "MiB",
        goal: Some(100.0),
    });
    let mut walls = Vec::new();
    for count in [3, 10, 30] {
        let wall = runtime.block_on(together(programs, count))?;
        walls.push(wall);
        results.figures.push(Figure {
            job: format!("{count} machines asked for together, until all run"),
            value: wall.as_secs_f64() * 1e3,
            unit: "ms",
            goal: None,
        });
    }
    // Ten times the machines: one after the other would be 10 ×.
    let row = Row::new("30 machines together", cost(walls[2]), "3 machines", cost(walls[0]));
    results.rows.push(row.time_goal(3.0));
    Ok(results)
}

fn median(mut walls: Vec<Duration>) -> Duration {
    walls.sort();
    walls[walls.len() / 2]
}

async fn bare(builder: Builder) -> Result<Duration> {
    let start = Instant::now();
    let plane = builder.start().await?;
    let wall = start.elapsed();
    drop(plane);
    Ok(wall)
}

/// Wall time and peak memory in KiB of the program itself, without the parts that it starts.
fn bootstrap(programs: &Programs, example: &str) -> Result<(Duration, u64)> {
    let sandbox = Sandbox::new(programs)?;
    let config = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../examples"));
    let config = config.join(example).with_extension("yaml");
    let start = Instant::now();
    let mut command = sandbox.command(&["bootstrap", "--quiet", "--config"])?;
    let mut child = command.arg(config).stdout(Stdio::null()).spawn()?;
    let memory = watch(&mut child)?;
    let wall = start.elapsed();
    ensure!(child.wait()?.success(), "the bootstrap of {example} failed");
    sandbox.butleradm(&["bootstrap", "destroy", example, "--yes", example, "--quiet"])?;
    Ok((wall, memory))
}

/// The peak of a process's resident memory in KiB, looked at until it ends.
fn watch(child: &mut Child) -> Result<u64> {
    let path = Path::new("/proc").join(child.id().to_string()).join("status");
    let mut peak = 0;
    while child.try_wait()?.is_none() {
        let status = std::fs::read_to_string(&path).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let now = line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse().ok());
        peak = peak.max(now.unwrap_or_default());
        std::thread::sleep(LOOK);
    }
    Ok(peak)
}

/// Machines of a platform that runs, asked for at once.
async fn together(programs: &Programs, count: usize) -> Result<Duration> {
    let sandbox = Sandbox::new(programs)?;
    sandbox.butleradm(&["sandbox", "up", "--quiet"])?;
    let status = sandbox.status()?;
    let kubeconfig = status["kubeconfig"].as_str().context("the status names no kubeconfig")?;
    let client = fleet::client(Kubeconfig::read_from(kubeconfig)?).await?;
    let machines: Api<MachineRequest> = Api::namespaced(client, "butler-system");
    let start = Instant::now();
    for index in 0..count {
        let request = fleet::machine_request(index, None)?;
        machines.create(&PostParams::default(), &request).await?;
    }
    eventually("all machines run", LIMIT, || async {
        let running = machines.list(&ListParams::default()).await?;
        let phase =
            |machine: &MachineRequest| machine.status.as_ref().and_then(|status| status.phase.clone());
        Ok(running
            .iter()
            .filter(|machine| phase(machine).is_some_and(|phase| phase.to_string() == "Running"))
            .count()
            == count)
    })
    .await?;
    Ok(start.elapsed())
}
