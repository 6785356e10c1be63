//! The loop: one task that owns all state, hears of every change and makes every request.

use butler_core::{
    cluster::ApiError,
    error::{Diagnose, ErrorKind},
};
use futures::{
    Stream, StreamExt,
    future::{BoxFuture, FutureExt},
    pin_mut,
    stream::FuturesUnordered,
};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Event, Node, Pod};
use kube::{
    Api,
    core::DeserializeGuard,
    runtime::{WatchStreamExt, utils::Backoff, watcher},
};
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

use super::{
    KubeletOptions, StaticPod,
    calls::{CallError, Caller},
    clock::{Clock, Pauses},
    decide::after,
    mirrors::Mirrors,
    pods::{LogSource, NoLog, Outcome, PodKey, PodRequest, Pods, Tracked},
    registration::{NodeRequest, Registration},
};

/// How many requests about Pods are on their way at once.
const AT_ONCE: usize = 6;

/// A question of the kubelet's server.
pub(super) enum Query {
    /// Every Pod, with its status.
    Pods(oneshot::Sender<Vec<Pod>>),
    /// The log of a container.
    Log { key: PodKey, container: String, previous: bool, reply: oneshot::Sender<Result<LogSource, NoLog>> },
}

/// A request that came to its end.
enum Done {
    Pod(PodKey, String, PodRequest, Result<(), CallError>),
    Mirror(PodKey, Box<Result<Pod, CallError>>),
    Node(NodeRequest, Box<Result<Node, CallError>>),
    Lease(Result<(), CallError>),
    Event,
}

type Change<K> = watcher::Result<watcher::Event<DeserializeGuard<K>>>;

pub(super) struct Engine {
    options: KubeletOptions,
    clock: Clock,
    caller: Caller,
    pods: Pods,
    registration: Registration,
    mirrors: Mirrors,
    calls: FuturesUnordered<BoxFuture<'static, Done>>,
    /// Requests about Pods on their way.
    busy: usize,
    /// No request about a Pod before this, because the last ones failed.
    not_before: Option<Timestamp>,
    pauses: Pauses,
    publishing: bool,
}

impl Engine {
    pub(super) fn new(options: KubeletOptions, clock: Clock, caller: Caller, mut pods: Pods) -> Self {
        if options.network_ready {
            pods.network_is_up();
        }
        Self {
            options,
            clock,
            caller,
            pods,
            registration: Registration::default(),
            mirrors: Mirrors::default(),
            calls: FuturesUnordered::new(),
            busy: 0,
            not_before: None,
            pauses: Pauses::default(),
            publishing: false,
        }
    }

    /// Works until the shutdown.
    pub(super) async fn run(
        mut self,
        mut statics: watch::Receiver<Vec<StaticPod>>,
        mut queries: mpsc::Receiver<Query>,
        shutdown: CancellationToken,
    ) {
        let pods = self.watch::<Pod>(&format!("spec.nodeName={}", self.options.node_name));
        let nodes = self.watch::<Node>(&format!("metadata.name={}", self.options.node_name));
        pin_mut!(pods, nodes);
        let mut has_statics = true;
        self.mirrors.replace(statics.borrow_and_update().clone(), &self.options.node_name);
        self.pods.recorder.node("Starting", "Starting kubelet.".to_owned(), self.clock.now());
        loop {
            let wake = self.act();
            tokio::select! {
                () = shutdown.cancelled() => return,
                Some(change) = pods.next() => self.on_pod(change),
                Some(change) = nodes.next() => self.on_node(change),
                Some(done) = self.calls.next(), if !self.calls.is_empty() => self.on_done(done),
                Some(query) = queries.recv() => self.on_query(query),
                changed = statics.changed(), if has_statics => match changed {
                    Ok(()) => {
                        let list = statics.borrow_and_update().clone();
                        self.mirrors.replace(list, &self.options.node_name);
                    }
                    // Nobody is left to change the list.
                    Err(_) => has_statics = false,
                },
                () = sleep_until(wake.map(|time| self.clock.wake(time))) => {}
            }
        }
    }

