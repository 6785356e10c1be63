//! A sandbox from its first start to its end, and what happens when something is killed on the way.

use std::{os::unix::fs::PermissionsExt, time::Duration};

use anyhow::{Context, Result, ensure};
use butler_operator::process::Signal;

use crate::{LIMIT, Machine, addresses, alive, send, until};

#[test]
fn a_platform_comes_up_is_what_it_says_and_leaves_nothing() -> Result<()> {
    let machine = Machine::new()?;
    let status = machine.sandbox(&["status"]).run()?.success()?;
    assert_eq!(status.stdout, "sandbox default: not there\n");
    let up = machine.sandbox(&["up"]).run()?.success()?;
    for words in ["sandbox `default` is ready", "export KUBECONFIG=", "machine create", "status --watch"] {
        ensure!(up.stderr.contains(words), "{words}: {up}");
    }
    let again = machine.sandbox(&["up"]).run()?.success()?;
    ensure!(again.stderr.contains("sandbox `default` is running"), "{again}");

    let status = machine.status("default")?;
    assert_eq!(status["state"], "running");
    assert_eq!(status["kubeconfig"], machine.dir("default").join("kubeconfig").display().to_string());
    let parts = status["parts"].as_array().context("parts")?;
    let names: Vec<_> = parts.iter().filter_map(|part| part["name"].as_str()).collect();
    assert_eq!(names, ["supervisor", "etcd", "kube-apiserver", "kube-controller-manager", "serve"]);
    for part in parts {
        assert_eq!((&part["state"], &part["restarts"]), (&"ready".into(), &0.into()), "{part}");
        ensure!(part["memoryBytes"].as_u64() > Some(1 << 20) && part["cpuPercent"].is_number(), "{part}");
        ensure!(alive(u32::try_from(part["pid"].as_u64().context("pid")?)?), "{part}");
    }
    let mode = machine.dir("default").join("kubeconfig").metadata()?.permissions().mode();
    assert_eq!(mode & 0o777, 0o600);

    let get = |kind: &str, jsonpath: &str| -> Result<String> {
        let output = format!("jsonpath={jsonpath}");
        let all = ["get", kind, "-n", "butler-system", "-o", &output];
        Ok(machine.kubectl(&all)?.run()?.success()?.stdout)
    };
    assert_eq!(get("providerconfigs.butler.butlerlabs.dev/sandbox", "{.spec.provider}")?, "sandbox");
    assert_eq!(get("networkpools/sandbox", "{.spec.cidr}")?, status["network"].as_str().context("network")?);
    assert_eq!(get("teams/demo", "{.spec.displayName}")?, "Demo");
    assert_eq!(get("butlerconfigs/butler", "{.spec.defaultProviderConfigRef.name}")?, "sandbox");
    let socket = get("secrets/sandbox-credentials", "{.data.socket}")?;
    ensure!(!socket.is_empty(), "the provider says where its socket is");
    // Controllers of Kubernetes work: this account is made by one.
    until("an account is made", LIMIT, || {
        Ok(get("serviceaccounts/default", "{.metadata.name}")? == "default")
    })?;

    let nowhere = machine.adm(&["doctor"]).run()?.failed_with(5)?;
    let export = format!("hint: export KUBECONFIG={}\n", machine.dir("default").join("kubeconfig").display());
    ensure!(nowhere.stderr.contains(&export), "{nowhere}");
    for (line, expected) in [(&["logs", ""][..], "kube-apiserver"), (&["status", "--name", ""], "default")] {
        let shell = machine.adm(&["--", "butleradm", "sandbox"]).args(line).env("BUTLER_COMPLETE", "fish");
        let offered = shell.run()?.success()?.stdout;
        ensure!(offered.lines().any(|name| name == expected), "{line:?}: {offered}");
    }
    // What a platform has in Pods is not missed in a sandbox.
    for command in ["doctor", "status"] {
        let kubeconfig = machine.dir("default").join("kubeconfig");
        let output = machine.adm(&[command, "--kubeconfig"]).arg(kubeconfig).run()?.success()?;
        ensure!(output.stdout.contains("SKIP  steward") && !output.stdout.contains("FAIL"), "{output}");
    }

    let table = machine.sandbox(&["status", "-o", "wide"]).run()?.success()?.stdout;
    ensure!(table.contains("PART") && table.contains("LAST EXIT") && table.contains("MiB"), "{table}");
    let logs = machine.sandbox(&["logs", "--tail", "1"]).run()?.success()?;
    ensure!(logs.stdout.lines().any(|line| line.starts_with("kube-apiserver  ")), "{logs}");
    let unknown = machine.sandbox(&["logs", "nobody"]).run()?.failed_with(3)?;
    ensure!(unknown.stderr.contains("BTL-1708") && unknown.stderr.contains("kube-apiserver"), "{unknown}");

    let addresses = addresses(&status)?;
    assert_eq!(addresses.len(), 4);
    let down = machine.sandbox(&["down"]).run()?.success()?;
    ensure!(down.stderr.contains("none is left") && down.stderr.contains("its data stays"), "{down}");
    machine.nothing_left(&addresses)?;
    assert_eq!(machine.status("default")?["state"], "stopped");
    let down = machine.sandbox(&["down"]).run()?.success()?;
    ensure!(down.stderr.contains("is not running"), "{down}");

    let dry = machine.sandbox(&["reset", "--dry-run"]).run()?.success()?;
    ensure!(dry.stderr.contains("nothing was removed") && machine.dir("default").exists(), "{dry}");
    let wrong = machine.sandbox(&["reset", "--yes", "other"]).run()?.failed_with(2)?;
    ensure!(wrong.stderr.contains("--yes names `other`") && machine.dir("default").exists(), "{wrong}");
    machine.reset("default")?;
    ensure!(!machine.dir("default").exists());
    Ok(())
}

