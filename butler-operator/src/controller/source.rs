//! What is watched: one reflector for each kind, shared by all controllers that need it.
//!
//! A watch that breaks is begun again with a growing pause; what was known stays known meanwhile. A
//! kind whose definition is missing is waited for by watching that definition. An object that does not
//! fit its kind is kept as such (see [`Guarded`]) and holds up nobody.

use std::{
    any::{Any, TypeId},
    collections::{HashMap, HashSet},
    fmt::Debug,
    future::Future,
    hash::Hash,
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use butler_core::{
    cluster::ApiError,
    error::{Code, Diagnose},
};
use futures::{Stream, StreamExt};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api, Client, Resource,
    core::{DeserializeGuard, PartialObjectMeta},
    runtime::{
        reflector::{ObjectRef, Store, store::Writer},
        wait::{Error, await_condition, conditions::is_crd_established},
        watcher::{self, watcher},
    },
};
use serde::de::DeserializeOwned;
use tokio::{
    sync::{mpsc, watch},
    task::JoinSet,
    time::sleep,
};

use super::{backoff::Delays, leader::chain, metrics::Metrics};

/// An object that may not fit its kind; then only its metadata is known, and why.
pub type Guarded<K> = DeserializeGuard<K>;

/// What can be watched: [`Guarded`] objects, or metadata alone.
pub trait Watched:
    Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + Sync + 'static
{
    /// True for an object that does not fit its kind.
    fn is_malformed(&self) -> bool;
}

impl<K> Watched for Guarded<K>
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + Sync + 'static,
{
    fn is_malformed(&self) -> bool {
        self.0.is_err()
    }
}

impl<K> Watched for PartialObjectMeta<K>
where
    K: Resource<DynamicType = ()> + Clone + Debug + Send + Sync + 'static,
{
    fn is_malformed(&self) -> bool {
        false
    }
}

/// Tasks that end with the term they belong to.
#[derive(Clone, Debug, Default)]
pub(super) struct Tasks(Arc<Mutex<JoinSet<()>>>);

impl Tasks {
    /// Starts one.
    pub(super) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> tokio::task::AbortHandle {
        lock(&self.0).spawn(task)
    }

    /// Ends all.
    pub(super) fn abort(&self) {
        lock(&self.0).abort_all();
    }
}

/// Kinds that wait for their definition.
#[derive(Clone, Debug, Default)]
pub(super) struct Waiting(Arc<Mutex<HashSet<String>>>);

impl Waiting {
    /// The kinds.
    pub(super) fn kinds(&self) -> Vec<String> {
        let mut kinds: Vec<String> = lock(&self.0).iter().cloned().collect();
        kinds.sort();
        kinds
    }
}

/// Everything that is watched.
pub struct Sources {
    client: Client,
    metrics: Arc<Metrics>,
    tasks: Tasks,
    waiting: Waiting,
    by_type: Mutex<HashMap<TypeId, Box<dyn Any + Send + Sync>>>,
}

impl Sources {
    pub(super) fn new(client: Client, metrics: Arc<Metrics>, tasks: Tasks, waiting: Waiting) -> Self {
        Self { client, metrics, tasks, waiting, by_type: Mutex::default() }
    }

    /// The objects of a kind in all namespaces; watched from the first call on.
    pub fn of<T: Watched>(&self) -> Source<T> {
        let mut by_type = lock(&self.by_type);
        let known = by_type.get(&TypeId::of::<T>()).and_then(|source| source.downcast_ref::<Source<T>>());
        if let Some(source) = known {
            return source.clone();
        }
        let source = Source::<T>::default();
        by_type.insert(TypeId::of::<T>(), Box::new(source.clone()));
        let task = follow(self.client.clone(), source.clone(), self.metrics.clone(), self.waiting.clone());
        self.tasks.spawn(task);
        source
    }
}

/// The objects of a kind, as they are and as they change.
#[derive(Debug)]
pub struct Source<T: Watched> {
    store: Store<T>,
    /// True after the first complete list. The store could be asked for it too, but wakes only the last
    /// of several who wait.
    listed: watch::Sender<bool>,
    inner: Arc<Mutex<Inner<T>>>,
}

#[derive(Debug)]
struct Inner<T: Watched> {
    writer: Writer<T>,
    /// Changed objects of a list that is not complete.
    listed: Vec<Arc<T>>,
    /// UIDs of objects that do not fit their kind.
    malformed: HashSet<String>,
    readers: Vec<mpsc::UnboundedSender<Arc<T>>>,
}

impl<T: Watched> Clone for Source<T> {
    fn clone(&self) -> Self {
        Self { store: self.store.clone(), listed: self.listed.clone(), inner: self.inner.clone() }
    }
}

impl<T: Watched> Default for Source<T> {
    fn default() -> Self {
        let writer = Writer::default();
        let store = writer.as_reader();
        Self {
            store,
            listed: watch::Sender::new(false),
            inner: Arc::new(Mutex::new(Inner {
                writer,
                listed: Vec::new(),
                malformed: HashSet::new(),
                readers: Vec::new(),
            })),
        }
    }
}

