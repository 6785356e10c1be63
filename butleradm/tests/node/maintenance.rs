//! A machine without a configuration.

use std::{fs, time::Instant};

use anyhow::Result;
use butler_operator::{driver::Role, sandbox::machine::AgentMessage};

use super::lab::{LONG, Lab};

#[tokio::test]
async fn a_new_machine_waits_for_its_configuration_and_says_no_to_everything_else() -> Result<()> {
    let lab = Lab::new()?;
    let machine = lab.create("one", 11, Role::Worker)?;
    let began = Instant::now();
    let mut running = lab.start(&machine)?;
    let lines: Vec<AgentMessage> = [running.line(LONG)?, running.line(LONG)?]
        .iter()
        .map(|line| serde_json::from_str(line))
        .collect::<Result<_, _>>()?;
    assert!(matches!(&lines[0], AgentMessage::Stage { stage } if stage == "maintenance"), "{lines:?}");
    assert!(
        matches!(&lines[1], AgentMessage::Booted { address, .. } if address.to_string() == machine.address)
    );
    // A release build takes a tenth of this.
    assert!(began.elapsed().as_secs() < 5, "{:?}", began.elapsed());

    let insecure = |args: &[&'static str]| [args, &["--insecure", "-n", machine.address.as_str()]].concat();
    let text = lab.fails(&insecure(&["version"]))?;
    assert!(text.contains("Unimplemented desc = API is not implemented in maintenance mode"), "{text}");
    let text = lab.ok(&insecure(&["get", "disks"]))?;
    assert!(text.contains("sda") && text.contains("SANDBOX DISK"), "{text}");
    let text = lab.ok(&insecure(&["get", "machinestatus"]))?;
    assert!(text.contains("maintenance"), "{text}");
    let text = lab.fails(&insecure(&["get", "machineconfig"]))?;
    assert!(text.contains("not authorized"), "{text}");
    Ok(())
}

#[tokio::test]
async fn what_is_no_configuration_is_refused_and_the_machine_goes_on_waiting() -> Result<()> {
    let lab = Lab::new()?;
    lab.generate(&lab.address(11))?;
    let machine = lab.create("one", 11, Role::Worker)?;
    let running = lab.boot(&machine)?;
    let node = machine.address.as_str();
    let worker = fs::read_to_string(lab.file("worker.yaml"))?;
    lab.write("unknown.yaml", &worker.replacen("    token:", "    toaken: x\n    token:", 1))?;
    lab.write("cut.yaml", &worker[..worker.len() / 3])?;
    // The key of the Talos authority, as a control plane has it.
    let planes = fs::read_to_string(lab.file("controlplane.yaml"))?;
    lab.write("key.yaml", &planes.replacen("type: controlplane", "type: worker", 1))?;
    for (file, words) in [
        ("unknown.yaml", "unknown keys found during decoding"),
        ("cut.yaml", "rpc error"),
        ("key.yaml", "configuration validation failed"),
    ] {
        let text = lab.fails(&["apply-config", "--insecure", "-n", node, "-f", file])?;
        assert!(text.contains(words), "{file}: {text}");
    }
    let apply = |more: &[&'static str]| {
        [&["apply-config", "--insecure", "-n", node, "-f", "worker.yaml"], more].concat()
    };
    let text = lab.fails(&apply(&["--mode", "no-reboot"]))?;
    assert!(text.contains("--mode='no-reboot' is not supported in maintenance mode"), "{text}");
    let text = lab.ok(&apply(&["--dry-run"]))?;
    assert!(text.contains("Node is running in maintenance mode and does not have a config yet."), "{text}");
    // Still waiting, and still alive.
    let text = lab.ok(&["get", "machinestatus", "--insecure", "-n", node])?;
    assert!(text.contains("maintenance"), "{text}");
    drop(running);
    Ok(())
}

#[tokio::test]
async fn user_data_is_a_configuration_and_so_is_what_was_applied_before_a_crash() -> Result<()> {
    let lab = Lab::new()?;
    lab.generate(&lab.address(11))?;
    let machine = lab.create("one", 11, Role::ControlPlane)?;
    fs::copy(lab.file("controlplane.yaml"), machine.dir.user_data())?;
    lab.talk_to(&machine)?;
    let running = lab.boot(&machine)?;
    let text = lab.eventually(&["services"], "etcd").await?;
    assert!(text.contains("Preparing") && text.contains("Running pre state"), "{text}");
    let boot = lab.ok(&["read", "/proc/sys/kernel/random/boot_id"])?;
    // Killed, not stopped; and the user data is gone.
    running.signal(butler_tests::Signal::KILL);
    let _ = running.wait(LONG)?;
    fs::remove_file(machine.dir.user_data())?;
    let _running = lab.boot(&machine)?;
    lab.eventually(&["version"], "NODE:").await?;
    assert_ne!(lab.ok(&["read", "/proc/sys/kernel/random/boot_id"])?, boot);
    Ok(())
}
