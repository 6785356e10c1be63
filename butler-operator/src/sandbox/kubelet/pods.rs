//! The Pods of a node: what the API server says of them, what they really do, and what it has to be told.
//!
//! The status in here is the truth and runs ahead of the API server's, which learns of it one request
//! per Pod at a time; an older status that comes back through the watch changes nothing.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    fmt,
    net::IpAddr,
    path::PathBuf,
};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ContainerStatus, Pod, PodStatus};
use kube::ResourceExt;
use tokio_util::sync::CancellationToken;

use super::{
    clock::Clock,
    decide::{self, Note, Place},
    events::Recorder,
    logs::Logs,
    mirror,
    network::{self, Addresses},
};

/// Namespace and name of a Pod.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PodKey {
    pub(super) namespace: String,
    pub(super) name: String,
}

impl PodKey {
    pub(super) fn of(object: &impl ResourceExt) -> Self {
        Self { namespace: object.namespace().unwrap_or_default(), name: object.name_any() }
    }
}

impl fmt::Display for PodKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// A Pod of this node.
#[derive(Debug)]
pub(super) struct Tracked {
    /// As the API server has it, without what the status below says.
    pub(super) pod: Pod,
    /// The kubelet's part of the status, as it is.
    pub(super) status: PodStatus,
    /// True when the API server does not know the status yet.
    untold: bool,
    /// True when the object is to go.
    pub(super) remove: bool,
    removed: bool,
    /// True while a request about it is on its way.
    busy: bool,
    queued: bool,
    deleted: Option<Timestamp>,
    due: Option<Timestamp>,
    address: Option<IpAddr>,
    /// Ends when the run that somebody listens to does.
    listeners: BTreeMap<String, CancellationToken>,
}

impl Tracked {
    pub(super) fn uid(&self) -> &str {
        self.pod.metadata.uid.as_deref().unwrap_or_default()
    }

    /// The Pod with its whole status.
    pub(super) fn whole(&self) -> Pod {
        let mut pod = self.pod.clone();
        let mut status = self.status.clone();
        if let Some(others) = pod.status.take() {
            status.qos_class = others.qos_class;
            status.conditions.get_or_insert_default().extend(others.conditions.unwrap_or_default());
        }
        pod.status = Some(status);
        pod
    }

    fn container(&self, name: &str) -> Option<&ContainerStatus> {
        let init = self.status.init_container_statuses.iter().flatten();
        init.chain(self.status.container_statuses.iter().flatten()).find(|status| status.name == name)
    }
}

/// A request about a Pod.
#[derive(Debug)]
pub(super) enum PodRequest {
    Tell(Box<PodStatus>),
    Remove,
}

/// How a request about a Pod went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Done,
    /// Nothing will come of it.
    Hopeless,
    /// To be tried again.
    Failed,
}

/// Where a container's log is.
#[derive(Debug)]
pub(super) struct LogSource {
    pub(super) path: PathBuf,
    /// Ends with the run; `None` when it has ended.
    pub(super) run: Option<CancellationToken>,
}

/// Why there is no log, as an HTTP status and in words.
pub(super) type NoLog = (u16, String);

/// The Pods of a node.
pub(super) struct Pods {
    clock: Clock,
    node_ip: IpAddr,
    network: bool,
    addresses: Addresses,
    pub(super) logs: Logs,
    pub(super) recorder: Recorder,
    tracked: BTreeMap<PodKey, Tracked>,
    due: BTreeSet<(Timestamp, PodKey)>,
    queue: VecDeque<PodKey>,
    /// Filled while a list comes in.
    listed: BTreeSet<PodKey>,
    /// True once all Pods are known.
    synced: bool,
}

impl Pods {
    pub(super) fn new(
        clock: Clock,
        node_ip: IpAddr,
        addresses: Addresses,
        logs: Logs,
        recorder: Recorder,
    ) -> Self {
        Self {
            clock,
            node_ip,
            network: false,
            addresses,
            logs,
            recorder,
            tracked: BTreeMap::new(),
            due: BTreeSet::new(),
            queue: VecDeque::new(),
            listed: BTreeSet::new(),
            synced: false,
        }
    }

