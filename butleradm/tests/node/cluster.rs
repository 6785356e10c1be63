//! One control plane and two workers, through a whole life.

use std::{fs, time::Duration};

use anyhow::{Context, Result};
use butler_operator::driver::Role;
use butler_tests::{Running, part};

use super::lab::{LONG, Lab, Machine};

/// A cluster of three that Kubernetes finds ready.
async fn three(lab: &Lab) -> Result<(Vec<Machine>, Vec<Running>)> {
    lab.generate(&lab.address(11))?;
    let machines = vec![
        lab.create("cp-1", 11, Role::ControlPlane)?,
        lab.create("worker-1", 21, Role::Worker)?,
        lab.create("worker-2", 22, Role::Worker)?,
    ];
    let running = machines.iter().map(|machine| lab.boot(machine)).collect::<Result<_>>()?;
    lab.apply(&machines[0], "controlplane.yaml")?;
    lab.apply(&machines[1], "worker.yaml")?;
    lab.apply(&machines[2], "worker.yaml")?;
    lab.talk_to(&machines[0])?;
    lab.eventually(&["version"], "NODE:").await?;
    Ok((machines, running))
}

#[tokio::test]
async fn talosctl_makes_a_cluster_of_three_and_looks_into_it() -> Result<()> {
    let lab = Lab::new()?;
    let (machines, _running) = three(&lab).await?;
    let [plane, one, two] = machines.as_slice() else { unreachable!("three machines") };

    let text = lab.ok(&["services"])?;
    let etcd = text.lines().find(|line| line.contains("etcd")).context("no etcd")?;
    assert!(etcd.contains("Preparing") && etcd.contains("Running pre state"), "{text}");
    let text = lab.ok(&["get", "machinestatus"])?;
    assert!(text.contains("booting"), "a control plane boots until there is etcd: {text}");

    lab.ok(&["bootstrap"])?;
    let text = lab.fails(&["bootstrap"])?;
    assert!(text.contains("AlreadyExists desc = etcd data directory is not empty"), "{text}");
    let text = lab.fails(&["bootstrap", "-n", &one.address])?;
    assert!(text.contains("bootstrap can only be performed on a control plane node"), "{text}");

    let text = lab.ok(&["health", "--wait-timeout", "100s"])?;
    assert!(text.contains("waiting for etcd to be healthy: OK"), "{text}");
    assert!(text.contains("waiting for all k8s nodes to report schedulable: OK"), "{text}");
    let text = lab.ok(&["health", "--server=false", "--wait-timeout", "100s"])?;
    assert!(text.contains("waiting for all k8s nodes to report ready: OK"), "{text}");

    let text = lab.ok(&["get", "members"])?;
    for machine in &machines {
        assert!(text.contains(&machine.name) && text.contains(&machine.address), "{text}");
    }
    let text = lab.ok(&["etcd", "members"])?;
    assert!(text.contains("cp-1") && text.contains(&format!("https://{}:2380", plane.address)), "{text}");
    let text = lab.ok(&["etcd", "status"])?;
    assert!(text.contains("3.6."), "{text}");

    // One call, three answers, each from its own node.
    let nodes = format!("{},{},{}", plane.address, one.address, two.address);
    let text = lab.ok(&["-n", &nodes, "version"])?;
    for machine in &machines {
        assert!(text.contains(&format!("NODE:        {}", machine.address)), "{text}");
    }
    let text = lab.ok(&["-n", &nodes, "get", "hostname"])?;
    assert!(text.contains("worker-1") && text.contains("worker-2"), "{text}");
    let text = lab.fails(&["-e", &one.address, "-n", &two.address, "version"])?;
    assert!(text.contains("no request forwarding"), "workers forward nothing: {text}");
    let text = lab.ok(&["-e", &one.address, "-n", &one.address, "version"])?;
    assert!(text.contains("NODE:"), "{text}");

    let text = lab.ok(&["logs", "etcd", "--tail", "3"])?;
    assert_eq!(text.lines().filter(|line| line.contains("\"caller\"")).count(), 3, "{text}");
    let text = lab.ok(&["logs", "-k", "kube-system/kube-scheduler-cp-1:kube-scheduler"])?;
    assert!(text.contains("leaderelection"), "{text}");
    let text = lab.ok(&["-n", &one.address, "dmesg"])?;
    assert!(text.contains("kern:    info: [") && text.contains("Linux version"), "{text}");
    let text = lab.fails(&["logs", "nothing"])?;
    assert!(text.contains("was not registered"), "{text}");

    for (command, words) in [
        (&["memory"][..], "4096"),
        (&["processes"], "kube-apiserver"),
        (&["mounts"], "/var"),
        (&["time"], "time.cloudflare.com"),
        (&["get", "mc", "-o", "yaml"], "type: controlplane"),
        (&["get", "staticpodstatus"], "kube-system/kube-apiserver-cp-1"),
        (&["get", "rd"], "members.cluster.talos.dev"),
        (&["etcd", "snapshot", "db.snapshot"], "etcd snapshot saved"),
    ] {
        let text = lab.ok(command)?;
        assert!(text.contains(words), "{command:?}: {text}");
    }

    lab.ok(&["kubeconfig", "--force", lab.file("kubeconfig").to_str().context("path")?])?;
    let text = lab.kubectl(&["get", "nodes"])?;
    assert_eq!(text.lines().filter(|line| line.contains(" Ready ")).count(), 3, "{text}");
    assert!(text.contains("control-plane"), "{text}");
    let text = lab.kubectl(&["get", "pods", "-n", "kube-system"])?;
    assert!(text.contains("kube-controller-manager-cp-1"), "{text}");

    workloads(&lab)?;
    roles(&lab)?;
    dashboard(&lab)?;
    Ok(())
}

