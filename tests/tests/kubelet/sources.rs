//! Where addons come from and go to outside of the cluster: checksums of a mirror, certificates, Azure.

use std::sync::{Arc, Mutex};

use anyhow::{Context, Result, ensure};
use butler_core::{
    bootstrap::addons::{AddonAction, BackendPool},
    error::{Diagnose, ErrorKind},
};
use butler_operator::addons::Installer;
use butler_tests::{
    http::{HttpServer, Reply, Request},
    pki::Authority,
};
use serde_json::{Value, json};

use crate::addons::{Bench, chain, sha256, step};

#[tokio::test]
async fn a_mirror_that_has_checksums_vouches_for_everything_that_is_taken_from_it() -> Result<()> {
    let bench = Bench::new().await?;
    let archive = bench.pack_chart()?;
    let dir = bench.env.work_dir().join("vouched");
    std::fs::create_dir(&dir)?;
    std::fs::write(dir.join("web-1.0.0.tgz"), &archive)?;
    let sums = dir.join("SHA256SUMS");
    let installer = bench.installer("vouched")?;
    let shop = bench.step("shop", json!({}));
    for (text, words) in [
        (String::new(), "does not list it"),
        (format!("{}  web-1.0.0.tgz\n", "0".repeat(64)), "SHA256SUMS says 0000"),
    ] {
        std::fs::write(&sums, text)?;
        let error = installer.install(&shop, &bench.target).await.expect_err(words);
        assert_eq!(error.kind(), ErrorKind::Invalid, "{}", chain(&error));
        assert!(chain(&error).contains(words), "{}", chain(&error));
    }
    std::fs::write(&sums, format!("{}  web-1.0.0.tgz\n", sha256(&archive)))?;
    let done = installer.install(&shop, &bench.target).await?;
    assert_eq!(done["status"], "deployed");
    Ok(())
}

#[tokio::test]
async fn a_repository_whose_certificate_has_expired_is_not_asked_twice() -> Result<()> {
    let bench = Bench::new().await?;
    let authority = Authority::new("somebody")?;
    for identity in [authority.expired_server()?, authority.server()?] {
        let server = HttpServer::start_tls(&identity, |_| Reply::status(200, "entries: {}"))?;
        let installer = bench.installer(&server.url())?;
        let error = installer.install(&bench.step("shop", json!({})), &bench.target).await.expect_err("tls");
        assert!(!error.is_retryable(), "{}", chain(&error));
        assert!(chain(&error).contains("certificate"), "{}", chain(&error));
        assert!(server.requests().is_empty(), "nothing was sent");
    }
    Ok(())
}

/// Azure's sign-in and resource manager, as much of them as is needed.
#[derive(Default)]
struct Azure {
    cards: Vec<(String, Value)>,
    /// No Service has asked for a load balancer yet.
    without_balancer: bool,
    refuses: bool,
}

const TOKEN: &str = "azure-token-hunter2";

fn serve(azure: &Mutex<Azure>, request: &Request) -> Reply {
    let mut azure = azure.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let path = request.path.split('?').next().unwrap_or_default();
    if path == "/tenant-1/oauth2/v2.0/token" {
        let body = String::from_utf8_lossy(&request.body);
        let right =
            body.contains("client_secret=s%2Fcret%26") && body.contains("grant_type=client_credentials");
        return match right {
            true => Reply::json(&json!({ "access_token": TOKEN })),
            false => Reply::status(400, "invalid_client"),
        };
    }
    let base = "/subscriptions/sub-1/resourceGroups/rg-1/providers/Microsoft.Network/";
    let known = request.header("authorization") == Some(&format!("Bearer {TOKEN}"))
        && request.path.ends_with("?api-version=2023-09-01");
    let Some(resource) = path.strip_prefix(base).filter(|_| known) else { return Reply::status(401, "") };
    let pools = json!([{ "name": "other", "id": "/p/other" }, { "name": "mgmt", "id": "/p/mgmt" }]);
    match (request.method.as_str(), resource) {
        ("GET", "loadBalancers/mgmt") if !azure.without_balancer => {
            Reply::json(&json!({ "properties": { "backendAddressPools": pools } }))
        }
        ("PUT", _) if azure.refuses => Reply::status(403, "no"),
        (method, _) => match azure.cards.iter_mut().find(|(name, _)| *name == resource) {
            Some((_, card)) if method == "PUT" => {
                *card = serde_json::from_slice(&request.body).unwrap_or_default();
                Reply::json(card)
            }
            Some((_, card)) => Reply::json(card),
            None => Reply::status(404, "{}"),
        },
    }
}

