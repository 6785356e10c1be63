//! What goes wrong on purpose.

use std::{
    fs,
    time::{Duration, Instant},
};

use anyhow::Result;
use butler_operator::driver::Role;

use super::lab::{LONG, Lab};

#[tokio::test]
async fn a_slow_machine_takes_its_time_and_one_that_hangs_says_nothing() -> Result<()> {
    let lab = Lab::new()?;
    let slow = lab.create("slow", 11, Role::Worker)?;
    let hung = lab.create("hung", 12, Role::Worker)?;
    slow.faults(r#"{"slowBootSeconds": 2}"#)?;
    hung.faults(r#"{"neverBoots": true}"#)?;
    let mut hangs = lab.start(&hung)?;
    let began = Instant::now();
    let _running = lab.boot(&slow)?;
    assert!(began.elapsed() >= Duration::from_secs(2), "{:?}", began.elapsed());
    hangs.line(Duration::from_millis(300)).expect_err("a machine that hangs says nothing");
    // The fault is taken away.
    hung.faults("{}")?;
    hangs.line_with("\"booted\"", LONG)?;
    Ok(())
}

#[tokio::test]
async fn a_machine_may_tell_a_wrong_address_refuse_its_configuration_or_die_of_it() -> Result<()> {
    let lab = Lab::new()?;
    lab.generate(&lab.address(11))?;
    let machine = lab.create("one", 11, Role::ControlPlane)?;
    machine.faults(r#"{"wrongAddress": "192.0.2.7", "refusesConfig": "the disk is too small"}"#)?;
    let mut running = lab.start(&machine)?;
    assert!(running.line_with("\"booted\"", LONG)?.contains("192.0.2.7"));
    let apply = ["apply-config", "--insecure", "-n", &machine.address, "-f", "controlplane.yaml"];
    let text = lab.fails(&apply)?;
    assert!(text.contains("the disk is too small"), "{text}");
    machine.faults(r#"{"diskFull": true}"#)?;
    let text = lab.fails(&apply)?;
    assert!(text.contains("no space left on device"), "{text}");
    machine.faults(r#"{"diesAfterConfig": true}"#)?;
    lab.ok(&apply)?;
    let ended = running.wait(LONG)?.success()?;
    assert!(ended.stderr.contains("power down"), "{ended}");
    Ok(())
}

#[tokio::test]
async fn a_clock_that_is_ahead_makes_certificates_nobody_takes_yet() -> Result<()> {
    let lab = Lab::new()?;
    lab.generate(&lab.address(11))?;
    let machine = lab.create("one", 11, Role::ControlPlane)?;
    // Certificates allow for a clock that is a day behind; this one is two ahead.
    machine.faults(r#"{"clockSkewSeconds": 172800}"#)?;
    fs::copy(lab.file("controlplane.yaml"), machine.dir.user_data())?;
    let _running = lab.boot(&machine)?;
    lab.talk_to(&machine)?;
    let text = lab.fails(&["version"])?;
    assert!(text.contains("certificate has expired or is not yet valid"), "{text}");
    Ok(())
}

#[tokio::test]
async fn an_api_server_that_flaps_is_started_again_and_etcd_that_wont_join_does_not() -> Result<()> {
    let lab = Lab::new()?;
    lab.generate(&lab.address(11))?;
    let first = lab.create("cp-1", 11, Role::ControlPlane)?;
    let second = lab.create("cp-2", 12, Role::ControlPlane)?;
    for machine in [&first, &second] {
        fs::copy(lab.file("controlplane.yaml"), machine.dir.user_data())?;
    }
    first.faults(r#"{"apiServerFlapsSeconds": 4}"#)?;
    second.faults(r#"{"etcdWontJoin": true}"#)?;
    let _running = [lab.boot(&first)?, lab.boot(&second)?];
    lab.talk_to(&first)?;
    lab.eventually(&["version"], "NODE:").await?;
    lab.ok(&["bootstrap"])?;
    lab.until(&["dmesg"], "the API server was started three times", |text| {
        text.matches("static pod kube-apiserver started").count() >= 3
    })
    .await?;
    lab.eventually(&["-n", &second.address, "dmesg"], "that fault is set").await?;
    let text = lab.ok(&["-n", &second.address, "services"])?;
    let etcd = text.lines().find(|line| line.contains("etcd")).unwrap_or_default();
    assert!(etcd.contains("Preparing"), "{text}");
    // Without the faults both recover.
    first.faults("{}")?;
    second.faults("{}")?;
    lab.until(&["etcd", "members"], "the second one joined", |text| text.matches("false").count() == 2)
        .await?;
    Ok(())
}