/// What kubectl and helm wait for comes about.
fn workloads(lab: &Lab) -> Result<()> {
    lab.kubectl(&["create", "deployment", "web", "--image=example.com/web:1", "--replicas=3"])?;
    lab.kubectl(&["rollout", "status", "deployment/web", "--timeout=100s"])?;
    lab.kubectl(&["rollout", "restart", "deployment/web"])?;
    lab.kubectl(&["rollout", "status", "deployment/web", "--timeout=100s"])?;
    let text = lab.kubectl(&["logs", "deployment/web"])?;
    assert!(text.contains("example.com/web:1"), "{text}");
    lab.kubectl(&["create", "job", "once", "--image=example.com/once:1"])?;
    lab.kubectl(&["wait", "--for=condition=complete", "job/once", "--timeout=100s"])?;
    lab.kubectl(&["drain", "worker-1", "--ignore-daemonsets", "--timeout=100s"])?;
    let text = lab.kubectl(&["get", "pods", "-o", "wide", "--field-selector=spec.nodeName=worker-1"])?;
    assert!(!text.contains("web-"), "{text}");
    lab.kubectl(&["uncordon", "worker-1"])?;

    let helm = |args: &[&str]| {
        let helm = lab.env.command(part("helm")?).args(args).env("KUBECONFIG", lab.file("kubeconfig"));
        anyhow::Ok(helm.timeout(LONG).run()?.success()?.stdout)
    };
    helm(&["create", "shop"])?;
    let text = helm(&["install", "shop", "./shop", "--wait", "--timeout=100s"])?;
    assert!(text.contains("STATUS: deployed"), "{text}");
    helm(&["upgrade", "shop", "./shop", "--set", "replicaCount=2", "--wait", "--timeout=100s"])?;
    let text = lab.kubectl(&["get", "deployment/shop", "-o", "jsonpath={.status.availableReplicas}"])?;
    assert_eq!(text, "2");
    helm(&["rollback", "shop", "1", "--wait", "--timeout=100s"])?;
    helm(&["uninstall", "shop", "--wait"])?;
    Ok(())
}

/// A reader reads, and nothing else.
fn roles(lab: &Lab) -> Result<()> {
    lab.ok(&["config", "new", "reader.yaml", "--roles", "os:reader"])?;
    let reader = |args: &[&str]| {
        let endpoint = lab.talosctl(&["config", "info", "-o", "json"]).run()?.success()?.json()?;
        let node = endpoint["endpoints"][0].as_str().unwrap_or_default().to_owned();
        lab.talosctl(args).env("TALOSCONFIG", lab.file("reader.yaml")).args(["-e", &node, "-n", &node]).run()
    };
    let _ = reader(&["version"])?.success()?;
    for command in
        [&["reboot", "--wait=false"][..], &["reset", "--wait=false"], &["kubeconfig", "-"], &["get", "mc"]]
    {
        let output = reader(command)?.failed_with(1)?;
        assert!(output.stderr.contains("not authorized"), "{command:?}: {output}");
    }
    Ok(())
}

/// The dashboard shows the node's name, version and services.
fn dashboard(lab: &Lab) -> Result<()> {
    let mut screen = lab.talosctl(&["dashboard"]).pty(160, 50)?;
    screen.wait_for("cp-1", LONG)?;
    screen.wait_for("v1.11.5", LONG)?;
    screen.wait_until("the stage", LONG, |text| text.contains("Running") && text.contains("lab"))?;
    screen.send("\x1b[24~\x03")?;
    screen.wait(LONG)?;
    Ok(())
}

