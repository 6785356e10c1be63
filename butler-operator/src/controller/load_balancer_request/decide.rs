//! What happens next to a LoadBalancerRequest. Pure, as that of a machine; but a load balancer holds
//! nothing that could be lost, so one that is gone is made again, and one whose request changes is
//! changed.

use std::net::IpAddr;

use butler_core::api::{
    LoadBalancerRequest,
    common::Time,
    conditions::{reasons, status},
    load_balancer_request::{LoadBalancerRequestPhase as Phase, LoadBalancerRequestStatus},
    names::finalizers::LOAD_BALANCER_REQUEST,
};
use jiff::Timestamp;
use kube::ResourceExt;

use crate::{
    controller::{
        Next, Timing, condition,
        failure::{DELETION_TIMEOUT, Failure, UNSUPPORTED},
        notice::Notice,
        provider::Obstacle,
    },
    driver::{Deletion, ErrorClass, LoadBalancer, Target},
};

const PROVISIONED: &str = "Provisioned";
const TARGETS_SYNCED: &str = "TargetsSynced";
pub(super) const TIMEOUT: &str = "ProvisioningTimeout";

/// What is known before anything is done.
#[derive(Debug)]
pub(super) struct View<'a> {
    /// The request, with its newest status.
    pub(super) request: &'a LoadBalancerRequest,
    /// True when the ProviderConfig or its Secret is another than at the last failure.
    pub(super) provider_changed: bool,
    pub(super) timing: Timing,
    pub(super) now: Timestamp,
}

/// What was learnt last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fact {
    NoDriver(Obstacle),
    /// The driver has no load balancers.
    NoLoadBalancers,
    Driver,
    Guarded,
    Looked(Result<Option<LoadBalancer>, Failure>),
    Ensured(Result<LoadBalancer, Failure>),
    Deleted(Result<Deletion, Failure>),
}

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    AddFinalizer,
    Look,
    /// Make it, or give it these targets.
    Ensure(Vec<Target>),
    Delete,
    RemoveFinalizer,
    Done(Next),
}

/// What to write, whom to tell, what to do.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Decision {
    pub(super) status: LoadBalancerRequestStatus,
    pub(super) notice: Option<Notice>,
    pub(super) step: Step,
}

/// Decides.
pub(super) fn decide(view: &View<'_>, fact: Fact) -> Decision {
    if view.request.metadata.deletion_timestamp.is_some() {
        return deletion(view, fact);
    }
    match fact {
        Fact::NoDriver(obstacle) => no_driver(view, obstacle),
        Fact::NoLoadBalancers => {
            view.failed(UNSUPPORTED, "this provider has no load balancers".to_owned(), Next::Await)
        }
        Fact::Driver if !view.is_guarded() => view.stay(Step::AddFinalizer),
        Fact::Driver | Fact::Guarded => match view.phase() {
            Phase::Ready if !view.is_changed() => view.stay(Step::Look),
            Phase::Failed if !view.is_worth_a_try() => {
                let next = if view.passes() { Next::After(view.timing.failed) } else { Next::Await };
                view.stay(Step::Done(next))
            }
            _ => ensure(view),
        },
        Fact::Looked(Ok(Some(found))) if found.targets != view.request.spec.targets.len() => {
            drop(found);
            ensure(view)
        }
        Fact::Looked(Ok(Some(found))) | Fact::Ensured(Ok(found)) => here(view, &found),
        Fact::Looked(Ok(None)) => ensure(view),
        // That it could not be looked at says nothing about it.
        Fact::Looked(Err(failure)) => view.stay(Step::Done(failure.retry())),
        Fact::Ensured(Err(failure)) => not_made(view, failure),
        Fact::Deleted(_) => view.stay(Step::Done(Next::Await)),
    }
}

