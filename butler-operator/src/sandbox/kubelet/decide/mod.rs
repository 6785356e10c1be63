//! What the status of a Pod should be at a moment. Pure: the Pod, the status so far, the clock and the
//! place it runs in go in; the status, the next moment worth a look and what to tell people come out.
//!
//! The status carries all of a Pod's history that matters (when it started, how often a container was
//! started again), so a kubelet that was away goes on where it was. A status never goes back.

mod conditions;
mod container;
#[cfg(test)]
mod property;
#[cfg(test)]
mod tests;

use std::{net::IpAddr, time::Duration};

use conditions::Facts;
use container::{Cue, Role};
use jiff::Timestamp;
use k8s_openapi::{
    api::core::v1::{ContainerStatus, HostIP, Pod, PodCondition, PodIP, PodStatus},
    apimachinery::pkg::apis::meta::v1::Time,
};

use super::script::{self, Part};

/// How long a container that is asked to end takes to do so.
const STOP: Duration = Duration::from_millis(300);
/// A kill that cannot be refused, and one that was obeyed.
const KILLED: i32 = 137;
const TERMINATED: i32 = 143;

/// What a node gives to a Pod.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) node_ip: IpAddr,
    /// The address kept for this Pod.
    pub(super) pod_ip: Option<IpAddr>,
    /// True when Pods can have a network of their own.
    pub(super) network: bool,
}

/// Something that happened to a container, for events and logs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Note {
    Started { container: String, image: String, run: i32 },
    Ended { container: String, code: i32 },
    Stopping { container: String },
    BackOff { container: String },
    ImageMissing { container: String, image: String },
    NetworkMissing,
    DeadlineExceeded,
}

/// What is to be.
#[derive(Clone, Debug)]
pub(super) struct Verdict {
    /// The kubelet's part of the status.
    pub(super) status: PodStatus,
    /// When to decide again, if nothing happens before.
    pub(super) next: Option<Timestamp>,
    pub(super) notes: Vec<Note>,
    /// True when nothing of the Pod runs any more and its object can go.
    pub(super) remove: bool,
}

/// The part of a Pod's status that is the kubelet's own.
pub(super) fn own(status: Option<&PodStatus>) -> PodStatus {
    let Some(status) = status else { return PodStatus::default() };
    let mut conditions = status.conditions.clone();
    conditions.as_mut().into_iter().for_each(conditions::keep_own);
    PodStatus {
        conditions,
        phase: status.phase.clone(),
        reason: status.reason.clone(),
        message: status.message.clone(),
        host_ip: status.host_ip.clone(),
        host_ips: status.host_ips.clone(),
        pod_ip: status.pod_ip.clone(),
        pod_ips: status.pod_ips.clone(),
        start_time: status.start_time.clone(),
        init_container_statuses: status.init_container_statuses.clone(),
        container_statuses: status.container_statuses.clone(),
        observed_generation: status.observed_generation,
        ..PodStatus::default()
    }
}

/// Drops the kubelet's own conditions from a list, and leaves those of others.
pub(super) fn drop_own(conditions: &mut Vec<PodCondition>) {
    conditions::drop_own(conditions);
}

/// True when a Pod has come to its end.
pub(super) fn is_over(status: &PodStatus) -> bool {
    matches!(status.phase.as_deref(), Some("Succeeded" | "Failed"))
}

/// True when the Pod uses its node's network.
pub(super) fn on_host_network(pod: &Pod) -> bool {
    pod.spec.as_ref().and_then(|spec| spec.host_network).unwrap_or(false)
}

/// Decides. `status` is what this function said last, `deleted` when the kubelet saw that the Pod is to go.
pub(super) fn decide(
    pod: &Pod,
    status: &PodStatus,
    deleted: Option<Timestamp>,
    now: Timestamp,
    place: &Place,
) -> Verdict {
    let mut verdict = Verdict { status: status.clone(), next: None, notes: Vec::new(), remove: false };
    if is_over(status) {
        verdict.remove = deleted.is_some();
        return verdict;
    }
    let mut life = Life { pod, now, deleted, place, new: &mut verdict };
    life.go_on();
    if verdict.status != *status {
        verdict.status.observed_generation = pod.metadata.generation;
    }
    verdict
}