#[tokio::test]
async fn nodes_reboot_upgrade_reset_and_come_back() -> Result<()> {
    let lab = Lab::new()?;
    let (machines, mut running) = three(&lab).await?;
    let [plane, one, two] = machines.as_slice() else { unreachable!("three machines") };
    lab.ok(&["bootstrap"])?;
    lab.ok(&["health", "--wait-timeout", "100s"])?;

    // talosctl itself looks at the boot id before and after.
    let text = lab.ok(&["-n", &one.address, "reboot"])?;
    assert!(text.contains("post check passed"), "{text}");
    let text = lab.ok(&["-n", &one.address, "upgrade", "-i", "ghcr.io/siderolabs/installer:v1.11.6"])?;
    assert!(text.contains("post check passed"), "{text}");
    let text = lab.ok(&["-n", &one.address, "version", "--short"])?;
    assert!(text.contains("v1.11.6"), "{text}");
    lab.ok(&["-n", &one.address, "rollback"])?;
    lab.until(&["-n", &one.address, "version"], "the old version is back", |text| {
        text.matches("v1.11.5").count() == 2
    })
    .await?;

    // The control plane comes back with its data.
    lab.ok(&["kubeconfig", "--force", lab.file("kubeconfig").to_str().context("path")?])?;
    lab.kubectl(&["create", "namespace", "kept"])?;
    let text = lab.ok(&["reboot"])?;
    assert!(text.contains("post check passed"), "{text}");
    lab.ok(&["health", "--wait-timeout", "100s"])?;
    assert!(lab.kubectl(&["get", "namespace", "kept"])?.contains("Active"));

    // A child that is killed is started again, and people see it.
    let etcd = pid_of(&lab, "etcd")?;
    let killed = butler_tests::Env::new()?.command("/bin/kill").args(["-9", &etcd]).run()?;
    let _ = killed.success()?;
    lab.eventually(&["service", "etcd"], "going to restart forever").await?;
    lab.ok(&["health", "--wait-timeout", "100s"])?;
    assert_ne!(pid_of(&lab, "etcd")?, etcd);

    // A change that needs no reboot, one that does, and one that is only tried.
    let text =
        lab.ok(&["-n", &one.address, "patch", "mc", "-p", r#"{"machine":{"nodeLabels":{"zone":"a"}}}"#])?;
    assert!(text.contains("Applied configuration without a reboot"), "{text}");
    let text =
        lab.ok(&["-n", &one.address, "patch", "mc", "-p", r#"{"machine":{"env":{"A":"b"}}}"#, "--dry-run"])?;
    assert!(
        text.contains("Applied configuration with a reboot") && text.contains("skipped in dry-run"),
        "{text}"
    );
    butler_tests::eventually("the label is there", LONG, || async {
        Ok(lab.kubectl(&["get", "node", "-l", "zone=a"])?.contains("worker-1"))
    })
    .await?;

    // Reset: back to maintenance, and into the cluster again.
    let text = lab.ok(&["-n", &two.address, "reset", "--graceful=false", "--reboot"])?;
    assert!(text.contains("post check passed"), "{text}");
    let text = lab.fails(&["version", "--insecure", "-n", &two.address])?;
    assert!(text.contains("maintenance mode"), "{text}");
    lab.until(&["get", "members"], "it has left", |text| {
        text.contains("worker-1") && !text.contains("worker-2")
    })
    .await?;
    lab.apply(two, "worker.yaml")?;
    lab.eventually(&["get", "members"], "worker-2").await?;
    lab.ok(&["health", "--wait-timeout", "100s"])?;

    // Shutdown ends the process with status 0.
    lab.ok(&["-n", &one.address, "shutdown", "--force"])?;
    let ended = running.remove(1).wait(LONG)?.success()?;
    assert!(ended.stderr.contains("reboot: power down"), "{ended}");

    // Whatever ends the control plane, its children end with it.
    let pids: Vec<String> =
        ["etcd", "kube-apiserver"].map(|name| pid_of(&lab, name)).into_iter().collect::<Result<_>>()?;
    running[0].signal(butler_tests::Signal::KILL);
    butler_tests::eventually("the children are gone", Duration::from_secs(10), || {
        let gone = pids.iter().all(|pid| !fs::exists(format!("/proc/{pid}")).unwrap_or(true));
        async move { Ok(gone) }
    })
    .await?;
    assert!(!plane.address.is_empty());
    Ok(())
}

fn pid_of(lab: &Lab, name: &str) -> Result<String> {
    let text = lab.ok(&["processes"])?;
    let line = text.lines().find(|line| line.contains(&format!("/{name}"))).context(text.clone())?;
    Ok(line.split_whitespace().nth(1).context("no id")?.to_owned())
}