impl View<'_> {
    fn status(&self) -> LoadBalancerRequestStatus {
        self.request.status.clone().unwrap_or_default()
    }

    fn phase(&self) -> Phase {
        self.request.status.as_ref().and_then(|status| status.phase.clone()).unwrap_or(Phase::Pending)
    }

    fn is_guarded(&self) -> bool {
        self.request.finalizers().iter().any(|name| name == LOAD_BALANCER_REQUEST)
    }

    fn is_changed(&self) -> bool {
        let observed = self.request.status.as_ref().and_then(|status| status.observed_generation);
        observed != self.request.metadata.generation
    }

    /// True when the failure may pass without anybody changing an object.
    fn passes(&self) -> bool {
        let reason = self.status().failure_reason;
        !matches!(reason.as_deref(), Some(reasons::INVALID_CONFIGURATION | UNSUPPORTED))
    }

    fn is_worth_a_try(&self) -> bool {
        let since = self.status().last_updated.map_or(self.now, |time| time.0);
        let waited = self.now.duration_since(since).unsigned_abs();
        self.is_changed()
            || self.provider_changed
            || (self.passes() && waited >= self.timing.failed)
            // It may be ready by now.
            || self.status().failure_reason.as_deref() == Some(TIMEOUT)
    }

    fn stay(&self, step: Step) -> Decision {
        Decision { status: self.status(), notice: None, step }
    }

    fn with(
        &self,
        phase: Phase,
        provisioned: (&str, &str),
        synced: (&str, &str),
        text: &str,
    ) -> LoadBalancerRequestStatus {
        let mut new = self.status();
        let generation = self.request.metadata.generation;
        new.observed_generation = generation;
        for (type_, (status, reason)) in [(PROVISIONED, provisioned), (TARGETS_SYNCED, synced)] {
            condition::set(&mut new.conditions, (type_, status, reason), text, generation, self.now);
        }
        if phase != Phase::Failed {
            (new.failure_reason, new.failure_message) = (None, None);
        }
        new.phase = Some(phase);
        new.last_updated = Some(Time(self.now));
        new
    }

    fn failed(&self, reason: &'static str, text: String, next: Next) -> Decision {
        let mut new = self.with(Phase::Failed, (status::FALSE, reason), (status::FALSE, reason), &text);
        new.failure_reason = Some(reason.to_owned());
        new.failure_message = Some(text.clone());
        let notice = Notice::warning("CreateFailed", "Create", text);
        Decision { status: new, notice: Some(notice), step: Step::Done(next) }
    }
}

/// The step that makes it, or why it cannot be asked for.
fn ensure(view: &View<'_>) -> Decision {
    let mut targets = Vec::new();
    for target in &view.request.spec.targets {
        let ip = match target.ip.as_deref().filter(|text| !text.is_empty()).map(str::parse::<IpAddr>) {
            None => None,
            Some(Ok(ip)) => Some(ip),
            Some(Err(_)) => {
                let text = format!("target `{}` is not an address", target.ip.as_deref().unwrap_or_default());
                return view.failed(reasons::INVALID_CONFIGURATION, text, Next::Await);
            }
        };
        let (instance_id, instance_name) = (target.instance_id.clone(), target.instance_name.clone());
        targets.push(Target { ip, instance_id, instance_name });
    }
    view.stay(Step::Ensure(targets))
}

fn no_driver(view: &View<'_>, obstacle: Obstacle) -> Decision {
    let (reason, text) = match obstacle {
        Obstacle::Missing(text) => (reasons::WAITING_FOR_DEPENDENCIES, text),
        Obstacle::Malformed(text) => (reasons::INVALID_CONFIGURATION, text),
        Obstacle::Refused { text, .. } if view.phase() != Phase::Ready => {
            return view.failed(reasons::INVALID_CONFIGURATION, text, Next::Await);
        }
        Obstacle::Refused { text, .. } => (reasons::INVALID_CONFIGURATION, text),
    };
    let phase = match view.phase() {
        Phase::Failed => return view.stay(Step::Done(Next::Await)),
        Phase::Ready => Phase::Ready,
        _ => Phase::Pending,
    };
    let word = if phase == Phase::Ready { status::UNKNOWN } else { status::FALSE };
    let mut new = view.with(phase, (word, reason), (status::UNKNOWN, reason), &text);
    // Nothing was done about a newer version of the request.
    new.observed_generation = view.status().observed_generation;
    let notice = Notice::warning("ProviderConfigMissing", "Connect", text);
    Decision { status: new, notice: Some(notice), step: Step::Done(Next::Await) }
}

/// The load balancer exists.
fn here(view: &View<'_>, found: &LoadBalancer) -> Decision {
    let old = view.status();
    let wanted = view.request.spec.targets.len();
    let synced = if found.targets == wanted {
        (status::TRUE, reasons::READY)
    } else {
        (status::FALSE, reasons::RECONCILING)
    };
    let endpoint = found.endpoint.clone().filter(|endpoint| !endpoint.is_empty());
    let since =
        condition::since(&old.conditions, PROVISIONED, status::FALSE).filter(|_| old.resource_id.is_some());
    let waited = since.map_or(Default::default(), |since| view.now.duration_since(since).unsigned_abs());
    let mut decision = if found.ready && endpoint.is_some() {
        let text = format!("{} of {wanted} targets are registered", found.targets);
        let new = view.with(Phase::Ready, (status::TRUE, reasons::READY), synced, &text);
        let text =
            format!("Load balancer `{}` answers on {}", found.id, endpoint.as_deref().unwrap_or_default());
        let notice = (view.phase() != Phase::Ready).then(|| Notice::normal("Ready", "Create", text));
        let pause = if found.targets == wanted { view.timing.steady } else { view.timing.pending };
        Decision { status: new, notice, step: Step::Done(Next::After(pause)) }
    } else if view.phase() == Phase::Failed && old.failure_reason.as_deref() == Some(TIMEOUT) {
        view.stay(Step::Done(Next::After(view.timing.steady)))
    } else if waited >= view.timing.load_balancer {
        let text = format!("the load balancer has not been ready for {}s", waited.as_secs());
        view.failed(TIMEOUT, text, Next::After(view.timing.steady))
    } else {
        let text = "the load balancer is not ready yet";
        let new = view.with(Phase::Creating, (status::FALSE, reasons::CREATING), synced, text);
        let made = format!("Load balancer `{}` is being made", found.id);
        let notice = old.resource_id.is_none().then(|| Notice::normal("Created", "Create", made));
        Decision { status: new, notice, step: Step::Done(Next::After(view.timing.pending)) }
    };
    decision.status.resource_id = Some(found.id.clone());
    decision.status.registered_targets = i32::try_from(found.targets).ok();
    if endpoint.is_some() {
        decision.status.endpoint = endpoint;
    }
    decision
}

