//! What people are told about an object: Kubernetes Events, which `kubectl describe` shows.

use kube::{
    Client, Resource,
    runtime::events::{Event, EventType, Recorder, Reporter},
};

/// Something worth telling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Notice {
    /// True when somebody may have to do something.
    pub(super) warns: bool,
    /// One word.
    pub(super) reason: &'static str,
    /// What was being done, in one word.
    pub(super) action: &'static str,
    /// A sentence.
    pub(super) text: String,
}

impl Notice {
    /// Good news.
    pub(super) fn normal(reason: &'static str, action: &'static str, text: impl Into<String>) -> Self {
        Self { warns: false, reason, action, text: text.into() }
    }

    /// Bad news.
    pub(super) fn warning(reason: &'static str, action: &'static str, text: impl Into<String>) -> Self {
        Self { warns: true, reason, action, text: text.into() }
    }
}

/// Publishes notices. The same reason again within some minutes is counted, not repeated.
#[derive(Clone)]
pub(super) struct Board(Recorder);

impl std::fmt::Debug for Board {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Board")
    }
}

impl Board {
    pub(super) fn new(client: Client, instance: &str) -> Self {
        let reporter =
            Reporter { controller: "butler-controller".to_owned(), instance: Some(instance.to_owned()) };
        Self(Recorder::new(client, reporter))
    }

    /// Publishes; an Event that is lost is not worth a failure.
    pub(super) async fn publish<K: Resource<DynamicType = ()>>(&self, object: &K, notice: &Notice) {
        // The API takes a kilobyte.
        let mut note = notice.text.clone();
        if note.len() > 1000 {
            note.truncate((0..=1000).rev().find(|end| note.is_char_boundary(*end)).unwrap_or(0));
        }
        let event = Event {
            type_: if notice.warns { EventType::Warning } else { EventType::Normal },
            reason: notice.reason.to_owned(),
            note: Some(note),
            action: notice.action.to_owned(),
            secondary: None,
        };
        if let Err(error) = self.0.publish(&event, &object.object_ref(&())).await {
            tracing::debug!(reason = notice.reason, "an event was not published: {error}");
        }
    }
}