    pub(super) fn synced(&self) -> bool {
        self.synced
    }

    pub(super) fn get(&self, key: &PodKey) -> Option<&Tracked> {
        self.tracked.get(key)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&PodKey, &Tracked)> {
        self.tracked.iter()
    }

    /// True when Pods have a network.
    pub(super) fn network(&self) -> bool {
        self.network
    }

    /// From now on Pods have a network.
    pub(super) fn network_is_up(&mut self) {
        self.network = true;
        for key in self.tracked.keys().cloned().collect::<Vec<_>>() {
            self.look(&key);
        }
    }

    /// The range the cluster gave to this node.
    pub(super) fn use_range(&mut self, cidr: &str) {
        self.addresses.use_range(cidr);
    }

    /// A list of all Pods begins.
    pub(super) fn begin_list(&mut self) {
        self.listed.clear();
    }

    /// A Pod of the list, also one that cannot be read.
    pub(super) fn mention(&mut self, key: PodKey) {
        self.listed.insert(key);
    }

    /// The list is complete: what is not on it is gone. Gives the mirrors among those.
    pub(super) fn end_list(&mut self) -> Vec<Tracked> {
        let listed = std::mem::take(&mut self.listed);
        let gone: Vec<PodKey> = self.tracked.keys().filter(|key| !listed.contains(key)).cloned().collect();
        let gone = gone.iter().filter_map(|key| self.forget(key, None)).collect();
        if !self.synced {
            self.synced = true;
            self.logs.keep_only(self.tracked.values().map(|tracked| &tracked.pod));
        }
        gone
    }

    /// Takes in a Pod that is new or has changed. `seed` is the status of a static Pod that goes on.
    /// Gives the Pod that had the name before.
    pub(super) fn apply(&mut self, mut pod: Pod, seed: Option<PodStatus>) -> Option<Tracked> {
        let key = PodKey::of(&pod);
        let now = self.clock.now();
        let uid = pod.uid().unwrap_or_default();
        let replaced = match self.tracked.get(&key) {
            Some(tracked) if tracked.uid() == uid => None,
            Some(_) => self.forget(&key, None),
            None => None,
        };
        let told = decide::own(pod.status.as_ref());
        slim(&mut pod);
        match self.tracked.get_mut(&key) {
            Some(tracked) => {
                // Somebody else may end a Pod, as the garbage collector does.
                if decide::is_over(&told) && !decide::is_over(&tracked.status) {
                    tracked.status = told;
                    tracked.untold = false;
                }
                tracked.pod = pod;
            }
            None => {
                let untold = seed.is_some();
                let tracked = Tracked {
                    status: seed.unwrap_or(told),
                    pod,
                    untold,
                    remove: false,
                    removed: false,
                    busy: false,
                    queued: false,
                    deleted: None,
                    due: None,
                    address: None,
                    listeners: BTreeMap::new(),
                };
                self.tracked.insert(key.clone(), tracked);
            }
        }
        if let Some(tracked) = self.tracked.get_mut(&key)
            && tracked.pod.metadata.deletion_timestamp.is_some()
        {
            tracked.deleted.get_or_insert(now);
        }
        self.look_at(&key, now);
        replaced
    }

    /// A Pod that is gone from the API server.
    pub(super) fn forget(&mut self, key: &PodKey, uid: Option<&str>) -> Option<Tracked> {
        if uid.is_some_and(|uid| self.tracked.get(key).is_none_or(|tracked| tracked.uid() != uid)) {
            return None;
        }
        let mut tracked = self.tracked.remove(key)?;
        if let Some(due) = tracked.due.take() {
            self.due.remove(&(due, key.clone()));
        }
        if let Some(address) = tracked.address.take() {
            self.addresses.take_back(tracked.uid(), address);
        }
        tracked.listeners.values().for_each(CancellationToken::cancel);
        self.logs.remove(&tracked.pod);
        Some(tracked)
    }