impl<T: Watched> Source<T> {
    /// The objects as last seen.
    pub fn store(&self) -> &Store<T> {
        &self.store
    }

    /// Waits for the first complete list.
    pub async fn ready(&self) {
        // The sender lives as long as this value, so the only other outcome cannot come.
        let _ = self.listed.subscribe().wait_for(|listed| *listed).await;
    }

    /// One object.
    pub fn get(&self, namespace: &str, name: &str) -> Option<Arc<T>> {
        self.store.get(&ObjectRef::new(name).within(namespace))
    }

    /// Every object that is there, then every one that appears, changes or goes. An object that a new
    /// list shows unchanged is not among them.
    pub fn changes(&self) -> impl Stream<Item = Arc<T>> + Send + use<T> {
        let (reader, mut changes) = mpsc::unbounded_channel();
        let mut inner = lock(&self.inner);
        for object in self.store.state() {
            let _ = reader.send(object);
        }
        inner.readers.push(reader);
        futures::stream::poll_fn(move |context| changes.poll_recv(context))
    }

    fn digest(&self, mut event: watcher::Event<T>) {
        event = event.modify(|object| object.meta_mut().managed_fields = None);
        let mut inner = lock(&self.inner);
        match &event {
            watcher::Event::Init => inner.listed.clear(),
            watcher::Event::InitApply(object) => {
                let known = self.store.get(&ObjectRef::from_obj(object));
                if known.is_none_or(|known| !same(&*known, object)) {
                    inner.listed.push(Arc::new(object.clone()));
                }
            }
            watcher::Event::InitDone => {
                let before = self.store.state();
                inner.writer.apply_watcher_event(&event);
                let now = self.store.state();
                inner.malformed =
                    now.iter().filter(|object| object.is_malformed()).map(|o| uid(&**o)).collect();
                let gone = |object: &Arc<T>| self.store.get(&ObjectRef::from_obj(&**object)).is_none();
                let changed: Vec<_> =
                    before.into_iter().filter(gone).chain(std::mem::take(&mut inner.listed)).collect();
                changed.into_iter().for_each(|object| inner.tell(object));
                self.listed.send_replace(true);
                return;
            }
            watcher::Event::Apply(_) | watcher::Event::Delete(_) => {}
        }
        inner.writer.apply_watcher_event(&event);
        if let watcher::Event::Apply(object) = &event
            && object.is_malformed()
        {
            inner.malformed.insert(uid(object));
        } else if let watcher::Event::Apply(object) | watcher::Event::Delete(object) = &event {
            inner.malformed.remove(&uid(object));
        }
        if let watcher::Event::Apply(object) | watcher::Event::Delete(object) = event {
            inner.tell(Arc::new(object));
        }
    }
}

impl<T: Watched> Inner<T> {
    fn tell(&mut self, object: Arc<T>) {
        self.readers.retain(|reader| reader.send(object.clone()).is_ok());
    }
}

fn uid<T: Resource>(object: &T) -> String {
    object.meta().uid.clone().unwrap_or_default()
}

fn same<T: Resource>(a: &T, b: &T) -> bool {
    let version = |object: &T| (object.meta().uid.clone(), object.meta().resource_version.clone());
    version(a) == version(b)
}

/// Keeps a source up to date, for ever.
async fn follow<T: Watched>(client: Client, source: Source<T>, metrics: Arc<Metrics>, waiting: Waiting) {
    let kind = T::kind(&()).into_owned();
    let mut delays = Delays::new(Duration::from_millis(100), Duration::from_secs(5));
    loop {
        defined::<T>(&client, &waiting).await;
        let mut events = pin!(watcher(Api::<T>::all(client.clone()), watcher::Config::default()));
        while let Some(event) = events.next().await {
            let error = match event {
                Ok(event) => {
                    // The mere beginning of a list says nothing about the server.
                    if !matches!(event, watcher::Event::Init) && delays.reset() {
                        tracing::info!(kind, "the watch is back");
                    }
                    source.digest(event);
                    metrics.set_objects(&kind, source.store.len(), lock(&source.inner).malformed.len());
                    continue;
                }
                Err(error) => ApiError::watching(format!("watch {}", T::plural(&())), error),
            };
            metrics.watch_restarted(&kind);
            if delays.has_begun() {
                tracing::debug!(kind, code = %error.code(), "{}", chain(&error));
            } else {
                tracing::warn!(kind, code = %error.code(), "the watch broke: {}", chain(&error));
            }
            sleep(delays.next()).await;
            // The definition may be gone, or not yet served by a server that starts.
            if error.code() == Code::CrdsMissing {
                break;
            }
        }
    }
}

