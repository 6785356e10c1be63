//! Several at once: two starts of one sandbox, two sandboxes on one machine.

use anyhow::{Context, Result, ensure};

use crate::{LIMIT, Machine};

#[test]
fn two_starts_at_once_make_one_platform() -> Result<()> {
    let machine = Machine::new()?;
    let (one, two) = (machine.sandbox(&["up"]).spawn()?, machine.sandbox(&["up"]).spawn()?);
    let (one, two) = (one.wait(LIMIT)?.success()?, two.wait(LIMIT)?.success()?);
    let started = [&one, &two].into_iter().filter(|up| up.stderr.contains("is ready")).count();
    let found = [&one, &two].into_iter().filter(|up| up.stderr.contains("is running")).count();
    assert_eq!((started, found), (1, 1), "{one}\n{two}");
    let supervisors = machine.processes().into_iter().filter(|(_, name)| name.starts_with("butleradm"));
    assert_eq!(supervisors.count(), 2, "the supervisor and the controllers");
    machine.down("default")?;
    machine.nothing_left(&[])
}

#[test]
fn named_sandboxes_have_nothing_in_common_in_a_home_however_deep() -> Result<()> {
    let mut machine = Machine::new()?;
    // Longer than the address of a socket can be.
    machine.home = machine.home.join("d".repeat(100)).join("e".repeat(100));
    let (one, two) = (
        machine.sandbox(&["up", "--name", "one"]).spawn()?,
        machine.sandbox(&["up", "--name", "two"]).spawn()?,
    );
    let up = one.wait(LIMIT)?.success()?;
    ensure!(up.stderr.contains("butleradm sandbox status --watch --name one"), "{up}");
    two.wait(LIMIT)?.success()?.stderr.clear();
    let (first, second) = (machine.status("one")?, machine.status("two")?);
    for field in ["network", "kubeconfig", "directory"] {
        ensure!(first[field].is_string() && first[field] != second[field], "{field}: {first}");
    }
    let server = |name: &str| -> Result<String> {
        let kubeconfig = machine.dir(name).join("kubeconfig").display().to_string();
        let get =
            ["get", "ns", "butler-system", "-o", "jsonpath={.metadata.uid}", "--kubeconfig", &kubeconfig];
        Ok(machine.kubectl(&get)?.run()?.success()?.stdout)
    };
    assert_ne!(server("one")?, server("two")?, "two API servers");
    let down = machine.sandbox(&["down", "--name", "one"]).run()?.success()?;
    ensure!(down.stderr.contains("none is left"), "{down}");
    assert_eq!(machine.status("one")?["state"], "stopped");
    assert_eq!(machine.status("two")?["state"], "running");
    server("two").context("the other one is not touched")?;
    machine.reset("two")?;
    machine.nothing_left(&[])
}
