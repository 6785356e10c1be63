//! State files that are torn, edited, half made; full disks; ports that are taken.

use std::net::TcpListener;

use anyhow::{Context, Result};
use butler_operator::{
    driver::{Driver, ErrorClass, MachineState},
    sandbox::{host::wire::StateBody, machine::MachineFile},
};
use butler_tests::{
    driver_suite::{becomes, machine},
    eventually,
};

use crate::{LIMIT, Place};

/// Makes three machines and stops the host.
async fn three(place: &Place) -> Result<()> {
    let running = place.start().await?;
    for name in ["one", "two", "three"] {
        running.driver.create(&machine("run-1", name)).await?;
    }
    running.stop().await;
    Ok(())
}

#[tokio::test]
async fn a_torn_machine_is_named_and_the_others_work() -> Result<()> {
    let place = Place::new()?;
    three(&place).await?;
    let torn = place.machine("one").join("machine.json");
    let text = std::fs::read_to_string(&torn)?;
    std::fs::write(&torn, &text[..text.len() / 2])?;
    std::fs::write(place.machine("two").join("host.json"), "")?;

    let running = place.start().await?;
    for (name, file) in [("one", "one/machine.json"), ("two", "two/host.json")] {
        let MachineState::Failed(why) = running.driver.get(&machine("run-1", name).key()).await?.state else {
            anyhow::bail!("{name} is damaged");
        };
        assert!(why.contains(file) && why.contains("not valid"), "{why}");
    }
    let three = machine("run-1", "three");
    becomes(&running.driver, &three.key(), |machine| machine.state == MachineState::Running).await?;
    // It is neither taken over nor started, but can be removed and made again.
    let theirs = machine("run-2", "one");
    assert_eq!(running.driver.create(&theirs).await.unwrap_err().class(), ErrorClass::Conflict);
    let spec = machine("run-1", "one");
    assert!(matches!(running.driver.create(&spec).await?.state, MachineState::Failed(_)));
    running.driver.delete(&spec.key()).await?;
    running.driver.create(&spec).await?;
    becomes(&running.driver, &spec.key(), |machine| machine.state == MachineState::Running).await?;
    running.stop().await;
    Ok(())
}

#[tokio::test]
async fn what_nobody_can_read_belongs_to_nobody_and_is_kept() -> Result<()> {
    let place = Place::new()?;
    three(&place).await?;
    for file in ["machine.json", "host.json"] {
        std::fs::write(place.machine("one").join(file), "{")?;
    }
    let running = place.start().await?;
    let spec = machine("run-1", "one");
    assert_eq!(running.driver.create(&spec).await.unwrap_err().class(), ErrorClass::Conflict);
    assert_eq!(running.driver.get(&spec.key()).await.unwrap_err().class(), ErrorClass::NotFound);
    assert_eq!(running.driver.list(None).await?.len(), 2);
    let node = running.host.nodes().into_iter().find(|node| node.name == "one").context("one")?;
    assert!(matches!(node.state, StateBody::Failed(_)), "people see it");
    assert!(place.machine("one").exists());
    running.stop().await;
    Ok(())
}

#[tokio::test]
async fn edits_that_cannot_be_are_noticed() -> Result<()> {
    let place = Place::new()?;
    three(&place).await?;
    let path = |name: &str| place.machine(name).join("machine.json");
    let two = MachineFile::read(&path("two"))?;
    let mut one = MachineFile::read(&path("one"))?;
    one.name = "eins".to_owned();
    one.write(&path("one"))?;
    let mut three = MachineFile::read(&path("three"))?;
    three.address = "10.0.0.1".parse()?;
    three.write(&path("three"))?;
    let running = place.start().await?;
    let why = |name: &str| match running.host.nodes().into_iter().find(|node| node.name == name)?.state {
        StateBody::Failed(why) => Some(why),
        _ => None,
    };
    assert!(why("one").context("one")?.contains("another name"));
    assert!(why("three").context("three")?.contains("10.0.0.1"));
    assert_eq!(why("two"), None);
    running.stop().await;

    three.address = two.address;
    three.write(&path("three"))?;
    let running = place.start().await?;
    let damaged: Vec<_> =
        running.host.nodes().into_iter().filter(|node| node.state.word() == "damaged").collect();
    assert!(
        damaged
            .iter()
            .any(|node| matches!(&node.state, StateBody::Failed(why) if why.contains("another machine has")))
    );
    running.stop().await;
    Ok(())
}

#[tokio::test]
async fn what_was_never_finished_is_not_a_machine() -> Result<()> {
    let place = Place::new()?;
    three(&place).await?;
    for leftover in [".new-four", ".gone-five"] {
        std::fs::create_dir_all(place.machine(leftover).join("disk"))?;
    }
    // A witness that died over its last line goes on with the next.
    let witness = place.path("host.ndjson");
    let text = std::fs::read_to_string(&witness)?;
    std::fs::write(&witness, format!("{}{}", text.lines().next().context("a line")?, "\n{\"time\":\"20"))?;
    let running = place.start().await?;
    assert_eq!(running.host.nodes().len(), 3);
    assert!(!place.machine(".new-four").exists() && !place.machine(".gone-five").exists());
    let text = std::fs::read_to_string(&witness)?;
    let whole = text.lines().filter(|line| line.contains("\"created\"") && line.ends_with('}')).count();
    assert_eq!(whole, 3, "what was not witnessed is witnessed now: {text}");
    running.stop().await;
    Ok(())
}

#[tokio::test]
async fn a_port_that_somebody_holds_is_told_with_the_holder() -> Result<()> {
    let place = Place::new()?;
    let running = place.start().await?;
    let first = running.host.about().network.replace("0/24", "10");
    let stranger = TcpListener::bind(format!("{first}:10250"))?;
    let error = running.driver.create(&machine("run-1", "one")).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Transient);
    let said = error.provider_message();
    assert!(said.contains("port 10250") && said.contains(&std::process::id().to_string()), "{said}");
    drop(stranger);
    // A process that is just being started by another test may hold a copy for a moment.
    let made = || async { Ok(running.driver.create(&machine("run-1", "one")).await.is_ok()) };
    eventually("the port is free", LIMIT, made).await?;
    running.stop().await;
    Ok(())
}
