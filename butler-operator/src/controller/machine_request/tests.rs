//! Decisions, one row each: what is known, what was learnt, what follows.

use std::time::Duration;

use butler_core::api::{MachineRequest, machine_request::MachineRequestStatus};
use jiff::{SignedDuration, Timestamp};
use rstest::rstest;
use serde_json::{Value, json};

use super::decide::{Decision, Fact, Step, View, decide};
use crate::{
    controller::{Next, Timing, failure::Failure, provider::Obstacle},
    driver::{Deletion, DriverError, ErrorClass, Machine, MachineState, Ownership},
};

const START: i64 = 1_000_000;
const FINALIZER: &str = "machinerequest.butler.butlerlabs.dev/sandbox-finalizer";

/// A request in a phase, three seconds after it came into it.
struct Case {
    object: Value,
    now: i64,
    provider_changed: bool,
}

impl Case {
    fn new() -> Self {
        let object = json!({
            "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "MachineRequest",
            "metadata": {"name": "a", "namespace": "n", "uid": "u", "generation": 1, "finalizers": [FINALIZER]},
            "spec": {"machineName": "a", "role": "worker", "providerRef": {"name": "lab"},
                     "cpu": 2, "memoryMB": 2048, "diskGB": 20},
        });
        Self { object, now: START + 3, provider_changed: false }
    }

    fn unguarded(mut self) -> Self {
        self.object["metadata"]["finalizers"] = json!([]);
        self
    }

    fn phase(mut self, phase: &str) -> Self {
        let time = Timestamp::from_second(START).unwrap().to_string();
        let progressing = if phase == "Creating" { "True" } else { "False" };
        let condition = |type_: &str, status: &str| json!({"type": type_, "status": status, "reason": "X", "message": "", "lastTransitionTime": time});
        self.object["status"] = json!({
            "phase": phase, "observedGeneration": 1, "lastUpdated": time,
            "conditions": [condition("Ready", "False"), condition("Progressing", progressing)],
        });
        self
    }

    fn made(mut self) -> Self {
        self.object["status"]["providerID"] = json!("vm-1");
        self
    }

    fn up(mut self) -> Self {
        self.object["status"]["ipAddress"] = json!("127.50.0.1");
        self.object["status"]["ipAddresses"] = json!(["127.50.0.1"]);
        self.made()
    }

