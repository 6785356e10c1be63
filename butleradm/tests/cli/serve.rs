//! `serve`: two replicas, one of which acts; restarts of the API server; wrong options.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use butler_core::{api::MachineRequest, cluster::crds};
use butler_tests::{ControlPlane, Env, Running, Signal, create, eventually};
use k8s_openapi::api::{coordination::v1::Lease, core::v1::Namespace};
use kube::{Api, Client, api::PostParams};
use serde_json::{Value, json};

const BUTLERADM: &str = env!("CARGO_BIN_EXE_butleradm");
const LIMIT: Duration = Duration::from_secs(60);

/// A platform without machines.
async fn platform() -> Result<(ControlPlane, Client)> {
    let plane = ControlPlane::start().await?;
    let client = plane.client().await?;
    let names = crds::apply(&client, false).await?;
    crds::established(&client, &names, LIMIT).await?;
    let namespace: Namespace = serde_json::from_value(json!({"metadata": {"name": "butler-system"}}))?;
    Api::all(client.clone()).create(&PostParams::default(), &namespace).await?;
    Ok((plane, client))
}

/// A replica and where it serves metrics.
struct Replica {
    process: Running,
    metrics: SocketAddr,
}

impl Replica {
    fn start(env: &Env, plane: &ControlPlane, args: &[&str]) -> Result<Self> {
        let mut process = env
            .command(BUTLERADM)
            .args(["serve", "--metrics", "127.0.0.1:0"])
            .args(args)
            .env("KUBECONFIG", plane.kubeconfig())
            .spawn()?;
        loop {
            let line = process.stderr_line(LIMIT)?;
            let line: Value = serde_json::from_str(&line).with_context(|| format!("not JSON: {line}"))?;
            if let Some(address) = line["address"].as_str() {
                return Ok(Self { process, metrics: address.parse()? });
            }
        }
    }