#[tokio::test]
async fn nodes_join_the_pool_that_azure_makes_for_services() -> Result<()> {
    let mut bench = Bench::new().await?;
    let credentials = [("tenantID", "tenant-1"), ("clientID", "client-1"), ("clientSecret", "s/cret&")];
    bench.target.credentials = Arc::new(credentials.into_iter().collect());
    let card = |pools: Value| {
        json!({ "etag": "1", "properties": { "ipConfigurations": [
            { "name": "a", "properties": { "loadBalancerBackendAddressPools": pools } }] } })
    };
    let cards = vec![
        ("networkInterfaces/worker-1-nic".to_owned(), card(Value::Null)),
        ("networkInterfaces/worker-2-nic".to_owned(), card(json!([{ "id": "/p/MGMT" }]))),
    ];
    let azure = Arc::new(Mutex::new(Azure { cards, without_balancer: true, refuses: true }));
    let shared = azure.clone();
    let server = HttpServer::start(move |request| serve(&shared, request))?;
    let pool = BackendPool {
        login: server.url(),
        management: server.url(),
        subscription: "sub-1".to_owned(),
        resource_group: "rg-1".to_owned(),
        name: "mgmt".to_owned(),
    };
    let work = step("cloud-lb-backend-pool", AddonAction::BackendPool(pool.clone()));
    let installer = bench.installer("nowhere")?;
    let set = |change: fn(&mut Azure)| change(&mut azure.lock().unwrap_or_else(|dead| dead.into_inner()));

    let error = installer.install(&work, &bench.target).await.expect_err("no load balancer");
    assert!(error.is_retryable() && chain(&error).contains("`mgmt` yet"), "{}", chain(&error));
    set(|azure| azure.without_balancer = false);
    let error = installer.install(&work, &bench.target).await.expect_err("may not write");
    assert_eq!(error.kind(), ErrorKind::Forbidden, "{}", chain(&error));
    assert!(!chain(&error).contains(TOKEN));
    set(|azure| azure.refuses = false);
    for (added, there) in
        [(json!(["worker-1"]), json!(["worker-2"])), (json!([]), json!(["worker-1", "worker-2"]))]
    {
        let done = installer.install(&work, &bench.target).await?;
        assert_eq!(
            (&done["backendPool"], &done["added"], &done["there"]),
            (&json!("/p/mgmt"), &added, &there)
        );
        let skipped = done["skipped"].as_array().context("a list")?;
        ensure!(skipped.contains(&json!("worker-3")), "a node without a card keeps nobody out: {done}");
    }
    let puts = server.requests().into_iter().filter(|request| request.method == "PUT").count();
    assert_eq!(puts, 2, "one that was refused, one that was not");

    let wrong = [("tenantID", "tenant-1"), ("clientID", "client-1"), ("clientSecret", "other")];
    bench.target.credentials = Arc::new(wrong.into_iter().collect());
    let error = installer.install(&work, &bench.target).await.expect_err("not signed in");
    assert_eq!(error.kind(), ErrorKind::Unauthenticated, "{}", chain(&error));
    let plain = BackendPool { login: "http://login.example".to_owned(), ..pool };
    let plain = step("plain", AddonAction::BackendPool(plain));
    let error = installer.install(&plain, &bench.target).await.expect_err("in clear");
    assert!(chain(&error).contains("https://"), "{}", chain(&error));
    Ok(())
}