    /// The object of this Pod is to go, whatever the Pod does.
    pub(super) fn expel(&mut self, key: &PodKey) {
        if let Some(tracked) = self.tracked.get_mut(key) {
            tracked.remove = true;
        }
        self.enqueue(key);
    }

    /// Decides on every Pod whose time has come.
    pub(super) fn wake(&mut self) {
        let now = self.clock.now();
        while let Some((due, key)) = self.due.first().cloned()
            && due <= now
        {
            self.due.remove(&(due, key.clone()));
            if let Some(tracked) = self.tracked.get_mut(&key) {
                tracked.due = None;
            }
            self.look_at(&key, now);
        }
    }

    /// When [`wake`](Self::wake) has something to do.
    pub(super) fn next_due(&self) -> Option<Timestamp> {
        self.due.first().map(|(due, _)| *due)
    }

    /// Decides on a Pod.
    pub(super) fn look(&mut self, key: &PodKey) {
        self.look_at(key, self.clock.now());
    }

    fn look_at(&mut self, key: &PodKey, now: Timestamp) {
        let Some(tracked) = self.tracked.get_mut(key) else { return };
        let own_network = !decide::on_host_network(&tracked.pod);
        if own_network && self.network && tracked.address.is_none() && !decide::is_over(&tracked.status) {
            let uid = tracked.pod.metadata.uid.as_deref().unwrap_or_default();
            tracked.address = self.addresses.give(uid, tracked.status.pod_ip.as_deref());
        }
        let place = Place { node_ip: self.node_ip, pod_ip: tracked.address, network: self.network };
        // A mirror only shows a Pod; its end is not that Pod's.
        let is_mirror = mirror::mirrored(&tracked.pod).is_some();
        let deleted = tracked.deleted.filter(|_| !is_mirror);
        let verdict = decide::decide(&tracked.pod, &tracked.status, deleted, now, &place);
        if verdict.status != tracked.status {
            tracked.status = verdict.status;
            tracked.untold = true;
        }
        tracked.remove |= verdict.remove || (is_mirror && tracked.deleted.is_some());
        for note in &verdict.notes {
            if let Some(container) = container_of(note) {
                let run = tracked.container(container).map_or(0, |status| status.restart_count);
                // A container that ended and began again has two runs to tell of.
                let run = match note {
                    Note::Started { run, .. } => *run,
                    Note::Ended { .. } if tracked.container(container).is_some_and(is_running) => run - 1,
                    _ => run,
                };
                self.logs.note(&tracked.pod, note, run, now);
                if matches!(note, Note::Ended { .. })
                    && let Some(listener) = tracked.listeners.remove(container)
                {
                    listener.cancel();
                }
            }
            self.recorder.note(&tracked.pod, note, now);
        }
        if decide::is_over(&tracked.status) {
            tracked.listeners.values().for_each(CancellationToken::cancel);
            tracked.listeners.clear();
            if let Some(address) = tracked.address.take() {
                let uid = tracked.pod.metadata.uid.as_deref().unwrap_or_default();
                self.addresses.take_back(uid, address);
            }
        }
        if tracked.due != verdict.next {
            if let Some(due) = tracked.due {
                self.due.remove(&(due, key.clone()));
            }
            if let Some(next) = verdict.next {
                self.due.insert((next, key.clone()));
            }
            tracked.due = verdict.next;
        }
        let brings = !self.network && network::brings_network(&tracked.pod, tracked.status.phase.as_deref());
        self.enqueue(key);
        if brings {
            self.network_is_up();
        }
    }

    fn enqueue(&mut self, key: &PodKey) {
        let Some(tracked) = self.tracked.get_mut(key) else { return };
        let wants = tracked.untold || (tracked.remove && !tracked.removed);
        if wants && !tracked.busy && !tracked.queued {
            tracked.queued = true;
            self.queue.push_back(key.clone());
        }
    }

