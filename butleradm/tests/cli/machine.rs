//! `machine` on a real API server, with controllers in this process and a provider in memory.

use std::{sync::Arc, time::Duration};

use anyhow::Result;
use butler_core::{api::MachineRequest, cluster::crds};
use butler_operator::{
    controller::{self, Options, Timing},
    driver::ErrorClass,
};
use butler_tests::{Call, ControlPlane, Env, Invocation, Provider, create, eventually};
use k8s_openapi::api::core::v1::Namespace;
use kube::{Api, Client, api::PostParams};
use serde_json::json;
use tokio_util::sync::CancellationToken;

const BUTLERADM: &str = env!("CARGO_BIN_EXE_butleradm");
const LIMIT: Duration = Duration::from_secs(60);

/// A platform whose controllers run until this value is dropped.
struct Platform {
    plane: ControlPlane,
    client: Client,
    provider: Provider,
    env: Arc<Env>,
    stop: CancellationToken,
}

impl Drop for Platform {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl Platform {
    async fn new() -> Result<Self> {
        let plane = ControlPlane::start().await?;
        let client = plane.client().await?;
        let names = crds::apply(&client, false).await?;
        crds::established(&client, &names, LIMIT).await?;
        for name in ["butler-system", "infra"] {
            let namespace: Namespace = serde_json::from_value(json!({"metadata": {"name": name}}))?;
            Api::all(client.clone()).create(&PostParams::default(), &namespace).await?;
        }
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "lab"}});
        let config = json!({
            "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "ProviderConfig", "metadata": {"name": "lab"},
            "spec": {"provider": "harvester", "credentialsRef": {"name": "lab"}, "harvester": {"networkName": "a/b"}},
        });
        for object in [secret, config] {
            create(&client, Some("butler-system"), &object).await?;
        }
        let (provider, stop) = (Provider::that_tells(), CancellationToken::new());
        let options = Options {
            controllers: Vec::new(),
            metrics: None,
            election: None,
            identity: controller::identity(),
            owner: None,
            connect: provider.connect(),
            timing: Timing { pending: Duration::from_millis(100), ..Timing::default() },
            bootstrap: None,
        };
        tokio::spawn(controller::run(client.clone(), options, stop.clone()));
        Ok(Self { plane, client, provider, env: Arc::new(Env::new()?), stop })
    }

    fn machine(&self, args: &[&str]) -> Invocation {
        self.env.command(BUTLERADM).arg("machine").args(args).env("KUBECONFIG", self.plane.kubeconfig())
    }

    /// Runs a program while the controllers go on.
    async fn run(&self, args: &[&str]) -> Result<butler_tests::Output> {
        let invocation = self.machine(args);
        tokio::task::spawn_blocking(move || invocation.run()).await?
    }
}

/// Ages are counted from a fixed clock; the weeks until then become fewer, but not their digits.
fn text(output: &butler_tests::Output) -> String {
    let week = |word: &str| {
        let weeks =
            word.strip_suffix('w').is_some_and(|n| n.len() == 3 && n.bytes().all(|b| b.is_ascii_digit()));
        if weeks { "NNNw".to_owned() } else { word.to_owned() }
    };
    let line = |line: &str| line.split(' ').map(week).collect::<Vec<_>>().join(" ") + "\n";
    output.to_string().lines().map(line).collect()
}

