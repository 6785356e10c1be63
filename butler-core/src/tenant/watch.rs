//! Watching tenant clusters: what changed since the last look, across restarts of the API server.
//!
//! [`Tracker`] is the pure part: it compares what it sees with what it saw, so that a new list after
//! a lost connection repeats nothing. [`follow`] feeds it.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::ControlFlow,
    pin::pin,
    time::Duration,
};

use futures::StreamExt;
use kube::{
    Client,
    api::{Api, DynamicObject},
    runtime::watcher::{self, watcher},
};
use serde::Serialize;
use serde_json::Value;
use tokio::time::Instant;

use super::{Scope, Summary};
use crate::{cluster::ApiError, error::Diagnose};

/// How long errors that do not pass by themselves are borne: a server that restarts refuses with
/// 403 and 404 until it knows its roles and definitions again.
const PATIENCE: Duration = Duration::from_secs(30);
const FIRST_DELAY: Duration = Duration::from_millis(100);
const LONGEST_DELAY: Duration = Duration::from_secs(5);

/// Something that happened to a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Change {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// What happened.
    #[serde(flatten)]
    pub what: What,
}

/// Kinds of change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", tag = "change")]
pub enum What {
    /// The phase is another one.
    Phase {
        /// None when the cluster is seen for the first time.
        from: Option<String>,
        /// The new one.
        to: String,
    },
    /// The status of a condition is another one.
    Condition {
        /// Type of the condition.
        condition: String,
        /// None when the condition is seen for the first time.
        from: Option<String>,
        /// `True`, `False` or `Unknown`.
        to: String,
        /// Why, in one word.
        reason: String,
        /// Why, in a sentence.
        message: String,
    },
    /// It is gone.
    Deleted,
}

/// What [`follow`] has to tell.
#[derive(Debug)]
pub enum Notice {
    /// Something happened.
    Change(Change),
    /// An object does not fit the kind and is left out.
    Unreadable {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
        /// The field.
        field: &'static str,
    },
    /// The connection is lost; the watch goes on trying.
    Lost(ApiError),
    /// The connection is back.
    Back,
}

/// What was last seen of each cluster.
#[derive(Debug, Default)]
pub struct Tracker {
    seen: BTreeMap<(String, String), State>,
    /// Objects of the list that is being read; none outside of lists.
    listed: Option<BTreeSet<(String, String)>>,
}

#[derive(Debug, Default)]
struct State {
    uid: String,
    phase: Option<String>,
    conditions: BTreeMap<String, String>,
    unreadable: bool,
}

impl Tracker {
    /// A new list begins.
    pub fn list_begins(&mut self) {
        self.listed = Some(BTreeSet::new());
    }

    /// The list is complete: what it does not name is gone.
    pub fn list_ends(&mut self) -> Vec<Notice> {
        let listed = self.listed.take().unwrap_or_default();
        let gone: Vec<_> = self.seen.keys().filter(|key| !listed.contains(*key)).cloned().collect();
        gone.into_iter().filter_map(|(namespace, name)| self.deleted(&namespace, &name)).collect()
    }

    /// An object is gone.
    pub fn deleted(&mut self, namespace: &str, name: &str) -> Option<Notice> {
        let (namespace, name) = (namespace.to_owned(), name.to_owned());
        self.seen.remove(&(namespace.clone(), name.clone()))?;
        Some(Notice::Change(Change { namespace, name, what: What::Deleted }))
    }

    /// An object is there, as it is now.
    pub fn seen(&mut self, object: &Value) -> Vec<Notice> {
        let summary = Summary::of(object);
        let key = (summary.namespace.clone(), summary.name.clone());
        if let Some(listed) = &mut self.listed {
            listed.insert(key.clone());
        }
        let (namespace, name) = key.clone();
        let mut notices = Vec::new();
        let uid = object.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default();
        if self.seen.get(&key).is_some_and(|state| state.uid != uid) {
            // Deleted and made again while nobody looked.
            notices.extend(self.deleted(&namespace, &name));
        }
        let state = self.seen.entry(key).or_default();
        state.uid = uid.to_owned();
        if let Some(field) = summary.problem {
            if !std::mem::replace(&mut state.unreadable, true) {
                notices.push(Notice::Unreadable { namespace, name, field });
            }
            return notices;
        }
        state.unreadable = false;
        let mut push = |what| {
            notices.push(Notice::Change(Change { namespace: namespace.clone(), name: name.clone(), what }))
        };
        let phase = summary.phase().to_owned();
        if state.phase.as_ref() != Some(&phase) {
            push(What::Phase { from: state.phase.replace(phase.clone()), to: phase });
        }
        for condition in object.pointer("/status/conditions").and_then(Value::as_array).into_iter().flatten()
        {
            let text = |field| condition.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
            let (kind, to) = (text("type"), text("status"));
            if state.conditions.get(&kind) != Some(&to) {
                let from = state.conditions.insert(kind.clone(), to.clone());
                push(What::Condition {
                    condition: kind,
                    from,
                    to,
                    reason: text("reason"),
                    message: text("message"),
                });
            }
        }
        notices
    }
}

