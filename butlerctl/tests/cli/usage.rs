//! Help, usage errors, streams: what every command has in common.

use std::{
    io::Read,
    process::{Command, Stdio},
};

use anyhow::{Context, Result};
use butler_core::error::Code;
use butler_tests::{Env, Output};
use insta::assert_snapshot;

use crate::support::{LIMIT, program};

fn run(args: &[&str]) -> Result<Output> {
    program(&Env::new()?).args(args).run()
}

#[test]
fn a_bare_program_shows_its_help() -> Result<()> {
    let bare = run(&[])?.success()?;
    assert_eq!(bare.stderr, "");
    assert_eq!(bare.stdout, run(&["-h"])?.success()?.stdout);
    assert!(bare.stdout.contains("Usage: butlerctl [OPTIONS] <COMMAND>"), "{}", bare.stdout);
    Ok(())
}

#[test]
fn usage_errors_end_with_2_and_name_what_was_meant() -> Result<()> {
    assert_snapshot!(run(&["verson"])?, @"
    exit 2
    [stderr]
    error: unrecognized subcommand 'verson'

      tip: a similar subcommand exists: 'version'

    Usage: butlerctl [OPTIONS] <COMMAND>

    For more information, try '--help'.
    ");
    assert_snapshot!(run(&["version", "--clint"])?, @"
    exit 2
    [stderr]
    error: unexpected argument '--clint' found

      tip: a similar argument exists: '--client'

    Usage: butlerctl version --client

    For more information, try '--help'.
    ");
    assert_snapshot!(run(&["version", "-o", "xml"])?, @"
    exit 2
    [stderr]
    error: invalid value 'xml' for '--output <FORMAT>': expected table, wide, json, yaml, name or jsonpath=TEMPLATE

    For more information, try '--help'.
    ");
    Ok(())
}

#[test]
fn usage_errors_are_json_where_json_was_asked_for() -> Result<()> {
    let output = run(&["verson", "-o", "json"])?.failed_with(2)?;
    let error: serde_json::Value = serde_json::from_str(&output.stderr)?;
    assert_eq!(error["code"], "BTL-1201");
    assert_eq!(error["hints"][0], "a similar subcommand exists: 'version'");
    Ok(())
}

#[test]
fn a_bad_template_is_named_before_any_work() -> Result<()> {
    assert_snapshot!(run(&["version", "-o", "jsonpath={.client"])?, @"
    exit 2
    [stderr]
    error[BTL-1206]: cannot read the JSONPath template at character 9: expected `}`

    hint: -o jsonpath='{.items[*].metadata.name}'
    hint: butlerctl cluster list -o jsonpath={.items[*].metadata.name}
    ");
    Ok(())
}

#[test]
fn every_code_has_a_page() -> Result<()> {
    let env = Env::new()?;
    let run = |args: &[&str]| program(&env).args(args).run()?.success();
    let names = run(&["explain", "-o", "name"])?.stdout;
    let list = run(&["explain", "-o", "json"])?.json()?;
    assert_eq!(list.as_array().context("a list")?.len(), names.lines().count());
    for code in names.lines() {
        let page = run(&["explain", code])?.stdout;
        assert!(page.starts_with(code) && page.contains("exit status"), "{page}");
    }
    assert_eq!(run(&["explain", "btl-1001", "-o", "jsonpath={.exitCode}"])?.stdout, "1");
    Ok(())
}

#[test]
fn an_unknown_code_is_not_found() -> Result<()> {
    assert_snapshot!(run(&["explain", "BTL-9999"])?, @"
    exit 3
    [stderr]
    error[BTL-1207]: `BTL-9999` is not an error code of this version

    hint: butleradm explain
    ");
    Ok(())
}

#[test]
fn a_closed_pipe_ends_quietly() -> Result<()> {
    for args in [&["explain"][..], &["explain", "-o", "json"], &["completion", "nushell"], &["--help"]] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_butlerctl"))
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        drop(child.stdout.take());
        let mut stderr = String::new();
        child.stderr.take().context("its stderr")?.read_to_string(&mut stderr)?;
        assert_eq!((child.wait()?.code(), stderr.as_str()), (Some(0), ""), "{args:?}");
    }
    Ok(())
}

#[test]
fn a_closed_stderr_changes_nothing() -> Result<()> {
    let env = Env::new()?;
    let script = r#""$0" explain BTL-9999 2>&-; echo $?; "$0" explain BTL-1001 2>&- >&-; echo $?"#;
    let output = env.command("sh").args(["-c", script, env!("CARGO_BIN_EXE_butlerctl")]).run()?.success()?;
    assert_eq!(output.stdout.lines().next(), Some("3"));
    Ok(())
}

#[test]
fn twenty_columns_are_enough_to_read_a_table() -> Result<()> {
    let env = Env::new()?;
    let mut pty = program(&env).arg("explain").env("TERM", "xterm").pty(20, 10)?;
    assert!(pty.wait(LIMIT)?.success());
    // The end of the list; the terminal wraps what is longer than a line, so that nothing is lost.
    let last = Code::ALL.last().context("codes")?;
    pty.wait_for(last.page().title, LIMIT)?;
    let screen = pty.screen();
    let (exit, title) = (last.kind().exit_code(), last.page().title);
    let end = format!("CODE     {last}\nEXIT     {exit}\nMEANING  {title}");
    assert!(screen.trim_end().ends_with(&end), "{screen}");
    Ok(())
}

#[test]
fn colours_are_for_terminals_and_for_those_who_ask() -> Result<()> {
    let env = Env::new()?;
    let explain = |flags: &[&str]| program(&env).args(["explain", "1001"]).args(flags).run()?.success();
    assert!(!explain(&[])?.stdout.contains('\u{1b}'));
    assert!(explain(&["--color", "always"])?.stdout.contains("\u{1b}["));
    assert!(!explain(&["--color=always", "-o", "json"])?.stdout.contains('\u{1b}'));
    let help = run(&["--color", "always", "--help"])?.success()?;
    assert!(help.stdout.contains("\u{1b}["), "help obeys the flag too");
    Ok(())
}
