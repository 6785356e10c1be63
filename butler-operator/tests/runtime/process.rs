//! etcd and kube-apiserver as children, for real.

use std::{
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Arc,
    time::Duration,
};

use anyhow::{Context, Result, ensure};
use butler_core::{
    bootstrap::config::RuntimeKind,
    error::{Code, Diagnose},
    event::{Event, EventKind, Level, Reporter, RunId, run},
    settings::{Environment, Home},
};
use butler_operator::{
    parts::Parts,
    plane,
    process::{Guard, listeners},
    runtime::{ProcessRuntime, ProcessRuntimeOptions, Runtime, RuntimeError, TemporaryCluster},
};
use butler_tests::{eventually, parts};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Client, api::PostParams};
use serde_json::json;

const LIMIT: Duration = Duration::from_secs(60);
const ROLE_DIR: &str = "BUTLER_TEST_ROLE_DIR";

fn runtime(dir: &Path) -> Result<ProcessRuntime> {
    let guard = Guard::start(&Environment::capture())?;
    Ok(ProcessRuntime::new(ProcessRuntimeOptions { dir: dir.to_owned(), parts: Arc::new(parts()?), guard }))
}

/// Ensures it, and returns its warnings too.
async fn ensure_it(runtime: &ProcessRuntime) -> Result<(TemporaryCluster, Vec<String>), RuntimeError> {
    let mut warnings = Vec::new();
    let mut listen = |event: &Event| {
        if let EventKind::Log { level: Level::Warn, message, .. } = &event.kind {
            warnings.push(message.clone());
        }
    };
    let made = run(RunId::new(Timestamp::now()), &mut [&mut listen], async |reporter| {
        runtime.ensure(&reporter).await
    })
    .await?;
    Ok((made, warnings))
}

async fn client(cluster: &TemporaryCluster) -> Result<Client> {
    Ok(plane::client(&cluster.kubeconfig).await?)
}

async fn write(cluster: &TemporaryCluster, name: &str) -> Result<()> {
    let maps: Api<ConfigMap> = Api::namespaced(client(cluster).await?, "default");
    let map = serde_json::from_value(json!({ "metadata": { "name": name } }))?;
    maps.create(&PostParams::default(), &map).await?;
    Ok(())
}

async fn has(cluster: &TemporaryCluster, name: &str) -> Result<bool> {
    let maps: Api<ConfigMap> = Api::namespaced(client(cluster).await?, "default");
    Ok(maps.get_opt(name).await?.is_some())
}

fn mode(path: &Path) -> Result<u32> {
    Ok(std::fs::metadata(path)?.permissions().mode() & 0o777)
}

fn ports(dir: &Path) -> Result<serde_json::Value> {
    Ok(serde_json::from_slice(&std::fs::read(dir.join("ports.json"))?)?)
}

#[tokio::test]
async fn it_answers_keeps_its_data_and_is_gone_after_removal() -> Result<()> {
    let home = tempfile::tempdir()?;
    let dir = home.path().join("run/runtime");
    let runtime = runtime(&dir)?;
    assert_eq!(runtime.kind(), RuntimeKind::Process);
    runtime.check().await?;
    assert!(!dir.exists(), "a check changes nothing");

    let (cluster, warnings) = ensure_it(&runtime).await?;
    assert!(!cluster.reused && warnings.is_empty(), "{warnings:?}");
    assert_eq!((mode(&dir)?, mode(&cluster.kubeconfig)?), (0o700, 0o600));
    write(&cluster, "kept").await?;
    let (again, _) = ensure_it(&runtime).await?;
    assert!(again.reused && again.kubeconfig == cluster.kubeconfig);

    // A second owner is refused while the first one lives, and goes on where it was afterwards.
    let second = self::runtime(&dir)?;
    let error = second.ensure(&Reporter::null()).await.expect_err("it is held");
    assert_eq!(error.code(), Code::RuntimeBusy);
    assert!(error.to_string().contains(&std::process::id().to_string()), "{error}");
    assert_eq!(second.remove(&Reporter::null()).await.expect_err("held").code(), Code::RuntimeBusy);
    let before = ports(&dir)?;
    drop(runtime);
    let (cluster, warnings) = ensure_it(&second).await?;
    assert!(cluster.reused && warnings.is_empty(), "{warnings:?}");
    assert!(has(&cluster, "kept").await?);
    assert_eq!(ports(&dir)?, before, "an exported kubeconfig stays good");

    let address = before["api"].as_str().context("an address")?.parse()?;
    assert!(listeners::who_has(address).is_some());
    second.remove(&Reporter::null()).await?;
    assert!(!dir.exists());
    assert_eq!(listeners::who_has(address), None);
    second.remove(&Reporter::null()).await?;
    Ok(())
}