/// Watches until `tell` breaks off, or an error lasts. Lost connections are told once and resumed
/// where they were; when the server no longer knows that place, everything is listed anew.
pub async fn follow(
    client: &Client,
    scope: &Scope,
    name: Option<&str>,
    mut tell: impl FnMut(Notice) -> ControlFlow<()>,
) -> Result<(), ApiError> {
    let action = scope.action("watch");
    let config = watcher::Config {
        label_selector: scope.selector.clone(),
        field_selector: name.map(|name| format!("metadata.name={name}")),
        ..watcher::Config::default()
    };
    let resource = super::resource();
    let api: Api<DynamicObject> = match &scope.namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    };
    let mut tracker = Tracker::default();
    let mut started = false;
    let mut lost: Option<Instant> = None;
    let mut delay = FIRST_DELAY;
    'anew: loop {
        let mut stream = pin!(watcher(api.clone(), config.clone()));
        while let Some(event) = stream.next().await {
            let error = match event {
                Ok(event) => {
                    // The mere beginning of a list says nothing about the server.
                    if !matches!(event, watcher::Event::Init) {
                        delay = FIRST_DELAY;
                        if lost.take().is_some() && tell(Notice::Back).is_break() {
                            return Ok(());
                        }
                    }
                    started |= matches!(event, watcher::Event::InitDone);
                    for notice in digest(&mut tracker, event) {
                        if tell(notice).is_break() {
                            return Ok(());
                        }
                    }
                    continue;
                }
                Err(error) => ApiError::watching(&action, error),
            };
            // A place the server has forgotten is the ordinary end of a long silence.
            if error.is_gone() {
                continue 'anew;
            }
            let is_news = lost.is_none();
            let since = *lost.get_or_insert_with(Instant::now);
            if !started || (!error.kind().is_retryable() && since.elapsed() > PATIENCE) {
                return Err(error);
            }
            if is_news && tell(Notice::Lost(error)).is_break() {
                return Ok(());
            }
            tokio::time::sleep(delay).await;
            delay = (delay * 2).min(LONGEST_DELAY);
        }
    }
}

fn digest(tracker: &mut Tracker, event: watcher::Event<DynamicObject>) -> Vec<Notice> {
    match event {
        watcher::Event::Init => {
            tracker.list_begins();
            Vec::new()
        }
        watcher::Event::InitDone => tracker.list_ends(),
        watcher::Event::InitApply(object) | watcher::Event::Apply(object) => {
            // An object that came as JSON goes back into it.
            tracker.seen(&serde_json::to_value(&object).unwrap_or_default())
        }
        watcher::Event::Delete(object) => {
            let namespace = object.metadata.namespace.unwrap_or_default();
            tracker.deleted(&namespace, &object.metadata.name.unwrap_or_default()).into_iter().collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn cluster(uid: &str, phase: &str, ready: &str) -> Value {
        json!({
            "metadata": {"name": "dev", "namespace": "team-a", "uid": uid},
            "spec": {"kubernetesVersion": "v1.34.1", "workers": {"replicas": 1}},
            "status": {"phase": phase, "conditions": [
                {"type": "Ready", "status": ready, "reason": "Because", "message": "of that"}]},
        })
    }

    fn words(notices: Vec<Notice>) -> Vec<String> {
        let word = |notice| match notice {
            Notice::Change(Change { what: What::Phase { from, to }, .. }) => format!("{from:?} -> {to}"),
            Notice::Change(Change { what: What::Condition { condition, from, to, .. }, .. }) => {
                format!("{condition} {from:?} -> {to}")
            }
            Notice::Change(Change { what: What::Deleted, .. }) => "deleted".to_owned(),
            Notice::Unreadable { field, .. } => format!("unreadable {field}"),
            other => format!("{other:?}"),
        };
        notices.into_iter().map(word).collect()
    }

    #[test]
    fn only_what_changed_is_told() {
        let mut tracker = Tracker::default();
        tracker.list_begins();
        assert_eq!(
            words(tracker.seen(&cluster("1", "Pending", "False"))),
            ["None -> Pending", "Ready None -> False"]
        );
        assert!(tracker.list_ends().is_empty());
        assert!(tracker.seen(&cluster("1", "Pending", "False")).is_empty());
        assert_eq!(
            words(tracker.seen(&cluster("1", "Ready", "True"))),
            [r#"Some("Pending") -> Ready"#, r#"Ready Some("False") -> True"#]
        );
    }

    #[test]
    fn a_new_list_repeats_nothing_and_misses_no_deletion() {
        let mut tracker = Tracker::default();
        tracker.seen(&cluster("1", "Ready", "True"));
        tracker.list_begins();
        assert!(tracker.seen(&cluster("1", "Ready", "True")).is_empty());
        assert!(tracker.list_ends().is_empty());
        tracker.list_begins();
        assert_eq!(words(tracker.list_ends()), ["deleted"]);
    }

    #[test]
    fn an_object_made_again_is_deleted_first() {
        let mut tracker = Tracker::default();
        tracker.seen(&cluster("1", "Ready", "True"));
        assert_eq!(
            words(tracker.seen(&cluster("2", "Pending", "False"))),
            ["deleted", "None -> Pending", "Ready None -> False"]
        );
    }

    #[test]
    fn an_object_that_does_not_fit_is_named_once() {
        let mut tracker = Tracker::default();
        let mut bad = cluster("1", "Ready", "True");
        bad["spec"]["kubernetesVersion"] = json!(7);
        assert_eq!(words(tracker.seen(&bad)), ["unreadable spec.kubernetesVersion"]);
        assert!(tracker.seen(&bad).is_empty());
        assert_eq!(words(tracker.seen(&cluster("1", "Ready", "True"))).len(), 2);
    }
}
