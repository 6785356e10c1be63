//! What holds for every controller: restarts, missing definitions, malformed objects, silence.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use butler_core::api::{MachineRequest, all_crds};
use butler_operator::controller::{Service, Timing};
use butler_tests::{Call, ControlPlane, Provider, create, eventually};
use futures::future::try_join_all;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api, ResourceExt,
    api::{Patch, PatchParams},
};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_util::sync::CancellationToken;

use crate::support::{LIMIT, World, config, install, machine, options, quick, secret};

/// What a GET answers, headers and body.
async fn get(address: std::net::SocketAddr, path: &str) -> Result<String> {
    let mut stream = tokio::net::TcpStream::connect(address).await?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer)
}

#[tokio::test]
async fn a_thousand_unchanged_objects_cost_no_request() -> Result<()> {
    let world = World::new(Provider::that_tells()).await?;
    let names: Vec<String> = (0..1000).map(|number| format!("m-{number:04}")).collect();
    for chunk in names.chunks(50) {
        let made = chunk.iter().map(|name| {
            let object: MachineRequest = serde_json::from_value(machine(name)).expect("fits");
            let machines = world.machines();
            async move { machines.create(&Default::default(), &object).await }
        });
        try_join_all(made).await?;
    }
    let first = world.run(Timing::default());
    eventually("all run", LIMIT * 3, || async {
        let all = world.machines().list(&Default::default()).await?;
        let runs = |one: &MachineRequest| {
            one.status.as_ref().is_some_and(|s| s.phase.as_ref().is_some_and(|p| p.as_str() == "Running"))
        };
        Ok(all.iter().filter(|one| runs(one)).count() == 1000)
    })
    .await?;
    first.stop().await?;
    assert_eq!(world.provider.made(), 1000);

    // Another process looks at everything anew, and has nothing to write and little to ask.
    let before = world.plane.audited()?.len();
    let looks = world.provider.calls(Call::Get);
    let second = world.run(Timing::default());
    eventually("all were looked at", LIMIT, || async { Ok(world.provider.calls(Call::Get) >= looks + 1000) })
        .await?;
    second.stop().await?;
    let requests: Vec<_> = world.plane.audited()?.split_off(before);
    let writes: Vec<_> =
        requests.iter().filter(|request| !matches!(&*request.verb, "get" | "list" | "watch")).collect();
    assert!(writes.is_empty(), "{writes:?}");
    // Lists in pages of 500, watches, definitions, one Secret.
    assert!(requests.len() < 30, "{} requests: {requests:#?}", requests.len());
    assert_eq!(world.provider.made(), 1000);
    Ok(())
}

