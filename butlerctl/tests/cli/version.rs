//! `version`, with a server, without one, and with one that does not answer.

use std::time::Instant;

use anyhow::Result;
use butler_tests::{
    Env,
    http::{HttpServer, Reply},
};
use insta::assert_snapshot;

use crate::support::{Butlerctl, plane, program};

#[test]
fn the_client_alone_asks_nobody() -> Result<()> {
    let env = Env::new()?;
    let client = |args: &[&str]| program(&env).args(["version", "--client"]).args(args).run();
    assert_snapshot!(client(&[])?, @"
    exit 0
    [stdout]
    butlerctl [VERSION]
      commit: none
      built: unknown
    ");
    assert_snapshot!(client(&["-o", "json"])?, @r#"
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
    let plane = plane().await?;
    let kubeconfig = plane.kubeconfig().display().to_string();
    let program = Butlerctl::new(plane.kubeconfig())?;
    let answer = program.run(["version", "--kubeconfig", &kubeconfig, "-o", "json"]).run()?.success()?;
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
    let none = program(&env).arg("version").run()?.success()?;
    assert!(
        none.stderr.starts_with("note: no server version: ") && none.stderr.contains("BTL-1005"),
        "{none}"
    );
    assert_eq!(program(&env).args(["version", "--quiet"]).run()?.success()?.stderr, "");
    // Nobody listens on port 1.
    let refused = Butlerctl::with_server("http://127.0.0.1:1")?.run(["version"]).run()?.success()?;
    assert!(refused.stderr.starts_with("note: ") && refused.stdout.starts_with("butlerctl v"), "{refused}");
    Ok(())
}

#[test]
fn a_server_that_hangs_holds_nobody_longer_than_two_seconds() -> Result<()> {
    let server = HttpServer::start(|_| Reply::Hang)?;
    let program = Butlerctl::with_server(&server.url())?;
    let start = Instant::now();
    let answer = program.run(["version"]).run()?.success()?;
    assert!(answer.stderr.contains("did not answer"), "{answer}");
    assert!(start.elapsed().as_secs() < 10, "{:?}", start.elapsed());
    Ok(())
}