    /// True when there is something to tell or to remove.
    pub(super) fn has_request(&self) -> bool {
        !self.queue.is_empty()
    }

    /// The next request to make, with the Pod's uid.
    pub(super) fn next_request(&mut self) -> Option<(PodKey, String, PodRequest)> {
        while let Some(key) = self.queue.pop_front() {
            let Some(tracked) = self.tracked.get_mut(&key) else { continue };
            tracked.queued = false;
            let is_mirror = mirror::mirrored(&tracked.pod).is_some();
            let request = if tracked.untold && !(is_mirror && tracked.remove) {
                tracked.untold = false;
                PodRequest::Tell(Box::new(tracked.status.clone()))
            } else if tracked.remove && !tracked.removed {
                tracked.removed = true;
                PodRequest::Remove
            } else {
                continue;
            };
            tracked.busy = true;
            let uid = tracked.uid().to_owned();
            return Some((key, uid, request));
        }
        None
    }

    /// A request came to its end.
    pub(super) fn answered(&mut self, key: &PodKey, uid: &str, request: &PodRequest, outcome: Outcome) {
        let Some(tracked) = self.tracked.get_mut(key) else { return };
        if tracked.uid() != uid {
            return;
        }
        tracked.busy = false;
        if outcome == Outcome::Failed {
            match request {
                PodRequest::Tell(_) => tracked.untold = true,
                PodRequest::Remove => tracked.removed = false,
            }
        }
        self.enqueue(key);
    }

    /// Finds the log of a container.
    pub(super) fn log(&mut self, key: &PodKey, container: &str, previous: bool) -> Result<LogSource, NoLog> {
        let name = &key.name;
        let tracked = self.tracked.get_mut(key).ok_or_else(|| (404, format!("pod \"{name}\" not found")))?;
        let missing = || (404, format!("container {container} not found in pod {name}"));
        let status = tracked.container(container).ok_or_else(missing)?;
        let state = status.state.as_ref();
        let waiting = state.and_then(|state| state.waiting.as_ref());
        let ran_before = status.last_state.as_ref().is_some_and(|state| state.terminated.is_some());
        let latest = status.restart_count;
        let run = match (previous, waiting, ran_before) {
            (true, _, false) => {
                return Err((
                    400,
                    format!("previous terminated container \"{container}\" in pod \"{name}\" not found"),
                ));
            }
            (false, Some(waiting), false) => {
                let reason = waiting.reason.as_deref().unwrap_or("ContainerCreating");
                let message =
                    format!("container \"{container}\" in pod \"{name}\" is waiting to start: {reason}");
                return Err((400, message));
            }
            (_, Some(_), true) | (false, None, _) => latest,
            (true, None, true) => latest - 1,
        };
        let runs = is_running(status) && !previous;
        let path = self.logs.path(&tracked.pod, container, run);
        let run = runs.then(|| tracked.listeners.entry(container.to_owned()).or_default().clone());
        Ok(LogSource { path, run })
    }
}

fn is_running(status: &ContainerStatus) -> bool {
    status.state.as_ref().is_some_and(|state| state.running.is_some())
}

fn container_of(note: &Note) -> Option<&str> {
    match note {
        Note::Started { container, .. }
        | Note::Ended { container, .. }
        | Note::Stopping { container }
        | Note::BackOff { container }
        | Note::ImageMissing { container, .. } => Some(container),
        Note::NetworkMissing | Note::DeadlineExceeded => None,
    }
}

/// Drops what nobody reads or the status in [`Tracked`] has.
fn slim(pod: &mut Pod) {
    pod.metadata.managed_fields = None;
    if let Some(status) = pod.status.take() {
        let mut conditions = status.conditions;
        conditions.as_mut().into_iter().for_each(decide::drop_own);
        pod.status = Some(PodStatus { conditions, qos_class: status.qos_class, ..PodStatus::default() });
    }
}
