//! MachineRequests from the first wish to the proof that the machine is gone.

use std::time::Duration;

use anyhow::Result;
use butler_operator::{
    controller::Timing,
    driver::{ErrorClass, MachineState, Ownership},
};
use butler_tests::{Call, Provider, eventually};
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::json;

use crate::support::{LIMIT, OWNER, World, condition, config, finalizers, machine, quick, secret};

#[tokio::test]
async fn a_machine_is_made_runs_and_is_gone_before_its_request() -> Result<()> {
    let world = World::new(Provider::default()).await?;
    world.provider.boots_slowly();
    let controllers = world.run(quick());
    world.create(&machine("a")).await?;

    let creating = world.phase("a", "Creating").await?;
    assert_eq!(condition(&creating, "Progressing"), "True/WaitingForIP");
    assert_eq!(creating.provider_id.as_deref(), Some("vm-1"));
    assert_eq!(finalizers(&world, "a").await?, ["machinerequest.butler.butlerlabs.dev/sandbox-finalizer"]);
    let made = world.provider.machine("a").expect("made");
    assert_eq!(made.ownership, Ownership::new(OWNER, &world.namespace, "a"));

    world.provider.change("a", |machine| {
        machine.state = MachineState::Running;
        machine.addresses = vec![[127, 50, 0, 7].into(), [127, 50, 1, 7].into()];
    });
    let running = world.phase("a", "Running").await?;
    assert_eq!(running.ip_address.as_deref(), Some("127.50.0.7"));
    assert_eq!(running.ip_addresses, ["127.50.0.7", "127.50.1.7"]);
    assert_eq!(running.mac_address.as_deref(), Some("02:00:00:00:00:01"));
    assert_eq!(
        (condition(&running, "Ready"), condition(&running, "Progressing")),
        ("True/Running".into(), "False/Running".into())
    );
    let time = |status: &butler_core::api::machine_request::MachineRequestStatus, type_: &str| {
        status.conditions.iter().find(|c| c.type_ == type_).map(|c| c.last_transition_time.0)
    };
    assert!(time(&running, "Ready") >= time(&creating, "Progressing"), "{running:?}");

    // An address that changes is followed.
    world.provider.change("a", |machine| machine.addresses = vec![[127, 50, 0, 9].into()]);
    let moved =
        world.until("a", "the address is new", |s| s.ip_address.as_deref() == Some("127.50.0.9")).await?;
    assert_eq!(time(&moved, "Ready"), time(&running, "Ready"), "still ready since then");

    // The provider takes its time; the request stays as long.
    world.provider.clings(true);
    world.machines().delete("a", &DeleteParams::default()).await?;
    world.phase("a", "Deleting").await?;
    let tries = world.provider.calls(Call::Delete);
    eventually("it is asked again", LIMIT, || async { Ok(world.provider.calls(Call::Delete) > tries) })
        .await?;
    assert!(world.machines().get_opt("a").await?.is_some());
    world.provider.clings(false);
    world.gone("a").await?;
    assert!(world.provider.machine("a").is_none());
    assert_eq!(world.events("a").await?, ["Created", "Ready", "Deleting", "Deleted"]);
    controllers.stop().await
}

#[tokio::test]
async fn a_machine_with_our_mark_is_taken_over_and_one_of_another_is_left_alone() -> Result<()> {
    let world = World::new(Provider::default()).await?;
    world.provider.put("a", Ownership::new(OWNER, &world.namespace, "a"));
    world.provider.put("b", Ownership::new("somebody", &world.namespace, "b"));
    let _controllers = world.run(Timing { failed: Duration::from_secs(1), ..quick() });
    world.create(&machine("a")).await?;
    world.create(&machine("b")).await?;

    let adopted = world.phase("a", "Running").await?;
    assert_eq!(adopted.provider_id.as_deref(), Some("vm-1"));
    world.told("a", "Adopted").await?;
    let failed = world.phase("b", "Failed").await?;
    assert_eq!(failed.failure_reason.as_deref(), Some("Conflict"));
    assert_eq!(failed.failure_message.as_deref(), Some("cannot create machine `b`: the name is taken"));
    assert_eq!(world.provider.made(), 2, "nothing new was made");
    assert_eq!(world.provider.machine("b").expect("still there").ownership.owner, "somebody");

    // The other one goes, and the cause is gone with it.
    world.provider.remove("b");
    let running = world.phase("b", "Running").await?;
    assert_eq!((running.failure_reason, running.failure_message), (None, None));
    Ok(())
}