    fn failed(mut self, reason: &str) -> Self {
        self = self.phase("Failed");
        self.object["status"]["failureReason"] = json!(reason);
        self.object["status"]["failureMessage"] = json!("words");
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

    fn after(mut self, seconds: i64) -> Self {
        self.now = START + seconds;
        self
    }

    fn provider_changed(mut self) -> Self {
        self.provider_changed = true;
        self
    }

    fn decide(&self, fact: Fact) -> Decision {
        let request: MachineRequest = serde_json::from_value(self.object.clone()).unwrap();
        let view = View {
            request: &request,
            provider: "sandbox",
            provider_changed: self.provider_changed,
            timing: Timing::default(),
            now: Timestamp::from_second(self.now).unwrap(),
        };
        decide(&view, fact)
    }
}

fn machine(state: MachineState, addresses: &[[u8; 4]]) -> Machine {
    Machine {
        id: "vm-1".into(),
        name: "a".into(),
        ownership: Ownership::new("o", "n", "a"),
        state,
        addresses: addresses.iter().map(|address| (*address).into()).collect(),
        mac: None,
        zone: None,
        created: None,
    }
}

fn running() -> Fact {
    Fact::Looked(Ok(Some(machine(MachineState::Running, &[[127, 50, 0, 1]]))))
}

fn booting() -> Fact {
    Fact::Looked(Ok(Some(machine(MachineState::Creating, &[]))))
}

fn in_state(state: MachineState) -> Fact {
    Fact::Looked(Ok(Some(machine(state, &[]))))
}

fn absent() -> Fact {
    Fact::Looked(Ok(None))
}

fn failure(class: ErrorClass) -> Failure {
    DriverError::new(class, "try", "words").into()
}

fn missing() -> Fact {
    Fact::NoDriver(Obstacle::Missing("no config".into()))
}

fn refused() -> Fact {
    Fact::NoDriver(Obstacle::Refused { provider: "sandbox".into(), text: "no driver".into() })
}

fn secs(seconds: u64) -> Next {
    Next::After(Duration::from_secs(seconds))
}

/// Phase and failure, and the reason of the Ready condition with its status.
fn shown(status: &MachineRequestStatus) -> String {
    let phase = status.phase.as_ref().map(|phase| phase.to_string()).unwrap_or_default();
    let reason = status.failure_reason.clone().map(|reason| format!(" {reason}")).unwrap_or_default();
    let ready = status.conditions.iter().find(|condition| condition.type_ == "Ready");
    let ready = ready.map(|ready| format!(" {}/{}", ready.status, ready.reason)).unwrap_or_default();
    format!("{phase}{reason}{ready}")
}

#[rstest]
// a new request
#[case::looks_first(Case::new(), Fact::Driver, "", Step::Look)]
#[case::guards_before_it_makes(Case::new().unguarded(), absent(), "", Step::AddFinalizer)]
#[case::looks_again_once_guarded(Case::new(), Fact::Guarded, "", Step::Look)]
#[case::makes(Case::new(), absent(), "", Step::Create)]
#[case::made(Case::new(), Fact::Created(Ok(machine(MachineState::Creating, &[]))),
    "Creating False/WaitingForIP", Step::Done(secs(5)))]
#[case::guards_what_it_finds(Case::new().unguarded(), running(), "", Step::AddFinalizer)]
#[case::adopts(Case::new(), running(), "Running True/Running", Step::Done(secs(30)))]
// failures of making, by class
#[case::transient(
    Case::new(),
    Fact::Created(Err(failure(ErrorClass::Transient))),
    "Pending False/ProviderError",
    Step::Done(Next::Retry("transient"))
)]
#[case::conflict(
    Case::new(),
    Fact::Created(Err(failure(ErrorClass::Conflict))),
    "Failed Conflict False/Conflict",
    Step::Done(secs(300))
)]
#[case::quota(
    Case::new(),
    Fact::Created(Err(failure(ErrorClass::Quota))),
    "Failed QuotaExceeded False/QuotaExceeded",
    Step::Done(secs(300))
)]
#[case::auth(
    Case::new(),
    Fact::Created(Err(failure(ErrorClass::Auth))),
    "Failed CredentialsInvalid False/CredentialsInvalid",
    Step::Done(secs(300))
)]
#[case::invalid(
    Case::new(),
    Fact::Created(Err(failure(ErrorClass::Invalid))),
    "Failed InvalidConfiguration False/InvalidConfiguration",
    Step::Done(Next::Await)
)]
#[case::cannot_look_before_it_is_made(
    Case::new(),
    Fact::Looked(Err(failure(ErrorClass::Auth))),
    "Failed CredentialsInvalid False/CredentialsInvalid",
    Step::Done(secs(300))
)]
// being made
#[case::no_address_yet(Case::new().phase("Creating").made(), booting(), "Creating False/WaitingForIP", Step::Done(secs(5)))]
#[case::last_look_is_at_the_deadline(Case::new().phase("Creating").made().after(897), booting(),
    "Creating False/WaitingForIP", Step::Done(secs(3)))]
#[case::no_address_in_time(Case::new().phase("Creating").made().after(900), booting(),
    "Failed IPAssignmentTimeout False/IPAssignmentTimeout", Step::Done(secs(30)))]