/// One decision on a Pod that lives.
struct Life<'a> {
    pod: &'a Pod,
    now: Timestamp,
    deleted: Option<Timestamp>,
    place: &'a Place,
    new: &'a mut Verdict,
}

impl Life<'_> {
    fn go_on(&mut self) {
        let Some(spec) = self.pod.spec.as_ref() else { return };
        let first_sight = self.new.status.start_time.is_none();
        let born = self.new.status.start_time.get_or_insert(Time(self.now)).0;
        let open_at = after(born, script::start_delay(self.pod));
        let startable = self.arrive(open_at, first_sight);
        let deadline = spec.active_deadline_seconds.and_then(|limit| u64::try_from(limit).ok());
        let deadline = deadline.map(|limit| after(born, Duration::from_secs(limit)));
        let too_late = deadline.is_some_and(|deadline| deadline <= self.now);
        if self.deleted.is_none() {
            self.look_again(deadline.filter(|_| !too_late));
        }

        let old_init = self.new.status.init_container_statuses.take().unwrap_or_default();
        let old_main = self.new.status.container_statuses.take().unwrap_or_default();
        let init: Vec<Role<'_>> = spec
            .init_containers
            .iter()
            .flatten()
            .map(|container| {
                let sidecar = container.restart_policy.as_deref() == Some("Always");
                Role::new(self.pod, container, if sidecar { Part::Sidecar } else { Part::Init })
            })
            .collect();
        let main: Vec<Role<'_>> =
            spec.containers.iter().map(|container| Role::new(self.pod, container, Part::Main)).collect();

        let (pod, now, deleted) = (self.pod, self.now, self.deleted);
        let waits_for = if init.is_empty() { "ContainerCreating" } else { "PodInitializing" };
        let cue = |may_start: bool, role: &Role<'_>| Cue {
            pod,
            now,
            may_start: may_start && !too_late,
            open_at,
            waits_for,
            stop: if too_late { Some((now, KILLED)) } else { deleted.map(|seen| stop(pod, seen, role)) },
        };
        let mut notes = Vec::new();
        let was_initialized = conditions::initialized(&self.new.status);
        let mut may_start = startable;
        let mut looks = Vec::new();
        let mut uninitialized = Vec::new();
        let mut init_statuses = Vec::with_capacity(init.len());
        for role in &init {
            let cue = cue(may_start, role);
            let (status, next) = role.advance(find(&old_init, role), &cue, &mut notes);
            looks.push(next);
            let done = match role.part {
                Part::Sidecar => status.started == Some(true),
                _ => container::ended(&status).is_some_and(|end| end.exit_code == 0),
            };
            if !done {
                uninitialized.push(role.container.name.as_str());
            }
            may_start &= done || was_initialized;
            init_statuses.push(status);
        }
        let mut main_statuses = Vec::with_capacity(main.len());
        for role in &main {
            let cue = cue(may_start, role);
            let (status, next) = role.advance(find(&old_main, role), &cue, &mut notes);
            looks.push(next);
            main_statuses.push(status);
        }

        let main_over = main.iter().zip(&main_statuses).all(|(role, status)| role.is_over(self.pod, status));
        let init_failed = init
            .iter()
            .zip(&init_statuses)
            .any(|(role, status)| role.is_over(self.pod, status) && !succeeded(status));
        let stopped = self.deleted.is_some()
            && init_statuses
                .iter()
                .chain(&main_statuses)
                .all(|status| container::running_since(status).is_none());
        if main_over || init_failed || too_late {
            // Sidecars live as long as their Pod.
            for (role, status) in init.iter().zip(&mut init_statuses) {
                let stop = Some((self.now, 0));
                let cue = Cue { may_start: false, stop, ..cue(false, role) };
                *status = role.advance(Some(status), &cue, &mut notes).0;
            }
            looks.clear();
        }
        looks.into_iter().for_each(|look| self.look_again(look));
        self.new.notes.append(&mut notes);
        if self.deleted == Some(self.now) {
            let running = init_statuses.iter().chain(&main_statuses);
            let running = running.filter(|status| container::running_since(status).is_some());
            self.new.notes.extend(running.map(|status| Note::Stopping { container: status.name.clone() }));
        }

        let all_well = main_statuses.iter().all(succeeded);
        let begun = main_statuses.iter().all(container::has_started);
        let phase = if too_late {
            self.new.status.reason = Some("DeadlineExceeded".to_owned());
            self.new.status.message =
                Some("Pod was active on the node longer than the specified deadline".to_owned());
            self.new.notes.push(Note::DeadlineExceeded);
            "Failed"
        } else if init_failed {
            "Failed"
        } else if main_over || (stopped && begun) {
            if all_well { "Succeeded" } else { "Failed" }
        } else if begun {
            "Running"
        } else {
            "Pending"
        };
        self.new.remove = stopped || (self.deleted.is_some() && matches!(phase, "Succeeded" | "Failed"));
        if self.new.remove {
            self.new.next = None;
        }
        let counted = init
            .iter()
            .zip(&init_statuses)
            .filter(|(role, _)| role.part == Part::Sidecar)
            .map(|(_, status)| status)
            .chain(&main_statuses)
            .collect();
        let facts = Facts { pod: self.pod, phase, startable, uninitialized, counted };
        conditions::update(self.new.status.conditions.get_or_insert_default(), &facts, self.now);
        self.new.status.phase = Some(phase.to_owned());
        self.new.status.init_container_statuses = Some(init_statuses).filter(|list| !list.is_empty());
        self.new.status.container_statuses = Some(main_statuses);
    }

    /// Gives the Pod its addresses; true when its containers can be made.
    fn arrive(&mut self, open_at: Timestamp, first_sight: bool) -> bool {
        let Place { node_ip, pod_ip, network } = *self.place;
        let status = &mut self.new.status;
        if status.host_ip.is_none() {
            status.host_ip = Some(node_ip.to_string());
            status.host_ips = Some(vec![HostIP { ip: node_ip.to_string() }]);
        }
        let ip = if on_host_network(self.pod) { Some(node_ip) } else { pod_ip.filter(|_| network) };
        let Some(ip) = ip else {
            if first_sight {
                self.new.notes.push(Note::NetworkMissing);
            }
            return status.pod_ip.is_some();
        };
        if status.pod_ip.is_none() {
            if self.now < open_at {
                self.look_again(Some(open_at));
                return false;
            }
            status.pod_ip = Some(ip.to_string());
            status.pod_ips = Some(vec![PodIP { ip: ip.to_string() }]);
        }
        true
    }

    fn look_again(&mut self, at: Option<Timestamp>) {
        self.new.next = earlier(self.new.next, at);
    }
}