#[tokio::test]
async fn what_may_pass_is_tried_again_and_what_may_not_waits_for_a_change() -> Result<()> {
    let world = World::new(Provider::default()).await?;
    let _controllers = world.run(quick());
    world.provider.fails(Call::Create, Some((ErrorClass::Transient, "503 busy")));
    world.create(&machine("a")).await?;
    let waiting =
        world.until("a", "the words are told", |s| condition(s, "Ready") == "False/ProviderError").await?;
    assert_eq!(waiting.phase.as_ref().map(|phase| phase.as_str()), Some("Pending"), "never Failed");
    eventually("it is tried again", LIMIT, || async { Ok(world.provider.calls(Call::Create) >= 3) }).await?;
    world.provider.fails(Call::Create, None);
    world.phase("a", "Running").await?;

    world.provider.fails(Call::Create, Some((ErrorClass::Invalid, "no such image")));
    world.create(&machine("b")).await?;
    let failed = world.phase("b", "Failed").await?;
    assert_eq!(failed.failure_reason.as_deref(), Some("InvalidConfiguration"));
    assert!(failed.failure_message.is_some_and(|text| text.ends_with("no such image")));
    world.told("b", "CreateFailed").await?;
    let tries = world.provider.calls(Call::Create);
    world.provider.fails(Call::Create, None);
    // A label changes nothing about the cause; a change of the spec may.
    patch(&world, "b", json!({"metadata": {"labels": {"seen": "yes"}}})).await?;
    let looks = world.provider.calls(Call::Get);
    eventually("it is looked at", LIMIT, || async { Ok(world.provider.calls(Call::Get) > looks) }).await?;
    assert_eq!(world.provider.calls(Call::Create), tries);
    patch(&world, "b", json!({"spec": {"image": "another"}})).await?;
    world.phase("b", "Running").await?;
    Ok(())
}

async fn patch(world: &World, name: &str, change: serde_json::Value) -> Result<()> {
    world.machines().patch(name, &PatchParams::default(), &Patch::Merge(change)).await?;
    Ok(())
}

#[tokio::test]
async fn a_failure_of_the_provider_is_tried_again_when_its_secret_changes() -> Result<()> {
    let world = World::new(Provider::default()).await?;
    let _controllers = world.run(quick());
    world.provider.fails(Call::Create, Some((ErrorClass::Auth, "401 token expired")));
    world.create(&machine("a")).await?;
    let failed = world.phase("a", "Failed").await?;
    assert_eq!(failed.failure_reason.as_deref(), Some("CredentialsInvalid"));
    world.provider.fails(Call::Create, None);
    let secrets: kube::Api<k8s_openapi::api::core::v1::Secret> =
        kube::Api::namespaced(world.client.clone(), &world.namespace);
    let change = json!({"stringData": {"socket": "/y"}});
    secrets.patch("lab", &PatchParams::default(), &Patch::Merge(change)).await?;
    world.phase("a", "Running").await?;
    Ok(())
}

#[tokio::test]
async fn a_machine_that_vanishes_is_told_and_not_made_anew_unless_asked() -> Result<()> {
    let world = World::new(Provider::that_tells()).await?;
    // The provider tells, so nobody asks again within this test.
    let slow = Timing { pending: LIMIT, steady: LIMIT, ..Timing::default() };
    let _controllers = world.run(slow);
    world.create(&machine("a")).await?;
    world.phase("a", "Running").await?;

    world.provider.change("a", |machine| machine.state = MachineState::Stopped);
    world.until("a", "it is off", |status| condition(status, "Ready") == "False/Stopped").await?;
    world.provider.change("a", |machine| machine.state = MachineState::Running);
    world.until("a", "it is on", |status| condition(status, "Ready") == "True/Running").await?;

    world.provider.remove("a");
    let failed = world.phase("a", "Failed").await?;
    assert_eq!(failed.failure_reason.as_deref(), Some("VMDeleted"));
    assert_eq!(world.provider.made(), 1);
    patch(&world, "a", json!({"spec": {"cpu": 4}})).await?;
    let again = world.phase("a", "Running").await?;
    assert_eq!((world.provider.made(), again.provider_id.as_deref()), (2, Some("vm-2")));
    Ok(())
}

