//! Static Pods, and that each has its mirror.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Pod, PodStatus};
use kube::runtime::utils::Backoff;

use super::{
    StaticPod,
    clock::Pauses,
    decide::after,
    mirror::{self, Owner},
    pods::{PodKey, Pods, Tracked},
};

/// The static Pods of a node.
#[derive(Debug, Default)]
pub(super) struct Mirrors {
    statics: BTreeMap<PodKey, Static>,
    /// Mirrors that are being made.
    busy: BTreeSet<PodKey>,
    not_before: Option<Timestamp>,
    pauses: Pauses,
}

#[derive(Debug)]
struct Static {
    pod: StaticPod,
    hash: String,
    /// How the Pod was when it last had a mirror: it goes on without one.
    status: Option<PodStatus>,
}

impl Mirrors {
    /// Takes over a new list.
    pub(super) fn replace(&mut self, pods: Vec<StaticPod>, node_name: &str) {
        let mut old = std::mem::take(&mut self.statics);
        for pod in pods {
            let key = mirror::key(&pod, node_name);
            let hash = mirror::hash(&pod);
            let status = old.remove(&key).filter(|old| old.hash == hash).and_then(|old| old.status);
            self.statics.insert(key, Static { pod, hash, status });
        }
    }

    /// The status a mirror begins with, when it shows a Pod that runs already.
    pub(super) fn seed(&self, pod: &Pod) -> Option<PodStatus> {
        let known = self.statics.get(&PodKey::of(pod))?;
        (mirror::mirrored(pod) == Some(known.hash.as_str())).then(|| known.status.clone())?
    }

    /// A Pod lost its object; if it was a mirror, its Pod goes on.
    pub(super) fn lost(&mut self, tracked: Tracked) {
        if let Some(known) = self.statics.get_mut(&PodKey::of(&tracked.pod))
            && mirror::mirrored(&tracked.pod) == Some(known.hash.as_str())
        {
            known.status = Some(tracked.status);
        }
    }

    /// Removes mirrors that show nothing and gives those to be made.
    pub(super) fn next_request(
        &mut self,
        pods: &mut Pods,
        owner: Option<Owner<'_>>,
        now: Timestamp,
    ) -> Option<(PodKey, Pod)> {
        let owner = owner.filter(|_| pods.synced())?;
        let wrong: Vec<PodKey> = pods
            .iter()
            .filter(|(_, tracked)| !tracked.remove)
            .filter(|(key, tracked)| {
                mirror::mirrored(&tracked.pod).is_some_and(|hash| {
                    !mirror::belongs_to(&tracked.pod, owner)
                        || self.statics.get(*key).is_none_or(|known| known.hash != hash)
                })
            })
            .map(|(key, _)| key.clone())
            .collect();
        wrong.iter().for_each(|key| pods.expel(key));
        if self.not_before.is_some_and(|time| now < time) {
            return None;
        }
        let (key, known) =
            self.statics.iter().find(|(key, _)| pods.get(key).is_none() && !self.busy.contains(key))?;
        let made = (key.clone(), mirror::mirror(&known.pod, owner));
        self.busy.insert(made.0.clone());
        Some(made)
    }

    /// A mirror was made, or not.
    pub(super) fn answered(&mut self, key: &PodKey, made: bool, now: Timestamp) {
        self.busy.remove(key);
        if made {
            self.pauses.reset();
        } else {
            self.not_before = Some(after(now, self.pauses.longer()));
        }
    }

    /// When to try again.
    pub(super) fn next_due(&self, now: Timestamp) -> Option<Timestamp> {
        self.not_before.filter(|time| now < *time)
    }
}
