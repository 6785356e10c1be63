//! The driver against a host that works.

use std::os::unix::fs::PermissionsExt;

use anyhow::{Context, Result};
use butler_operator::{
    driver::{Driver, ErrorClass, LoadBalancerSpec, MachineState, Ownership, Power, Target},
    sandbox::{
        host::wire::StateBody,
        machine::{MachineDir, MachineFile},
    },
};
use butler_tests::{
    driver_suite::{self, becomes, machine},
    eventually,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use crate::{LIMIT, Place, alive};

#[tokio::test]
async fn the_sandbox_does_what_every_driver_must() -> Result<()> {
    let place = Place::new()?;
    let running = place.start().await?;
    driver_suite::run(&running.driver).await?;
    let witnessed = place.witnessed()?;
    let count = |line: &str| witnessed.iter().filter(|seen| *seen == line).count();
    assert_eq!(count("created machine suite-a-1"), 1, "{witnessed:?}");
    assert_eq!(count("deleted machine suite-a-1"), 1, "{witnessed:?}");
    assert_eq!(count("created load-balancer suite-lb"), 1, "{witnessed:?}");
    assert_eq!(std::fs::read_dir(place.path("machines"))?.count(), 0, "nothing is left");
    running.stop().await;
    Ok(())
}

#[tokio::test]
async fn a_machine_has_its_files_its_id_and_its_own_address() -> Result<()> {
    let place = Place::new()?;
    let running = place.start().await?;
    let (one, two) = (machine("run-1", "one"), machine("run-1", "two"));
    let made = running.driver.create(&one).await?;
    running.driver.create(&two).await?;
    assert_eq!(made.id, "sandbox://test/one");
    let is_running = |machine: &butler_operator::driver::Machine| machine.state == MachineState::Running;
    let first = becomes(&running.driver, &one.key(), is_running).await?;
    let second = becomes(&running.driver, &two.key(), is_running).await?;
    assert_ne!(first.addresses, second.addresses);
    assert_ne!(first.mac, second.mac);

    let dir = MachineDir(place.machine("one"));
    let mode = |path: &std::path::Path| {
        Ok::<_, std::io::Error>(std::fs::metadata(path)?.permissions().mode() & 0o777)
    };
    assert_eq!(mode(&dir.user_data())?, 0o600);
    assert_eq!(mode(&dir.console())?, 0o600);
    assert_eq!(mode(&dir.0)?, 0o700);
    let file = MachineFile::read(&dir.machine_file())?;
    assert_eq!((file.talos_version.as_str(), file.cpu, file.ports.talos), ("v1.11.5", 2, 50_000));
    assert_eq!(first.addresses, [file.address]);
    let node = running.host.nodes().into_iter().find(|node| node.name == "one").context("one")?;
    assert_eq!((node.state, node.stage.as_deref()), (StateBody::Running, Some("maintenance")));
    running.stop().await;
    Ok(())
}

#[tokio::test]
async fn a_crash_is_repaired_and_told_and_a_shutdown_is_respected() -> Result<()> {
    let place = Place::new()?;
    let running = place.start().await?;
    let spec = machine("run-1", "one");
    running.driver.create(&spec).await?;
    let is_running = |machine: &butler_operator::driver::Machine| machine.state == MachineState::Running;
    becomes(&running.driver, &spec.key(), is_running).await?;
    let first = running.pid("one").context("it runs")?;
    std::fs::write(place.machine("one").join("crash"), "")?;
    let again = || async { Ok(running.pid("one").is_some_and(|pid| pid != first)) };
    eventually("it runs again", LIMIT, again).await?;
    let node = running.host.nodes().remove(0);
    assert_eq!(node.restarts, 1);
    assert_eq!(node.last_exit.as_deref(), Some("exit status: 7"));
    becomes(&running.driver, &spec.key(), is_running).await?;

    std::fs::write(place.machine("one").join("halt"), "")?;
    becomes(&running.driver, &spec.key(), |machine| machine.state == MachineState::Stopped).await?;
    let console = running.driver.console().context("a console")?.log(&spec.key(), None).await?;
    assert!(console.contains("panic\n[host] the process ended (exit status: 7)"), "{console}");
    running.stop().await;

    // A machine that was switched off from inside stays off.
    let running = place.start().await?;
    assert_eq!(running.driver.get(&spec.key()).await?.state, MachineState::Stopped);
    running.driver.power(&spec.key(), Power::On).await?;
    becomes(&running.driver, &spec.key(), is_running).await?;
    running.stop().await;
    Ok(())
}

#[tokio::test]
async fn machines_outlive_their_client_and_come_back_with_their_host() -> Result<()> {
    let place = Place::new()?;
    let running = place.start().await?;
    let spec = machine("run-1", "one");
    running.driver.create(&spec).await?;
    let is_running = |machine: &butler_operator::driver::Machine| machine.state == MachineState::Running;
    let before = becomes(&running.driver, &spec.key(), is_running).await?;
    let pid = running.pid("one").context("it runs")?;
    running.stop().await;
    assert!(!alive(pid), "a host that stops takes its processes with it");

    let running = place.start().await?;
    let after = becomes(&running.driver, &spec.key(), is_running).await?;
    assert_eq!((before.id, before.addresses, before.mac), (after.id, after.addresses, after.mac));
    assert_eq!(place.witnessed()?, ["created machine one"], "it is the same machine");
    running.driver.delete(&spec.key()).await?;
    assert!(!place.machine("one").exists());
    running.stop().await;
    Ok(())
}

#[tokio::test]
async fn a_load_balancer_leads_to_its_targets_also_after_a_restart() -> Result<()> {
    let place = Place::new()?;
    let running = place.start().await?;
    let about = running.host.about();
    let prefix = about.network.trim_end_matches("0/24").to_owned();
    let backend = TcpListener::bind(format!("{prefix}200:6443")).await?;
    let _server = tokio::spawn(async move {
        while let Ok((mut stream, _)) = backend.accept().await {
            let _ = stream.write_all(b"hello").await;
        }
    });
    let spec = LoadBalancerSpec {
        name: "cp".to_owned(),
        ownership: Ownership::new("run-1", "butler-system", "cp"),
        port: 6443,
        health_check_port: 6443,
        targets: vec![Target {
            ip: Some(format!("{prefix}200").parse()?),
            instance_id: None,
            instance_name: None,
        }],
    };
    let balancer = running.driver.load_balancers().context("load balancers")?.ensure(&spec).await?;
    let endpoint = balancer.endpoint.context("an endpoint")?;
    assert!(balancer.ready && endpoint.starts_with(&prefix), "{endpoint}");
    let ask = async |endpoint: &str| -> Result<String> {
        let mut text = String::new();
        TcpStream::connect((endpoint, 6443)).await?.read_to_string(&mut text).await?;
        Ok(text)
    };
    assert_eq!(ask(&endpoint).await?, "hello");
    running.stop().await;
    assert!(ask(&endpoint).await.is_err(), "nobody listens there any more");

    let running = place.start().await?;
    assert_eq!(ask(&endpoint).await?, "hello");
    let seen = running.driver.load_balancers().context("load balancers")?.get(&spec.key()).await?;
    assert_eq!((seen.id.as_str(), seen.targets), ("sandbox://test/load-balancers/cp", 1));
    running.stop().await;
    Ok(())
}

#[tokio::test]
async fn a_host_that_is_not_there_is_a_passing_problem() -> Result<()> {
    let place = Place::new()?;
    let driver = butler_operator::driver::sandbox::SandboxDriver::new(place.path("host.sock"));
    let error = driver.create(&machine("run-1", "one")).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Transient);
    assert_eq!(error.provider_message(), "the sandbox is not running");
    assert_eq!(error.to_string(), "cannot create machine `one`");
    Ok(())
}

#[tokio::test]
async fn names_that_could_leave_the_directory_are_refused() -> Result<()> {
    let place = Place::new()?;
    let running = place.start().await?;
    for name in ["", "..", "../x", "a/b", ".new-x", "A", "-a", "a-", &"a".repeat(64)] {
        let error = running.driver.create(&machine("run-1", name)).await.unwrap_err();
        assert_eq!(error.class(), ErrorClass::Invalid, "{name}");
        let error = running.driver.get(&machine("run-1", name).key()).await.unwrap_err();
        assert!(matches!(error.class(), ErrorClass::NotFound | ErrorClass::Invalid), "{name}: {error:?}");
    }
    assert_eq!(std::fs::read_dir(place.path("machines"))?.count(), 0);
    running.stop().await;
    Ok(())
}