fn not_made(view: &View<'_>, failure: Failure) -> Decision {
    let retry = Step::Done(failure.retry());
    if failure.class != ErrorClass::Transient {
        let next = if failure.may_pass() { Next::After(view.timing.failed) } else { Next::Await };
        return view.failed(failure.reason(), failure.text, next);
    }
    if matches!(view.phase(), Phase::Ready | Phase::Failed | Phase::Creating) {
        return view.stay(retry);
    }
    let reason = failure.reason();
    let mut new =
        view.with(Phase::Pending, (status::UNKNOWN, reason), (status::UNKNOWN, reason), &failure.text);
    new.observed_generation = view.status().observed_generation;
    Decision {
        status: new,
        notice: Some(Notice::warning("ProviderError", "Create", failure.text)),
        step: retry,
    }
}

fn deletion(view: &View<'_>, fact: Fact) -> Decision {
    if !view.is_guarded() {
        return view.stay(Step::Done(Next::Await));
    }
    let deleting = |reason: &str, text: &str| {
        view.with(Phase::Deleting, (status::FALSE, reason), (status::FALSE, reason), text)
    };
    let stuck = |reason: &'static str, text: String, next: Next| {
        let told = view.status().failure_reason.as_deref() == Some(reason);
        let mut new = deleting(reason, &text);
        (new.failure_reason, new.failure_message) = (Some(reason.to_owned()), Some(text.clone()));
        let notice = (!told).then(|| Notice::warning("DeleteFailed", "Delete", text));
        Decision { status: new, notice, step: Step::Done(next) }
    };
    let overdue = |why: &str, next: Next| {
        let asked = view.request.metadata.deletion_timestamp.as_ref()?.0;
        let late = view.now.duration_since(asked).unsigned_abs() >= view.timing.deletion;
        let minutes = view.timing.deletion.as_secs() / 60;
        let text =
            format!("the load balancer is still there {minutes} minutes after it was to be removed: {why}");
        late.then(|| stuck(DELETION_TIMEOUT, text, next))
    };
    let text = "the load balancer is being removed";
    match fact {
        Fact::NoDriver(
            Obstacle::Missing(text) | Obstacle::Malformed(text) | Obstacle::Refused { text, .. },
        ) => {
            let text = format!(
                "{text}; without it the load balancer cannot be removed: create it again, or remove the \
                 finalizer if you know that the load balancer is gone"
            );
            stuck("ProviderConfigMissing", text, Next::Await)
        }
        // Nothing was ever made.
        Fact::NoLoadBalancers => view.stay(Step::RemoveFinalizer),
        Fact::Driver if view.phase() == Phase::Deleting => view.stay(Step::Delete),
        Fact::Driver | Fact::Guarded | Fact::Ensured(_) => Decision {
            status: deleting(reasons::DELETING, text),
            notice: Some(Notice::normal("Deleting", "Delete", text)),
            step: Step::Delete,
        },
        Fact::Deleted(Ok(Deletion::Gone)) => view.stay(Step::Look),
        Fact::Deleted(Err(failure)) if failure.class == ErrorClass::NotFound => view.stay(Step::Look),
        Fact::Looked(Ok(None)) => {
            let text = format!("Load balancer of cluster `{}` is gone", view.request.spec.cluster_name);
            let notice = Some(Notice::normal("Deleted", "Delete", text));
            Decision { notice, ..view.stay(Step::RemoveFinalizer) }
        }
        Fact::Deleted(Ok(Deletion::Pending)) | Fact::Looked(Ok(Some(_))) => {
            let next = Next::After(view.timing.pending);
            let goes_on =
                || Decision { status: deleting(reasons::DELETING, text), ..view.stay(Step::Done(next)) };
            overdue("the provider has not finished", next).unwrap_or_else(goes_on)
        }
        Fact::Deleted(Err(failure)) | Fact::Looked(Err(failure)) => {
            let next = failure.retry();
            if failure.class == ErrorClass::Transient {
                return overdue(&failure.text, next).unwrap_or_else(|| view.stay(Step::Done(next)));
            }
            stuck(failure.reason(), failure.text, next)
        }
    }
}
