//! What a sandbox must not be harmed by: other layouts, taken ports, wrong programs, torn files, Ctrl-C.

use std::{
    fs::Permissions,
    net::{SocketAddr, TcpListener},
    os::unix::fs::PermissionsExt,
    time::Duration,
};

use anyhow::{Context, Result, ensure};
use butler_operator::process::Signal;

use crate::{LIMIT, Machine, until};

#[test]
fn another_layout_is_refused_and_left_alone() -> Result<()> {
    let machine = Machine::new()?;
    let dir = machine.dir("default");
    std::fs::create_dir_all(dir.join("etcd/member"))?;
    for (layout, words) in [(None, "layout 0"), (Some("7\n"), "layout 7")] {
        if let Some(layout) = layout {
            std::fs::write(dir.join("layout"), layout)?;
        }
        let up = machine.sandbox(&["up"]).run()?.failed_with(1)?;
        ensure!(up.stderr.contains("BTL-1702") && up.stderr.contains(words), "{up}");
        ensure!(up.stderr.contains("butleradm sandbox reset"), "{up}");
    }
    let mut entries: Vec<_> = dir.read_dir()?.flatten().map(|entry| entry.file_name()).collect();
    entries.sort();
    assert_eq!(entries, ["etcd", "layout"], "nothing was added");
    machine.reset("default")?;
    ensure!(!dir.exists());
    machine.nothing_left(&[])
}

#[test]
fn a_program_that_is_not_what_it_says_is_refused() -> Result<()> {
    let machine = Machine::new()?;
    let fake = machine.tools().join("etcd");
    std::fs::remove_file(&fake)?;
    std::fs::write(&fake, "#!/bin/sh\necho etcd Version: 3.4.0\n")?;
    std::fs::set_permissions(&fake, Permissions::from_mode(0o755))?;
    let up = machine.sandbox(&["up"]).run()?.failed_with(1)?;
    ensure!(up.stderr.contains("BTL-1402") && up.stderr.contains("3.4.0"), "{up}");
    machine.nothing_left(&[])?;

    // One that has the right version and does not work is told by its own words.
    std::fs::write(
        &fake,
        "#!/bin/sh\n[ \"$1\" = --version ] && echo etcd Version: 3.6.4 && exit\necho no luck >&2\nexit 3\n",
    )?;
    let up = machine.sandbox(&["up"]).run()?.failed_with(1)?;
    ensure!(up.stderr.contains("BTL-1406") && up.stderr.contains("no luck"), "{up}");
    ensure!(up.stderr.contains("logs/etcd.log"), "{up}");
    machine.nothing_left(&[])
}

#[test]
fn a_port_that_is_taken_is_replaced_and_its_holder_named() -> Result<()> {
    let machine = Machine::new()?;
    machine.up()?;
    let api = |status: serde_json::Value| -> Result<SocketAddr> {
        let parts = status["parts"].as_array().context("parts")?;
        let part = parts.iter().find(|part| part["name"] == "kube-apiserver").context("the API server")?;
        Ok(part["address"].as_str().context("address")?.parse()?)
    };
    let before = api(machine.status("default")?)?;
    assert_eq!(before.port(), 6443);
    machine.down("default")?;
    let stranger = TcpListener::bind(before)?;
    let up = machine.sandbox(&["up"]).run()?.success()?;
    let holder = format!("(process {})", std::process::id());
    ensure!(up.stderr.contains(&before.to_string()) && up.stderr.contains(&holder), "{up}");
    let after = api(machine.status("default")?)?;
    assert_eq!((after.ip(), after == before), (before.ip(), false));
    machine.kubectl(&["get", "teams/demo"])?.run()?.success()?.stdout.clear();
    drop(stranger);
    machine.down("default")?;
    machine.nothing_left(&[after])
}

#[test]
fn a_torn_machine_is_named_and_the_platform_comes_up() -> Result<()> {
    let machine = Machine::new()?;
    machine.up()?;
    for name in ["one", "two"] {
        let create = ["machine", "create", name, "--provider", "sandbox"];
        let kubeconfig = machine.dir("default").join("kubeconfig");
        machine.adm(&create).env("KUBECONFIG", kubeconfig).run()?.success()?.stdout.clear();
    }
    let file = |name: &str| machine.dir("default").join("machines").join(name).join("machine.json");
    until("both machines are there", LIMIT, || Ok(file("one").exists() && file("two").exists()))?;
    machine.down("default")?;
    let text = std::fs::read(file("one"))?;
    std::fs::write(file("one"), &text[..text.len() / 2])?;

    let stopped = machine.sandbox(&["node", "list"]).run()?.success()?.stdout;
    ensure!(stopped.contains("one/machine.json") && stopped.contains("two"), "{stopped}");
    let up = machine.sandbox(&["up"]).run()?.success()?;
    ensure!(up.stderr.contains("machine `one` is damaged") && up.stderr.contains("one/machine.json"), "{up}");
    let nodes = machine.sandbox(&["node", "list", "-o", "json"]).run()?.success()?.json()?;
    let state = |at: usize| nodes["items"][at]["state"].clone();
    ensure!(state(0)["failed"].as_str().is_some_and(|why| why.contains("one/machine.json")), "{nodes}");
    ensure!(state(1).is_string(), "{nodes}");

    let set = ["node", "fault", "two", "--set", "neverBoots=true"];
    assert_eq!(machine.sandbox(&set).run()?.success()?.stdout, "neverBoots=true\n");
    let wrong = machine.sandbox(&["node", "fault", "two", "--set", "x=1"]).run()?.failed_with(2)?;
    ensure!(wrong.stderr.contains("BTL-1709"), "{wrong}");
    let unknown = machine.sandbox(&["node", "fault", "three"]).run()?.failed_with(3)?;
    ensure!(unknown.stderr.contains("one, two"), "{unknown}");
    machine.down("default")?;
    machine.nothing_left(&[])
}

#[test]
fn an_interrupted_start_leaves_nothing_running_and_can_be_repeated() -> Result<()> {
    let machine = Machine::new()?;
    for stage in ["Finding the programs", "Starting etcd", "Installing the objects"] {
        let mut up = machine.sandbox(&["up", "--events", "ndjson"]).spawn()?;
        let begins = up.line_with(&format!(r#""kind":"PhaseStarted","phase":"{stage}"#), LIMIT)?;
        ensure!(begins.contains(stage));
        up.signal(Signal::INT);
        let output = up.wait(LIMIT)?.failed_with(130)?;
        ensure!(output.stderr.contains("was stopped; its data stays"), "{stage}: {output}");
        machine.nothing_left(&[]).with_context(|| stage.to_owned())?;
    }
    // Killed without a chance to say anything.
    let mut up = machine.sandbox(&["up", "--events", "ndjson"]).spawn()?;
    let _begun = up.line_with(r#""phase":"Starting etcd"#, LIMIT)?;
    up.signal(Signal::KILL);
    drop(up);
    until("nothing is left", Duration::from_secs(10), || Ok(machine.processes().is_empty()))?;
    // Out of time.
    let late = machine.sandbox(&["up", "--wait", "1s"]).run()?.failed_with(6)?;
    ensure!(late.stderr.contains("BTL-1705"), "{late}");
    machine.nothing_left(&[])?;
    machine.up()?;
    machine.down("default")?;
    machine.nothing_left(&[])
}
