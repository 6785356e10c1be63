use std::time::Duration;

use anyhow::Result;
use butler_tests::{Env, Signal};

use crate::LIMIT;

#[test]
fn a_program_sees_the_hermetic_environment_and_nothing_else() -> Result<()> {
    let env = Env::new()?;
    let output = env.command("env").env("EXTRA", "1").env_remove("TERM").run()?.success()?;
    let mut names: Vec<_> = output.stdout.lines().filter_map(|line| line.split('=').next()).collect();
    // Some shells add these when they start a program.
    names.retain(|name| !["PWD", "OLDPWD", "SHLVL", "_"].contains(name));
    names.sort_unstable();
    insta::assert_snapshot!(names.join(" "), @"BUTLER_CLOCK BUTLER_HOME BUTLER_SYSTEM_CONFIG COLUMNS EXTRA HOME LANG LC_ALL NO_COLOR PATH TMPDIR TZ");
    Ok(())
}

#[test]
fn an_output_shows_status_and_both_streams_without_what_differs() -> Result<()> {
    let env = Env::new()?;
    let script = r#"echo "home is $HOME"; echo "dial 127.0.0.1:23456 in test-0042" >&2; printf done; exit 3"#;
    let output = env.command("sh").args(["-c", script]).run()?.failed_with(3)?;
    insta::assert_snapshot!(output, @r"
    exit 3
    [stdout]
    home is [TEMP]/home
    done[no line break]
    [stderr]
    dial 127.0.0.1:PORT in test-NNNN
    ");
    let wrong = output.success().expect_err("it ended with 3").to_string();
    assert!(wrong.starts_with("expected exit 0: sh -c") && wrong.contains("dial 127"), "{wrong}");
    Ok(())
}

#[test]
fn input_of_any_size_arrives_and_an_unread_one_does_no_harm() -> Result<()> {
    let env = Env::new()?;
    let text = "0123456789\n".repeat(100_000);
    let output = env.command("cat").stdin(text.clone()).run()?.success()?;
    assert!(output.stdout == text, "{} bytes came back", output.stdout.len());
    let _ = env.command("true").stdin(text).run()?.success()?;
    assert_eq!(env.command("cat").stdin("{\"a\": 1}").run()?.json()?["a"], 1);
    Ok(())
}

#[test]
fn a_program_that_hangs_is_killed_and_what_it_said_is_shown() -> Result<()> {
    let env = Env::new()?;
    let hanging = env.command("sh").args(["-c", "echo one moment; sleep 1000"]);
    let error = hanging.timeout(Duration::from_millis(500)).run().expect_err("it hangs").to_string();
    assert!(error.contains("still running after 500ms") && error.contains("one moment"), "{error}");
    Ok(())
}

#[test]
fn a_running_program_can_be_watched_and_signalled() -> Result<()> {
    let env = Env::new()?;
    let script = r#"trap "exit 9" TERM; echo aside >&2; echo one; read word; echo "got $word"; while :; do sleep 0.05; done"#;
    let mut running = env.command("sh").args(["-c", script]).spawn()?;
    assert_eq!(running.line(LIMIT)?, "one");
    running.write("tea\n")?;
    assert_eq!(running.line_with("got", LIMIT)?, "got tea");
    assert!(running.line(Duration::from_millis(10)).is_err());
    assert_eq!(running.stderr_line(LIMIT)?, "aside");
    running.signal(Signal::TERM);
    let output = running.wait(LIMIT)?.failed_with(9)?;
    assert_eq!(output.stdout, "one\ngot tea\n");
    Ok(())
}

#[test]
fn an_environment_leaves_nothing_behind() -> Result<()> {
    let env = Env::new()?;
    let home = env.home();
    assert!(home.is_dir() && !env.butler_home().exists());
    drop(env);
    assert!(!home.exists());
    Ok(())
}
