//! What a node must not believe, and what must not end it.

use std::{
    fs,
    io::{Read, Write},
    net::TcpStream,
    time::Duration,
};

use anyhow::Result;
use butler_operator::{
    driver::Role,
    talos::{
        client::{Client, observe},
        proto::machine::apply_configuration_request::Mode,
    },
};

use super::lab::{LONG, Lab};

/// Bytes that look random and are the same on each run.
fn noise(seed: u32, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(2_654_435_761).max(1);
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state.to_le_bytes()[0]
    };
    (0..length).map(|_| next()).collect()
}

fn throw(address: &str, bytes: &[u8]) {
    if let Ok(mut stream) = TcpStream::connect((address, 50_000)) {
        let _ = stream.set_read_timeout(Some(Duration::from_millis(50)));
        let _ = stream.write_all(bytes);
        let _ = stream.read(&mut [0; 512]);
    }
}

#[tokio::test]
async fn garbage_on_the_port_ends_nothing_but_its_connection() -> Result<()> {
    let lab = Lab::new()?;
    lab.generate(&lab.address(11))?;
    let machine = lab.create("one", 11, Role::ControlPlane)?;
    let _running = lab.boot(&machine)?;
    let attack = || {
        for seed in 1..40 {
            throw(&machine.address, &noise(seed, usize::try_from(seed).unwrap_or(1) * 37));
        }
        // A record that announces more than it has, plain HTTP/2, plain HTTP, nothing.
        throw(&machine.address, &[22, 3, 1, 0x40, 0, 1, 0, 0x3f, 0xfc]);
        throw(&machine.address, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
        throw(&machine.address, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n");
        throw(&machine.address, b"");
    };
    attack();
    let text = lab.ok(&["get", "disks", "--insecure", "-n", &machine.address])?;
    assert!(text.contains("sda"), "{text}");

    // Larger than gRPC takes.
    let seen = observe(&machine.address).await?;
    let client = Client::maintenance(&machine.address, &seen).await?;
    let large = "a".repeat(5 * 1024 * 1024);
    client.apply(&large.into(), Mode::Auto, false).await.expect_err("too large");
    for seed in 1..30 {
        let text = String::from_utf8_lossy(&noise(seed, 300)).into_owned();
        client.apply(&text.into(), Mode::Auto, false).await.expect_err("no configuration");
    }

    lab.apply(&machine, "controlplane.yaml")?;
    lab.talk_to(&machine)?;
    lab.eventually(&["version"], "NODE:").await?;
    attack();
    lab.ok(&["version"])?;
    Ok(())
}

#[tokio::test]
async fn strangers_and_expired_certificates_are_kept_out() -> Result<()> {
    let (lab, other) = (Lab::new()?, Lab::new()?);
    lab.generate(&lab.address(11))?;
    other.generate(&other.address(11))?;
    let machine = lab.create("one", 11, Role::ControlPlane)?;
    fs::copy(lab.file("controlplane.yaml"), machine.dir.user_data())?;
    let _running = lab.boot(&machine)?;
    lab.talk_to(&machine)?;
    lab.eventually(&["version"], "NODE:").await?;

    // A whole other cluster's administrator.
    other.talk_to(&machine)?;
    let text = other.fails(&["version"])?;
    assert!(text.contains("certificate"), "{text}");
    // Our own, after its time.
    lab.ok(&["config", "new", "short.yaml", "--roles", "os:admin", "--crt-ttl", "1s"])?;
    let short = |args: &[&str]| {
        lab.talosctl(args)
            .env("TALOSCONFIG", lab.file("short.yaml"))
            .args(["-e", &machine.address, "-n", &machine.address])
            .timeout(LONG)
            .run()
    };
    butler_tests::eventually("the certificate has expired", LONG, || async {
        let output = short(&["version"])?;
        Ok(output.stderr.contains("expired"))
    })
    .await?;
    Ok(())
}

#[tokio::test]
async fn a_worker_of_another_cluster_does_not_join() -> Result<()> {
    let (lab, other) = (Lab::new()?, Lab::new()?);
    lab.generate(&lab.address(11))?;
    // The same endpoint, and a different authority.
    other.generate(&lab.address(11))?;
    let plane = lab.create("cp", 11, Role::ControlPlane)?;
    let worker = lab.create("worker", 21, Role::Worker)?;
    fs::copy(lab.file("controlplane.yaml"), plane.dir.user_data())?;
    fs::copy(other.file("worker.yaml"), worker.dir.user_data())?;
    let _plane = lab.boot(&plane)?;
    lab.talk_to(&plane)?;
    lab.eventually(&["version"], "NODE:").await?;
    lab.ok(&["bootstrap"])?;
    let mut running = lab.start(&worker)?;
    let mut refused = false;
    while !refused {
        refused = running.stderr_line(LONG)?.contains("certificate");
    }
    lab.ok(&["health", "--wait-timeout", "100s", "--control-plane-nodes", &plane.address])?;
    let text = lab.ok(&["get", "members"])?;
    assert!(!text.contains(&worker.address), "{text}");
    Ok(())
}

#[tokio::test]
async fn a_worker_with_a_wrong_token_gets_no_certificate() -> Result<()> {
    let lab = Lab::new()?;
    lab.generate(&lab.address(11))?;
    let plane = lab.create("cp", 11, Role::ControlPlane)?;
    let worker = lab.create("worker", 21, Role::Worker)?;
    fs::copy(lab.file("controlplane.yaml"), plane.dir.user_data())?;
    let text = fs::read_to_string(lab.file("worker.yaml"))?;
    let token =
        text.lines().find(|line| line.trim_start().starts_with("token:")).unwrap_or_default().to_owned();
    fs::write(worker.dir.user_data(), text.replacen(&token, "    token: aaaaaa.bbbbbbbbbbbbbbbb", 1))?;
    let _plane = lab.boot(&plane)?;
    let mut running = lab.start(&worker)?;
    let mut refused = false;
    while !refused {
        refused = running.stderr_line(LONG)?.contains("Unauthenticated");
    }
    lab.talk_to(&plane)?;
    let text = lab.fails(&["-n", &worker.address, "version"])?;
    assert!(text.contains("Unavailable") || text.contains("refused"), "{text}");
    Ok(())
}

#[tokio::test]
async fn a_machine_whose_file_is_damaged_or_whose_address_is_taken_says_so() -> Result<()> {
    let lab = Lab::new()?;
    let machine = lab.create("one", 11, Role::Worker)?;
    let _running = lab.boot(&machine)?;
    let twin = lab.create("twin", 11, Role::Worker)?;
    let output = lab.start(&twin)?.wait(LONG)?.failed_with(1)?;
    assert!(output.stderr.contains("BTL-1752") && output.stderr.contains(&machine.address), "{output}");
    fs::write(twin.dir.machine_file(), "{\"id\":")?;
    let output = lab.start(&twin)?.wait(LONG)?.failed_with(1)?;
    assert!(output.stderr.contains("BTL-1751"), "{output}");
    Ok(())
}
