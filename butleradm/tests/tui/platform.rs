//! `butleradm tui` on clusters that are dead, alive, and both in turn.

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use anyhow::Result;
use butler_core::{api::TenantCluster, cluster::crds};
use butler_tests::{ControlPlane, Env, Signal, create, eventually};
use kube::{
    Api, Client,
    api::{Patch, PatchParams},
    core::GroupVersionKind,
};
use serde_json::{Value, json};

use crate::{LIMIT, adm, leave, tui};

/// A kubeconfig for a server that nobody is.
fn dead(env: &Env) -> Result<PathBuf> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    let server = format!("https://{}", listener.local_addr()?);
    let text = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": server, "insecure-skip-tls-verify": true}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
    });
    let path = env.work_dir().join("dead.yaml");
    butler_core::settings::home::write_private(&path, text.to_string().as_bytes())?;
    Ok(path)
}

fn cluster(name: &str) -> Value {
    json!({
        "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "TenantCluster", "metadata": {"name": name},
        "spec": {
            "kubernetesVersion": "v1.34.4", "providerConfigRef": {"name": "sandbox"},
            "workers": {"replicas": 3, "machineTemplate": {"cpu": 4, "memory": "16Gi"}},
        },
    })
}

async fn phase(client: &Client, name: &str, phase: &str, message: &str) -> Result<()> {
    let clusters: Api<TenantCluster> = Api::namespaced(client.clone(), "default");
    let status = json!({"status": {"phase": phase, "conditions": [{
        "type": "Ready", "status": "False", "reason": "Because", "message": message,
        "lastTransitionTime": "2026-01-01T00:00:00Z"}]}});
    clusters.patch_status(name, &PatchParams::default(), &Patch::Merge(&status)).await?;
    Ok(())
}

async fn install(client: &Client) -> Result<()> {
    let names = crds::apply(client, false).await?;
    crds::established(client, &names, LIMIT).await?;
    // What is established is told to whoever asks for all kinds a little later.
    let kind = GroupVersionKind::gvk(butler_core::api::GROUP, "v1alpha1", "TenantCluster");
    eventually("the kind is told of", LIMIT, || async {
        Ok(kube::discovery::pinned_kind(client, &kind).await.is_ok())
    })
    .await
}

#[test]
fn a_dead_server_keeps_nobody_from_the_screen() -> Result<()> {
    let env = Env::new()?;
    let kubeconfig = dead(&env)?;
    let start = Instant::now();
    let mut pty = tui(&env, &kubeconfig, &[], (80, 24))?;
    pty.wait_for("[1 Overview]", LIMIT)?;
    let first = start.elapsed();
    pty.wait_until("why there is no connection", LIMIT, |screen| {
        screen.contains("not connected (BTL-1001)") && screen.contains("Not connected")
    })?;
    // The bench has the real limit; this is a debug build on a busy machine.
    assert!(first < Duration::from_secs(5), "the first frame took {first:?}");
    pty.send("2")?;
    pty.wait_for("error[BTL-1001]", LIMIT)?;
    pty.send("r")?;
    pty.wait_for("asking again", LIMIT)?;
    pty.send("0")?;
    pty.wait_for("No management cluster was made", LIMIT)?;
    leave(pty, "q")
}

#[test]
fn without_any_identity_there_is_still_a_screen() -> Result<()> {
    let env = Env::new()?;
    let mut pty = adm(&env, &["tui"]).pty(80, 24)?;
    pty.wait_for("no cluster and no login was found", LIMIT)?;
    pty.send("?")?;
    pty.wait_for("Help", LIMIT)?;
    pty.send("\x1b")?;
    pty.wait_until("help is closed", LIMIT, |screen| !screen.contains("esc closes"))?;
    leave(pty, "\u{3}")
}

#[test]
fn signals_and_sizes_do_no_harm() -> Result<()> {
    let env = Env::new()?;
    let kubeconfig = dead(&env)?;
    for (signal, word) in [(Signal::TERM, "terminated"), (Signal::HUP, "the terminal was closed")] {
        let mut pty = tui(&env, &kubeconfig, &[], (80, 24))?;
        pty.wait_for("Overview", LIMIT)?;
        for turn in 0..100_u16 {
            pty.resize(1 + turn * 7 % 150, 1 + turn * 3 % 50)?;
        }
        // Twenty columns are no joy, but one knows where one is and how to get out.
        pty.resize(20, 10)?;
        pty.wait_until("a narrow screen", LIMIT, |screen| {
            screen.contains("[1 Overview]") && screen.contains("quit")
        })?;
        pty.resize(80, 24)?;
        pty.wait_for("Not connected", LIMIT)?;
        pty.signal(signal)?;
        assert_eq!(pty.wait(LIMIT)?.exit_code(), 130);
        pty.wait_for(word, LIMIT)?;
        assert!(pty.is_sane(), "{word}: {}", pty.screen());
    }
    Ok(())
}

