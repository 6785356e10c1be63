//! What happens next to a MachineRequest. Pure: the request, what was just learnt, the time.
//!
//! | phase | means |
//! |---|---|
//! | Pending | no machine yet: something is missing, or the provider could not be reached |
//! | Creating | the machine exists and has no address yet |
//! | Running | it has had an address; `Ready` tells whether it has one now |
//! | Failed | not without help, or not before something changes; the machine is still looked at |
//! | Deleting | being removed, until the provider says that it is gone |
//!
//! An error while *looking* says nothing about the machine and so never makes it Failed. A machine that
//! has had an address may hold data, so it is not made anew when it is gone; the person who wants that
//! changes the request, or deletes it.

use butler_core::api::{
    MachineRequest,
    common::Time,
    conditions::{reasons, status, types},
    machine_request::{MachineRequestPhase as Phase, MachineRequestStatus},
    names::finalizers,
};
use jiff::Timestamp;
use kube::ResourceExt;

use crate::{
    controller::{
        Next, Timing, condition,
        failure::{DELETION_TIMEOUT, Failure},
        notice::Notice,
        provider::Obstacle,
    },
    driver::{Deletion, ErrorClass, Machine, MachineState},
};

pub(in super::super) const VM_DELETED: &str = "VMDeleted";
pub(in super::super) const IP_TIMEOUT: &str = "IPAssignmentTimeout";
const STOPPED: &str = "Stopped";

/// What is known before anything is done.
#[derive(Debug)]
pub(super) struct View<'a> {
    /// The request, with its newest status.
    pub(super) request: &'a MachineRequest,
    /// `spec.provider` of its ProviderConfig.
    pub(super) provider: &'a str,
    /// True when the ProviderConfig or its Secret is another than at the last failure.
    pub(super) provider_changed: bool,
    pub(super) timing: Timing,
    pub(super) now: Timestamp,
}

/// What was learnt last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fact {
    /// There is no driver.
    NoDriver(Obstacle),
    /// There is a driver; nothing was asked yet.
    Driver,
    /// The finalizer is on the request now.
    Guarded,
    /// The provider was asked for the machine.
    Looked(Result<Option<Machine>, Failure>),
    /// The machine was asked for.
    Created(Result<Machine, Failure>),
    /// Its removal was asked for.
    Deleted(Result<Deletion, Failure>),
}

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    AddFinalizer,
    Look,
    Create,
    Delete,
    RemoveFinalizer,
    /// Nothing for now.
    Done(Next),
}

/// What to write, whom to tell, what to do.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Decision {
    /// The status as it should be.
    pub(super) status: MachineRequestStatus,
    /// Told when the status changes.
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
        Fact::Driver | Fact::Guarded => view.stay(Step::Look),
        // Found, and could be lost again by a deletion that does not wait for us.
        Fact::Looked(Ok(Some(_))) if !view.is_guarded() => view.stay(Step::AddFinalizer),
        Fact::Looked(Ok(Some(machine))) => {
            let is_new = view.status().provider_id.is_none();
            let text = || format!("Machine `{}` exists with our mark and is taken over", machine.name);
            let notice = is_new.then(|| Notice::normal("Adopted", "Create", text()));
            here(view, &machine, notice)
        }
        Fact::Looked(Ok(None)) => absent(view),
        Fact::Looked(Err(failure)) => unreadable(view, failure),
        Fact::Created(Ok(machine)) => {
            let text = format!("Machine `{}` is being made as `{}`", machine.name, machine.id);
            here(view, &machine, Some(Notice::normal("Created", "Create", text)))
        }
        Fact::Created(Err(failure)) => not_created(view, failure),
        Fact::Deleted(_) => view.stay(Step::Done(Next::Await)),
    }
}