/// Waits until the definition of a custom kind is established; others need none.
async fn defined<T: Watched>(client: &Client, waiting: &Waiting) {
    let (kind, group) = (T::kind(&()), T::group(&()));
    if !group.contains('.') || group.ends_with(".k8s.io") {
        return;
    }
    let name = format!("{}.{group}", T::plural(&()));
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let mut delays = Delays::new(Duration::from_millis(200), Duration::from_secs(10));
    let established = async {
        loop {
            match await_condition(definitions.clone(), &name, is_crd_established()).await {
                Ok(_) => return,
                Err(Error::ProbeFailed(error)) => {
                    let error = ApiError::watching(format!("watch the definition `{name}`"), error);
                    tracing::debug!(%kind, code = %error.code(), "{}", chain(&error));
                    // Who may not see definitions learns from the kind itself whether it is served.
                    if error.code() == Code::Forbidden {
                        return;
                    }
                }
            }
            sleep(delays.next()).await;
        }
    };
    let mut established = pin!(established);
    if tokio::time::timeout(Duration::from_secs(1), &mut established).await.is_ok() {
        return;
    }
    tracing::warn!(%kind, "waiting for the definition `{name}`; `butleradm crds apply` installs it");
    lock(&waiting.0).insert(kind.to_string());
    established.await;
    lock(&waiting.0).remove(&*kind);
    tracing::info!(%kind, "the definition `{name}` is established");
}

/// A lock whose holder panicked still guards data that is whole.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Remembers what it has seen and lets only news pass.
#[derive(Debug)]
pub(super) struct Dedup<K, V>(HashMap<K, V>);

impl<K: Eq + Hash, V: PartialEq> Dedup<K, V> {
    pub(super) fn new() -> Self {
        Self(HashMap::new())
    }

    /// True when this is another value than the last one of this key.
    pub(super) fn is_news(&mut self, key: K, value: V) -> bool {
        match self.0.get(&key) {
            Some(known) if *known == value => false,
            _ => {
                self.0.insert(key, value);
                true
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use butler_core::api::MachineRequest;
    use futures::FutureExt;
    use serde_json::{Value, json};

    use super::*;

    fn object(name: &str, version: u32, cpu: Value) -> Guarded<MachineRequest> {
        serde_json::from_value(json!({
            "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "MachineRequest",
            "metadata": {"name": name, "namespace": "a", "uid": name, "resourceVersion": version.to_string()},
            "spec": {"machineName": name, "role": "worker", "providerRef": {"name": "p"},
                     "cpu": cpu, "memoryMB": 2048, "diskGB": 20},
        }))
        .unwrap()
    }

    fn names(changes: &mut (impl Stream<Item = Arc<Guarded<MachineRequest>>> + Unpin)) -> Vec<String> {
        let mut names = Vec::new();
        while let Some(Some(object)) = changes.next().now_or_never() {
            names.push(object.meta().name.clone().unwrap());
        }
        names
    }

    #[test]
    fn a_new_list_tells_what_changed_or_went_and_nothing_else() {
        let source = Source::<Guarded<MachineRequest>>::default();
        let mut changes = Box::pin(source.changes());
        let list = |objects: Vec<Guarded<MachineRequest>>| {
            source.digest(watcher::Event::Init);
            objects.into_iter().for_each(|object| source.digest(watcher::Event::InitApply(object)));
            source.digest(watcher::Event::InitDone);
        };
        list(vec![object("same", 1, json!(2)), object("changed", 1, json!(2)), object("gone", 1, json!(2))]);
        assert_eq!(names(&mut changes), ["same", "changed", "gone"]);
        list(vec![object("same", 1, json!(2)), object("changed", 2, json!(2))]);
        assert_eq!(names(&mut changes), ["gone", "changed"]);
        assert_eq!(
            names(&mut Box::pin(source.changes())).len(),
            2,
            "a late reader begins with what is there"
        );
    }

    #[tokio::test]
    async fn everybody_who_waits_for_the_first_list_is_woken() {
        let source = Source::<Guarded<MachineRequest>>::default();
        let waiting: Vec<_> = (0..3)
            .map(|_| {
                let source = source.clone();
                tokio::spawn(async move { source.ready().await })
            })
            .collect();
        tokio::task::yield_now().await;
        source.digest(watcher::Event::Init);
        source.digest(watcher::Event::InitDone);
        for task in waiting {
            tokio::time::timeout(Duration::from_secs(10), task).await.unwrap().unwrap();
        }
    }

    #[test]
    fn a_malformed_object_is_kept_as_such_beside_the_others() {
        let source = Source::<Guarded<MachineRequest>>::default();
        source.digest(watcher::Event::Apply(object("good", 1, json!(2))));
        source.digest(watcher::Event::Apply(object("bad", 2, json!("four"))));
        assert!(!source.get("a", "good").unwrap().is_malformed());
        let bad = source.get("a", "bad").unwrap();
        assert!(bad.0.as_ref().unwrap_err().to_string().contains("four"), "{bad:?}");
    }
}
