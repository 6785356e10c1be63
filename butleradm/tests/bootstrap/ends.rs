//! Runs that end before their end, and what becomes of them.

use anyhow::{Result, ensure};
use butler_operator::process::Signal;

use super::{LIMIT, Lab, until};

/// Phases in which a run is cut off: a new one first, then each time the one that was taken up.
const PHASES: [&str; 4] =
    ["StartingTemporaryCluster", "ProvisioningMachines", "BootstrappingCluster", "InstallingAddons"];

#[test]
fn a_run_that_is_killed_again_and_again_makes_each_machine_once() -> Result<()> {
    let lab = Lab::new()?;
    let config = lab.config("tough", "single-node")?;
    let mut args = vec!["--config", config.as_str(), "--events", "ndjson"];
    for phase in PHASES {
        let mut run = lab.bootstrap(&args).spawn()?;
        let _begun = run.line_with(&format!(r#""kind":"PhaseStarted","phase":"{phase}""#), LIMIT)?;
        run.signal(Signal::KILL);
        drop(run);
        until(
            "the killed run is seen as such",
            LIMIT,
            || Ok(lab.status("tough")?["stage"] == "Interrupted"),
        )?;
        args = vec!["resume", "tough", "--events", "ndjson"];
    }
    let _ready = lab.bootstrap(&["resume", "tough"]).run()?.success()?;
    assert_eq!(lab.machines_made("tough")?, ["tough-cp-0"]);
    let nodes = lab.kubectl("tough", &["get", "nodes", "--no-headers"])?.run()?.success()?;
    ensure!(nodes.stdout.contains(" Ready "), "{nodes}");
    lab.destroy("tough")?;
    lab.nothing_left("tough")
}

#[test]
fn ctrl_c_stops_cleanly_and_a_process_elsewhere_can_be_told_to_stop() -> Result<()> {
    let lab = Lab::new()?;
    let config = lab.config("calm", "single-node")?;
    let mut run = lab.bootstrap(&["--config", &config, "--events", "ndjson"]).spawn()?;
    let _begun = run.line_with(r#""phase":"StartingTemporaryCluster""#, LIMIT)?;
    // Meanwhile nobody else may.
    let second = lab.bootstrap(&["--config", &config]).run()?.failed_with(1)?;
    ensure!(second.stderr.contains("BTL-2003") && second.stderr.contains("process"), "{second}");
    run.signal(Signal::INT);
    let output = run.wait(LIMIT)?.failed_with(130)?;
    ensure!(output.stderr.contains("butleradm bootstrap resume"), "{output}");
    ensure!(lab.status("calm")?["stage"] == "Stopped");

    let mut resumed = lab.bootstrap(&["resume", "--events", "ndjson"]).spawn()?;
    let _begun = resumed.line_with(r#""phase":"BootstrappingCluster""#, LIMIT)?;
    let held = lab.status("calm")?;
    ensure!(held["stage"] == "Running" && held["holder"]["pid"] == resumed.pid(), "{held}");
    let aborted = lab.bootstrap(&["abort", "calm"]).run()?.success()?;
    ensure!(aborted.stderr.contains("is stopped; what it made stays"), "{aborted}");
    let ended = resumed.wait(LIMIT)?.failed_with(130)?;
    ensure!(ended.stderr.contains("interrupted"), "{ended}");
    lab.destroy("calm")?;
    lab.nothing_left("calm")
}

#[test]
fn a_limit_is_a_limit_and_the_run_can_go_on() -> Result<()> {
    let lab = Lab::new()?;
    let config = lab.config("late", "single-node")?;
    let late = lab.bootstrap(&["--config", &config, "--timeout", "2s"]).run()?.failed_with(6)?;
    ensure!(late.stderr.contains("BTL-2011") && late.stderr.contains("resume"), "{late}");
    // The temporary control plane is only a cache.
    let temporary = lab.run_dir()?.join("temporary");
    if temporary.exists() {
        std::fs::remove_dir_all(&temporary)?;
    }
    let _ready = lab.bootstrap(&["resume", "late"]).run()?.success()?;
    lab.destroy("late")?;
    lab.nothing_left("late")
}
