//! As whom the program speaks, and that it keeps what makes it so to itself.

use anyhow::{Context, Result};
use base64::{Engine, prelude::BASE64_STANDARD};
use butler_core::settings::home::{make_private_dir, write_private};
use butler_tests::{
    Env,
    http::{HttpServer, Reply},
};
use serde_json::json;

use crate::support::{LIMIT, program};

/// In the kubeconfig of the login, and nowhere else.
const TOKEN: &str = "s3cret-token-of-the-login";
const REFRESH: &str = "s3cret-refresh-of-the-login";

/// An environment with a login whose API server is `server`.
fn signed_in(server: &str) -> Result<Env> {
    let env = Env::new()?;
    make_private_dir(&env.butler_home())?;
    let kubeconfig = format!(
        "current-context: main\ncontexts: [{{name: main, context: {{cluster: c, user: u}}}}]\n\
         users: [{{name: u, user: {{token: {TOKEN}}}}}]\nclusters: [{{name: c, cluster: {{server: '{server}'}}}}]\n"
    );
    let store = json!({"activeServer": "https://butler.example", "servers": {"https://butler.example": {
        "user": {"email": " Alice@Example.com"}, "kubeconfig": BASE64_STANDARD.encode(kubeconfig),
        "refreshToken": REFRESH, "expiresAt": "2030-01-02T00:00:00Z"}}});
    write_private(&env.butler_home().join("credentials.json"), store.to_string().as_bytes())?;
    Ok(env)
}

fn table() -> Reply {
    Reply::json(&json!({
        "kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": {"resourceVersion": "1"},
        "columnDefinitions": [], "rows": [],
    }))
}

#[test]
fn a_login_speaks_as_the_person_with_the_token_of_the_login() -> Result<()> {
    let server = HttpServer::start(|_| table())?;
    let env = signed_in(&server.url())?;
    let _ = program(&env).args(["cluster", "list"]).timeout(LIMIT).run()?;
    let request = server.requests().into_iter().next().context("nothing was asked")?;
    assert_eq!(request.header("authorization"), Some(format!("Bearer {TOKEN}").as_str()));
    assert_eq!(request.header("impersonate-user"), Some("alice@example.com"));
    let groups: Vec<&str> = request
        .headers
        .iter()
        .filter(|(name, _)| name == "impersonate-group")
        .map(|(_, value)| value.as_str())
        .collect();
    assert_eq!(groups, ["butler-api-users", "system:authenticated"]);
    Ok(())
}

#[test]
fn no_verbosity_shows_what_makes_a_login() -> Result<()> {
    let server = HttpServer::start(|_| table())?;
    let refusing = HttpServer::start(|_| Reply::status(401, "{}"))?;
    for url in [server.url(), refusing.url(), "https://127.0.0.1:1".to_owned()] {
        let env = signed_in(&url)?;
        for verbosity in ["-v", "-vv", "-vvv"] {
            for format in ["table", "json"] {
                let run = program(&env).args(["cluster", "list", verbosity, "-o", format]);
                let output = run.env("RUST_LOG", "trace").timeout(LIMIT).run()?;
                let said = format!("{}{}", output.stdout, output.stderr);
                assert!(said.contains("alice@example.com"), "{verbosity} says who: {said}");
                for secret in [TOKEN, REFRESH, "s3cret", &BASE64_STANDARD.encode(TOKEN)[..16]] {
                    assert!(!said.contains(secret), "{secret} with {verbosity} on {url}: {said}");
                }
            }
        }
    }
    Ok(())
}
