//! The resource store of a node, read only: what programs ask for is computed from the node's state
//! and compared with what was there before, so that every change has a version and an event.

mod definitions;
pub(super) mod resources;
pub(super) mod service;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use prost_types::Timestamp;
use tokio::sync::broadcast;

use super::clock::Clock;
use crate::talos::proto::cosi::resource::{EventType, Metadata, Resource, Spec};

/// How many changes a slow watcher may be behind before it has to begin anew.
const BACKLOG: usize = 512;

/// Namespace, type, id.
type Key = (String, String, String);

/// A resource as the node's state says it should be.
#[derive(Clone, Debug)]
pub(super) struct Object {
    pub(super) namespace: &'static str,
    pub(super) kind: &'static str,
    pub(super) id: String,
    pub(super) proto: Vec<u8>,
    pub(super) yaml: String,
}

#[derive(Clone, Debug)]
struct Stored {
    object: Object,
    version: u64,
    created: Timestamp,
    updated: Timestamp,
}

/// A change, for watchers.
#[derive(Clone, Debug)]
pub(super) struct Change {
    kind: EventType,
    new: Resource,
    old: Option<Resource>,
}

/// The store.
#[derive(Debug)]
pub(super) struct Store {
    clock: Arc<Clock>,
    all: Mutex<BTreeMap<Key, Stored>>,
    changes: broadcast::Sender<Arc<Change>>,
}

impl Store {
    pub(super) fn new(clock: Arc<Clock>) -> Self {
        Self { clock, all: Mutex::default(), changes: broadcast::Sender::new(BACKLOG) }
    }

    /// Makes the store hold exactly these.
    pub(super) fn replace(&self, objects: Vec<Object>) {
        let now = self.clock.stamp();
        let mut all = self.lock();
        let mut gone: std::collections::BTreeSet<Key> = all.keys().cloned().collect();
        for object in objects {
            let key = (object.namespace.to_owned(), object.kind.to_owned(), object.id.clone());
            gone.remove(&key);
            match all.get_mut(&key) {
                Some(stored) if stored.object.proto == object.proto && stored.object.yaml == object.yaml => {}
                Some(stored) => {
                    let old = stored.resource();
                    (stored.object, stored.updated) = (object, now);
                    stored.version += 1;
                    let change = Change { kind: EventType::Updated, new: stored.resource(), old: Some(old) };
                    // Nobody may be watching.
                    let _ = self.changes.send(Arc::new(change));
                }
                None => {
                    let stored = Stored { object, version: 1, created: now, updated: now };
                    let change = Change { kind: EventType::Created, new: stored.resource(), old: None };
                    all.insert(key, stored);
                    let _ = self.changes.send(Arc::new(change));
                }
            }
        }
        for key in gone {
            if let Some(stored) = all.remove(&key) {
                let change = Change { kind: EventType::Destroyed, new: stored.resource(), old: None };
                let _ = self.changes.send(Arc::new(change));
            }
        }
    }

    fn get(&self, namespace: &str, kind: &str, id: &str) -> Option<Resource> {
        let key = (namespace.to_owned(), kind.to_owned(), id.to_owned());
        self.lock().get(&key).map(Stored::resource)
    }

    fn list(&self, namespace: &str, kind: &str) -> Vec<Resource> {
        let all = self.lock();
        let wanted = all.iter().filter(|((space, name, _), _)| space == namespace && name == kind);
        wanted.map(|(_, stored)| stored.resource()).collect()
    }

    /// What is there and what comes, without a gap between the two.
    fn watch(&self, namespace: &str, kind: &str) -> (Vec<Resource>, broadcast::Receiver<Arc<Change>>) {
        let all = self.lock();
        let changes = self.changes.subscribe();
        let wanted = all.iter().filter(|((space, name, _), _)| space == namespace && name == kind);
        (wanted.map(|(_, stored)| stored.resource()).collect(), changes)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Key, Stored>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Stored {
    fn resource(&self) -> Resource {
        Resource {
            metadata: Some(Metadata {
                namespace: self.object.namespace.to_owned(),
                r#type: self.object.kind.to_owned(),
                id: self.object.id.clone(),
                version: self.version.to_string(),
                owner: "sandbox.NodeController".to_owned(),
                phase: "running".to_owned(),
                created: Some(self.created),
                updated: Some(self.updated),
                ..Metadata::default()
            }),
            spec: Some(Spec { proto_spec: self.object.proto.clone(), yaml_spec: self.object.yaml.clone() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(id: &str, yaml: &str) -> Object {
        Object { namespace: "n", kind: "k", id: id.into(), proto: Vec::new(), yaml: yaml.into() }
    }

    #[test]
    fn only_what_differs_gets_a_new_version_and_an_event() {
        let store = Store::new(Arc::new(Clock::new("/nowhere".into())));
        store.replace(vec![object("a", "1"), object("b", "1")]);
        let (there, mut changes) = store.watch("n", "k");
        assert_eq!(there.len(), 2);
        store.replace(vec![object("a", "2"), object("c", "1")]);
        let kinds: Vec<_> =
            std::iter::from_fn(|| changes.try_recv().ok()).map(|change| change.kind).collect();
        assert_eq!(kinds, [EventType::Updated, EventType::Created, EventType::Destroyed]);
        let version = |id: &str| store.get("n", "k", id).unwrap().metadata.unwrap().version;
        assert_eq!((version("a").as_str(), version("c").as_str()), ("2", "1"));
        assert!(store.get("n", "k", "b").is_none());
    }
}
