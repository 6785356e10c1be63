//! LoadBalancerRequests.

use anyhow::{Context, Result};
use butler_core::api::load_balancer_request::LoadBalancerRequestStatus;
use butler_operator::driver::ErrorClass;
use butler_tests::{Call, Provider, eventually};
use kube::{
    ResourceExt,
    api::{DeleteParams, Patch, PatchParams},
};
use serde_json::{Value, json};

use crate::support::{LIMIT, World, quick};

fn balancer(name: &str) -> Value {
    json!({
        "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "LoadBalancerRequest", "metadata": {"name": name},
        "spec": {"clusterName": "dev", "providerConfigRef": {"name": "lab"}, "targets": []},
    })
}

async fn until(
    world: &World,
    what: &str,
    check: impl Fn(&LoadBalancerRequestStatus) -> bool,
) -> Result<LoadBalancerRequestStatus> {
    let status = || async { anyhow::Ok(world.balancers().get("lb").await?.status.unwrap_or_default()) };
    let waited = eventually(what, LIMIT, || async { Ok(check(&status().await?)) }).await;
    let found = status().await;
    waited.with_context(|| format!("{found:?}"))?;
    found
}

fn is(phase: &'static str) -> impl Fn(&LoadBalancerRequestStatus) -> bool {
    move |status| status.phase.as_ref().is_some_and(|found| found.as_str() == phase)
}

#[tokio::test]
async fn targets_follow_the_request_and_the_load_balancer_goes_with_it() -> Result<()> {
    let world = World::new(Provider::default()).await?;
    let _controllers = world.run(quick());
    world.create(&balancer("lb")).await?;
    let ready = until(&world, "it is ready", is("Ready")).await?;
    assert_eq!(ready.endpoint.as_deref(), Some("127.60.0.1:6443"));
    assert_eq!((ready.resource_id.as_deref(), ready.registered_targets), (Some("lb-dev"), Some(0)));
    let request = world.balancers().get("lb").await?;
    assert_eq!(request.finalizers(), ["butler.butlerlabs.dev/loadbalancerrequest"]);

    let change = json!({"spec": {"targets": [{"ip": "127.50.0.1"}, {"ip": "127.50.0.2"}]}});
    world.balancers().patch("lb", &PatchParams::default(), &Patch::Merge(change)).await?;
    until(&world, "both are registered", |status| status.registered_targets == Some(2)).await?;
    assert_eq!(world.provider.load_balancer("dev").map(|found| found.targets), Some(2));

    world.balancers().delete("lb", &DeleteParams::default()).await?;
    let gone = || async { Ok(world.balancers().get_opt("lb").await?.is_none()) };
    eventually("it is gone", LIMIT, gone).await?;
    assert!(world.provider.load_balancer("dev").is_none());
    Ok(())
}

#[tokio::test]
async fn failures_are_told_by_class_and_a_fixed_request_recovers() -> Result<()> {
    let world = World::new(Provider::default()).await?;
    let _controllers = world.run(quick());
    world.provider.fails(Call::Ensure, Some((ErrorClass::Quota, "TooManyLoadBalancers")));
    world.create(&balancer("lb")).await?;
    let failed = until(&world, "it failed", is("Failed")).await?;
    assert_eq!(failed.failure_reason.as_deref(), Some("QuotaExceeded"));
    assert!(failed.failure_message.is_some_and(|text| text.contains("TooManyLoadBalancers")));
    world.provider.fails(Call::Ensure, None);
    let targets = |ip: &str| json!({"spec": {"targets": [{"ip": ip}]}});
    world.balancers().patch("lb", &PatchParams::default(), &Patch::Merge(targets("no address"))).await?;
    let invalid =
        |status: &LoadBalancerRequestStatus| status.failure_reason.as_deref() == Some("InvalidConfiguration");
    until(&world, "the address is refused", invalid).await?;
    world.balancers().patch("lb", &PatchParams::default(), &Patch::Merge(targets("127.50.0.1"))).await?;
    let ready = until(&world, "it is ready", is("Ready")).await?;
    assert_eq!((ready.failure_reason, ready.registered_targets), (None, Some(1)));
    Ok(())
}

#[tokio::test]
async fn a_provider_without_load_balancers_says_so() -> Result<()> {
    let world = World::new(Provider::without_load_balancers()).await?;
    let _controllers = world.run(quick());
    world.create(&balancer("lb")).await?;
    let failed = until(&world, "it failed", is("Failed")).await?;
    assert_eq!(failed.failure_reason.as_deref(), Some("Unsupported"));
    world.balancers().delete("lb", &DeleteParams::default()).await?;
    let gone = || async { Ok(world.balancers().get_opt("lb").await?.is_none()) };
    eventually("it is gone", LIMIT, gone).await
}
