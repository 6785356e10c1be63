//! A running control plane in the hands of a person: services, logs, events, changes of configuration.

use std::fs;

use anyhow::{Context, Result};
use butler_operator::driver::Role;

use super::lab::{LONG, Lab};

#[tokio::test]
async fn services_stop_and_start_logs_and_events_follow_and_a_trial_ends() -> Result<()> {
    let lab = Lab::new()?;
    lab.generate(&lab.address(11))?;
    let plane = lab.create("cp-1", 11, Role::ControlPlane)?;
    // A second machine that says it is the first.
    let twin = lab.create("cp-1-twin", 12, Role::Worker)?;
    let named = |file: &str| -> Result<String> {
        let text = fs::read_to_string(lab.file(file))?;
        let text = text.replacen("    network: {}\n", "    network: {hostname: same}\n", 1);
        assert!(text.contains("hostname: same"), "{text}");
        Ok(text)
    };
    fs::write(plane.dir.user_data(), named("controlplane.yaml")?)?;
    fs::write(twin.dir.user_data(), named("worker.yaml")?)?;
    let _running = lab.boot(&plane)?;
    lab.talk_to(&plane)?;
    lab.eventually(&["version"], "NODE:").await?;
    lab.ok(&["bootstrap"])?;
    lab.ok(&["health", "--wait-timeout", "100s"])?;

    // Both nodes of one name are shown, and the first stays what it is.
    let _twin = lab.boot(&twin)?;
    lab.eventually(&["get", "members"], &twin.address).await?;
    let text = lab.ok(&["get", "members"])?;
    assert!(text.contains(&plane.address), "{text}");

    let mut follow = lab.talosctl(&["logs", "machined", "-f", "--tail", "1"]).spawn()?;
    let mut events = lab.talosctl(&["events"]).spawn()?;
    follow.line(LONG)?;
    let text = lab.ok(&["service", "etcd", "stop"])?;
    assert!(text.contains("Service \"etcd\" stopped"), "{text}");
    follow.line_with("service[etcd](Finished)", LONG)?;
    events.line_with("etcd", LONG)?;
    lab.eventually(&["service", "etcd"], "Finished").await?;
    lab.ok(&["service", "etcd", "start"])?;
    lab.until(&["service", "etcd"], "etcd is healthy again", |text| text.contains("HEALTH   OK")).await?;
    lab.ok(&["service", "kubelet", "restart"])?;
    let text = lab.fails(&["service", "apid", "stop"])?;
    assert!(text.contains("doesn't support stop"), "{text}");

    lab.ok(&["etcd", "alarm", "list"])?;
    lab.ok(&["etcd", "defrag"])?;
    let text = lab.fails(&["etcd", "leave"])?;
    assert!(text.contains("only member"), "{text}");
    let text = lab.fails(&["containers"])?;
    assert!(text.contains("Unimplemented"), "{text}");

    changes(&lab).await
}

/// Applies configurations in every mode.
async fn changes(lab: &Lab) -> Result<()> {
    let patch = |patch: &'static str, mode: &'static str| {
        lab.talosctl(&["patch", "mc", "--mode", mode, "-p", patch, "--timeout", "3s"]).run()
    };
    let said = |output: butler_tests::Output| Ok::<_, anyhow::Error>(output.stdout + &output.stderr);
    let text = said(patch(r#"{"machine":{"env":{"A":"b"}}}"#, "no-reboot")?.failed_with(1)?)?;
    assert!(text.contains("this config change can't be applied in immediate mode"), "{text}");
    let text = said(patch(r#"{"machine":{"nodeLabels":{"tried":"yes"}}}"#, "try")?.success()?)?;
    assert!(text.contains("will be automatically reverted back in"), "{text}");
    lab.eventually(&["get", "mc", "-o", "yaml"], "tried").await?;
    lab.until(&["get", "mc", "-o", "yaml"], "the trial is over", |text| {
        text.contains("controlplane") && !text.contains("tried")
    })
    .await?;
    let text = said(patch(r#"{"machine":{"env":{"STAGED":"b"}}}"#, "staged")?.success()?)?;
    assert!(text.contains("Staged configuration to be applied after the next reboot"), "{text}");
    assert!(!lab.ok(&["get", "mc", "-o", "yaml"])?.contains("STAGED"));
    let boot = lab.ok(&["read", "/proc/sys/kernel/random/boot_id"])?;
    lab.ok(&["reboot", "--wait=false"])?;
    lab.until(&["read", "/proc/sys/kernel/random/boot_id"], "it rebooted", |text| {
        !text.contains("rpc error") && !text.is_empty() && text != boot
    })
    .await?;
    lab.eventually(&["get", "mc", "-o", "yaml"], "STAGED").await?;
    // Only documents besides the main one are no configuration of a running node.
    lab.write(
        "partial.yaml",
        "apiVersion: v1alpha1\nkind: KmsgLogConfig\nname: a\nurl: tcp://10.0.0.1:1/\n",
    )?;
    let text = lab.fails(&["apply-config", "-f", "partial.yaml"])?;
    assert!(text.contains("did you mean to patch the machine config instead?"), "{text}");
    text.lines().next().context("it said something")?;
    Ok(())
}
