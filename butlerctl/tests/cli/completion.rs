//! Completion in a real bash, with names that live in the cluster.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use butler_tests::{
    Env, Pty,
    http::{HttpServer, Reply},
};

use crate::support::{Butlerctl, LIMIT, plane, put, tenant_cluster};

/// An interactive bash that has the script, as a person would set it up.
fn bash(env: &Env) -> Result<Pty> {
    let programs = Path::new(env!("CARGO_BIN_EXE_butlerctl")).parent().context("no directory")?;
    let path = format!("{}:/usr/bin:/bin", programs.display());
    let bash = env.command("/bin/bash").args(["--norc", "--noprofile", "-i"]).env("PATH", path);
    let mut bash = bash.env("PS1", "$ ").env("TERM", "xterm").pty(200, 50)?;
    prompt(&bash)?;
    bash.send("source <(butlerctl completion bash); clear\r")?;
    prompt(&bash)?;
    Ok(bash)
}

/// Waits until bash has nothing but its prompt on the last line.
fn prompt(bash: &Pty) -> Result<()> {
    bash.wait_until("a prompt", LIMIT, |screen| screen.trim_end().lines().last() == Some("$"))
}

/// Types a line with a tab at its end; `#` marks where the cursor is when bash is done. On a busy
/// machine the names may miss their deadline, so a person presses the key again.
fn completes(bash: &mut Pty, typed: &str, completed: &str) -> Result<()> {
    let end = Instant::now() + LIMIT;
    loop {
        bash.send(&format!("{typed}\t#"))?;
        bash.wait_until("a mark", LIMIT, |screen| screen.ends_with('#'))?;
        let screen = bash.screen();
        // Ctrl-U: the line is empty again.
        bash.send("\u{15}")?;
        prompt(bash)?;
        if screen.ends_with(&format!("$ {completed}#")) {
            return Ok(());
        }
        ensure!(Instant::now() < end, "expected {completed:?}, the screen is\n{screen}");
    }
}

#[test]
fn bash_completes_commands_flags_and_values() -> Result<()> {
    let env = Env::new()?;
    let mut bash = bash(&env)?;
    for (typed, completed) in [
        ("butlerctl vers", "butlerctl version "),
        ("butlerctl version --cl", "butlerctl version --client "),
        ("butlerctl version -o ya", "butlerctl version -o yaml "),
        ("butlerctl explain BTL-1901", "butlerctl explain BTL-1901 "),
        ("butlerctl completion nothing", "butlerctl completion nothing"),
    ] {
        completes(&mut bash, typed, completed)?;
    }
    Ok(())
}

#[tokio::test]
async fn bash_completes_the_names_of_a_real_cluster() -> Result<()> {
    let (env, plane) = (Env::new()?, plane().await?);
    let (client, namespace) = (plane.client().await?, plane.namespace().await?);
    for name in ["payments", "reports"] {
        put(&client, &namespace, &tenant_cluster(name)).await?;
    }
    let kubeconfig = plane.kubeconfig().display();
    let mut bash = bash(&env)?;
    let line = format!("butlerctl cluster get --kubeconfig {kubeconfig}");
    completes(&mut bash, &format!("{line} -n {namespace} pay"), &format!("{line} -n {namespace} payments "))?;
    completes(&mut bash, &format!("{line} -n kube-sys"), &format!("{line} -n kube-system "))?;
    completes(&mut bash, &format!("{line} --context te"), &format!("{line} --context test "))
}

#[test]
fn a_server_that_hangs_leaves_the_line_alone() -> Result<()> {
    let server = HttpServer::start(|_| Reply::Hang)?;
    let butlerctl = Butlerctl::with_server(&server.url())?;
    let end = Instant::now() + LIMIT;
    // On a busy machine the deadline may pass before the question is out.
    while server.requests().is_empty() {
        let program = butlerctl.run(["--", "butlerctl", "cluster", "get", "p"]);
        let start = Instant::now();
        let output =
            program.env("BUTLER_COMPLETE", "bash").env("_CLAP_COMPLETE_INDEX", "3").run()?.success()?;
        let took = start.elapsed();
        assert_eq!((output.stdout.as_str(), output.stderr.as_str()), ("", ""));
        // 200 ms for the answer, the rest for starting a program.
        assert!(took < Duration::from_secs(3), "{took:?}");
        ensure!(Instant::now() < end, "the server was never asked");
    }
    Ok(())
}
