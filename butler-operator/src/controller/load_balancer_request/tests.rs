//! Decisions about load balancers.

use std::time::Duration;

use butler_core::api::{LoadBalancerRequest, load_balancer_request::LoadBalancerRequestStatus};
use jiff::Timestamp;
use rstest::rstest;
use serde_json::{Value, json};

use super::decide::{Decision, Fact, Step, View, decide};
use crate::{
    controller::{Next, Timing, failure::Failure, provider::Obstacle},
    driver::{Deletion, DriverError, ErrorClass, LoadBalancer, Ownership, Target},
};

const START: i64 = 1_000_000;

struct Case {
    object: Value,
    now: i64,
    provider_changed: bool,
}

impl Case {
    fn new() -> Self {
        let object = json!({
            "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "LoadBalancerRequest",
            "metadata": {"name": "lb", "namespace": "n", "uid": "u", "generation": 1,
                         "finalizers": ["butler.butlerlabs.dev/loadbalancerrequest"]},
            "spec": {"clusterName": "dev", "providerConfigRef": {"name": "lab"}, "targets": [{"ip": "127.50.0.1"}]},
        });
        Self { object, now: START + 3, provider_changed: false }
    }

    fn phase(mut self, phase: &str) -> Self {
        let time = Timestamp::from_second(START).unwrap().to_string();
        let status = if phase == "Ready" { "True" } else { "False" };
        self.object["status"] = json!({
            "phase": phase, "observedGeneration": 1, "lastUpdated": time, "resourceID": "lb-1",
            "conditions": [{"type": "Provisioned", "status": status, "reason": "X", "message": "",
                            "lastTransitionTime": time}],
        });
        self
    }

    fn failed(mut self, reason: &str) -> Self {
        self = self.phase("Failed");
        self.object["status"]["failureReason"] = json!(reason);
        self
    }

    fn changed(mut self) -> Self {
        self.object["metadata"]["generation"] = json!(2);
        self
    }

    fn deleted(mut self) -> Self {
        self.object["metadata"]["deletionTimestamp"] =
            json!(Timestamp::from_second(START).unwrap().to_string());
        self
    }

    fn unguarded(mut self) -> Self {
        self.object["metadata"]["finalizers"] = json!([]);
        self
    }

    fn after(mut self, seconds: i64) -> Self {
        self.now = START + seconds;
        self
    }

    fn decide(&self, fact: Fact) -> Decision {
        let request: LoadBalancerRequest = serde_json::from_value(self.object.clone()).unwrap();
        let now = Timestamp::from_second(self.now).unwrap();
        let (timing, provider_changed) = (Timing::default(), self.provider_changed);
        decide(&View { request: &request, provider_changed, timing, now }, fact)
    }
}

fn found(ready: bool, targets: usize) -> LoadBalancer {
    LoadBalancer {
        id: "lb-1".into(),
        name: "lb".into(),
        ownership: Ownership::new("o", "n", "lb"),
        endpoint: Some("127.60.0.1".into()),
        ready,
        targets,
        created: None,
    }
}

fn ensure() -> Step {
    let ip = Some([127, 50, 0, 1].into());
    Step::Ensure(vec![Target { ip, instance_id: None, instance_name: None }])
}

fn failure(class: ErrorClass) -> Failure {
    DriverError::new(class, "try", "words").into()
}

fn missing() -> Fact {
    Fact::NoDriver(Obstacle::Missing("no config".into()))
}

fn secs(seconds: u64) -> Step {
    Step::Done(Next::After(Duration::from_secs(seconds)))
}

fn shown(status: &LoadBalancerRequestStatus) -> String {
    let phase = status.phase.as_ref().map(|phase| phase.to_string()).unwrap_or_default();
    let reason = status.failure_reason.clone().map(|reason| format!(" {reason}")).unwrap_or_default();
    let ready = status.conditions.iter().find(|condition| condition.type_ == "Provisioned");
    let ready = ready.map(|ready| format!(" {}/{}", ready.status, ready.reason)).unwrap_or_default();
    format!("{phase}{reason}{ready}")
}