#[tokio::test]
async fn a_definition_that_comes_later_starts_its_controller_and_others_do_not_wait() -> Result<()> {
    let plane = ControlPlane::start().await?;
    let client = plane.client().await?;
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let without = |plural: &str| {
        let name = format!("{plural}.butler.butlerlabs.dev");
        all_crds().into_iter().filter(move |crd| crd.name_any() != name)
    };
    for crd in without("machinerequests") {
        definitions.patch(&crd.name_any(), &PatchParams::apply("test"), &Patch::Apply(&crd)).await?;
    }
    let namespace = plane.namespace().await?;
    let provider = Provider::default();
    let mut options = options(&provider, quick());
    options.metrics = Some("127.0.0.1:0".parse()?);
    let service = Service::new(client.clone(), options).await?;
    let address = service.address().context("it listens")?;
    let stop = CancellationToken::new();
    let running = tokio::spawn(service.run(stop.clone()));
    eventually("the other controller runs", LIMIT, || async {
        let answer = get(address, "/readyz").await?;
        Ok(answer.starts_with("HTTP/1.1 200")
            && answer.contains("controller load-balancer-request: running")
            && answer.contains("controller machine-request: starting")
            && answer.contains("kind MachineRequest: waiting for its definition"))
    })
    .await?;

    install(&client).await?;
    for object in [secret(), config("lab"), machine("a")] {
        create(&client, Some(&namespace), &object).await?;
    }
    let machines: Api<MachineRequest> = Api::namespaced(client.clone(), &namespace);
    eventually("the machine runs", LIMIT, || async {
        let status = machines.get("a").await?.status.unwrap_or_default();
        Ok(status.phase.is_some_and(|phase| phase.as_str() == "Running"))
    })
    .await?;
    let page = get(address, "/metrics").await?;
    for line in [
        "butler_controller_leader 1",
        r#"butler_controller_objects{kind="MachineRequest"} 1"#,
        r#"butler_controller_queue_depth{controller="machine-request"} 0"#,
    ] {
        assert!(page.lines().any(|found| found == line), "{line}\n{page}");
    }
    assert!(page.contains(r#"reconcile_total{controller="machine-request",result="success"}"#), "{page}");
    assert!(get(address, "/healthz").await?.starts_with("HTTP/1.1 200"));
    stop.cancel();
    tokio::time::timeout(LIMIT, running).await??;
    assert!(get(address, "/healthz").await.is_err(), "it listens no more");
    Ok(())
}

#[tokio::test]
async fn an_object_that_does_not_fit_its_kind_holds_up_nobody() -> Result<()> {
    let world = World::new(Provider::default()).await?;
    // A definition of another version, which lets anything in.
    let definitions: Api<CustomResourceDefinition> = Api::all(world.client.clone());
    let open = json!([{ "op": "replace", "path": "/spec/versions/0/schema/openAPIV3Schema",
        "value": {"type": "object", "x-kubernetes-preserve-unknown-fields": true} }]);
    let name = "machinerequests.butler.butlerlabs.dev";
    definitions
        .patch(name, &PatchParams::default(), &Patch::Json::<()>(serde_json::from_value(open)?))
        .await?;
    let mut bad = machine("bad");
    bad["spec"]["cpu"] = json!("four");
    eventually("the definition is in force", LIMIT, || async { Ok(world.create(&bad).await.is_ok()) })
        .await?;
    let _controllers = world.run(quick());
    world.create(&machine("good")).await?;
    world.phase("good", "Running").await?;
    eventually("people are told", LIMIT, || async { Ok(world.events("bad").await? == ["Malformed"]) })
        .await?;
    assert!(world.provider.machine("bad").is_none());

    // Set right, it is an object like any other.
    let machines: Api<kube::api::DynamicObject> = Api::namespaced_with(
        world.client.clone(),
        &world.namespace,
        &kube::api::ApiResource::erase::<MachineRequest>(&()),
    );
    let fix = json!({"spec": {"cpu": 4}});
    machines.patch("bad", &PatchParams::default(), &Patch::Merge(fix)).await?;
    world.phase("bad", "Running").await?;
    Ok(())
}

/// Waits until the controller has seen its own last write: before that it acts on nothing, and a server
/// that is killed now would never show it. A change that changes nothing is looked at and not written.
async fn settled(world: &World) -> Result<()> {
    let looks = world.provider.calls(Call::Get);
    eventually("the controller has seen its own write", LIMIT, || async {
        world.provider.change("a", |_| {});
        Ok(world.provider.calls(Call::Get) > looks)
    })
    .await
}

#[tokio::test]
async fn a_killed_api_server_is_waited_for_and_nothing_is_done_twice() -> Result<()> {
    let world = World::new(Provider::that_tells()).await?;
    let controllers = world.run(quick());
    world.create(&machine("a")).await?;
    world.phase("a", "Running").await?;
    settled(&world).await?;
    world.plane.kill_api_server().await;
    // The machine changes while nobody can write it down.
    let looks = world.provider.calls(Call::Get);
    world.provider.change("a", |machine| machine.addresses = vec![[127, 50, 0, 99].into()]);
    eventually("it is noticed", LIMIT, || async { Ok(world.provider.calls(Call::Get) > looks) }).await?;
    world.plane.start_api_server().await?;
    world.until("a", "the address is new", |s| s.ip_address.as_deref() == Some("127.50.0.99")).await?;
    world.create(&machine("b")).await?;
    world.phase("b", "Running").await?;
    assert_eq!(world.provider.made(), 2);
    controllers.stop().await
}

#[tokio::test]
async fn what_could_not_be_written_while_etcd_stalled_is_written_after() -> Result<()> {
    let world = World::new(Provider::that_tells()).await?;
    let controllers = world.run(quick());
    world.create(&machine("a")).await?;
    world.phase("a", "Running").await?;
    settled(&world).await?;
    world.plane.stall_etcd(true);
    let looks = world.provider.calls(Call::Get);
    world.provider.change("a", |machine| machine.addresses = vec![[127, 50, 0, 99].into()]);
    eventually("it is noticed", LIMIT, || async { Ok(world.provider.calls(Call::Get) > looks) }).await?;
    // A request of ours proves that the stall is felt.
    let machines = world.machines();
    let label = Patch::Merge(json!({"metadata": {"labels": {"x": "y"}}}));
    let stalled = async { machines.patch("a", &PatchParams::default(), &label).await };
    ensure!(tokio::time::timeout(Duration::from_secs(2), stalled).await.is_err(), "etcd is not stalled");
    world.plane.stall_etcd(false);
    world.until("a", "the address is new", |s| s.ip_address.as_deref() == Some("127.50.0.99")).await?;
    assert_eq!(world.provider.made(), 1);
    controllers.stop().await
}

#[tokio::test]
async fn a_stop_cuts_off_what_hangs_and_the_next_start_takes_it_up() -> Result<()> {
    let world = World::new(Provider::default()).await?;
    let grace = Duration::from_millis(500);
    let controllers = world.run(Timing { grace, ..quick() });
    world.create(&machine("a")).await?;
    world.phase("a", "Running").await?;
    world.provider.hangs(true);
    world.create(&machine("b")).await?;
    eventually("it is being made", LIMIT, || async { Ok(world.provider.calls(Call::Create) == 2) }).await?;
    let began = std::time::Instant::now();
    controllers.stop().await?;
    let took = began.elapsed();
    assert!(took >= grace && took < Duration::from_secs(10), "{took:?}");

    world.provider.hangs(false);
    let _controllers = world.run(quick());
    world.phase("b", "Running").await?;
    assert_eq!(world.provider.made(), 2);
    Ok(())
}
