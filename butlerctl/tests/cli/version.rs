//! `version`, with a server, without one, and with one that does not answer.

use std::time::Instant;

use anyhow::Result;
use butler_core::settings::home::write_private;
use butler_tests::{
    ControlPlane, Env, Output,
    http::{HttpServer, Reply},
};
use insta::assert_snapshot;

fn version(env: &Env, args: &[&str]) -> Result<Output> {
    env.command(env!("CARGO_BIN_EXE_butlerctl")).arg("version").args(args).run()?.success()
}

fn kubeconfig(env: &Env, server: &str) -> Result<String> {
    let path = env.work_dir().join("kubeconfig");
    write_private(&path, kubeconfig_of(server).as_bytes())?;
    Ok(path.display().to_string())
}

/// The smallest kubeconfig for a server.
pub(crate) fn kubeconfig_of(server: &str) -> String {
    let config = serde_json::json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "test",
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
        "clusters": [{"name": "test", "cluster": {"server": server}}],
        "users": [{"name": "test", "user": {}}],
    });
    config.to_string()
}

#[test]
fn the_client_alone_asks_nobody() -> Result<()> {
    let env = Env::new()?;
    assert_snapshot!(version(&env, &["--client"])?, @"
    exit 0
    [stdout]
    butlerctl [VERSION]
      commit: none
      built: unknown
    ");
    assert_snapshot!(version(&env, &["--client", "-o", "json"])?, @r#"
    exit 0
    [stdout]
    {
      "apiVersion": "butler.butlerlabs.dev/v1alpha1",
      "kind": "Version",
      "client": {
        "program": "butlerctl",
        "version": "[VERSION]",
        "commit": "none",
        "built": "unknown"
      }
    }
    "#);
    Ok(())
}

#[tokio::test]
async fn a_server_that_answers_is_named_with_the_identity() -> Result<()> {
    let (env, plane) = (Env::new()?, ControlPlane::shared().await?);
    let kubeconfig = plane.kubeconfig().display().to_string();
    let answer = version(&env, &["--kubeconfig", &kubeconfig, "-o", "json"])?;
    assert_eq!(answer.stderr, "");
    let server = &answer.json()?["server"];
    assert!(server["kubernetes"].as_str().is_some_and(|version| version.starts_with("v1.34.")), "{server}");
    assert_eq!(server["address"].as_str().map(|address| address.trim_end_matches('/')), Some(plane.server()));
    assert!(server["identity"].as_str().is_some_and(|identity| identity.contains(&kubeconfig)), "{server}");
    Ok(())
}

#[test]
fn no_server_is_a_note_and_no_failure() -> Result<()> {
    let env = Env::new()?;
    let none = version(&env, &[])?;
    assert!(
        none.stderr.starts_with("note: no server version: ") && none.stderr.contains("BTL-1005"),
        "{none}"
    );
    // Nobody listens on port 1.
    let refused = kubeconfig(&env, "http://127.0.0.1:1")?;
    let refused = version(&env, &["--kubeconfig", &refused])?;
    assert!(refused.stderr.starts_with("note: ") && refused.stdout.starts_with("butlerctl v"), "{refused}");
    assert_eq!(version(&env, &["--quiet"])?.stderr, "");
    Ok(())
}

#[test]
fn a_server_that_hangs_holds_nobody_longer_than_two_seconds() -> Result<()> {
    let env = Env::new()?;
    let server = HttpServer::start(|_| Reply::Hang)?;
    let kubeconfig = kubeconfig(&env, &server.url())?;
    let start = Instant::now();
    let answer = version(&env, &["--kubeconfig", &kubeconfig])?;
    assert!(answer.stderr.contains("did not answer"), "{answer}");
    assert!(start.elapsed().as_secs() < 10, "{:?}", start.elapsed());
    Ok(())
}
