//! A full screen gives the terminal back, whatever happens.

use std::{path::Path, time::Duration};

use anyhow::{Context, Result, ensure};
use butler_tests::{Env, Pty, Signal};

use crate::terminal::ask;

const LIMIT: Duration = Duration::from_secs(30);

fn screen(env: &Env, (columns, rows): (u16, u16)) -> Result<Pty> {
    let pty = ask(env, &["screen"])?.env_remove("NO_COLOR").env("PAGER", "cat").pty(columns, rows)?;
    pty.wait_for("0 keys", LIMIT)?;
    ensure!(pty.has_own_screen() && !pty.is_sane(), "the screen is not taken");
    Ok(pty)
}

#[test]
fn the_end_gives_the_terminal_back() -> Result<()> {
    let env = Env::new()?;
    let mut pty = screen(&env, (80, 24))?;
    pty.send("abcq")?;
    assert!(pty.wait(LIMIT)?.success());
    assert!(pty.is_sane(), "{}", pty.screen());
    Ok(())
}

#[test]
fn signals_give_the_terminal_back() -> Result<()> {
    let env = Env::new()?;
    for (signal, word) in
        [(Signal::TERM, "terminated"), (Signal::INT, "interrupted"), (Signal::HUP, "the terminal was closed")]
    {
        let mut pty = screen(&env, (80, 24))?;
        pty.signal(signal)?;
        pty.wait_for(word, LIMIT)?;
        assert_eq!(pty.wait(LIMIT)?.exit_code(), 130, "{word}");
        assert!(pty.is_sane(), "{word}: {}", pty.screen());
    }
    Ok(())
}

#[test]
fn defects_give_the_terminal_back_before_they_are_told() -> Result<()> {
    let env = Env::new()?;
    for key in ["p", "w"] {
        let mut pty = screen(&env, (80, 24))?;
        pty.send(key)?;
        pty.wait_for("error[BTL-1901]: the program has a defect: on purpose", LIMIT)?;
        assert_eq!(pty.wait(LIMIT)?.exit_code(), 1);
        assert!(pty.is_sane(), "{key}: {}", pty.screen());
    }
    Ok(())
}

#[test]
fn a_paste_is_taken_whole() -> Result<()> {
    let env = Env::new()?;
    let mut pty = screen(&env, (80, 24))?;
    let text = "x".repeat(100 * 1024);
    pty.send(&format!("\x1b[200~{text}\x1b[201~"))?;
    pty.wait_for("0 keys, 102400 pasted", LIMIT)?;
    pty.send("q")?;
    assert!(pty.wait(LIMIT)?.success() && pty.is_sane());
    Ok(())
}

#[test]
fn a_storm_of_sizes_ends_with_the_last_one() -> Result<()> {
    let env = Env::new()?;
    let mut pty = screen(&env, (80, 24))?;
    for turn in 0..200_u16 {
        pty.resize(1 + turn * 7 % 150, 1 + turn * 3 % 50)?;
    }
    pty.resize(91, 17)?;
    pty.wait_for("91x17", LIMIT)?;
    pty.send("q")?;
    assert!(pty.wait(LIMIT)?.success() && pty.is_sane());
    Ok(())
}

#[test]
fn a_pager_has_the_terminal_while_it_runs() -> Result<()> {
    let env = Env::new()?;
    let pager = env.work_dir().join("pager");
    // It shows what it was given and ends with a line from the keyboard: two readers would share it.
    std::fs::write(
        &pager,
        "#!/bin/sh\ncat \"$1\"; stat -c %a \"$1\"; read line; echo \"got $line\"; read line\n",
    )?;
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&pager, mode)?;
    let mut pty = ask(&env, &["screen"])?.env("PAGER", &pager).pty(80, 24)?;
    pty.wait_for("0 keys", LIMIT)?;
    pty.send("o")?;
    pty.wait_until("the pager", LIMIT, |screen| screen.contains("for the pager") && screen.contains("600"))?;
    pty.send("hello there\r")?;
    pty.wait_for("got hello there", LIMIT)?;
    pty.send("\r")?;
    pty.wait_for("0 keys", LIMIT)?;
    pty.send("x")?;
    pty.wait_for("1 keys", LIMIT)?;
    let left = std::fs::read_dir(env.butler_home().join("cache"))?.count();
    assert_eq!(left, 0, "the copy is removed");
    pty.send("q")?;
    assert!(pty.wait(LIMIT)?.success() && pty.is_sane());

    let mut pty = ask(&env, &["screen"])?.env("PAGER", "/nonexistent/pager").pty(80, 24)?;
    pty.wait_for("0 keys", LIMIT)?;
    pty.send("o")?;
    pty.wait_for("cannot start `/nonexistent/pager`", LIMIT)?;
    pty.send("q")?;
    assert!(pty.wait(LIMIT)?.success() && pty.is_sane());
    Ok(())
}

