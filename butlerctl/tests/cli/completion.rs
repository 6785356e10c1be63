//! Completion in a real bash, with names that live in the cluster.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
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
    bash.wait_for("$", LIMIT)?;
    bash.send("source <(butlerctl completion bash) && echo rea''dy\r")?;
    bash.wait_for("ready", LIMIT)?;
    Ok(bash)
}

/// Types a line with a tab at its end; `#` marks where the cursor is when bash is done.
fn completes(bash: &mut Pty, typed: &str, completed: &str) -> Result<()> {
    bash.send(&format!("{typed}\t#"))?;
    bash.wait_for(&format!("$ {completed}#"), LIMIT)?;
    // Ctrl-U: the line is empty again.
    bash.send("\u{15}")
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
    let words = ["--", "butlerctl", "cluster", "get", "--kubeconfig"].map(str::to_owned);
    let words = words.into_iter().chain([kubeconfig.display().to_string(), String::new()]);
    let start = Instant::now();
    let complete = env.command(env!("CARGO_BIN_EXE_butlerctl")).args(words).env("BUTLER_COMPLETE", "bash");
    let output = complete.env("_CLAP_COMPLETE_INDEX", "3").run()?.success()?;
    let took = start.elapsed();
    assert_eq!((output.stdout.as_str(), output.stderr.as_str()), ("", ""));
    assert_eq!(server.requests().len(), 1, "it did ask");
    // 200 ms for the answer, the rest for starting a program on a busy machine.
    assert!(took < Duration::from_secs(3), "{took:?}");
    Ok(())
}