#[test]
fn bad_settings_are_told_before_the_screen_is_taken() -> Result<()> {
    let env = Env::new()?;
    for (name, value, says) in [
        ("BUTLER_TUI_THEME", "pink", "expected auto, dark"),
        ("BUTLER_TUI_KEYS", "qiut=Q", "did you mean `quit`"),
        ("BUTLER_TUI_KEYS", "quit=hyper-q", "which is none"),
        ("BUTLER_TUI_KEYS", "quit", "expected pairs"),
    ] {
        let mut pty = adm(&env, &["tui"]).env(name, value).pty(250, 24)?;
        assert_eq!(pty.wait(LIMIT)?.exit_code(), 2, "{value}: {}", pty.screen());
        pty.wait_for(says, LIMIT)?;
    }
    let output = adm(&env, &["tui"]).run()?.failed_with(2)?;
    assert!(output.stderr.contains("error[BTL-1250]"), "{output}");
    let mut pty = adm(&env, &["tui"]).env("BUTLER_TUI_KEYS", "quit=Q, tab.2=c").pty(80, 24)?;
    pty.wait_for("Q quit", LIMIT)?;
    pty.send("c")?;
    pty.wait_for("[2 Clusters]", LIMIT)?;
    leave(pty, "Q")
}

#[tokio::test]
async fn clusters_are_live_across_a_restart_of_the_server() -> Result<()> {
    let plane = ControlPlane::start().await?;
    let client = plane.client().await?;
    let env = Env::new()?;
    // Without our definitions first: that too is a state to be told.
    let mut pty = tui(&env, plane.kubeconfig(), &[], (120, 40))?;
    pty.wait_for("Butler's API is not installed", LIMIT)?;
    install(&client).await?;
    create(&client, Some("default"), &cluster("alpha")).await?;
    pty.send("2")?;
    pty.wait_for("alpha", LIMIT)?;
    create(&client, Some("default"), &cluster("beta")).await?;
    pty.wait_for("beta", LIMIT)?;
    phase(&client, "beta", "Ready", "日本語のメッセージ with \u{1b}[31mcolour").await?;
    pty.wait_for("✓ Ready", LIMIT)?;

    plane.kill_api_server().await;
    pty.wait_until("what is old says so", LIMIT, |screen| {
        screen.contains("stale for") && screen.contains("beta")
    })?;
    plane.start_api_server().await?;
    let client = plane.client().await?;
    phase(&client, "beta", "Failed", "日本語のメッセージ with \u{1b}[31mcolour").await?;
    pty.wait_until("the news after the restart", LIMIT, |screen| {
        screen.contains("✗ Failed") && !screen.contains("stale for")
    })?;

    pty.send("/bet\r")?;
    pty.wait_for("1 of 2", LIMIT)?;
    pty.send("\r")?;
    // The mark that stands for the escape character is one that this terminal does not print.
    pty.wait_for("日本語のメッセージ with [31mcolour", LIMIT)?;
    pty.send("y")?;
    pty.wait_for("kubernetesVersion: v1.34.4", LIMIT)?;
    // Deleting asks for the name, and nothing else will do.
    pty.send("D")?;
    pty.wait_for("Type beta", LIMIT)?;
    pty.send("alpha\r")?;
    pty.wait_for("that is not the name", LIMIT)?;
    pty.send("\u{15}beta\r")?;
    pty.wait_for("It is gone", LIMIT)?;
    pty.send("\x1b")?;
    pty.wait_for("0 of 1", LIMIT)?;
    let clusters: Api<TenantCluster> = Api::namespaced(client.clone(), "default");
    assert!(clusters.get_opt("beta").await?.is_none() && clusters.get_opt("alpha").await?.is_some());
    leave(pty, "q")?;

    let mut pty = tui(&env, plane.kubeconfig(), &["--read-only"], (80, 24))?;
    pty.send("2")?;
    pty.wait_for("alpha", LIMIT)?;
    pty.send("D\r")?;
    pty.wait_for("[Conditions]", LIMIT)?;
    pty.send("D")?;
    pty.send("?")?;
    pty.wait_for("Help", LIMIT)?;
    assert!(!pty.screen().contains("delete"), "{}", pty.screen());
    pty.send("\x1b")?;
    pty.wait_until("help is closed", LIMIT, |screen| !screen.contains("esc closes"))?;
    leave(pty, "q")
}