/// When a container of a deleted Pod ends, and how.
fn stop(pod: &Pod, seen: Timestamp, role: &Role<'_>) -> (Timestamp, i32) {
    let grace = pod.metadata.deletion_grace_period_seconds.unwrap_or(0);
    let grace = Duration::from_secs(u64::try_from(grace).unwrap_or(0));
    if role.script.ignores_term || grace <= STOP {
        (after(seen, grace), KILLED)
    } else {
        // A job that is stopped did not do its work; a service has nothing left to do.
        (after(seen, STOP), if script::is_job(pod) { TERMINATED } else { 0 })
    }
}

fn find<'a>(statuses: &'a [ContainerStatus], role: &Role<'_>) -> Option<&'a ContainerStatus> {
    statuses.iter().find(|status| status.name == role.container.name)
}

fn succeeded(status: &ContainerStatus) -> bool {
    container::ended(status).is_some_and(|end| end.exit_code == 0)
}

/// The earlier of two moments, if there is any.
fn earlier(one: Option<Timestamp>, other: Option<Timestamp>) -> Option<Timestamp> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// A later moment; time ends where the calendar does.
pub(super) fn after(time: Timestamp, pause: Duration) -> Timestamp {
    time.checked_add(pause).unwrap_or(Timestamp::MAX)
}