#[tokio::test]
async fn a_person_makes_looks_at_and_removes_a_machine() -> Result<()> {
    let platform = Platform::new().await?;
    let made =
        platform.run(&["create", "cp-0", "--provider", "lab", "--role", "control-plane", "--wait"]).await?;
    insta::assert_snapshot!(made.success()?, @"
    exit 0
    [stderr]
    machine request `cp-0` in namespace `butler-system` created
    machine `cp-0`: Running
    ");
    let twice = platform.run(&["create", "cp-0", "--provider", "lab"]).await?.failed_with(1)?;
    assert!(
        twice.stderr.contains("BTL-1110") && twice.stderr.contains("hint: butleradm machine get cp-0"),
        "{twice}"
    );
    let listed = platform.run(&["list"]).await?.success()?;
    insta::assert_snapshot!(text(&listed), @"
    exit 0
    [stdout]
    NAME  ROLE           PHASE    ADDRESS     PROVIDER  AGE
    cp-0  control-plane  Running  127.50.0.1  lab       NNNw
    ");
    let wide = platform.run(&["list", "-A", "-o", "wide"]).await?.success()?;
    insta::assert_snapshot!(text(&wide), @"
    exit 0
    [stdout]
    NAME  NAMESPACE      ROLE           PHASE    ADDRESS     PROVIDER  CPU  MEMORY  DISK  MACHINE  PROVIDER ID  AGE
    cp-0  butler-system  control-plane  Running  127.50.0.1  lab       2    4096MB  20GB  cp-0     vm-1         NNNw
    ");
    let page = platform.run(&["get", "cp-0"]).await?.success()?;
    insta::assert_snapshot!(text(&page), @"
    exit 0
    [stdout]
    Name:        cp-0
    Namespace:   butler-system
    Machine:     cp-0
    Role:        control-plane
    Phase:       Running
    Provider:    lab
    Provider ID: vm-1
    Address:     127.50.0.1
    MAC:         02:00:00:00:00:01
    Size:        2 CPU, 4096 MB memory, 20 GB disk
    Image:       <default of the provider>
    Age:         NNNw

    Conditions
    TYPE         STATUS  AGE   REASON   MESSAGE
    Progressing  False   NNNw  Running  the machine is running
    Ready        True    NNNw  Running  the machine is running
    ");
    let address = platform.run(&["get", "cp-0", "-o", "jsonpath={.status.ipAddress}"]).await?.success()?;
    assert_eq!(address.stdout, "127.50.0.1");
    assert_eq!(platform.run(&["list", "-o", "name"]).await?.success()?.stdout, "machinerequest/cp-0\n");
    let json = platform.run(&["list", "-o", "json"]).await?.success()?.json()?;
    assert_eq!(json["items"][0]["spec"]["memoryMB"], 4096);
    assert!(json["items"][0]["metadata"]["managedFields"].is_null());

    let asked = platform.run(&["delete", "cp-0"]).await?.failed_with(2)?;
    insta::assert_snapshot!(asked, @"
    exit 2
    [stderr]
    machine request `cp-0` in namespace `butler-system`: machine `cp-0` (vm-1) at provider `lab`, with its disks
    error[BTL-1208]: cannot ask `Type the name to remove machine `cp-0`` without a terminal

    hint: repeat with --yes and the name that is asked for
    hint: butleradm sandbox reset --help
    ");
    let tried = platform.run(&["delete", "cp-0", "--dry-run"]).await?.success()?;
    assert!(tried.stderr.ends_with("nothing was removed (dry run)\n"), "{tried}");
    assert!(platform.provider.machine("cp-0").is_some());
    let gone = platform.run(&["delete", "cp-0", "--yes", "--wait"]).await?.success()?;
    insta::assert_snapshot!(gone, @"
    exit 0
    [stderr]
    machine request `cp-0` in namespace `butler-system`: machine `cp-0` (vm-1) at provider `lab`, with its disks
    machine `cp-0` is gone
    ");
    assert!(platform.provider.machine("cp-0").is_none());
    let none = platform.run(&["list"]).await?.success()?;
    assert_eq!(none.stderr, "no machines in namespace `butler-system`\n");
    Ok(())
}

#[tokio::test]
async fn a_removal_asks_for_the_name_and_nothing_else_will_do() -> Result<()> {
    let platform = Platform::new().await?;
    let made = platform.run(&["create", "cp-0", "--provider", "lab", "--wait"]).await?.success()?;
    assert_eq!(made.stdout, "");
    for (typed, code) in [("yes", 130), ("cp-0", 0)] {
        let mut pty = platform.machine(&["delete", "cp-0"]).pty(120, 20)?;
        pty.wait_until("a question", LIMIT, |screen| {
            screen.contains("Type the name to remove machine `cp-0`")
        })?;
        pty.send(&format!("{typed}\r"))?;
        assert_eq!(pty.wait(LIMIT)?.exit_code(), code, "{typed}");
    }
    eventually("it is gone", LIMIT, || async { Ok(platform.provider.machine("cp-0").is_none()) }).await
}

#[tokio::test]
async fn failures_are_told_with_the_providers_words_and_the_next_command() -> Result<()> {
    let platform = Platform::new().await?;
    platform.provider.fails(Call::Create, Some((ErrorClass::Quota, "VcpuLimitExceeded: 32 of 32")));
    let failed =
        platform.run(&["create", "a", "--provider", "butler-system/lab", "--wait", "-n", "infra"]).await?;
    insta::assert_snapshot!(failed.failed_with(1)?, @"
    exit 1
    [stderr]
    machine request `a` in namespace `infra` created
    machine `a`: Failed
    error[BTL-1804]: machine `a` failed (QuotaExceeded)
      1: cannot create machine `a`: VcpuLimitExceeded: 32 of 32

    hint: butleradm machine get a -n infra
    hint: kubectl describe machinerequest a -n infra
    ");
    let typo = platform.run(&["get", "aa", "-n", "infra"]).await?.failed_with(3)?;
    insta::assert_snapshot!(typo, @r#"
    exit 3
    [stderr]
    error[BTL-1101]: cannot get machine request `aa` in namespace `infra`
      1: machinerequests.butler.butlerlabs.dev "aa" not found

    hint: did you mean `a`
    hint: butleradm machine list -A
    "#);
    // A provider that this program has no driver for.
    let power = platform.run(&["power", "a", "off", "-n", "infra"]).await?.failed_with(2)?;
    insta::assert_snapshot!(power, @"
    exit 2
    [stderr]
    error[BTL-1606]: cannot use provider `harvester`
      1: this version has no driver for it

    hint: kubectl get providerconfig NAME -o yaml
    hint: read the provider's words in the cause
    ");
    let console = platform.run(&["console", "a", "-n", "infra", "--tail", "5"]).await?.failed_with(2)?;
    assert!(console.stderr.starts_with("error[BTL-1606]"), "{console}");

    platform.provider.fails(Call::Create, None);
    platform.provider.boots_slowly();
    let late = ["create", "b", "--provider", "lab", "--wait", "--timeout", "2s"];
    let late = platform.run(&late).await?.failed_with(6)?;
    insta::assert_snapshot!(late, @"
    exit 6
    [stderr]
    machine request `b` in namespace `butler-system` created
    machine `b`: Creating
    error[BTL-1805]: machine `b` was not ready within 2s; it is Creating

    hint: butleradm machine get b -n butler-system
    hint: kubectl describe machinerequest b -n butler-system
    ");
    Ok(())
}

#[tokio::test]
async fn a_dry_run_is_checked_by_the_server_and_leaves_nothing() -> Result<()> {
    let platform = Platform::new().await?;
    let tried =
        platform.run(&["create", "a", "--provider", "lab", "--dry-run", "-o", "json"]).await?.success()?;
    assert_eq!(tried.json()?["spec"]["diskGB"], 20);
    assert!(tried.stderr.contains("would be created (dry run)"), "{tried}");
    let refused = platform.run(&["create", "Not-A-Label", "--provider", "lab", "--dry-run"]).await?;
    assert!(refused.failed_with(2)?.stderr.starts_with("error[BTL-1104]"));
    let machines: Api<MachineRequest> = Api::all(platform.client.clone());
    assert!(machines.list(&Default::default()).await?.items.is_empty());

    std::fs::write(platform.env.work_dir().join("data.yaml"), "token: hunter2\n")?;
    let made =
        platform.run(&["create", "b", "--provider", "lab", "--user-data", "data.yaml"]).await?.success()?;
    let page = platform.run(&["get", "b"]).await?.success()?;
    assert!(page.stdout.contains("User data:   15 bytes"), "{page}");
    assert!(!format!("{made}{page}").contains("hunter2"));
    let absent = platform.run(&["create", "c", "--provider", "lab", "--user-data", "none.yaml"]).await?;
    assert!(absent.failed_with(1)?.stderr.starts_with("error[BTL-1302]"));
    Ok(())
}

#[tokio::test]
async fn names_of_machines_are_completed() -> Result<()> {
    let platform = Platform::new().await?;
    let made = platform.run(&["create", "worker-7", "--provider", "lab"]).await?.success()?;
    assert_eq!(made.stdout, "");
    eventually("the name is offered", LIMIT, || async {
        let command = platform
            .env
            .command(BUTLERADM)
            .env("KUBECONFIG", platform.plane.kubeconfig())
            .env("BUTLER_COMPLETE", "fish")
            .args(["--", "butleradm", "machine", "get", ""]);
        let answer = tokio::task::spawn_blocking(move || command.run()).await??.success()?;
        Ok(answer.stdout.lines().any(|line| line.starts_with("worker-7")))
    })
    .await
}
