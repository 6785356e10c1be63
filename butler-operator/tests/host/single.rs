//! A system that has no loopback address but 127.0.0.1: one address, many ports.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use butler_operator::driver::{Driver, LoadBalancerSpec, Machine, MachineState, Ownership, Target};
use butler_tests::driver_suite::{self, becomes, machine};

use crate::Place;

/// A network of its own in which only 127.0.0.1 exists; then the program that follows.
const ONE_ADDRESS: &str =
    "ip link set lo up && ip addr flush dev lo && ip addr add 127.0.0.1/32 dev lo && exec \"$@\"";

#[test]
fn without_other_loopback_addresses_machines_share_one() -> Result<()> {
    let output = Command::new("unshare")
        .args(["--map-root-user", "--net", "sh", "-c", ONE_ADDRESS, "sh"])
        .arg(std::env::current_exe()?)
        .args(["--exact", "single::everything_on_one_address", "--ignored", "--nocapture"])
        .output()
        .context("this test needs `unshare` and `ip`")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success() && text.contains("1 passed"), "{text}\n{stderr}");
    Ok(())
}

#[tokio::test]
#[ignore = "a role that the test above starts in a network of its own"]
async fn everything_on_one_address() -> Result<()> {
    ensure!(std::net::TcpListener::bind("127.0.0.2:0").is_err(), "only 127.0.0.1 exists here");
    let place = Place::new()?;
    let running = place.start().await?;
    assert_eq!(running.host.about().network, "127.0.0.1/32");
    driver_suite::run(&running.driver).await?;

    let (one, two) = (machine("run-1", "one"), machine("run-1", "two"));
    let is_running = |machine: &Machine| machine.state == MachineState::Running;
    for spec in [&one, &two] {
        running.driver.create(spec).await?;
        let seen = becomes(&running.driver, &spec.key(), is_running).await?;
        assert_eq!(seen.addresses, ["127.0.0.1".parse::<std::net::IpAddr>()?]);
    }
    let ports = |running: &crate::Running| {
        running.host.nodes().into_iter().map(|node| node.ports).collect::<Vec<_>>()
    };
    let before = ports(&running);
    assert_ne!(before[0], before[1], "each has ports of its own");

    // A load balancer finds a machine by its name, on the port that machine has.
    let target = Target { ip: None, instance_id: None, instance_name: Some("one".to_owned()) };
    let spec = LoadBalancerSpec {
        name: "cp".to_owned(),
        ownership: Ownership::new("run-1", "butler-system", "cp"),
        port: 6443,
        health_check_port: 6443,
        targets: vec![target],
    };
    let api = before[0].context("ports")?.api;
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", api)).await?;
    let balancer = running.driver.load_balancers().context("load balancers")?.ensure(&spec).await?;
    let _client = tokio::net::TcpStream::connect(balancer.endpoint.context("an endpoint")?).await?;
    tokio::time::timeout(crate::LIMIT, listener.accept()).await.context("nobody was led here")??;
    drop(listener);
    running.stop().await;

    let running = place.start().await?;
    assert_eq!(ports(&running), before, "ports are kept");
    running.stop().await;
    Ok(())
}
