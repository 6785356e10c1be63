//! A system that has less than usual: a disk that is full, no loopback address but one.

use anyhow::{Context, Result, ensure};
use butler_tests::Output;

use crate::{LIMIT, Machine};

/// Runs a script in namespaces of its own; `adm` in it is the program, `$out` a directory for results.
fn in_namespace(machine: &Machine, namespace: &str, script: &str) -> Result<Output> {
    let out = machine.env.work_dir().join("out");
    std::fs::create_dir_all(&out)?;
    std::fs::create_dir_all(&machine.home)?;
    let script = format!("set -e\nadm() {{ {} \"$@\"; }}\n{script}", env!("CARGO_BIN_EXE_butleradm"));
    let run = machine.env.command("unshare").args(["--map-root-user", namespace, "sh", "-c", &script]);
    run.env("BUTLER_HOME", &machine.home)
        .env("BUTLER_TOOLS_DIR", machine.tools())
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .env("out", &out)
        .env("KUBECTL", butler_tests::part("kubectl")?)
        .timeout(LIMIT)
        .run()
        .context("this test needs `unshare`")
}

fn result(machine: &Machine, name: &str) -> Result<String> {
    let path = machine.env.work_dir().join("out").join(name);
    std::fs::read_to_string(&path).with_context(|| name.to_owned())
}

#[test]
fn a_disk_without_space_is_an_error_and_not_the_end() -> Result<()> {
    let machine = Machine::new()?;
    let script = r#"
        mount -t tmpfs -o size=64m tmpfs "$BUTLER_HOME"
        if adm sandbox up 2> $out/refused; then exit 90; fi
        mount -o remount,size=900m "$BUTLER_HOME"
        adm sandbox up 2> $out/up
        export KUBECONFIG="$BUTLER_HOME/sandbox/default/kubeconfig"
        $KUBECTL create configmap marker --from-literal=kept=yes
        adm machine create before --provider sandbox
        while ! [ -e "$BUTLER_HOME/sandbox/default/machines/before" ]; do sleep 0.1; done
        # Full to the last byte.
        dd if=/dev/zero of="$BUTLER_HOME/ballast" bs=1M 2> /dev/null || true
        dd if=/dev/zero of="$BUTLER_HOME/ballast2" bs=1 count=4096 2> /dev/null || true
        adm machine create during --provider sandbox > $out/during 2>&1 || true
        sleep 2
        ls -A "$BUTLER_HOME/sandbox/default/machines" > $out/machines
        adm sandbox down 2> $out/down
        if adm sandbox up 2> $out/full; then exit 91; fi
        rm "$BUTLER_HOME/ballast" "$BUTLER_HOME/ballast2"
        adm sandbox up 2> $out/again
        $KUBECTL get configmap marker -o 'jsonpath={.data.kept}' > $out/kept
        adm sandbox node list -o json > $out/nodes
        adm sandbox down
    "#;
    let output = in_namespace(&machine, "--mount", script)?.success()?;
    let refused = result(&machine, "refused")?;
    ensure!(refused.contains("BTL-1704") && refused.contains("MiB free"), "{refused}");
    let full = result(&machine, "full")?;
    ensure!(full.contains("BTL-1704") || full.contains("No space left"), "{full}");
    ensure!(!result(&machine, "machines")?.contains(".new-during"), "no half of a machine: {output}");
    assert_eq!(result(&machine, "kept")?, "yes");
    let nodes: serde_json::Value = serde_json::from_str(&result(&machine, "nodes")?)?;
    let states = nodes["items"].as_array().context("items")?;
    ensure!(states.iter().all(|node| node["state"].is_string()), "none is damaged: {nodes}");
    machine.nothing_left(&[])
}

#[test]
fn without_other_loopback_addresses_everything_is_on_one() -> Result<()> {
    let machine = Machine::new()?;
    let script = r#"
        ip link set lo up
        ip addr flush dev lo
        ip addr add 127.0.0.1/32 dev lo
        adm sandbox up
        adm sandbox up --name second
        adm sandbox status -o json > $out/status
        adm sandbox status -o json --name second > $out/second
        $KUBECTL --kubeconfig "$BUTLER_HOME/sandbox/default/kubeconfig" get networkpools -A -o 'jsonpath={.items[*].spec.cidr}' > $out/pool
        adm sandbox down
        adm sandbox down --name second
        cat /proc/net/tcp > $out/tcp
    "#;
    let output = in_namespace(&machine, "--net", script)?.success()?;
    let read =
        |name: &str| -> Result<serde_json::Value> { Ok(serde_json::from_str(&result(&machine, name)?)?) };
    let (status, second) = (read("status")?, read("second")?);
    assert_eq!(status["network"], "127.0.0.1/32", "{output}");
    let mut addresses = crate::addresses(&status)?;
    addresses.extend(crate::addresses(&second)?);
    ensure!(addresses.iter().all(|address| address.ip().to_string() == "127.0.0.1"), "{status}");
    let count = addresses.len();
    addresses.sort();
    addresses.dedup();
    assert_eq!((addresses.len(), count), (8, 8), "no port twice");
    assert_eq!(result(&machine, "pool")?, "127.0.0.1/32");
    let listening = result(&machine, "tcp")?.lines().filter(|line| line.contains(" 0A ")).count();
    assert_eq!(listening, 0, "nobody listens in that network any more");
    machine.nothing_left(&[])
}
