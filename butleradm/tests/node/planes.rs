//! Three control planes that share one address.

use anyhow::Result;
use butler_operator::driver::Role;

use super::lab::{LONG, Lab};

#[tokio::test]
async fn three_control_planes_join_one_etcd_and_hand_the_shared_address_on() -> Result<()> {
    let lab = Lab::new()?;
    let vip = lab.address(100);
    lab.generate(&vip)?;
    lab.write(
        "vip.yaml",
        &format!("machine:\n  network:\n    interfaces:\n      - interface: eth0\n        dhcp: true\n        vip: {{ip: {vip}}}\n"),
    )?;
    let _ = lab
        .talosctl(&["machineconfig", "patch", "controlplane.yaml", "-p", "@vip.yaml", "-o", "plane.yaml"])
        .run()?
        .success()?;
    let machines = [("cp-1", 11), ("cp-2", 12), ("cp-3", 13)]
        .map(|(name, host)| lab.create(name, host, Role::ControlPlane))
        .into_iter()
        .collect::<Result<Vec<_>>>()?;
    let mut running = machines.iter().map(|machine| lab.boot(machine)).collect::<Result<Vec<_>>>()?;
    for machine in &machines {
        lab.apply(machine, "plane.yaml")?;
    }
    lab.talk_to(&machines[0])?;
    lab.eventually(&["version"], "NODE:").await?;
    lab.ok(&["bootstrap"])?;
    lab.until(&["etcd", "members"], "three members vote", |text| text.matches("false").count() == 3).await?;
    lab.ok(&["health", "--wait-timeout", "110s"])?;
    lab.ok(&["kubeconfig", "--force", &lab.file("kubeconfig").to_string_lossy()])?;
    // The kubeconfig names the shared address.
    let text = lab.kubectl(&["get", "nodes"])?;
    assert_eq!(text.lines().filter(|line| line.contains(" Ready ")).count(), 3, "{text}");

    let text = lab.ok(&["etcd", "forfeit-leadership"])?;
    let text = format!("{text}{}", lab.ok(&["-n", &machines[1].address, "etcd", "status"])?);
    assert!(text.contains("MEMBER"), "{text}");

    // The first one dies; whoever is left carries the address and etcd.
    running.remove(0).signal(butler_tests::Signal::KILL);
    lab.talk_to(&machines[1])?;
    butler_tests::eventually("another one carries the address", LONG, || async {
        Ok(lab.kubectl(&["get", "--raw", "/readyz", "--request-timeout=5s"])?.contains("ok"))
    })
    .await?;
    // It comes back by itself, with its data.
    running.insert(0, lab.boot(&machines[0])?);
    lab.until(&["-n", &machines[0].address, "service", "etcd"], "etcd is healthy again", |text| {
        text.contains("HEALTH   OK")
    })
    .await?;

    // A graceful reset leaves etcd.
    lab.ok(&["-n", &machines[2].address, "reset", "--reboot", "--graceful"])?;
    lab.until(&["etcd", "members"], "two members are left", |text| {
        text.contains("cp-1") && text.contains("cp-2") && !text.contains("cp-3")
    })
    .await?;
    Ok(())
}
