//! Children on a real system: how they start, end, and go when their parent is killed.

mod killed;
mod ports;

use std::{
    os::unix::{fs::PermissionsExt, process::ExitStatusExt},
    path::Path,
    process::{Child as Process, Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use butler_core::{
    error::{Code, Diagnose},
    settings::Environment,
};
use butler_operator::process::{Child, Guard, ProcessError, Signal, Spawn, Streams};

const LIMIT: Duration = Duration::from_secs(30);

fn guard() -> Result<Guard> {
    let secret = ("BUTLER_TEST_SECRET", "hunter2");
    Ok(Guard::start(&Environment::of([("PATH", "/usr/bin:/bin"), ("HOME", "/nowhere"), secret]))?)
}

fn shell(guard: &Guard, log: &Path, script: &str) -> Spawn {
    guard.command("sh", Streams::Log(log.to_owned())).args(["-c", script])
}

async fn says(child: &Child, log: &Path, text: &str) -> Result<()> {
    let said = || async { std::fs::read_to_string(log).is_ok_and(|log| log.contains(text)) };
    Ok(child.ready(LIMIT, said).await?)
}

/// Starts this binary again in one of its roles.
fn start_role(role: &str, dir: &Path) -> Result<Process> {
    Ok(Command::new(std::env::current_exe()?)
        .args(["--exact", role, "--ignored", "--nocapture", "--test-threads=1"])
        .env(ROLE_DIR, dir)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?)
}

const ROLE_DIR: &str = "BUTLER_TEST_ROLE_DIR";

fn role_dir() -> Result<std::path::PathBuf> {
    Environment::capture().path(ROLE_DIR).context("a role is started by a test")
}

/// Waits for a condition that only the system can tell.
fn until(what: &str, limit: Duration, mut condition: impl FnMut() -> bool) -> Result<()> {
    let end = Instant::now() + limit;
    while !condition() {
        anyhow::ensure!(Instant::now() < end, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

/// Process and parent ids of everything that runs; the dead that nobody reaped are not listed.
fn processes() -> Result<Vec<(u32, u32)>> {
    let output = Command::new("ps").args(["-A", "-o", "pid=,ppid=,stat="]).output()?;
    let text = String::from_utf8(output.stdout)?;
    Ok(text
        .lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            let ids = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
            (!words.next()?.starts_with('Z')).then_some(ids)
        })
        .collect())
}

fn runs(pid: u32) -> bool {
    processes().is_ok_and(|all| all.iter().any(|(id, _)| *id == pid))
}

#[tokio::test]
async fn a_program_that_ends_before_it_is_ready_shows_the_end_of_its_log() -> Result<()> {
    let (dir, guard) = (tempfile::tempdir()?, guard()?);
    let log = dir.path().join("log");
    std::fs::write(&log, "from an earlier run\n")?;
    let child = guard.spawn(&shell(&guard, &log, "echo first; echo the disk is full >&2; exit 3"))?;

    let error = child.ready(LIMIT, || async { false }).await.expect_err("it never is");
    assert_eq!(error.code(), Code::ProcessFailed);
    assert_eq!(error.to_string(), "`sh` ended before it was ready (exit status: 3)");
    let cause = std::error::Error::source(&error).context("a cause")?.to_string();
    assert!(cause.ends_with("ends with\nfirst\nthe disk is full"), "{cause}");
    assert_eq!(std::fs::metadata(&log)?.permissions().mode() & 0o777, 0o600);
    Ok(())
}

#[tokio::test]
async fn a_program_that_never_gets_ready_is_a_timeout() -> Result<()> {
    let (dir, guard) = (tempfile::tempdir()?, guard()?);
    let log = dir.path().join("log");
    let child = guard.spawn(&shell(&guard, &log, "sleep 1000"))?;
    let error = child.ready(Duration::from_millis(50), || async { false }).await.expect_err("it never is");
    assert_eq!(error.code(), Code::ProcessTimeout);
    assert_eq!(error.hints(), [format!("less {}", log.display())]);
    Ok(())
}

#[test]
fn a_program_that_does_not_exist_is_named() -> Result<()> {
    let (dir, guard) = (tempfile::tempdir()?, guard()?);
    let spawn = guard.command(dir.path().join("etcd"), Streams::Piped);
    let error = guard.spawn(&spawn).expect_err("there is none");
    assert!(matches!(&error, ProcessError::Start { program, .. } if program == "etcd"), "{error:?}");
    Ok(())
}

#[tokio::test]
async fn a_program_that_ignores_term_is_killed_after_the_grace() -> Result<()> {
    let (dir, guard) = (tempfile::tempdir()?, guard()?);
    let log = dir.path().join("log");
    let stubborn = r#"trap "" TERM; echo deaf; while :; do sleep 0.05; done"#;
    let child = guard.spawn(&shell(&guard, &log, stubborn))?;
    says(&child, &log, "deaf").await?;
    let status = child.stop(Duration::from_millis(200)).await;
    assert_eq!(status.signal(), Some(Signal::KILL.as_raw()));
    Ok(())
}

#[tokio::test]
async fn a_program_that_heeds_term_ends_its_own_way() -> Result<()> {
    let (dir, guard) = (tempfile::tempdir()?, guard()?);
    let log = dir.path().join("log");
    let polite = r#"trap "exit 7" TERM; echo listening; while :; do sleep 0.05; done"#;
    let child = guard.spawn(&shell(&guard, &log, polite))?;
    says(&child, &log, "listening").await?;
    assert_eq!(child.stop(LIMIT).await.code(), Some(7));
    assert_eq!(child.exited().and_then(|status| status.code()), Some(7));
    Ok(())
}

#[tokio::test]
async fn what_a_program_leaves_running_ends_with_it() -> Result<()> {
    let (dir, guard) = (tempfile::tempdir()?, guard()?);
    let log = dir.path().join("log");
    let child = guard.spawn(&shell(&guard, &log, "sleep 1000 & echo $!"))?;
    assert!(child.wait().await.success());
    let left: u32 = std::fs::read_to_string(&log)?.trim().parse()?;
    until("the background process is gone", LIMIT, || !runs(left))
}

#[tokio::test]
async fn dropping_a_child_kills_and_reaps_it() -> Result<()> {
    let (dir, guard) = (tempfile::tempdir()?, guard()?);
    let child = guard.spawn(&shell(&guard, &dir.path().join("log"), "sleep 1000"))?;
    let pid = child.pid();
    assert!(runs(pid));
    drop(child);
    assert!(!runs(pid));
    Ok(())
}

#[tokio::test]
async fn a_child_sees_only_what_it_was_given() -> Result<()> {
    let (dir, guard) = (tempfile::tempdir()?, guard()?);
    let log = dir.path().join("log");
    let spawn = guard.command("env", Streams::Log(log.clone())).envs([("COLOUR", "blue")]);
    assert!(guard.spawn(&spawn)?.wait().await.success());
    let seen = std::fs::read_to_string(&log)?;
    assert!(seen.contains("COLOUR=blue\n") && seen.contains("HOME=/nowhere\n"), "{seen}");
    assert!(!seen.contains("hunter2") && !seen.contains("CARGO"), "{seen}");
    Ok(())
}

#[test]
fn a_piped_child_reads_its_input_to_the_last_byte() -> Result<()> {
    use std::io::{Read, Write};
    let guard = guard()?;
    let mut child = guard.spawn(&guard.command("cat", Streams::Piped))?;
    let mut pipes = child.take_pipes().context("pipes")?;
    pipes.stdin.write_all(b"one\ntwo")?;
    drop(pipes.stdin);
    let mut text = String::new();
    pipes.stdout.read_to_string(&mut text)?;
    assert_eq!(text, "one\ntwo");
    assert!(child.wait_blocking(LIMIT).context("the end")?.success());
    Ok(())
}

#[test]
fn a_guarded_directory_is_private_and_goes_with_its_owner() -> Result<()> {
    let (parent, guard) = (tempfile::tempdir()?, guard()?);
    let dir = guard.make_dir(parent.path())?;
    let path = dir.path().to_owned();
    assert_eq!(std::fs::metadata(&path)?.permissions().mode() & 0o777, 0o700);
    std::fs::write(path.join("file"), "content")?;
    drop(dir);
    assert!(!path.exists());
    assert!(guard.make_dir(Path::new("/does/not/exist")).is_err());
    Ok(())
}