impl View<'_> {
    fn status(&self) -> MachineRequestStatus {
        self.request.status.clone().unwrap_or_default()
    }

    fn phase(&self) -> Phase {
        self.request.status.as_ref().and_then(|status| status.phase.clone()).unwrap_or(Phase::Pending)
    }

    fn is_guarded(&self) -> bool {
        let ours = finalizers::machine_request(self.provider);
        self.request.finalizers().contains(&ours)
    }

    /// True when the request is not the one that the status speaks of.
    fn is_changed(&self) -> bool {
        let observed = self.request.status.as_ref().and_then(|status| status.observed_generation);
        observed.is_some() && observed != self.request.metadata.generation
    }

    /// Goes on without a change of status.
    fn stay(&self, step: Step) -> Decision {
        Decision { status: self.status(), notice: None, step }
    }

    /// A status with its two conditions set.
    fn with(
        &self,
        phase: Phase,
        ready: (&str, &str),
        progressing: (&str, &str),
        message: &str,
    ) -> MachineRequestStatus {
        let mut new = self.status();
        let generation = self.request.metadata.generation;
        // A machine is not changed by a later version of the request; until it is made anew, its status
        // speaks of the one it was made from.
        if new.provider_id.is_none() || new.observed_generation.is_none() || phase == Phase::Failed {
            new.observed_generation = generation;
        }
        for (type_, (status, reason)) in [(types::READY, ready), (types::PROGRESSING, progressing)] {
            condition::set(&mut new.conditions, (type_, status, reason), message, generation, self.now);
        }
        if phase != Phase::Failed && phase != Phase::Deleting {
            new.failure_reason = None;
            new.failure_message = None;
        }
        new.phase = Some(phase);
        new.last_updated = Some(Time(self.now));
        new
    }

    fn failed(&self, reason: &'static str, text: String, next: Next) -> Decision {
        let mut new = self.with(Phase::Failed, (status::FALSE, reason), (status::FALSE, reason), &text);
        new.failure_reason = Some(reason.to_owned());
        new.failure_message = Some(text.clone());
        let reason = if reason == VM_DELETED { VM_DELETED } else { "CreateFailed" };
        Decision {
            status: new,
            notice: Some(Notice::warning(reason, "Create", text)),
            step: Step::Done(next),
        }
    }
}

/// There is no driver: nothing can be known of the machine.
fn no_driver(view: &View<'_>, obstacle: Obstacle) -> Decision {
    let (reason, text) = match obstacle {
        Obstacle::Missing(text) => (reasons::WAITING_FOR_DEPENDENCIES, text),
        Obstacle::Malformed(text) => (reasons::INVALID_CONFIGURATION, text),
        Obstacle::Refused { provider, text } => {
            // Another controller may run the machines of a provider that we have no driver for.
            let theirs = finalizers::machine_request(&provider);
            if view.request.finalizers().contains(&theirs) && view.status().phase.is_none() {
                return view.stay(Step::Done(Next::Await));
            }
            if matches!(view.phase(), Phase::Pending | Phase::Failed) {
                return view.failed(reasons::INVALID_CONFIGURATION, text, Next::Await);
            }
            (reasons::INVALID_CONFIGURATION, text)
        }
    };
    let phase = view.phase();
    let is_made = matches!(phase, Phase::Creating | Phase::Running);
    if phase == Phase::Failed {
        return view.stay(Step::Done(Next::Await));
    }
    let ready = if is_made { status::UNKNOWN } else { status::FALSE };
    let phase = if is_made { phase } else { Phase::Pending };
    let mut new = view.with(phase, (ready, reason), (status::FALSE, reason), &text);
    if is_made {
        // The time for an address goes on.
        new.conditions.retain(|condition| condition.type_ != types::PROGRESSING);
        let old = view.status().conditions.into_iter();
        new.conditions.extend(old.filter(|condition| condition.type_ == types::PROGRESSING));
    }
    let notice = Notice::warning(reason_word(reason), "Connect", text);
    Decision { status: new, notice: Some(notice), step: Step::Done(Next::Await) }
}