    fn get(&self, path: &str) -> Result<String> {
        let mut stream = TcpStream::connect(self.metrics)?;
        stream.set_read_timeout(Some(LIMIT))?;
        write!(stream, "GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    }

    fn leads(&self) -> Result<bool> {
        let page = self.get("/metrics")?;
        match page.lines().find_map(|line| line.strip_prefix("butler_controller_leader ")) {
            Some(value) => Ok(value == "1"),
            None => bail!("no gauge: {page}"),
        }
    }

    async fn until_leader(&self, leads: bool, limit: Duration) -> Result<()> {
        eventually(&format!("leader is {leads}"), limit, || async { Ok(self.leads()? == leads) }).await
    }
}

async fn holder(client: &Client) -> Result<Option<String>> {
    let leases: Api<Lease> = Api::namespaced(client.clone(), "butler-system");
    Ok(leases.get("butler-controller-leader").await?.spec.and_then(|spec| spec.holder_identity))
}

/// Asks for a machine at a provider that no driver exists for, and waits until somebody says so.
async fn judged(client: &Client, name: &str) -> Result<()> {
    let version = "butler.butlerlabs.dev/v1alpha1";
    let request = json!({
        "apiVersion": version, "kind": "MachineRequest", "metadata": {"name": name},
        "spec": {"machineName": name, "role": "worker", "providerRef": {"name": "nowhere"},
                 "cpu": 2, "memoryMB": 2048, "diskGB": 20},
    });
    create(client, Some("butler-system"), &request).await?;
    let machines: Api<MachineRequest> = Api::namespaced(client.clone(), "butler-system");
    eventually("somebody acts", LIMIT, || async {
        Ok(machines.get(name).await?.status.is_some_and(|status| status.phase.is_some()))
    })
    .await
}

#[tokio::test]
async fn a_killed_leader_is_followed_within_the_lease_and_a_stopped_one_at_once() -> Result<()> {
    let (plane, client) = platform().await?;
    let env = Env::new()?;
    let lease = ["--lease-duration", "6s"];
    let first = Replica::start(&env, &plane, &lease)?;
    first.until_leader(true, LIMIT).await?;
    let second = Replica::start(&env, &plane, &lease)?;
    eventually("it stands by", LIMIT, || async {
        Ok(second.get("/readyz")?.contains("\r\n\r\nstanding by\n") && !second.leads()?)
    })
    .await?;
    judged(&client, "a").await?;
    let was = holder(&client).await?.context("somebody holds it")?;

    let killed = Instant::now();
    first.process.signal(Signal::KILL);
    // The lease, and a little for a busy machine.
    second.until_leader(true, Duration::from_secs(6 + 4)).await?;
    let took = killed.elapsed();
    assert!(took > Duration::from_secs(2), "taken while the other could still act: {took:?}");
    assert_ne!(holder(&client).await?, Some(was));
    judged(&client, "b").await?;

    let third = Replica::start(&env, &plane, &["--lease-duration", "60s"])?;
    eventually("it stands by", LIMIT, || async { Ok(third.get("/readyz")?.contains("standing by")) }).await?;
    let stopped = Instant::now();
    second.process.signal(Signal::TERM);
    third.until_leader(true, Duration::from_secs(5)).await?;
    assert!(stopped.elapsed() < Duration::from_secs(5), "{:?}", stopped.elapsed());
    let ended = second.process.wait(LIMIT)?.success()?;
    for word in ["the lease is given up", "stopped"] {
        assert!(ended.stderr.contains(word), "{ended}");
    }
    judged(&client, "c").await?;
    third.process.signal(Signal::INT);
    let _ended = third.process.wait(LIMIT)?.success()?;
    assert_eq!(holder(&client).await?, None);
    Ok(())
}

#[tokio::test]
async fn a_leader_that_cannot_renew_stops_before_its_lease_ends_and_comes_back() -> Result<()> {
    let (plane, client) = platform().await?;
    let env = Env::new()?;
    let replica = Replica::start(&env, &plane, &["--lease-duration", "6s"])?;
    replica.until_leader(true, LIMIT).await?;
    plane.kill_api_server().await;
    let killed = Instant::now();
    replica.until_leader(false, LIMIT).await?;
    assert!(killed.elapsed() < Duration::from_secs(6), "{:?}", killed.elapsed());
    plane.start_api_server().await?;
    replica.until_leader(true, LIMIT).await?;
    judged(&client, "a").await?;
    Ok(())
}

#[tokio::test]
async fn a_server_that_is_not_there_yet_is_waited_for() -> Result<()> {
    let (plane, client) = platform().await?;
    plane.kill_api_server().await;
    let env = Env::new()?;
    let replica = Replica::start(&env, &plane, &["--no-leader-elect"])?;
    assert!(replica.get("/healthz")?.starts_with("HTTP/1.1 200"));
    let answer = replica.get("/readyz")?;
    assert!(answer.starts_with("HTTP/1.1 503") && answer.ends_with("connecting\n"), "{answer}");
    plane.start_api_server().await?;
    judged(&client, "a").await?;
    eventually("it is ready", LIMIT, || async { Ok(replica.get("/readyz")?.starts_with("HTTP/1.1 200")) })
        .await?;
    replica.process.signal(Signal::TERM);
    let ended = replica.process.wait(LIMIT)?.success()?;
    assert_eq!(ended.stdout, "");
    for line in ended.stderr.lines() {
        let line: Value = serde_json::from_str(line).with_context(|| format!("not JSON: {line}"))?;
        assert!(
            line["timestamp"].is_string() && line["level"].is_string() && line["message"].is_string(),
            "{line}"
        );
    }
    Ok(())
}

#[tokio::test]
async fn wrong_options_are_told_before_anything_starts() -> Result<()> {
    let plane = ControlPlane::shared().await?;
    let env = Env::new()?;
    let serve =
        |args: &[&str]| env.command(BUTLERADM).arg("serve").args(args).env("KUBECONFIG", plane.kubeconfig());
    let unknown = serve(&["--controllers", "machine-request,machines"]).run()?.failed_with(2)?;
    insta::assert_snapshot!(unknown, @"
    exit 2
    [stderr]
    error[BTL-1801]: there is no controller `machines`

    hint: one of: cluster-bootstrap, load-balancer-request, machine-request
    ");
    let taken = TcpListener::bind("127.0.0.1:0")?;
    let address = taken.local_addr()?.to_string();
    let refused = serve(&["--metrics", &address]).run()?.failed_with(1)?;
    insta::assert_snapshot!(refused, @"
    exit 1
    [stderr]
    error[BTL-1802]: cannot serve metrics and health on 127.0.0.1:PORT
      1: Address already in use (os error 98)

    hint: ss -ltnp
    hint: choose another port; 0 takes any that is free
    ");
    let short = serve(&["--lease-duration", "100ms"]).run()?.failed_with(2)?;
    assert!(short.stderr.contains("expected at least 1s"), "{short}");
    let pod = env.command(BUTLERADM).arg("serve").env("KUBERNETES_SERVICE_HOST", "127.0.0.1");
    let pod = pod.env("KUBERNETES_SERVICE_PORT", "1").run()?.failed_with(5)?;
    assert!(pod.stderr.contains("error[BTL-1803]"), "{pod}");
    Ok(())
}
