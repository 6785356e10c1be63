//! The KIND runtime against programs that answer as `docker` and `kind` are documented to, and a real API
//! server. `make test-kind` runs it with the real ones.

use std::{
    net::TcpListener,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::{Context, Result};
use butler_core::{
    error::{Code, Diagnose, ErrorKind},
    event::{Event, EventKind, Level, Reporter, RunId, run},
    settings::{Environment, Home},
};
use butler_operator::{
    parts::Parts,
    process::Guard,
    runtime::{
        KindRuntime, KindRuntimeOptions, Runtime, RuntimeError, TemporaryCluster,
        kind::{DEFAULT_NAME, LocalOptions},
    },
};
use butler_tests::ControlPlane;
use jiff::Timestamp;
use k8s_openapi::api::{apps::v1::Deployment, core::v1::ConfigMap};
use kube::{Api, api::PostParams};
use serde_json::json;

/// What `docker` does; `S` is where its state is.
const DOCKER: &str = r#"#!/bin/sh
S=@STATE@ PATH=/usr/bin:/bin
echo "docker $*" >>$S/log
case "$1" in
version) cat $S/version.json; [ ! -e $S/off ] || { echo "Cannot connect to the Docker daemon" >&2; exit 1; } ;;
context) printf '{"Name":"default","Endpoints":{"docker":{"Host":"unix://%s/docker.sock"}}}\n' $S ;;
info) printf '{"DockerRootDir":"%s"}\n' "$(cat $S/root)" ;;
ps) [ ! -e $S/inspect.json ] || echo f00d ;;
inspect) [ ! -e $S/coming ] || { rm $S/coming; echo "No such container" >&2; exit 1; }; cat $S/inspect.json ;;
start) sed -i 's/"Running":false/"Running":true/' $S/inspect.json ;;
image) [ ! -e $S/no-image ] || { echo "No such image" >&2; exit 1; } ;;
pull) rm $S/no-image; [ ! -e $S/no-way ] || { echo "dial tcp: lookup registry-1.docker.io: no such host" >&2; exit 1; } ;;
network) echo '[{"IPAM":{"Config":[{"Subnet":"172.20.0.0/16"}]}}]' ;;
exec)
    shift
    case "$*" in
    *"tee -a /etc/hosts") cat >>$S/hosts ;;
    *"cat /etc/hosts") cat $S/hosts ;;
    *"cat /etc/resolv.conf") printf 'nameserver 127.0.0.11\nnameserver 172.20.0.1\n' ;;
    *sysctl*) echo 'sysctl: permission denied on key' >&2; exit 255 ;;
    *update-ca-certificates) ;;
    *) exit 126 ;;
    esac ;;
*) exit 125 ;;
esac
"#;

/// What `kind` does: the cluster is one container, and its API server the one of the test.
const KIND: &str = r#"#!/bin/sh
S=@STATE@ PATH=/usr/bin:/bin
[ "$1" = version ] && { echo "kind v0.33.0 go1.26.3 linux/amd64"; exit; }
echo "kind $KIND_EXPERIMENTAL_PROVIDER $*" >>$S/log
command=$1
while [ $# -gt 0 ]; do
    case "$1" in
    --config) config=$2 ;;
    --kubeconfig) kubeconfig=$2 ;;
    --name) name=$2 ;;
    esac
    shift
done
case $command in
create)
    [ ! -e $S/inspect.json ] || { echo "ERROR: node(s) already exist for a cluster with the name \"$name\"" >&2; exit 1; }
    owner=$(sed -n 's/.*"hostPath": "\(.*\/owner\)".*/\1/p' $config)
    printf '[{"Name":"/%s-control-plane","State":{"Running":true},"Mounts":[{"Source":"%s"}]}]' $name $owner >$S/inspect.json
    [ ! -e $S/breaks ] || { echo "ERROR: failed to create cluster: the node did not come up" >&2; exit 1; }
    cp $S/kubeconfig $kubeconfig ;;
export) cp $S/kubeconfig $kubeconfig ;;
delete) rm -f $S/inspect.json $kubeconfig ;;
esac
"#;

struct Machine {
    dir: tempfile::TempDir,
}

