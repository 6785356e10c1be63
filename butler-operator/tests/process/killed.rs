//! The parent is killed with SIGKILL and can do nothing any more.

use std::{
    io::{BufRead, Write},
    time::Duration,
};

use anyhow::{Context, Result};
use butler_operator::process::Signal;
use rustix::process::{Pid, kill_process};

use crate::{LIMIT, guard, processes, role_dir, runs, shell, start_role, until};

/// What remains of a killed parent must be gone by then.
const SOON: Duration = Duration::from_secs(2);

fn send(pid: u32, signal: Signal) -> Result<()> {
    let pid = Pid::from_raw(pid.try_into()?).context("a process id")?;
    Ok(kill_process(pid, signal)?)
}

fn children_of(parent: u32) -> Vec<u32> {
    let all = processes().unwrap_or_default();
    all.into_iter().filter(|(_, of)| *of == parent).map(|(pid, _)| pid).collect()
}

/// Starts a child that starts another, makes a directory, and waits to be killed.
#[test]
#[ignore = "a role that the test below starts"]
fn parent_of_a_family() -> Result<()> {
    let (dir, guard) = (role_dir()?, guard()?);
    let data = guard.make_dir(&dir)?;
    let family = "sleep 1000 & echo $! >grandchild; echo $$ >child; mv child ready; wait";
    let spawn = shell(&guard, &dir.join("log"), family).current_dir(data.path());
    let _child = guard.spawn(&spawn)?;
    loop {
        std::thread::park();
    }
}

#[test]
fn children_and_grandchildren_and_directories_go_with_a_killed_parent() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let mut parent = start_role("killed::parent_of_a_family", dir.path())?;
    let data = || {
        let found = std::fs::read_dir(dir.path()).ok()?.flatten().map(|entry| entry.path());
        found.into_iter().find(|path| path.join("ready").exists())
    };
    until("the family runs", LIMIT, || data().is_some())?;
    let data = data().context("it was there")?;
    let pid = |name: &str| -> Result<u32> { Ok(std::fs::read_to_string(data.join(name))?.trim().parse()?) };
    let (child, grandchild) = (pid("ready")?, pid("grandchild")?);
    assert!(runs(child) && runs(grandchild));

    parent.kill()?;
    parent.wait()?;
    until("the child is gone", SOON, || !runs(child))?;
    until("the grandchild is gone", SOON, || !runs(grandchild))?;
    until("the directory is gone", SOON, || !data.exists())
}

/// Starts a guard, and a child when told to; writes what came of it.
#[test]
#[ignore = "a role that the test below starts"]
fn parent_that_waits() -> Result<()> {
    let (dir, guard) = (role_dir()?, guard()?);
    std::fs::write(dir.join("guarded"), "")?;
    std::io::stdin().lock().read_line(&mut String::new())?;
    let outcome = match guard.spawn(&shell(&guard, &dir.join("log"), "echo ran")) {
        Ok(_) => "started".to_owned(),
        Err(error) => error.to_string(),
    };
    Ok(std::fs::write(dir.join("outcome"), outcome)?)
}

#[test]
fn a_child_whose_parent_is_killed_before_the_go_ahead_never_runs() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let mut parent = start_role("killed::parent_that_waits", dir.path())?;
    let id = parent.id();
    until("the guard is there", LIMIT, || dir.path().join("guarded").exists())?;
    let &[guard] = children_of(id).as_slice() else { anyhow::bail!("one child, the guard") };

    // A guard that stands still confirms nothing, so the parent is caught in between.
    send(guard, Signal::STOP)?;
    parent.stdin.take().context("stdin")?.write_all(b"go\n")?;
    until("the child waits", LIMIT, || children_of(id).len() == 2)?;
    let child = children_of(id).into_iter().find(|pid| *pid != guard).context("the child")?;
    parent.kill()?;
    parent.wait()?;

    until("the child is gone", SOON, || !runs(child))?;
    assert_eq!(std::fs::read_to_string(dir.path().join("log"))?, "");
    send(guard, Signal::CONT)?;
    until("the guard is gone", SOON, || !runs(guard))
}

#[test]
fn a_guard_survives_the_signals_of_a_terminal_and_is_missed_when_killed() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let mut parent = start_role("killed::parent_that_waits", dir.path())?;
    until("the guard is there", LIMIT, || dir.path().join("guarded").exists())?;
    let &[guard] = children_of(parent.id()).as_slice() else { anyhow::bail!("one child, the guard") };
    for signal in [Signal::HUP, Signal::INT, Signal::QUIT, Signal::TERM] {
        send(guard, signal)?;
    }
    assert!(runs(guard));

    // Without a guard nothing is started.
    send(guard, Signal::KILL)?;
    until("the guard is gone", LIMIT, || !runs(guard))?;
    parent.stdin.take().context("stdin")?.write_all(b"go\n")?;
    // Its last words must not meet a closed pipe.
    std::io::copy(&mut parent.stdout.take().context("stdout")?, &mut std::io::sink())?;
    parent.wait()?;
    let outcome = std::fs::read_to_string(dir.path().join("outcome"))?;
    assert_eq!(outcome, "cannot watch over child processes");
    assert_eq!(std::fs::read_to_string(dir.path().join("log"))?, "");
    Ok(())
}
