//! What a screen shows of a management cluster, as it changes: rows from watches that never end.
//!
//! [`follow`] is the watch: a server that goes away is told once and tried again for as long as somebody
//! looks. [`rows`] says what is kept of each kind; whole objects are read one at a time, by [`object()`].

mod object;
mod rows;

use std::{collections::VecDeque, fmt::Debug, pin::Pin, time::Duration};

use futures::{Stream, StreamExt, stream};
use kube::{
    Api, Resource, ResourceExt,
    runtime::watcher::{self, watcher},
};
use serde::de::DeserializeOwned;

pub use object::{delete, object, object_events};
pub use rows::{EventRow, NodeRow, PoolRow, daemons, deployments, events, nodes, pools, tenants};

use crate::cluster::ApiError;

const FIRST_DELAY: Duration = Duration::from_millis(200);
const LONGEST_DELAY: Duration = Duration::from_secs(10);

/// What a watch tells. A list begins with [`Seen::Begun`] and ends with [`Seen::Complete`]: what was not
/// there in between is gone.
#[derive(Debug)]
pub enum Seen<T> {
    /// A list begins.
    Begun,
    /// It is there, as it is now; the text names it among its kind.
    There(String, T),
    /// The list is complete.
    Complete,
    /// What was named so is gone.
    Gone(String),
    /// Nobody answers, or not as wanted; it is tried again.
    Lost(ApiError),
    /// Somebody answers again.
    Back,
}

/// News of a kind, in the order they came.
pub type News<T> = Pin<Box<dyn Stream<Item = Seen<T>> + Send>>;

/// What the client tells.
type Raw<K> = Pin<Box<dyn Stream<Item = watcher::Result<watcher::Event<K>>> + Send>>;

struct Watching<K, T> {
    api: Api<K>,
    config: watcher::Config,
    action: String,
    make: fn(K) -> T,
    stream: Option<Raw<K>>,
    ready: VecDeque<Seen<T>>,
    lost: bool,
    delay: Duration,
    wait: Option<Duration>,
}

/// Watches for as long as somebody listens. `action` completes "cannot …"; `make` keeps of an object what is
/// wanted.
fn follow<K, T>(api: Api<K>, config: watcher::Config, action: String, make: fn(K) -> T) -> News<T>
where
    K: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
    K::DynamicType: Clone,
    T: Send + 'static,
{
    let watching = Watching {
        api,
        config,
        action,
        make,
        stream: None,
        ready: VecDeque::new(),
        lost: false,
        delay: FIRST_DELAY,
        wait: None,
    };
    Box::pin(stream::unfold(watching, async |mut watching| {
        loop {
            if let Some(seen) = watching.ready.pop_front() {
                return Some((seen, watching));
            }
            watching.step().await;
        }
    }))
}

impl<K, T> Watching<K, T>
where
    K: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
{
    async fn step(&mut self) {
        if let Some(wait) = self.wait.take() {
            tokio::time::sleep(wait).await;
        }
        let (api, config) = (&self.api, &self.config);
        let stream = self.stream.get_or_insert_with(|| Box::pin(watcher(api.clone(), config.clone())));
        match stream.next().await {
            Some(Ok(event)) => self.take(event),
            Some(Err(error)) => self.fail(ApiError::watching(&self.action, error)),
            None => self.stream = None,
        }
    }

    fn take(&mut self, event: watcher::Event<K>) {
        // The mere beginning of a list says nothing about the server.
        if !matches!(event, watcher::Event::Init) {
            self.delay = FIRST_DELAY;
            if std::mem::take(&mut self.lost) {
                self.ready.push_back(Seen::Back);
            }
        }
        self.ready.push_back(match event {
            watcher::Event::Init => Seen::Begun,
            watcher::Event::InitApply(object) | watcher::Event::Apply(object) => {
                Seen::There(key(&object), (self.make)(object))
            }
            watcher::Event::InitDone => Seen::Complete,
            watcher::Event::Delete(object) => Seen::Gone(key(&object)),
        });
    }

    fn fail(&mut self, error: ApiError) {
        if error.is_gone() {
            // A place the server has forgotten is the ordinary end of a long silence.
            self.stream = None;
            return;
        }
        self.wait = Some(self.delay);
        self.delay = (self.delay * 2).min(LONGEST_DELAY);
        self.lost = true;
        self.ready.push_back(Seen::Lost(error));
    }
}

/// Names an object among its kind.
fn key<K: Resource>(object: &K) -> String {
    match object.namespace() {
        Some(namespace) => format!("{namespace}/{}", object.name_any()),
        None => object.name_any(),
    }
}