fn reason_word(reason: &str) -> &'static str {
    if reason == reasons::WAITING_FOR_DEPENDENCIES {
        "ProviderConfigMissing"
    } else {
        "ProviderConfigInvalid"
    }
}

/// The machine exists.
fn here(view: &View<'_>, machine: &Machine, notice: Option<Notice>) -> Decision {
    let phase = view.phase();
    // What was said of it before it was looked at; a failure may have passed.
    let was_up = view.request.status.as_ref().is_some_and(|status| status.ip_address.is_some());
    let has_address = !machine.addresses.is_empty();
    let mut decision = match &machine.state {
        MachineState::Failed(words) => {
            let text = format!("the provider says of machine `{}`: {words}", machine.name);
            view.failed(reasons::PROVIDER_ERROR, text, Next::After(view.timing.steady))
        }
        MachineState::Running if has_address => running(view, machine, &phase),
        state if was_up => {
            let (reason, text) = match state {
                MachineState::Stopped => (STOPPED, "the machine is switched off"),
                MachineState::Deleting => (reasons::DELETING, "the provider is removing the machine"),
                _ => (reasons::WAITING_FOR_IP, "the machine has no address at the moment"),
            };
            let status = view.with(Phase::Running, (status::FALSE, reason), (status::FALSE, reason), text);
            Decision { status, notice: None, step: Step::Done(Next::After(view.timing.pending)) }
        }
        state => creating(view, state),
    };
    let new = &mut decision.status;
    new.provider_id = Some(machine.id.clone());
    // A provider that says nothing for a while, as during a reboot, has not taken the address away.
    if has_address {
        new.ip_addresses = machine.addresses.iter().map(ToString::to_string).collect();
        new.ip_address = new.ip_addresses.first().cloned();
    }
    if machine.mac.is_some() {
        new.mac_address.clone_from(&machine.mac);
    }
    if notice.is_some() {
        decision.notice = notice;
    }
    decision
}

fn running(view: &View<'_>, machine: &Machine, phase: &Phase) -> Decision {
    let changed = view.is_changed() && *phase == Phase::Running;
    let text = if changed {
        "the machine was made from an earlier version of this request and is not changed; \
         delete the request and create it again for another machine"
    } else {
        "the machine is running"
    };
    let reason = reasons::RUNNING;
    let new = view.with(Phase::Running, (status::TRUE, reason), (status::FALSE, reason), text);
    let notice = match phase {
        Phase::Running if changed => Some(Notice::warning("ChangeIgnored", "Update", text)),
        Phase::Running => None,
        _ => {
            let address = machine.addresses.first().map(ToString::to_string).unwrap_or_default();
            Some(Notice::normal(
                "Ready",
                "Create",
                format!("Machine `{}` has address {address}", machine.name),
            ))
        }
    };
    Decision { status: new, notice, step: Step::Done(Next::After(view.timing.steady)) }
}

/// The machine has never had an address.
fn creating(view: &View<'_>, state: &MachineState) -> Decision {
    let (reason, text) = match state {
        MachineState::Stopped => (STOPPED, "the machine is switched off and has no address yet"),
        MachineState::Deleting => (reasons::DELETING, "the provider is removing the machine"),
        _ => (reasons::WAITING_FOR_IP, "the machine has no address yet"),
    };
    let old = view.status();
    if view.phase() == Phase::Failed && old.failure_reason.as_deref() == Some(IP_TIMEOUT) {
        return view.stay(Step::Done(Next::After(view.timing.steady)));
    }
    let since = condition::since(&old.conditions, types::PROGRESSING, status::TRUE).unwrap_or(view.now);
    let waited = view.now.duration_since(since).unsigned_abs();
    if waited >= view.timing.machine {
        let text = format!("the machine has had no address for {}s", waited.as_secs());
        return view.failed(IP_TIMEOUT, text, Next::After(view.timing.steady));
    }
    let status = view.with(Phase::Creating, (status::FALSE, reason), (status::TRUE, reason), text);
    let left = view.timing.machine - waited;
    Decision { status, notice: None, step: Step::Done(Next::After(view.timing.pending.min(left))) }
}