#[case::gone_before_it_was_up(Case::new().phase("Creating").made(), absent(), "Pending False/Creating", Step::Create)]
#[case::an_error_while_looking_is_no_failure(Case::new().phase("Creating").made(),
    Fact::Looked(Err(failure(ErrorClass::Transient))), "Creating False/X", Step::Done(Next::Retry("transient")))]
#[case::the_provider_says_it_is_broken(Case::new().phase("Creating").made(), in_state(MachineState::Failed("disk".into())),
    "Failed ProviderError False/ProviderError", Step::Done(secs(30)))]
// running
#[case::keeps_running(Case::new().phase("Running").up(), running(), "Running True/Running", Step::Done(secs(30)))]
#[case::rebooting(Case::new().phase("Running").up(), booting(), "Running False/WaitingForIP", Step::Done(secs(5)))]
#[case::off(Case::new().phase("Running").up(), in_state(MachineState::Stopped), "Running False/Stopped", Step::Done(secs(5)))]
#[case::vanished(Case::new().phase("Running").up(), absent(), "Failed VMDeleted False/VMDeleted", Step::Done(secs(300)))]
#[case::unreachable(Case::new().phase("Running").up(), Fact::Looked(Err(failure(ErrorClass::Transient))),
    "Running False/X", Step::Done(Next::Retry("transient")))]
#[case::locked_out(Case::new().phase("Running").up(), Fact::Looked(Err(failure(ErrorClass::Auth))),
    "Running Unknown/CredentialsInvalid", Step::Done(Next::Retry("auth")))]
// failed
#[case::not_made_anew(Case::new().failed("VMDeleted").up(), absent(), "Failed VMDeleted False/X", Step::Done(secs(300)))]
#[case::made_anew_when_asked(Case::new().failed("VMDeleted").up().changed(), absent(), "Pending False/Creating", Step::Create)]
#[case::back_again(Case::new().failed("VMDeleted").up(), running(), "Running True/Running", Step::Done(secs(30)))]
#[case::invalid_waits(Case::new().failed("InvalidConfiguration").after(9999), absent(),
    "Failed InvalidConfiguration False/X", Step::Done(Next::Await))]
#[case::invalid_and_changed(Case::new().failed("InvalidConfiguration").changed(), absent(), "Pending False/Creating", Step::Create)]
#[case::invalid_and_provider_changed(Case::new().failed("InvalidConfiguration").provider_changed(), absent(),
    "Failed InvalidConfiguration False/X", Step::Create)]
#[case::quota_waits(Case::new().failed("QuotaExceeded"), absent(), "Failed QuotaExceeded False/X", Step::Done(secs(297)))]
#[case::quota_tries_again(Case::new().failed("QuotaExceeded").after(300), absent(), "Failed QuotaExceeded False/X", Step::Create)]
#[case::late_address(Case::new().failed("IPAssignmentTimeout").made(), running(), "Running True/Running", Step::Done(secs(30)))]
#[case::still_no_address(Case::new().failed("IPAssignmentTimeout").made(), booting(),
    "Failed IPAssignmentTimeout False/X", Step::Done(secs(30)))]
// no driver
#[case::config_missing(
    Case::new(),
    missing(),
    "Pending False/WaitingForDependencies",
    Step::Done(Next::Await)
)]
#[case::config_vanished(Case::new().phase("Running").up(), missing(), "Running Unknown/WaitingForDependencies", Step::Done(Next::Await))]
#[case::provider_unsupported(Case::new().unguarded(), refused(), "Failed InvalidConfiguration False/InvalidConfiguration", Step::Done(Next::Await))]
#[case::run_by_another_controller(Case::new(), refused(), "", Step::Done(Next::Await))]
// going
#[case::nothing_to_remove(Case::new().unguarded().deleted(), Fact::Driver, "", Step::Done(Next::Await))]
#[case::removes(Case::new().phase("Running").up().deleted(), Fact::Driver, "Deleting False/Deleting", Step::Delete)]
#[case::waits_for_removal(Case::new().phase("Deleting").up().deleted(), Fact::Deleted(Ok(Deletion::Pending)),
    "Deleting False/Deleting", Step::Done(secs(5)))]
