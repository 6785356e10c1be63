//! Questions, signs of life and failures, seen in a terminal and off it.

use std::{path::PathBuf, time::Duration};

use anyhow::{Context, Result};
use butler_tests::{Env, Invocation, Pty, Signal};

const LIMIT: Duration = Duration::from_secs(20);

/// The example program, which cargo builds beside this test.
pub(crate) fn ask(env: &Env, args: &[&str]) -> Result<Invocation> {
    let test = std::env::current_exe()?;
    let target = test.parent().and_then(std::path::Path::parent).context("where is the target directory?")?;
    let program: PathBuf = target.join("examples/ask");
    anyhow::ensure!(program.exists(), "run `cargo test -p butler-term`, which builds {}", program.display());
    Ok(env.command(program).args(args))
}

fn in_terminal(env: &Env, args: &[&str]) -> Result<Pty> {
    ask(env, args)?.env("TERM", "xterm").env_remove("NO_COLOR").pty(80, 24)
}

#[test]
fn a_yes_goes_on_and_anything_else_does_not() -> Result<()> {
    let env = Env::new()?;
    for (answer, exit, says) in
        [("y\r", 0, "done"), ("YES\r", 0, "done"), ("\r", 130, "BTL-1209"), ("yep\r", 130, "BTL-1209")]
    {
        let mut pty = in_terminal(&env, &["confirm"])?;
        pty.wait_for("Remove it? [y/N]", LIMIT)?;
        pty.send(answer)?;
        pty.wait_for(says, LIMIT)?;
        assert_eq!(pty.wait(LIMIT)?.exit_code(), exit, "{answer:?}");
    }
    Ok(())
}

#[test]
fn only_the_whole_name_goes_on() -> Result<()> {
    let env = Env::new()?;
    for (answer, exit, says) in [("dev\r", 0, "done"), ("de\r", 130, "not `dev`"), ("\u{3}", 130, "BTL-1902")]
    {
        let mut pty = in_terminal(&env, &["name"])?;
        pty.wait_for("Type the name to destroy cluster `dev`", LIMIT)?;
        pty.send(answer)?;
        pty.wait_for(says, LIMIT)?;
        assert_eq!(pty.wait(LIMIT)?.exit_code(), exit, "{answer:?}");
    }
    Ok(())
}

#[test]
fn a_question_ends_with_its_command() -> Result<()> {
    let env = Env::new()?;
    let mut pty = in_terminal(&env, &["name"])?;
    pty.wait_for("Type the name", LIMIT)?;
    pty.signal(Signal::TERM)?;
    pty.wait_for("error[BTL-1902]: terminated", LIMIT)?;
    assert_eq!(pty.wait(LIMIT)?.exit_code(), 130);
    Ok(())
}

#[test]
fn without_a_terminal_nothing_is_asked() -> Result<()> {
    let env = Env::new()?;
    let output = ask(&env, &["confirm"])?.stdin("y\n").run()?.failed_with(2)?;
    assert!(output.stderr.contains("BTL-1208") && output.stderr.contains("--yes"), "{}", output.stderr);
    assert_eq!(output.stdout, "");
    Ok(())
}

#[test]
fn only_slow_work_shows_that_it_goes_on() -> Result<()> {
    let env = Env::new()?;
    let quick = ask(&env, &["work", "1"])?.run()?.success()?;
    assert_eq!((quick.stdout.as_str(), quick.stderr.as_str()), ("done\n", ""));
    let slow = ask(&env, &["work", "900"])?.run()?.success()?;
    assert_eq!((slow.stdout.as_str(), slow.stderr.as_str()), ("done\n", "working\n"));
    let quiet = ask(&env, &["work", "900", "--quiet"])?.run()?.success()?;
    assert_eq!(quiet.stderr, "");

    let mut pty = in_terminal(&env, &["work", "2000"])?;
    pty.wait_for("working", LIMIT)?;
    pty.wait_for("done", LIMIT)?;
    assert!(pty.wait(LIMIT)?.success());
    assert_eq!(pty.screen().trim(), "done", "the spinner is gone");
    Ok(())
}

#[test]
fn a_defect_is_an_error_with_a_code() -> Result<()> {
    let env = Env::new()?;
    let output = ask(&env, &["panic"])?.run()?.failed_with(1)?;
    assert!(
        output.stderr.starts_with("error[BTL-1901]: the program has a defect: on purpose at "),
        "{}",
        output.stderr
    );
    Ok(())
}

#[test]
fn words_of_a_server_cannot_command_the_terminal() -> Result<()> {
    let env = Env::new()?;
    let output = ask(&env, &["fail", "--color", "always"])?.run()?.failed_with(1)?;
    assert!(output.stderr.contains("cannot \u{fffd}[31mlist\u{fffd}"), "{:?}", output.stderr);
    assert!(output.stderr.starts_with("\u{1b}["), "our own colours stay: {:?}", output.stderr);
    Ok(())
}

#[test]
fn bars_live_as_long_as_their_phase_and_leave_a_line() -> Result<()> {
    let env = Env::new()?;
    let mut pty = in_terminal(&env, &["job", "."])?;
    pty.wait_until("a bar", LIMIT, |screen| screen.contains("fetching etcd") && screen.contains("40/100"))?;
    std::fs::write(env.work_dir().join("1"), "")?;
    pty.wait_until("the next phase", LIMIT, |screen| {
        screen.contains("✓ fetching etcd (") && screen.contains("starting etcd")
    })?;
    assert!(!pty.screen().contains("40/100"), "the bar is gone:\n{}", pty.screen());
    std::fs::write(env.work_dir().join("2"), "")?;
    pty.wait_for("done", LIMIT)?;
    assert!(pty.wait(LIMIT)?.success());
    let screen = pty.screen();
    let lines: Vec<&str> = screen.lines().filter(|line| !line.trim().is_empty()).collect();
    assert_eq!(lines.len(), 3, "two phases and the result:\n{screen}");
    assert!(
        lines[0].starts_with("✓ fetching etcd (") && lines[1].starts_with("✓ starting etcd ("),
        "{screen}"
    );
    assert_eq!(lines[2], "done");
    Ok(())
}

#[test]
fn a_phase_that_fails_is_marked_and_named() -> Result<()> {
    let env = Env::new()?;
    for name in ["1", "2"] {
        std::fs::write(env.work_dir().join(name), "")?;
    }
    let mut pty = in_terminal(&env, &["job", ".", "--fails"])?;
    pty.wait_for("cannot start `etcd`", LIMIT)?;
    assert_eq!(pty.wait(LIMIT)?.exit_code(), 1);
    let screen = pty.screen();
    assert!(
        screen.contains("✗ starting etcd (") && screen.contains("[BTL-1406]: cannot start `etcd`"),
        "{screen}"
    );
    Ok(())
}
