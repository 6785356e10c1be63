//! The conditions of a Pod that are its kubelet's to tell.

use jiff::Timestamp;
use k8s_openapi::{
    api::core::v1::{ContainerStatus, Pod, PodCondition, PodStatus},
    apimachinery::pkg::apis::meta::v1::Time,
};

const SCHEDULED: &str = "PodScheduled";
const STARTABLE: &str = "PodReadyToStartContainers";
const INITIALIZED: &str = "Initialized";
const CONTAINERS_READY: &str = "ContainersReady";
const READY: &str = "Ready";

/// The conditions that a kubelet writes; every other one belongs to somebody else.
const OWN: [&str; 5] = [SCHEDULED, STARTABLE, INITIALIZED, CONTAINERS_READY, READY];

/// Drops what others say about a Pod.
pub(super) fn keep_own(conditions: &mut Vec<PodCondition>) {
    conditions.retain(|condition| OWN.contains(&condition.type_.as_str()));
}

/// Drops what a kubelet says about a Pod.
pub(super) fn drop_own(conditions: &mut Vec<PodCondition>) {
    conditions.retain(|condition| !OWN.contains(&condition.type_.as_str()));
}

/// True when the status says that this condition holds.
pub(super) fn holds(conditions: Option<&Vec<PodCondition>>, kind: &str) -> bool {
    conditions.into_iter().flatten().any(|condition| condition.type_ == kind && condition.status == "True")
}

/// True when the Pod's init containers are done, now or earlier.
pub(super) fn initialized(status: &PodStatus) -> bool {
    holds(status.conditions.as_ref(), INITIALIZED)
}

/// What the conditions are about.
pub(super) struct Facts<'a> {
    pub(super) pod: &'a Pod,
    pub(super) phase: &'a str,
    /// True when the Pod has its network and its containers can be made.
    pub(super) startable: bool,
    /// Names of init containers that are not done.
    pub(super) uninitialized: Vec<&'a str>,
    /// Containers that must be ready for the Pod to be.
    pub(super) counted: Vec<&'a ContainerStatus>,
}

/// Condition, reason and message.
struct Claim(bool, Option<&'static str>, Option<String>);

/// Writes the conditions into a list that has the earlier ones.
pub(super) fn update(conditions: &mut Vec<PodCondition>, facts: &Facts<'_>, now: Timestamp) {
    let over = match facts.phase {
        "Succeeded" => Some("PodCompleted"),
        "Failed" => Some("PodFailed"),
        _ => None,
    };
    let unready: Vec<&str> =
        facts.counted.iter().filter(|status| !status.ready).map(|status| status.name.as_str()).collect();
    let initialized = match over {
        Some("PodCompleted") => Claim(true, Some("PodCompleted"), None),
        _ if facts.uninitialized.is_empty() || holds(Some(conditions), INITIALIZED) => {
            Claim(true, None, None)
        }
        _ => Claim(
            false,
            Some("ContainersNotInitialized"),
            Some(format!("containers with incomplete status: [{}]", facts.uninitialized.join(" "))),
        ),
    };
    let containers_ready = || match over {
        Some(reason) => Claim(false, Some(reason), None),
        None if unready.is_empty() => Claim(true, None, None),
        None => Claim(
            false,
            Some("ContainersNotReady"),
            Some(format!("containers with unready status: [{}]", unready.join(" "))),
        ),
    };
    let ready = match containers_ready() {
        Claim(true, ..) => gates(facts.pod),
        other => other,
    };
    let claims = [
        (SCHEDULED, Claim(true, None, None)),
        (STARTABLE, Claim(facts.startable && over.is_none(), None, None)),
        (INITIALIZED, initialized),
        (CONTAINERS_READY, containers_ready()),
        (READY, ready),
    ];
    for (kind, claim) in claims {
        set(conditions, kind, claim, now);
    }
}

/// Ready, unless a readiness gate says no.
fn gates(pod: &Pod) -> Claim {
    let gates = pod.spec.iter().flat_map(|spec| spec.readiness_gates.iter().flatten());
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_ref());
    let problems: Vec<String> = gates
        .map(|gate| gate.condition_type.as_str())
        .filter(|kind| !holds(conditions, kind))
        .map(|kind| {
            let exists = conditions.into_iter().flatten().any(|condition| condition.type_ == kind);
            let what = if exists {
                "status of pod readiness gate"
            } else {
                "corresponding condition of pod readiness gate"
            };
            let how = if exists { "is not \"True\"" } else { "does not exist" };
            format!("{what} \"{kind}\" {how}.")
        })
        .collect();
    match problems.as_slice() {
        [] => Claim(true, None, None),
        problems => Claim(false, Some("ReadinessGatesNotReady"), Some(problems.join(" "))),
    }
}

fn set(conditions: &mut Vec<PodCondition>, kind: &str, claim: Claim, now: Timestamp) {
    let Claim(holds, reason, message) = claim;
    let status = if holds { "True" } else { "False" };
    let old = conditions.iter_mut().find(|condition| condition.type_ == kind);
    let since =
        old.as_ref().filter(|old| old.status == status).and_then(|old| old.last_transition_time.clone());
    let new = PodCondition {
        type_: kind.to_owned(),
        status: status.to_owned(),
        reason: reason.map(str::to_owned),
        message,
        last_transition_time: Some(since.unwrap_or(Time(now))),
        ..PodCondition::default()
    };
    match old {
        Some(old) => *old = new,
        None => conditions.push(new),
    }
}