    fn watch<K>(&self, fields: &str) -> impl Stream<Item = Change<K>> + use<K>
    where
        K: kube::Resource<DynamicType = ()>
            + Clone
            + std::fmt::Debug
            + serde::de::DeserializeOwned
            + Send
            + 'static,
    {
        let api: Api<DeserializeGuard<K>> = Api::all(self.options.client.clone());
        watcher(api, watcher::Config::default().fields(fields)).backoff(Pauses::default())
    }

    /// Makes every request that can be made now; gives the time to look again.
    fn act(&mut self) -> Option<Timestamp> {
        self.pods.wake();
        let now = self.clock.now();
        let caller = || self.caller.clone();
        if let Some(uid) = self.registration.lease_request(now) {
            let caller = caller();
            self.calls.push(async move { Done::Lease(caller.renew(&uid, now).await) }.boxed());
        }
        let network = self.pods.network();
        if let Some(request) = self.registration.next_request(&self.options, network, now) {
            self.calls.push(node_call(caller(), request));
        }
        while let Some((key, pod)) = self.mirrors.next_request(&mut self.pods, self.registration.owner(), now)
        {
            let caller = caller();
            self.calls.push(async move { Done::Mirror(key, Box::new(caller.mirror(pod).await)) }.boxed());
        }
        let may_call = self.not_before.is_none_or(|time| time <= now);
        while may_call
            && self.busy < AT_ONCE
            && let Some((key, uid, request)) = self.pods.next_request()
        {
            self.busy += 1;
            self.calls.push(pod_call(caller(), key, uid, request));
        }
        // People can wait for their events; leases and statuses cannot.
        if !self.publishing
            && self.busy < AT_ONCE
            && may_call
            && let Some(event) = self.pods.recorder.take()
        {
            self.publishing = true;
            self.calls.push(event_call(caller(), event));
        }
        let retry = self.not_before.filter(|time| now < *time && self.pods.has_request());
        let due = [self.pods.next_due(), self.registration.next_due(), self.mirrors.next_due(now), retry];
        due.into_iter().flatten().min()
    }

    fn on_pod(&mut self, change: Change<Pod>) {
        match change {
            Ok(watcher::Event::Init) => self.pods.begin_list(),
            Ok(watcher::Event::InitApply(DeserializeGuard(pod))) => {
                let key = match &pod {
                    Ok(pod) => PodKey::of(pod),
                    Err(invalid) => key_of(&invalid.metadata),
                };
                self.pods.mention(key);
                self.apply(pod);
            }
            Ok(watcher::Event::InitDone) => {
                for tracked in self.pods.end_list() {
                    self.mirrors.lost(tracked);
                }
            }
            Ok(watcher::Event::Apply(DeserializeGuard(pod))) => self.apply(pod),
            Ok(watcher::Event::Delete(DeserializeGuard(pod))) => {
                let metadata = match pod {
                    Ok(pod) => pod.metadata,
                    Err(invalid) => invalid.metadata,
                };
                let gone = self.pods.forget(&key_of(&metadata), metadata.uid.as_deref());
                self.lost(gone);
            }
            Err(error) => self.unwatched("pods", error),
        }
    }

    fn apply(&mut self, pod: Result<Pod, kube::core::error_boundary::InvalidObject>) {
        match pod {
            Ok(pod) => {
                let seed = self.mirrors.seed(&pod);
                let replaced = self.pods.apply(pod, seed);
                self.lost(replaced);
            }
            Err(invalid) => {
                let key = key_of(&invalid.metadata);
                tracing::warn!(pod = %key, error = invalid.error, "a pod cannot be read and is left alone");
            }
        }
    }

    fn lost(&mut self, tracked: Option<Tracked>) {
        if let Some(tracked) = tracked {
            self.mirrors.lost(tracked);
        }
    }

    fn on_node(&mut self, change: Change<Node>) {
        match change {
            Ok(watcher::Event::Init) => self.registration.begin_list(),
            Ok(watcher::Event::InitDone) => self.registration.end_list(),
            Ok(watcher::Event::InitApply(node) | watcher::Event::Apply(node)) => match node.0 {
                Ok(node) => self.registration.apply(node),
                Err(invalid) => tracing::warn!(error = invalid.error, "the node cannot be read"),
            },
            Ok(watcher::Event::Delete(_)) => self.registration.gone(),
            Err(error) => self.unwatched("its node", error),
        }
        if let Some(range) = self.registration.range() {
            self.pods.use_range(range);
        }
    }