#[rstest]
#[case::guards_first(Case::new().unguarded(), Fact::Driver, "", Step::AddFinalizer)]
#[case::makes(Case::new(), Fact::Guarded, "", ensure())]
#[case::not_ready_yet(Case::new(), Fact::Ensured(Ok(found(false, 1))), "Creating False/Creating", secs(5))]
#[case::ready(Case::new().phase("Creating"), Fact::Ensured(Ok(found(true, 1))), "Ready True/Ready", secs(30))]
#[case::targets_on_their_way(Case::new().phase("Creating"), Fact::Ensured(Ok(found(true, 0))), "Ready True/Ready", secs(5))]
#[case::not_in_time(Case::new().phase("Creating").after(600), Fact::Ensured(Ok(found(false, 1))),
    "Failed ProvisioningTimeout False/ProvisioningTimeout", secs(30))]
#[case::late_but_ready(Case::new().failed("ProvisioningTimeout"), Fact::Driver, "Failed ProvisioningTimeout False/X", ensure())]
#[case::only_looked_at_when_ready(Case::new().phase("Ready"), Fact::Driver, "Ready True/X", Step::Look)]
#[case::changed(Case::new().phase("Ready").changed(), Fact::Driver, "Ready True/X", ensure())]
#[case::vanished(Case::new().phase("Ready"), Fact::Looked(Ok(None)), "Ready True/X", ensure())]
#[case::lost_a_target(Case::new().phase("Ready"), Fact::Looked(Ok(Some(found(true, 0)))), "Ready True/X", ensure())]
#[case::cannot_look(Case::new().phase("Ready"), Fact::Looked(Err(failure(ErrorClass::Auth))), "Ready True/X",
    Step::Done(Next::Retry("auth")))]
#[case::transient(
    Case::new(),
    Fact::Ensured(Err(failure(ErrorClass::Transient))),
    "Pending Unknown/ProviderError",
    Step::Done(Next::Retry("transient"))
)]
#[case::quota(
    Case::new(),
    Fact::Ensured(Err(failure(ErrorClass::Quota))),
    "Failed QuotaExceeded False/QuotaExceeded",
    secs(300)
)]
#[case::unsupported(
    Case::new(),
    Fact::NoLoadBalancers,
    "Failed Unsupported False/Unsupported",
    Step::Done(Next::Await)
)]
#[case::failed_waits(Case::new().failed("InvalidConfiguration"), Fact::Driver, "Failed InvalidConfiguration False/X", Step::Done(Next::Await))]
#[case::failed_and_changed(Case::new().failed("InvalidConfiguration").changed(), Fact::Driver, "Failed InvalidConfiguration False/X", ensure())]
#[case::config_missing(
    Case::new(),
    missing(),
    "Pending False/WaitingForDependencies",
    Step::Done(Next::Await)
)]
#[case::config_vanished(Case::new().phase("Ready"), missing(), "Ready Unknown/WaitingForDependencies", Step::Done(Next::Await))]
#[case::removes(Case::new().phase("Ready").deleted(), Fact::Driver, "Deleting False/Deleting", Step::Delete)]
#[case::wants_proof(Case::new().phase("Deleting").deleted(), Fact::Deleted(Ok(Deletion::Gone)), "Deleting False/X", Step::Look)]
#[case::proven(Case::new().phase("Deleting").deleted(), Fact::Looked(Ok(None)), "Deleting False/X", Step::RemoveFinalizer)]
#[case::still_there(Case::new().phase("Deleting").deleted(), Fact::Looked(Ok(Some(found(true, 1)))), "Deleting False/Deleting", secs(5))]
#[case::hangs(Case::new().phase("Deleting").deleted().after(600), Fact::Deleted(Ok(Deletion::Pending)),
    "Deleting DeletionTimeout False/DeletionTimeout", secs(5))]
#[case::never_made(Case::new().deleted(), Fact::NoLoadBalancers, "", Step::RemoveFinalizer)]
fn decisions(#[case] case: Case, #[case] fact: Fact, #[case] status: &str, #[case] step: Step) {
    let decision = case.decide(fact);
    assert_eq!((shown(&decision.status).as_str(), decision.step), (status, step));
}

#[test]
fn a_target_that_is_no_address_fails_the_request_and_is_named() {
    let mut case = Case::new();
    case.object["spec"]["targets"][0]["ip"] = json!("999.1.1.1");
    let decision = case.decide(Fact::Driver);
    assert!(decision.status.failure_message.is_some_and(|text| text.contains("999.1.1.1")));
}
