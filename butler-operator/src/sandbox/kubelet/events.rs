//! Events for people: few, and never in the way of anything else.

use std::{collections::VecDeque, time::Duration};

use jiff::Timestamp;
use k8s_openapi::{
    api::core::v1::{Event, EventSource, ObjectReference, Pod},
    apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time},
};

use super::decide::Note;

/// How many may be sent at once, and how soon another one may follow.
const BURST: u32 = 30;
const INTERVAL: Duration = Duration::from_secs(1);
/// How many wait while the API server is away.
const WAITING: usize = 64;

/// Collects events. Beyond its budget it drops them: a full API server helps nobody.
#[derive(Debug)]
pub(super) struct Recorder {
    node: String,
    queue: VecDeque<Event>,
    budget: u32,
    refilled: Timestamp,
    number: u64,
}

impl Recorder {
    pub(super) fn new(node: &str, now: Timestamp) -> Self {
        Self { node: node.to_owned(), queue: VecDeque::new(), budget: BURST, refilled: now, number: 0 }
    }

    /// Tells what happened to a Pod.
    pub(super) fn note(&mut self, pod: &Pod, note: &Note, now: Timestamp) {
        let name = pod.metadata.name.as_deref().unwrap_or_default();
        let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
        let (container, events): (Option<&str>, Vec<(bool, &str, String)>) = match note {
            Note::Started { container, image, .. } => (
                Some(container),
                vec![
                    (true, "Pulled", format!("Container image \"{image}\" already present on machine")),
                    (true, "Created", format!("Created container: {container}")),
                    (true, "Started", format!("Started container {container}")),
                ],
            ),
            Note::Stopping { container } => {
                (Some(container), vec![(true, "Killing", format!("Stopping container {container}"))])
            }
            Note::BackOff { container } => {
                let message =
                    format!("Back-off restarting failed container {container} in pod {name}_{namespace}");
                (Some(container), vec![(false, "BackOff", message)])
            }
            Note::ImageMissing { container, image } => {
                let message = format!("Failed to pull image \"{image}\": not found");
                (Some(container), vec![(false, "Failed", message)])
            }
            Note::NetworkMissing => {
                (None, vec![(false, "NetworkNotReady", "network is not ready".to_owned())])
            }
            Note::DeadlineExceeded => {
                let message = "Pod was active on the node longer than the specified deadline";
                (None, vec![(true, "DeadlineExceeded", message.to_owned())])
            }
            Note::Ended { .. } => return,
        };
        let reference = ObjectReference {
            api_version: Some("v1".to_owned()),
            kind: Some("Pod".to_owned()),
            name: Some(name.to_owned()),
            namespace: Some(namespace.to_owned()),
            uid: pod.metadata.uid.clone(),
            field_path: container.map(|container| format!("spec.{}{{{container}}}", list_of(pod, container))),
            ..ObjectReference::default()
        };
        for (normal, reason, message) in events {
            self.add(reference.clone(), namespace, (normal, reason, message), now);
        }
    }

    /// Tells what happened to the node.
    pub(super) fn node(&mut self, reason: &str, message: String, now: Timestamp) {
        let reference = ObjectReference {
            kind: Some("Node".to_owned()),
            name: Some(self.node.clone()),
            // Every kubelet does so: events of a node are found by its name.
            uid: Some(self.node.clone()),
            ..ObjectReference::default()
        };
        self.add(reference, "default", (true, reason, message), now);
    }

    fn add(
        &mut self,
        involved: ObjectReference,
        namespace: &str,
        (normal, reason, message): (bool, &str, String),
        now: Timestamp,
    ) {
        let earned = now.duration_since(self.refilled).as_secs().max(0) / INTERVAL.as_secs().cast_signed();
        if earned > 0 {
            self.budget = self.budget.saturating_add(u32::try_from(earned).unwrap_or(BURST)).min(BURST);
            self.refilled = now;
        }
        if self.budget == 0 || self.queue.len() >= WAITING {
            return;
        }
        self.budget -= 1;
        self.number += 1;
        let name = involved.name.as_deref().unwrap_or_default();
        let name = format!("{name}.{:x}{:x}", now.as_millisecond(), self.number);
        self.queue.push_back(Event {
            metadata: ObjectMeta {
                name: Some(name),
                namespace: Some(namespace.to_owned()),
                ..ObjectMeta::default()
            },
            involved_object: involved,
            type_: Some(if normal { "Normal" } else { "Warning" }.to_owned()),
            reason: Some(reason.to_owned()),
            message: Some(message),
            count: Some(1),
            first_timestamp: Some(Time(now)),
            last_timestamp: Some(Time(now)),
            source: Some(EventSource {
                component: Some("kubelet".to_owned()),
                host: Some(self.node.clone()),
            }),
            reporting_component: Some("kubelet".to_owned()),
            reporting_instance: Some(self.node.clone()),
            ..Event::default()
        });
    }

    /// The next one to send.
    pub(super) fn take(&mut self) -> Option<Event> {
        self.queue.pop_front()
    }
}

/// In which list of a Pod's spec a container stands.
fn list_of(pod: &Pod, container: &str) -> &'static str {
    let mut init = pod.spec.iter().flat_map(|spec| spec.init_containers.iter().flatten());
    if init.any(|init| init.name == container) { "initContainers" } else { "containers" }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn events_are_bounded_and_come_again_with_time() {
        let pod: Pod = serde_json::from_value(json!({
            "metadata": {"name": "web-1", "namespace": "shop", "uid": "u"},
            "spec": {"initContainers": [{"name": "init"}], "containers": [{"name": "web"}]},
        }))
        .unwrap();
        let start: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let mut recorder = Recorder::new("node-1", start);
        let note = Note::Started { container: "init".to_owned(), image: "web".to_owned(), run: 0 };
        (0..100).for_each(|_| recorder.note(&pod, &note, start));
        let first = recorder.take().unwrap();
        assert_eq!(first.involved_object.field_path.as_deref(), Some("spec.initContainers{init}"));
        let mut names: Vec<_> =
            std::iter::from_fn(|| recorder.take()).map(|event| event.metadata.name).collect();
        assert_eq!(names.len() + 1, BURST as usize);
        names.dedup();
        assert_eq!(names.len() + 1, BURST as usize, "names are unique");
        recorder.note(&pod, &note, start + Duration::from_secs(2));
        assert_eq!(std::iter::from_fn(|| recorder.take()).count(), 2);
    }
}