    fn unwatched(&self, what: &str, error: watcher::Error) {
        let error = ApiError::watching(format!("watch {what} of node `{}`", self.options.node_name), error);
        tracing::debug!(error = &error as &dyn std::error::Error, "the watch is interrupted");
    }

    fn on_done(&mut self, done: Done) {
        let now = self.clock.now();
        match done {
            Done::Pod(key, uid, request, result) => {
                self.busy -= 1;
                let outcome = self.judge(result, now);
                self.pods.answered(&key, &uid, &request, outcome);
            }
            Done::Mirror(key, result) => {
                self.mirrors.answered(&key, result.is_ok(), now);
                match *result {
                    Ok(pod) => self.apply(Ok(pod)),
                    Err(error) => {
                        tracing::debug!(
                            error = &error as &dyn std::error::Error,
                            "a static pod has no mirror"
                        );
                    }
                }
            }
            Done::Node(request, result) => self.registration.answered(&request, *result, now),
            Done::Lease(result) => self.registration.lease_answered(result, now),
            Done::Event => self.publishing = false,
        }
    }

    /// What follows from the answer to a request about a Pod.
    fn judge(&mut self, result: Result<(), CallError>, now: Timestamp) -> Outcome {
        let Err(error) = result else {
            self.pauses.reset();
            self.not_before = None;
            return Outcome::Done;
        };
        match error.api().map(Diagnose::kind) {
            // The watch will say the same.
            Some(ErrorKind::NotFound) => Outcome::Hopeless,
            Some(ErrorKind::Invalid) => {
                tracing::warn!(error = &error as &dyn std::error::Error, "the API server refuses a status");
                Outcome::Hopeless
            }
            _ => {
                tracing::debug!(error = &error as &dyn std::error::Error, "a request will be repeated");
                if self.not_before.is_none_or(|time| time <= now) {
                    self.not_before = Some(after(now, self.pauses.longer()));
                }
                Outcome::Failed
            }
        }
    }

    fn on_query(&mut self, query: Query) {
        // Who asked may have gone.
        match query {
            Query::Pods(reply) => {
                let _ = reply.send(self.pods.iter().map(|(_, tracked)| tracked.whole()).collect());
            }
            Query::Log { key, container, previous, reply } => {
                let _ = reply.send(self.pods.log(&key, &container, previous));
            }
        }
    }
}

fn key_of(metadata: &k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta) -> PodKey {
    PodKey {
        namespace: metadata.namespace.clone().unwrap_or_default(),
        name: metadata.name.clone().unwrap_or_default(),
    }
}

fn pod_call(caller: Caller, key: PodKey, uid: String, request: PodRequest) -> BoxFuture<'static, Done> {
    async move {
        let result = match &request {
            PodRequest::Tell(status) => caller.tell_status(&key, &uid, status).await,
            PodRequest::Remove => caller.remove(&key, &uid).await,
        };
        Done::Pod(key, uid, request, result)
    }
    .boxed()
}

fn node_call(caller: Caller, request: NodeRequest) -> BoxFuture<'static, Done> {
    async move {
        let result = match &request {
            NodeRequest::Register(node) => caller.register((**node).clone()).await,
            NodeRequest::Adopt(patch) => caller.adopt(patch.clone()).await,
            NodeRequest::Tell(status) => caller.heartbeat((**status).clone()).await,
        };
        Done::Node(request, Box::new(result))
    }
    .boxed()
}

fn event_call(caller: Caller, event: Event) -> BoxFuture<'static, Done> {
    async move {
        if let Err(error) = caller.publish(event).await {
            tracing::debug!(error = &error as &dyn std::error::Error, "an event is lost");
        }
        Done::Event
    }
    .boxed()
}

/// Sleeps until a moment, or for ever.
async fn sleep_until(wake: Option<tokio::time::Instant>) {
    match wake {
        Some(wake) => tokio::time::sleep_until(wake).await,
        None => std::future::pending().await,
    }
}