#[tokio::test]
async fn a_dead_api_server_is_started_again_and_a_lost_port_is_replaced() -> Result<()> {
    let home = tempfile::tempdir()?;
    let dir = home.path().join("runtime");
    let first = runtime(&dir)?;
    let (cluster, _) = ensure_it(&first).await?;
    write(&cluster, "kept").await?;
    let address: std::net::SocketAddr = ports(&dir)?["api"].as_str().context("an address")?.parse()?;
    let pid = listeners::all()
        .into_iter()
        .find(|listener| listener.address == address)
        .and_then(|listener| listener.holder())
        .context("somebody listens")?
        .pid;
    let pid = rustix::process::Pid::from_raw(pid.try_into()?).context("a process id")?;
    rustix::process::kill_process(pid, rustix::process::Signal::KILL)?;
    eventually("the API server is gone", LIMIT, async || Ok(listeners::who_has(address).is_none())).await?;
    let (cluster, _) = ensure_it(&first).await?;
    assert!(cluster.reused && has(&cluster, "kept").await?);

    drop(first);
    let _stranger = std::net::TcpListener::bind(address)?;
    let second = runtime(&dir)?;
    let (cluster, _) = ensure_it(&second).await?;
    assert!(cluster.reused && has(&cluster, "kept").await?, "with another port");
    assert_ne!(ports(&dir)?["api"], address.to_string());
    second.remove(&Reporter::null()).await?;
    Ok(())
}

#[tokio::test]
async fn damaged_data_and_keys_are_replaced_and_that_is_said() -> Result<()> {
    let home = tempfile::tempdir()?;
    let dir = home.path().join("runtime");
    let first = runtime(&dir)?;
    let (cluster, _) = ensure_it(&first).await?;
    write(&cluster, "lost").await?;
    drop(first);
    std::fs::write(dir.join("pki/cluster/ca.key"), "torn")?;
    let second = runtime(&dir)?;
    let (cluster, warnings) = ensure_it(&second).await?;
    assert!(cluster.reused && has(&cluster, "lost").await?, "the data is whole");
    assert!(matches!(&warnings[..], [said] if said.contains("certificates")), "{warnings:?}");
    drop(second);

    let snapshots = dir.join("etcd/member/snap/db");
    std::fs::write(&snapshots, vec![0x55; 4096 * 8])?;
    let third = runtime(&dir)?;
    let (cluster, warnings) = ensure_it(&third).await?;
    assert!(!cluster.reused && !has(&cluster, "lost").await?);
    assert!(matches!(&warnings[..], [said] if said.contains("begins anew")), "{warnings:?}");
    third.remove(&Reporter::null()).await?;
    Ok(())
}

#[tokio::test]
async fn what_is_missing_is_named_before_anything_starts() -> Result<()> {
    let home = tempfile::tempdir()?;
    let environment = Environment::of([("BUTLER_HOME", home.path()), ("PATH", Path::new("/nowhere"))]);
    let parts = Parts::new(&environment, &Home::resolve(&environment)?);
    let guard = Guard::start(&environment)?;
    let dir = home.path().join("runtime");
    let options = ProcessRuntimeOptions { dir: dir.clone(), parts: Arc::new(parts), guard };
    let error = ProcessRuntime::new(options).check().await.expect_err("there is no etcd");
    assert_eq!(
        (error.code(), error.hints()),
        (Code::PartNotFound, vec!["butleradm tools install etcd".into()])
    );
    // No directory can be made below a file.
    std::fs::write(home.path().join("file"), "")?;
    let below = runtime(&home.path().join("file/runtime"))?;
    let error = below.ensure(&Reporter::null()).await.expect_err("it cannot be made");
    assert_eq!(error.code(), Code::FileUnwritable, "{error}");
    Ok(())
}

/// Runs a control plane, and waits to be killed.
#[test]
#[ignore = "a role that the test below starts"]
fn owner_that_is_killed() -> Result<()> {
    let dir: PathBuf = Environment::capture().path(ROLE_DIR).context("a role is started by a test")?;
    let rt = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let owner = runtime(&dir)?;
    let cluster = rt.block_on(owner.ensure(&Reporter::null()))?;
    rt.block_on(write(&cluster, "kept"))?;
    loop {
        std::thread::park();
    }
}

#[tokio::test]
async fn killed_with_its_owner_it_comes_back_with_its_data() -> Result<()> {
    let home = tempfile::tempdir()?;
    let dir = home.path().join("runtime");
    let mut owner = Command::new(std::env::current_exe()?)
        .args(["--exact", "process::owner_that_is_killed", "--ignored", "--test-threads=1"])
        .env(ROLE_DIR, &dir)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()?;
    let kubeconfig = dir.join("kubeconfig");
    let cluster = TemporaryCluster { kubeconfig, reused: false };
    let seen = eventually("the owner has written", LIMIT, async || has(&cluster, "kept").await).await;
    owner.kill()?;
    owner.wait()?;
    seen?;
    // At once: its children may still be there.
    let next = runtime(&dir)?;
    let (cluster, warnings) = ensure_it(&next).await?;
    ensure!(cluster.reused && warnings.is_empty(), "{warnings:?}");
    assert!(has(&cluster, "kept").await?);
    next.remove(&Reporter::null()).await?;
    assert!(!dir.exists());
    Ok(())
}
