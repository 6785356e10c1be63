//! What cannot be begun is refused before anything is made.

use std::os::unix::fs::PermissionsExt;

use anyhow::{Context, Result, ensure};

use super::{Lab, example_path};

#[test]
fn a_provider_without_a_driver_is_named_and_nothing_is_made() -> Result<()> {
    let lab = Lab::new()?;
    // Where the example says the secret is.
    let secret = lab.env.home().join(".butler/pve-token");
    std::fs::create_dir_all(secret.parent().context("a parent")?)?;
    std::fs::write(&secret, "hunter2-hunter2")?;
    std::fs::set_permissions(&secret, std::fs::Permissions::from_mode(0o600))?;
    let path = example_path("proxmox.yaml").display().to_string();
    let run = lab.bootstrap(&["proxmox", "--config", &path, "--runtime", "process"]);
    let output = run.run()?.failed_with(2)?;
    ensure!(output.stderr.contains("proxmox") && output.stderr.contains("no driver"), "{output}");
    ensure!(!output.stderr.contains("hunter2") && !output.stdout.contains("hunter2"), "{output}");
    ensure!(lab.processes().is_empty());
    // A run that made nothing does not hold the name.
    let listed = lab.bootstrap(&["list", "-o", "json"]).run()?.success()?.json()?;
    ensure!(listed["items"][0]["stage"] == "Failed", "{listed}");
    Ok(())
}

#[test]
fn the_wrong_provider_and_a_missing_secret_are_named() -> Result<()> {
    let lab = Lab::new()?;
    let config = lab.config("wrong", "single-node")?;
    let other = lab.bootstrap(&["harvester", "--config", &config]).run()?.failed_with(2)?;
    ensure!(other.stderr.contains("provider"), "{other}");
    let path = example_path("proxmox.yaml").display().to_string();
    let missing = lab.bootstrap(&["--config", &path, "--runtime", "process"]).run()?.failed_with(2)?;
    ensure!(missing.stderr.contains("BTL-1214") && missing.stderr.contains("pve-token"), "{missing}");
    ensure!(!lab.home.join("runs").exists(), "a run was begun");
    Ok(())
}

#[test]
fn a_sandbox_that_is_a_platform_is_left_alone() -> Result<()> {
    let lab = Lab::new()?;
    let _up = lab.adm(&["sandbox", "up", "--name", "busy"]).run()?.success()?;
    let config = lab.config("busy", "single-node")?;
    let refused = lab.bootstrap(&["--config", &config]).run()?.failed_with(1)?;
    ensure!(refused.stderr.contains("BTL-1711"), "{refused}");
    // Removing what the run made, which is nothing, leaves it alone too.
    lab.destroy("busy")?;
    let status = lab.adm(&["sandbox", "status", "--name", "busy", "-o", "json"]).run()?.success()?.json()?;
    ensure!(status["state"] == "running", "{status}");
    let _gone = lab.adm(&["sandbox", "reset", "--name", "busy", "--yes", "busy"]).run()?.success()?;
    Ok(())
}