#[test]
fn a_killed_supervisor_takes_all_with_it_and_all_comes_back() -> Result<()> {
    let machine = Machine::new()?;
    machine.up()?;
    let marker = ["create", "configmap", "marker", "--from-literal=kept=yes"];
    let made = machine.kubectl(&marker)?.run()?.success()?;
    ensure!(made.stdout.contains("created"), "{made}");
    let status = machine.status("default")?;
    let kubeconfig = std::fs::read(machine.dir("default").join("kubeconfig"))?;
    let mut pids = machine.pids("default")?;
    let supervisor = pids.remove("supervisor").context("a supervisor")?;
    ensure!(pids.len() == 4, "{pids:?}");

    send(supervisor, Signal::KILL);
    for (name, pid) in &pids {
        until(&format!("{name} is gone"), Duration::from_secs(2), || Ok(!alive(*pid)))?;
    }
    until("nothing is left", Duration::from_secs(2), || {
        Ok(machine.nothing_left(&addresses(&status)?).is_ok())
    })?;
    assert_eq!(machine.status("default")?["state"], "stopped");

    machine.up()?;
    let kept = machine.kubectl(&["get", "configmap", "marker", "-o", "jsonpath={.data.kept}"])?;
    assert_eq!(kept.run()?.success()?.stdout, "yes");
    assert_eq!(machine.status("default")?["network"], status["network"]);
    assert_eq!(std::fs::read(machine.dir("default").join("kubeconfig"))?, kubeconfig, "the same way in");
    machine.down("default")?;
    machine.nothing_left(&[])
}

#[test]
fn a_child_that_is_killed_comes_back_and_that_is_seen() -> Result<()> {
    let machine = Machine::new()?;
    machine.up()?;
    let before = machine.pids("default")?;
    let mut log = machine.sandbox(&["logs", "supervisor", "--follow", "--tail", "0"]).spawn()?;
    let live = machine.sandbox(&["status", "--watch"]).pty(120, 30)?;
    live.wait_for("kube-controller-manager  ready", LIMIT)?;
    for name in ["serve", "kube-controller-manager", "kube-apiserver", "etcd"] {
        send(before[name], Signal::KILL);
        let back = || {
            let status = machine.status("default")?;
            let parts = status["parts"].as_array().context("parts")?;
            let part = parts.iter().find(|part| part["name"] == name).context("the part")?;
            Ok(part["restarts"].as_u64() >= Some(1)
                && part["state"] == "ready"
                && part["pid"].as_u64() != Some(before[name].into())
                && part["lastExit"].as_str().is_some_and(|exit| exit.contains("signal: 9")))
        };
        until(&format!("{name} is back"), LIMIT, back)?;
        // Others may end on the way, as controllers do that find no API server.
        let words = format!("a part ended and is started again part=\"{name}\" exit=\"signal: 9");
        ensure!(log.line_with(&words, LIMIT)?.contains("WARN"));
    }
    live.wait_until("every restart on the screen", LIMIT, |screen| {
        let restarts = |part: &str| {
            let row = screen.lines().find(|line| line.starts_with(part))?;
            row.split_whitespace().nth(3)?.parse::<u32>().ok()
        };
        let parts = ["serve", "kube-controller-manager", "kube-apiserver", "etcd"];
        // Drawn over, not below: colours are off here, the cursor is not.
        screen.matches("RESTARTS").count() == 1 && parts.iter().all(|part| restarts(part) >= Some(1))
    })?;
    live.signal(Signal::INT)?;
    log.signal(Signal::INT);
    let log = log.wait(LIMIT)?.failed_with(130)?;
    ensure!(log.stdout.contains("kube-apiserver"), "{log}");
    let works = || Ok(machine.kubectl(&["get", "teams/demo"])?.run()?.status.success());
    until("the API works again", LIMIT, works)?;
    until("all is well", LIMIT, || Ok(machine.status("default")?["state"] == "running"))?;
    assert_eq!(machine.pids("default")?["supervisor"], before["supervisor"]);
    machine.down("default")?;
    machine.nothing_left(&[])
}