impl Machine {
    fn new() -> Result<Self> {
        let machine = Self { dir: tempfile::tempdir()? };
        machine.program("docker", DOCKER)?;
        machine.program("kind", KIND)?;
        machine.write(
            "version.json",
            &json!({ "Client": {}, "Server": { "Version": "20.10.24+dfsg1" } }).to_string(),
        )?;
        machine.write("root", &machine.path("").display().to_string())?;
        machine.write("hosts", "127.0.0.1 localhost\n")?;
        machine.write("log", "")?;
        Ok(machine)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn write(&self, name: &str, text: &str) -> Result<()> {
        Ok(std::fs::write(self.path(name), text)?)
    }

    fn read(&self, name: &str) -> Result<String> {
        Ok(std::fs::read_to_string(self.path(name))?)
    }

    fn program(&self, name: &str, text: &str) -> Result<()> {
        let path = self.path("bin").join(name);
        std::fs::create_dir_all(self.path("bin"))?;
        // Written by another process: a child that another test starts meanwhile would hold our descriptor,
        // and what somebody writes cannot be executed.
        let text = text.replace("@STATE@", &self.dir.path().display().to_string());
        let write = r#"printf %s "$1" >"$0" && chmod 755 "$0""#;
        let written = std::process::Command::new("sh").args(["-c", write]).arg(path).arg(text).status()?;
        anyhow::ensure!(written.success(), "{name} was not written: {written}");
        Ok(())
    }

    fn environment(&self) -> Environment {
        // Nothing else is on PATH: the container engine of this computer, should there be one, is not meant.
        Environment::of([("PATH", self.path("bin")), ("BUTLER_HOME", self.path("home"))])
    }

    fn options(&self, run: &str) -> Result<KindRuntimeOptions> {
        let environment = self.environment();
        Ok(KindRuntimeOptions {
            dir: self.path("runs").join(run),
            run: RunId::new(Timestamp::now()),
            name: DEFAULT_NAME.to_owned(),
            image: Some("kindest/node:v1.34.4".to_owned()),
            name_servers: vec!["10.1.1.1".parse()?],
            certificates: Vec::new(),
            host_aliases: vec!["10.0.0.5 prism.corp".parse()?],
            endpoint_host: None,
            local: None,
            parts: Arc::new(Parts::new(&environment, &Home::resolve(&environment)?)),
            guard: Guard::start(&environment)?,
            environment,
        })
    }

    fn runtime(&self, run: &str) -> Result<KindRuntime> {
        Ok(KindRuntime::new(self.options(run)?))
    }

    async fn refusal(&self) -> Result<RuntimeError> {
        self.runtime("a")?.check().await.err().context("it should have been refused")
    }
}

async fn ensure(runtime: &KindRuntime) -> Result<(TemporaryCluster, Vec<String>), RuntimeError> {
    let mut warnings = Vec::new();
    let mut listen = |event: &Event| {
        if let EventKind::Log { level: Level::Warn, message, .. } = &event.kind {
            warnings.push(message.clone());
        }
    };
    let id = RunId::new(Timestamp::now());
    let made = run(id, &mut [&mut listen], async |reporter| runtime.ensure(&reporter).await).await?;
    Ok((made, warnings))
}

/// An API server with the CoreDNS that `kind` would have put there.
async fn api_server() -> Result<(ControlPlane, Api<ConfigMap>, Api<Deployment>)> {
    let plane = ControlPlane::start().await?;
    let client = plane.client().await?;
    let (maps, deployments) =
        (Api::namespaced(client.clone(), "kube-system"), Api::namespaced(client, "kube-system"));
    let map = json!({ "metadata": { "name": "coredns" }, "data": { "Corefile": "as made" } });
    maps.create(&PostParams::default(), &serde_json::from_value(map)?).await?;
    let labels = json!({ "k8s-app": "kube-dns" });
    let deployment = json!({ "metadata": { "name": "coredns" }, "spec": {
        "selector": { "matchLabels": labels },
        "template": { "metadata": { "labels": labels }, "spec": { "containers": [{ "name": "a", "image": "a" }] } },
    }});
    deployments.create(&PostParams::default(), &serde_json::from_value(deployment)?).await?;
    Ok((plane, maps, deployments))
}

#[tokio::test]
async fn a_cluster_is_made_furnished_used_again_and_deleted() -> Result<()> {
    let (plane, maps, deployments) = api_server().await?;
    let machine = Machine::new()?;
    std::fs::copy(plane.kubeconfig(), machine.path("kubeconfig"))?;
    let runtime = machine.runtime("a")?;
    runtime.check().await?;
    assert!(!machine.path("runs").exists(), "a check changes nothing");

    let (cluster, warnings) = ensure(&runtime).await?;
    assert!(!cluster.reused);
    assert_eq!(cluster.kubeconfig, machine.path("runs/a/kubeconfig"));
    let mode = |path: &Path| std::fs::metadata(path).map(|meta| meta.permissions().mode() & 0o777);
    assert_eq!((mode(&machine.path("runs/a"))?, mode(&cluster.kubeconfig)?), (0o700, 0o600));
    // Refused limits are said, once, and keep nothing from working.
    assert!(
        matches!(&warnings[..], [said] if said.contains("inotify") && said.contains("denied")),
        "{warnings:?}"
    );
    assert_eq!(machine.read("hosts")?, "127.0.0.1 localhost\n10.0.0.5 prism.corp\n");
    let corefile = maps.get("coredns").await?.data.context("data")?["Corefile"].clone();
    assert!(corefile.contains("forward . 172.20.0.1 10.1.1.1 {"), "{corefile}");
    assert!(corefile.contains("10.0.0.5 prism.corp"), "{corefile}");
    let restarted = deployments.get("coredns").await?.metadata.generation;
    assert_eq!(restarted, Some(2), "it was restarted");

    let (again, _) = ensure(&machine.runtime("a")?).await?;
    assert!(again.reused);
    assert_eq!(
        deployments.get("coredns").await?.metadata.generation,
        restarted,
        "there was nothing to change"
    );
    assert_eq!(machine.read("hosts")?.lines().count(), 2);

    let other = machine.runtime("b")?;
    for error in [other.check().await.err(), ensure(&other).await.err()] {
        let error = error.context("it is not theirs")?;
        assert_eq!((error.code(), error.kind()), (Code::ClusterNotOurs, ErrorKind::Conflict));
        assert!(error.to_string().contains(&machine.path("runs/a").display().to_string()), "{error}");
        assert!(error.hints().contains(&"kind delete cluster --name butler-bootstrap".to_owned()));
    }
    other.remove(&Reporter::null()).await?;
    assert!(machine.path("inspect.json").exists(), "what is another's is left alone");
    assert!(!machine.path("runs/b").exists());

    runtime.remove(&Reporter::null()).await?;
    assert!(!machine.path("inspect.json").exists() && !machine.path("runs/a").exists());
    runtime.remove(&Reporter::null()).await?;
    let log = machine.read("log")?;
    assert_eq!(log.matches("kind docker create").count(), 1, "{log}");
    assert_eq!(log.matches("kind docker delete").count(), 1, "{log}");
    assert!(
        log.lines().filter(|line| line.starts_with("kind")).all(|line| line.contains("--kubeconfig")),
        "{log}"
    );
    Ok(())
}

#[tokio::test]
async fn what_was_not_finished_or_stopped_is_brought_to_life() -> Result<()> {
    let (plane, ..) = api_server().await?;
    let machine = Machine::new()?;
    std::fs::copy(plane.kubeconfig(), machine.path("kubeconfig"))?;
    machine.write("breaks", "")?;
    let error = ensure(&machine.runtime("a")?).await.expect_err("kind fails");
    assert_eq!(error.code(), Code::EngineFailed);
    assert!(error.to_string().contains("the node did not come up"), "{error}");
    std::fs::remove_file(machine.path("breaks"))?;
    assert!(machine.path("inspect.json").exists(), "half a cluster is left");
    // The engine lists a container a moment before it knows it.
    machine.write("coming", "")?;
    let (cluster, warnings) = ensure(&machine.runtime("a")?).await?;
    assert!(!cluster.reused && warnings[0].contains("not finished"), "{warnings:?}");
    assert!(!machine.path("coming").exists());

    let stopped = machine.read("inspect.json")?.replace("true", "false");
    machine.write("inspect.json", &stopped)?;
    std::fs::remove_file(&cluster.kubeconfig)?;
    let (cluster, _) = ensure(&machine.runtime("a")?).await?;
    assert!(cluster.reused && cluster.kubeconfig.exists());
    assert!(machine.read("inspect.json")?.contains(r#""Running":true"#));
    Ok(())
}

#[tokio::test]
async fn a_local_cluster_publishes_the_console_and_stays() -> Result<()> {
    let (plane, ..) = api_server().await?;
    let machine = Machine::new()?;
    std::fs::copy(plane.kubeconfig(), machine.path("kubeconfig"))?;
    let taken = TcpListener::bind("127.0.0.1:0")?;
    let console_port = taken.local_addr()?.port();
    let local = || -> Result<KindRuntime> {
        let local = Some(LocalOptions { console_port });
        Ok(KindRuntime::new(KindRuntimeOptions { local, name: "dev".into(), ..machine.options("a")? }))
    };
    let error = local()?.check().await.expect_err("the port is taken");
    assert_eq!(error.code(), Code::RuntimePortTaken);
    assert!(error.to_string().contains(&format!("process {}", std::process::id())), "{error}");
    drop(taken);

    let runtime = local()?;
    // Its DNS never gets ready here, which is said after a while; that is not what this test waits for.
    let pending = async { ensure(&runtime).await.map(drop) };
    let config = machine.path("runs/a/kind.json");
    tokio::select! {
        result = pending => result?,
        found = butler_tests::eventually("it is made", std::time::Duration::from_secs(60), async || {
            Ok(machine.path("runs/a/made").exists())
        }) => found?,
    }
    let config: serde_json::Value = serde_json::from_slice(&std::fs::read(config)?)?;
    assert_eq!(config["nodes"][0]["extraPortMappings"][0]["hostPort"], console_port);
    let mounts = config["nodes"][0]["extraMounts"].as_array().context("mounts")?;
    assert!(mounts.iter().any(|mount| mount["containerPath"] == "/var/run/docker.sock"), "{mounts:?}");
    assert_eq!(
        runtime.load_balancer_pool(&Reporter::null()).await?,
        Some(("172.20.255.200".parse()?, "172.20.255.250".parse()?))
    );

    runtime.remove(&Reporter::null()).await?;
    assert!(machine.path("inspect.json").exists(), "a management cluster is not temporary");
    runtime.delete(&Reporter::null()).await?;
    assert!(!machine.path("inspect.json").exists());
    Ok(())
}

#[tokio::test]
async fn everything_that_is_in_the_way_is_told_apart() -> Result<()> {
    let machine = Machine::new()?;
    machine.runtime("a")?.check().await?;

    machine.write("root", "/proc")?;
    let error = machine.refusal().await?;
    assert_eq!((error.code(), error.hints()), (Code::RuntimeNoSpace, vec!["df -h /proc".to_owned()]));

    machine.write("version.json", r#"{"Client":{},"Server":{"Version":"19.03.15"}}"#)?;
    let error = machine.refusal().await?;
    assert_eq!(error.code(), Code::EngineTooOld);
    assert_eq!(error.to_string(), "`docker` is version 19.3.15, and the oldest that works is 20.10.0");

    machine.write("version.json", r#"{"Client":{"Version":"27.0.0"},"Server":null}"#)?;
    machine.write("off", "")?;
    let error = machine.refusal().await?;
    assert_eq!((error.code(), error.kind()), (Code::EngineNotRunning, ErrorKind::Transient));
    assert!(error.to_string().contains("docker.sock"), "{error}");
    assert_eq!(error.hints(), ["sudo systemctl start docker", "docker info"]);

    let _listens = std::os::unix::net::UnixListener::bind(machine.path("docker.sock"))?;
    let error = machine.refusal().await?;
    assert_eq!(error.code(), Code::EngineFailed, "somebody is there, so its own words count");
    assert!(error.to_string().contains("Cannot connect to the Docker daemon"), "{error}");

    std::fs::remove_file(machine.path("bin/docker"))?;
    let error = machine.refusal().await?;
    assert_eq!((error.code(), error.kind()), (Code::EngineMissing, ErrorKind::NotFound));
    assert!(error.hints()[0].contains("runtime: process"));
    Ok(())
}

#[tokio::test]
async fn kind_and_settings_are_looked_at_before_anything_is_made() -> Result<()> {
    let machine = Machine::new()?;
    std::fs::remove_file(machine.path("bin/kind"))?;
    let error = machine.refusal().await?;
    assert_eq!(
        (error.code(), error.hints()),
        (Code::PartNotFound, vec!["butleradm tools install kind".to_owned()])
    );

    let bad_name = KindRuntimeOptions { name: "Butler Bootstrap".to_owned(), ..machine.options("a")? };
    let loopback = KindRuntimeOptions { name_servers: vec!["127.0.0.53".parse()?], ..machine.options("a")? };
    for options in [bad_name, loopback] {
        let error = ensure(&KindRuntime::new(options)).await.expect_err("it cannot be used");
        assert_eq!((error.code(), error.kind()), (Code::RuntimeSettings, ErrorKind::Invalid), "{error}");
    }
    assert!(!machine.path("runs").exists());
    Ok(())
}

#[tokio::test]
async fn an_image_that_is_missing_is_pulled_or_named() -> Result<()> {
    let (plane, ..) = api_server().await?;
    let machine = Machine::new()?;
    std::fs::copy(plane.kubeconfig(), machine.path("kubeconfig"))?;
    machine.write("no-image", "")?;
    machine.write("no-way", "")?;
    let error = ensure(&machine.runtime("a")?).await.expect_err("there is no way to the registry");
    assert_eq!((error.code(), error.kind()), (Code::NodeImageMissing, ErrorKind::Failed));
    assert_eq!(
        error.to_string(),
        "`docker` has no image `kindest/node:v1.34.4` and cannot pull it: \
         dial tcp: lookup registry-1.docker.io: no such host"
    );
    assert_eq!(error.hints()[0], "docker pull kindest/node:v1.34.4");
    assert!(!machine.path("inspect.json").exists(), "kind was not even asked");

    std::fs::remove_file(machine.path("no-way"))?;
    machine.write("no-image", "")?;
    ensure(&machine.runtime("a")?).await?;
    assert!(!machine.path("no-image").exists(), "it was pulled");
    Ok(())
}

/// A `kind` that never ends, and says who it is.
const SLOW_KIND: &str = r#"#!/bin/sh
[ "$1" = version ] && { echo "kind v0.33.0 go1.26.3 linux/amd64"; exit; }
echo $$ >@STATE@/kind.pid
/bin/sleep 1000
"#;

#[tokio::test]
async fn kind_ends_with_whoever_asked_for_it() -> Result<()> {
    let machine = Machine::new()?;
    machine.program("kind", SLOW_KIND)?;
    let runtime = machine.runtime("a")?;
    let group = || -> Result<i32> { Ok(machine.read("kind.pid")?.trim().parse()?) };
    let nobody = Reporter::null();
    tokio::select! {
        made = runtime.ensure(&nobody) => anyhow::bail!("it cannot have been made: {made:?}"),
        begun = butler_tests::eventually("kind runs", std::time::Duration::from_secs(60), async || {
            Ok(group().is_ok())
        }) => begun?,
    }
    // Its own child is a member of its group.
    let gone = |group: i32| -> Result<bool> {
        let group = rustix::process::Pid::from_raw(group).context("a group")?;
        Ok(rustix::process::test_kill_process_group(group).is_err())
    };
    butler_tests::eventually("kind and its child are gone", std::time::Duration::from_secs(60), async || {
        gone(group()?)
    })
    .await
}

#[tokio::test]
async fn what_the_engine_made_after_a_cut_is_replaced() -> Result<()> {
    let (plane, ..) = api_server().await?;
    let machine = Machine::new()?;
    std::fs::copy(plane.kubeconfig(), machine.path("kubeconfig"))?;
    let runtime = machine.runtime("a")?;
    // An attempt was cut off; what it had asked for comes while the next one asks again.
    std::fs::create_dir_all(machine.path("runs/a"))?;
    machine.write("runs/a/owner", "")?;
    let late = KIND.replace(
        "create)\n",
        "create)\n    [ -e $S/came ] || { touch $S/came; printf '[{\"Name\":\"/x\",\"State\":{\"Running\":true},\"Mounts\":[{\"Source\":\"'$S/runs/a/owner'\"}]}]' >$S/inspect.json; }\n",
    );
    machine.program("kind", &late)?;
    let (cluster, _) = ensure(&runtime).await?;
    assert!(!cluster.reused);
    let log = machine.read("log")?;
    assert_eq!(log.matches("kind docker create").count(), 2, "{log}");
    assert_eq!(log.matches("kind docker delete").count(), 1, "{log}");
    Ok(())
}