/// The provider has no machine of ours.
fn absent(view: &View<'_>) -> Decision {
    let old = view.status();
    let make = |decision: Decision| match view.is_guarded() {
        true => Decision { step: Step::Create, ..decision },
        false => Decision { step: Step::AddFinalizer, ..decision },
    };
    let anew = || {
        let mut new = view.with(
            Phase::Pending,
            (status::FALSE, reasons::CREATING),
            (status::FALSE, reasons::CREATING),
            "the machine is about to be made",
        );
        (new.provider_id, new.ip_address, new.mac_address) = (None, None, None);
        new.ip_addresses.clear();
        new.observed_generation = view.request.metadata.generation;
        make(Decision { status: new, notice: None, step: Step::Create })
    };
    match view.phase() {
        Phase::Running => {
            let text =
                format!("machine `{}` no longer exists at the provider", view.request.spec.machine_name);
            view.failed(VM_DELETED, text, Next::After(view.timing.failed))
        }
        Phase::Failed if view.is_changed() => anew(),
        Phase::Failed if old.ip_address.is_some() => {
            if old.failure_reason.as_deref() == Some(VM_DELETED) {
                return view.stay(Step::Done(Next::After(view.timing.failed)));
            }
            let text =
                format!("machine `{}` no longer exists at the provider", view.request.spec.machine_name);
            view.failed(VM_DELETED, text, Next::After(view.timing.failed))
        }
        Phase::Failed => {
            let passes = old.failure_reason.as_deref() != Some(reasons::INVALID_CONFIGURATION);
            let since = old.last_updated.map_or(view.now, |time| time.0);
            let waited = view.now.duration_since(since).unsigned_abs();
            if view.provider_changed || (passes && waited >= view.timing.failed) {
                return make(view.stay(Step::Create));
            }
            let next = if passes { Next::After(view.timing.failed - waited) } else { Next::Await };
            view.stay(Step::Done(next))
        }
        // It was made and is gone before it ever had an address: made again.
        Phase::Creating => anew(),
        _ => make(view.stay(Step::Create)),
    }
}

/// The provider could not say whether there is a machine.
fn unreadable(view: &View<'_>, failure: Failure) -> Decision {
    let phase = view.phase();
    let is_made = matches!(phase, Phase::Creating | Phase::Running);
    if !is_made && phase != Phase::Failed {
        return not_created(view, failure);
    }
    let step = Step::Done(failure.retry());
    if failure.class == ErrorClass::Transient || !is_made {
        return view.stay(step);
    }
    let reason = failure.reason();
    let generation = view.request.metadata.generation;
    let mut new = view.status();
    let ready = (types::READY, status::UNKNOWN, reason);
    condition::set(&mut new.conditions, ready, &failure.text, generation, view.now);
    new.last_updated = Some(Time(view.now));
    Decision { status: new, notice: Some(Notice::warning("ProviderError", "Read", failure.text)), step }
}

/// The machine could not be made.
fn not_created(view: &View<'_>, failure: Failure) -> Decision {
    let reason = failure.reason();
    if failure.class != ErrorClass::Transient {
        let next = if failure.may_pass() { Next::After(view.timing.failed) } else { Next::Await };
        return view.failed(reason, failure.text, next);
    }
    let status = view.with(Phase::Pending, (status::FALSE, reason), (status::FALSE, reason), &failure.text);
    let step = Step::Done(failure.retry());
    let notice = Notice::warning("ProviderError", "Create", failure.text);
    Decision { status, notice: Some(notice), step }
}