#[test]
fn a_machine_is_made_by_hand_speaks_talos_and_survives_its_host() -> Result<()> {
    let machine = Machine::new()?;
    machine.up()?;
    let adm = |args: &[&str]| machine.adm(args).env("KUBECONFIG", machine.dir("default").join("kubeconfig"));
    let create = ["machine", "create", "cp-0", "--provider", "sandbox", "--role", "control-plane", "--wait"];
    let created = adm(&create).run()?.success()?;
    ensure!(created.stderr.contains("Running"), "{created}");
    let node = || -> Result<serde_json::Value> {
        let list = machine.sandbox(&["node", "list", "-o", "json"]).run()?.success()?.json()?;
        Ok(list["items"][0].clone())
    };
    let before = node()?;
    assert_eq!((&before["state"], &before["stage"]), (&"running".into(), &"maintenance".into()), "{before}");
    let address = before["address"].as_str().context("address")?.to_owned();
    let status = || -> Result<String> {
        let ask = ["get", "machinestatus", "--insecure", "-n", &address, "-e", &address, "-o", "json"];
        Ok(machine.env.command(butler_tests::part("talosctl")?).args(ask).run()?.success()?.stdout)
    };
    ensure!(status()?.contains("maintenance"), "{}", status()?);

    // Its console and its switch.
    let console = adm(&["machine", "console", "cp-0", "--tail", "5"]).run()?.success()?;
    ensure!((1..=5).contains(&console.stdout.lines().count()), "{console}");
    let _ = adm(&["machine", "power", "cp-0", "off"]).run()?.success()?;
    until("the machine is off", LIMIT, || Ok(node()?["state"] == "stopped" && status().is_err()))?;
    let _ = adm(&["machine", "power", "cp-0", "on"]).run()?.success()?;
    until("the machine is on", LIMIT, || Ok(node()?["state"] == "running" && status().is_ok()))?;
    let before = node()?;

    // Its process is killed, then everything is.
    send(u32::try_from(before["pid"].as_u64().context("pid")?)?, Signal::KILL);
    let back = || Ok(node()?["restarts"] == 1 && node()?["state"] == "running" && status().is_ok());
    until("the machine is back", LIMIT, back)?;
    send(machine.pids("default")?["supervisor"], Signal::KILL);
    until("nothing is left", Duration::from_secs(2), || Ok(machine.processes().is_empty()))?;
    machine.up()?;
    until("the machine is back", LIMIT, || Ok(node()?["state"] == "running" && status().is_ok()))?;
    assert_eq!(node()?["address"], before["address"]);

    let delete = adm(&["machine", "delete", "cp-0", "--yes", "--wait"]).run()?.success()?;
    ensure!(delete.stderr.contains("is gone"), "{delete}");
    ensure!(!machine.dir("default").join("machines/cp-0").exists());
    let witness = std::fs::read_to_string(machine.dir("default").join("host.ndjson"))?;
    let count = |what: &str| witness.lines().filter(|line| line.contains(what)).count();
    assert_eq!((count("\"created\""), count("\"deleted\"")), (1, 1), "{witness}");
    machine.down("default")?;
    machine.nothing_left(&[])
}

#[test]
fn a_sandbox_whose_directory_is_taken_away_ends() -> Result<()> {
    let machine = Machine::new()?;
    machine.up()?;
    std::fs::rename(machine.dir("default"), machine.env.work_dir().join("elsewhere"))?;
    until("nothing is left", Duration::from_secs(20), || Ok(machine.processes().is_empty()))
}