#[case::wants_proof(Case::new().phase("Deleting").up().deleted(), Fact::Deleted(Ok(Deletion::Gone)), "Deleting False/X", Step::Look)]
#[case::not_gone_after_all(Case::new().phase("Deleting").up().deleted(), running(), "Deleting False/Deleting", Step::Done(secs(5)))]
#[case::proven(Case::new().phase("Deleting").up().deleted(), absent(), "Deleting False/X", Step::RemoveFinalizer)]
#[case::proof_fails(Case::new().phase("Deleting").up().deleted(), Fact::Looked(Err(failure(ErrorClass::Transient))),
    "Deleting False/X", Step::Done(Next::Retry("transient")))]
#[case::removal_fails(Case::new().phase("Deleting").up().deleted(), Fact::Deleted(Err(failure(ErrorClass::Auth))),
    "Deleting CredentialsInvalid False/Deleting", Step::Done(Next::Retry("auth")))]
#[case::hangs(Case::new().phase("Deleting").up().deleted().after(600), Fact::Deleted(Ok(Deletion::Pending)),
    "Deleting DeletionTimeout False/DeletionTimeout", Step::Done(secs(5)))]
#[case::hangs_on_errors(Case::new().phase("Deleting").up().deleted().after(600), Fact::Deleted(Err(failure(ErrorClass::Transient))),
    "Deleting DeletionTimeout False/DeletionTimeout", Step::Done(Next::Retry("transient")))]
#[case::config_gone_first(Case::new().phase("Running").up().deleted(), missing(),
    "Deleting ProviderConfigMissing False/Deleting", Step::Done(Next::Await))]
fn decisions(#[case] case: Case, #[case] fact: Fact, #[case] status: &str, #[case] step: Step) {
    let decision = case.decide(fact);
    assert_eq!((shown(&decision.status).as_str(), decision.step), (status, step));
}

#[test]
fn an_adopted_machine_is_announced_as_such_and_a_made_one_too() {
    let reason = |decision: Decision| decision.notice.map(|notice| notice.reason);
    assert_eq!(reason(Case::new().decide(running())), Some("Adopted"));
    let made = Fact::Created(Ok(machine(MachineState::Creating, &[])));
    assert_eq!(reason(Case::new().decide(made)), Some("Created"));
    assert_eq!(reason(Case::new().phase("Creating").made().decide(running())), Some("Ready"));
    assert_eq!(reason(Case::new().phase("Running").up().decide(running())), None);
}

#[test]
fn a_later_version_of_the_request_does_not_change_the_machine_and_says_so() {
    let decision = Case::new().phase("Running").up().changed().decide(running());
    assert_eq!(decision.status.observed_generation, Some(1), "the machine was made from the first one");
    assert!(decision.status.conditions[0].message.contains("earlier version"), "{:?}", decision.status);
    assert_eq!(decision.notice.map(|notice| notice.reason), Some("ChangeIgnored"));
}

#[test]
fn an_address_that_is_not_told_for_a_while_is_kept() {
    let decision = Case::new().phase("Running").up().decide(booting());
    assert_eq!(decision.status.ip_address.as_deref(), Some("127.50.0.1"));
}

#[test]
fn deciding_twice_changes_nothing() {
    let mut case = Case::new().phase("Running").up();
    let mut first = case.decide(running()).status;
    case.object["status"] = serde_json::to_value(&first).unwrap();
    case.now += 60;
    let mut second = case.decide(running()).status;
    let time = Timestamp::from_second(START).unwrap() + SignedDuration::from_secs(3);
    assert_eq!(second.conditions[0].last_transition_time.0, time, "ready since the first time");
    (first.last_updated, second.last_updated) = (None, None);
    assert_eq!(first, second);
}