/// The request is to go, and its machine before it.
fn deletion(view: &View<'_>, fact: Fact) -> Decision {
    let guards = view.request.finalizers().iter();
    if guards.filter_map(|name| finalizers::machine_request_provider(name)).next().is_none() {
        return view.stay(Step::Done(Next::Await));
    }
    let deleting = |text: &str| {
        let reason = reasons::DELETING;
        let mut new = view.with(Phase::Deleting, (status::FALSE, reason), (status::TRUE, reason), text);
        (new.failure_reason, new.failure_message) = (None, None);
        new
    };
    match fact {
        Fact::NoDriver(Obstacle::Refused { .. }) if view.status().phase.is_none() => {
            view.stay(Step::Done(Next::Await))
        }
        Fact::NoDriver(
            Obstacle::Missing(text) | Obstacle::Malformed(text) | Obstacle::Refused { text, .. },
        ) => {
            let text = format!(
                "{text}; without it the machine cannot be removed: create it again, or remove the finalizer \
                 if you know that the machine is gone"
            );
            stuck(view, deleting(&text), "ProviderConfigMissing", text, Next::Await)
        }
        Fact::Driver if !view.is_guarded() => {
            let text = format!(
                "the machine was not made with provider `{}`, which its ProviderConfig names now",
                view.provider
            );
            stuck(view, deleting(&text), reasons::INVALID_CONFIGURATION, text, Next::Await)
        }
        Fact::Driver => {
            let text = "the machine is being removed";
            let notice =
                (view.phase() != Phase::Deleting).then(|| Notice::normal("Deleting", "Delete", text));
            // What was learnt of a deletion that goes on stays, until there is news.
            let status = if notice.is_some() { deleting(text) } else { view.status() };
            Decision { status, notice, step: Step::Delete }
        }
        Fact::Deleted(Ok(Deletion::Gone)) => view.stay(Step::Look),
        Fact::Deleted(Err(failure)) if failure.class == ErrorClass::NotFound => view.stay(Step::Look),
        Fact::Looked(Ok(None)) => {
            let text = format!("Machine `{}` is gone", view.request.spec.machine_name);
            let notice = Some(Notice::normal("Deleted", "Delete", text));
            Decision { status: view.status(), notice, step: Step::RemoveFinalizer }
        }
        Fact::Deleted(Ok(Deletion::Pending)) | Fact::Looked(Ok(Some(_))) => {
            let next = Next::After(view.timing.pending);
            overdue(view, "the provider has not finished", next).unwrap_or_else(|| Decision {
                status: deleting("the machine is being removed"),
                ..view.stay(Step::Done(next))
            })
        }
        Fact::Deleted(Err(failure)) | Fact::Looked(Err(failure)) => {
            let next = failure.retry();
            if failure.class == ErrorClass::Transient {
                return overdue(view, &failure.text, next).unwrap_or_else(|| view.stay(Step::Done(next)));
            }
            stuck(view, deleting(&failure.text), failure.reason(), failure.text, next)
        }
        Fact::Guarded | Fact::Created(_) => view.stay(Step::Delete),
    }
}

/// Reports a deletion that takes too long.
fn overdue(view: &View<'_>, why: &str, next: Next) -> Option<Decision> {
    let asked = view.request.metadata.deletion_timestamp.as_ref()?.0;
    let waited = view.now.duration_since(asked).unsigned_abs();
    if waited < view.timing.deletion {
        return None;
    }
    let minutes = view.timing.deletion.as_secs() / 60;
    let text = format!("the machine is still there {minutes} minutes after it was to be removed: {why}");
    let reason = DELETION_TIMEOUT;
    let new = view.with(Phase::Deleting, (status::FALSE, reason), (status::TRUE, reason), &text);
    Some(stuck(view, new, reason, text, next))
}

/// A deletion that needs somebody's help.
fn stuck(
    view: &View<'_>,
    mut new: MachineRequestStatus,
    reason: &'static str,
    text: String,
    next: Next,
) -> Decision {
    let told = view.status().failure_reason.as_deref() == Some(reason);
    new.failure_reason = Some(reason.to_owned());
    new.failure_message = Some(text.clone());
    let notice = (!told).then(|| Notice::warning("DeleteFailed", "Delete", text));
    Decision { status: new, notice, step: Step::Done(next) }
}