#[tokio::test]
async fn a_machine_without_an_address_fails_in_time_and_recovers() -> Result<()> {
    let world = World::new(Provider::default()).await?;
    world.provider.boots_slowly();
    let _controllers = world.run(Timing { machine: Duration::from_secs(2), ..quick() });
    world.create(&machine("a")).await?;
    world.phase("a", "Creating").await?;
    let failed = world.phase("a", "Failed").await?;
    assert_eq!(failed.failure_reason.as_deref(), Some("IPAssignmentTimeout"));
    world.provider.change("a", |machine| {
        machine.state = MachineState::Running;
        machine.addresses = vec![[127, 50, 0, 3].into()];
    });
    world.phase("a", "Running").await?;
    assert_eq!(world.provider.made(), 1);
    Ok(())
}

#[tokio::test]
async fn a_missing_provider_config_is_waited_for_and_a_deletion_waits_for_it_too() -> Result<()> {
    let world = World::new(Provider::default()).await?;
    let _controllers = world.run(quick());
    let mut wanted = machine("a");
    wanted["spec"]["providerRef"]["name"] = json!("later");
    world.create(&wanted).await?;
    let waiting = world.phase("a", "Pending").await?;
    assert_eq!(condition(&waiting, "Ready"), "False/WaitingForDependencies");
    world.create(&config("later")).await?;
    world.phase("a", "Running").await?;

    let configs: kube::Api<butler_core::api::ProviderConfig> =
        kube::Api::namespaced(world.client.clone(), &world.namespace);
    configs.delete("later", &DeleteParams::default()).await?;
    let unknown =
        world.until("a", "nobody can tell", |s| condition(s, "Ready").starts_with("Unknown/")).await?;
    assert_eq!(unknown.phase.as_ref().map(|phase| phase.as_str()), Some("Running"));
    world.machines().delete("a", &DeleteParams::default()).await?;
    let stuck = world.until("a", "it says why", |status| status.failure_message.is_some()).await?;
    assert!(
        stuck.failure_message.is_some_and(|text| text.contains("create it again")),
        "{:?}",
        stuck.conditions
    );
    assert!(world.provider.machine("a").is_some());
    world.create(&config("later")).await?;
    world.gone("a").await?;
    assert!(world.provider.machine("a").is_none());
    Ok(())
}

#[tokio::test]
async fn a_deletion_that_hangs_is_reported_and_goes_on() -> Result<()> {
    let world = World::new(Provider::default()).await?;
    let _controllers = world.run(Timing { deletion: Duration::from_secs(1), ..quick() });
    world.create(&machine("a")).await?;
    world.phase("a", "Running").await?;
    world.provider.clings(true);
    world.machines().delete("a", &DeleteParams::default()).await?;
    let late =
        world.until("a", "it is late", |s| s.failure_reason.as_deref() == Some("DeletionTimeout")).await?;
    assert_eq!(late.phase.as_ref().map(|phase| phase.as_str()), Some("Deleting"));
    world.told("a", "DeleteFailed").await?;
    world.provider.remove("a");
    world.gone("a").await
}

#[tokio::test]
async fn what_an_earlier_controller_wrote_is_taken_over() -> Result<()> {
    let world = World::new(Provider::default()).await?;
    world.create(&machine("a")).await?;
    let left =
        json!({"status": {"phase": "Failed", "failureReason": "ProviderError", "failureMessage": "old"}});
    let params = PatchParams { field_manager: Some("manager".into()), ..PatchParams::default() };
    world.machines().patch_status("a", &params, &Patch::Merge(left)).await?;
    let _controllers = world.run(quick());
    let running = world.phase("a", "Running").await?;
    let clean =
        |status: &butler_core::api::machine_request::MachineRequestStatus| status.failure_reason.is_none();
    world.until("a", "nothing is left of it", clean).await?;
    assert_eq!(running.provider_id.as_deref(), Some("vm-1"));
    Ok(())
}

#[tokio::test]
async fn a_secret_that_appears_later_is_enough() -> Result<()> {
    let world = World::new(Provider::default()).await?;
    let secrets: kube::Api<k8s_openapi::api::core::v1::Secret> =
        kube::Api::namespaced(world.client.clone(), &world.namespace);
    secrets.delete("lab", &DeleteParams::default()).await?;
    let _controllers = world.run(quick());
    world.create(&machine("a")).await?;
    let waiting = world.phase("a", "Pending").await?;
    assert!(waiting.conditions[0].message.contains("Secret `lab`"), "{:?}", waiting.conditions);
    world.create(&secret()).await?;
    world.phase("a", "Running").await?;
    Ok(())
}