/// A shell with job control, and the program started in it.
fn in_shell(env: &Env) -> Result<Pty> {
    let program = ask(env, &[])?.program().display().to_string();
    let shell = env.command("/bin/bash").args(["--norc", "--noprofile", "-i"]).env("PS1", "$ ");
    let mut pty = shell.pty(80, 24)?;
    pty.wait_for("$ ", LIMIT)?;
    pty.send(&format!("{program} screen; echo ended $?\r"))?;
    pty.wait_for("0 keys", LIMIT)?;
    Ok(pty)
}

#[test]
fn a_shell_gets_the_terminal_for_a_while() -> Result<()> {
    let env = Env::new()?;
    let mut pty = in_shell(&env)?;
    for keys in 1..=2 {
        pty.send("\x1a")?;
        // Only the screen of the shell has this word.
        pty.wait_for("Stopped", LIMIT)?;
        pty.send(&format!("echo in the shell $((40 + {keys}))\r"))?;
        pty.wait_for(&format!("in the shell {}", 40 + keys), LIMIT)?;
        pty.send("fg\r")?;
        pty.wait_for(&format!("{} keys", keys - 1), LIMIT)?;
        pty.send("x")?;
        pty.wait_for(&format!("{keys} keys"), LIMIT)?;
    }
    pty.send("q")?;
    pty.wait_for("in the shell 42", LIMIT)?;
    pty.send("exit\r")?;
    pty.wait(LIMIT)?;
    Ok(())
}

#[test]
fn whoever_is_stopped_from_outside_takes_the_screen_again() -> Result<()> {
    let env = Env::new()?;
    let mut pty = screen(&env, (80, 24))?;
    pty.signal(Signal::STOP)?;
    pty.signal(Signal::CONT)?;
    pty.send("x")?;
    pty.wait_for("1 keys", LIMIT)?;
    pty.send("q")?;
    assert!(pty.wait(LIMIT)?.success() && pty.is_sane());
    Ok(())
}

#[test]
fn a_shell_that_is_killed_takes_the_program_along() -> Result<()> {
    let env = Env::new()?;
    let pty = in_shell(&env)?;
    let shell = pty.pid();
    let children = std::fs::read_to_string(format!("/proc/{shell}/task/{shell}/children"))?;
    let child: u32 = children.split_whitespace().next().context("the shell has no child")?.parse()?;
    let shell = rustix::process::Pid::from_raw(shell.try_into()?).context("no shell")?;
    rustix::process::kill_process(shell, Signal::KILL)?;
    let end = std::time::Instant::now() + LIMIT;
    // A process that has ended and that nobody waits for is a zombie.
    let alive = || {
        let stat = std::fs::read_to_string(Path::new("/proc").join(child.to_string()).join("stat"));
        stat.is_ok_and(|stat| !stat.contains(") Z "))
    };
    while alive() {
        ensure!(std::time::Instant::now() < end, "process {child} goes on");
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

#[test]
fn without_a_terminal_there_is_no_screen() -> Result<()> {
    let env = Env::new()?;
    let output = ask(&env, &["screen"])?.run()?.failed_with(2)?;
    assert!(output.stderr.contains("error[BTL-1250]"), "{}", output.stderr);
    assert_eq!(output.stdout, "");
    Ok(())
}
