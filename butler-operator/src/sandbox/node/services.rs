//! The services of a node: what state each is in, how it came there, whether it is healthy.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::Notify;

use super::{clock::Clock, events::Events, logs::Logs};
use crate::talos::proto::machine::{
    ServiceEvent, ServiceEvents, ServiceHealth, ServiceInfo, ServiceStateEvent, service_state_event::Action,
};

/// How many events of a service are kept.
const HISTORY: usize = 64;

/// Where a service is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Preparing,
    Waiting,
    Running,
    Stopping,
    Finished,
    Failed,
    Starting,
}

impl State {
    fn action(self) -> Action {
        match self {
            Self::Preparing => Action::Preparing,
            Self::Waiting => Action::Waiting,
            Self::Running => Action::Running,
            Self::Stopping => Action::Stopping,
            Self::Finished => Action::Finished,
            Self::Failed => Action::Failed,
            Self::Starting => Action::Starting,
        }
    }
}

/// All services of a node.
#[derive(Debug)]
pub(super) struct Services {
    all: Mutex<BTreeMap<String, Service>>,
    clock: Arc<Clock>,
    events: Arc<Events>,
    logs: Arc<Logs>,
    changed: Arc<Notify>,
}

#[derive(Debug)]
struct Service {
    state: State,
    history: VecDeque<ServiceEvent>,
    health: ServiceHealth,
    /// Whether somebody looks after its health.
    checked: bool,
}

impl Services {
    pub(super) fn new(clock: Arc<Clock>, events: Arc<Events>, logs: Arc<Logs>, changed: Arc<Notify>) -> Self {
        Self { all: Mutex::default(), clock, events, logs, changed }
    }

    /// A service is in another state.
    pub(super) fn set(&self, id: &str, state: State, message: &str) {
        let now = self.clock.stamp();
        let mut all = self.lock();
        let service = all.entry(id.to_owned()).or_insert_with(|| Service {
            state,
            history: VecDeque::new(),
            health: unknown(now),
            checked: id != "dashboard" && !id.starts_with("ext-"),
        });
        service.state = state;
        if !matches!(state, State::Running) {
            service.health = unknown(now);
        }
        service.history.push_back(ServiceEvent {
            msg: message.to_owned(),
            state: format!("{state:?}"),
            ts: Some(now),
        });
        if service.history.len() > HISTORY {
            service.history.pop_front();
        }
        let health = service.health.clone();
        drop(all);
        self.tell(id, state, message, health);
    }

    /// Somebody looked after a service's health.
    pub(super) fn health(&self, id: &str, healthy: bool, message: &str) {
        let now = self.clock.stamp();
        let mut all = self.lock();
        let Some(service) = all.get_mut(id).filter(|service| service.state == State::Running) else { return };
        let same = !service.health.unknown && service.health.healthy == healthy;
        if same && (healthy || service.health.last_message == message) {
            return;
        }
        service.health = ServiceHealth {
            unknown: false,
            healthy,
            last_message: if healthy { String::new() } else { message.to_owned() },
            last_change: Some(now),
        };
        let words = if healthy {
            "Health check successful".to_owned()
        } else {
            format!("Health check failed: {message}")
        };
        service.history.push_back(ServiceEvent {
            msg: words.clone(),
            state: format!("{:?}", State::Running),
            ts: Some(now),
        });
        if service.history.len() > HISTORY {
            service.history.pop_front();
        }
        let health = service.health.clone();
        drop(all);
        self.tell(id, State::Running, &words, health);
    }

    /// Brings up a service that only looks like one.
    pub(super) fn simulate(&self, id: &str, running: &str) {
        self.set(id, State::Starting, "Starting service");
        self.set(id, State::Preparing, "Running pre state");
        self.set(id, State::Preparing, "Creating service runner");
        self.set(id, State::Running, running);
        self.logs.service(id, running);
        if id != "dashboard" {
            self.health(id, true, "");
        }
    }

    /// True when it runs and nobody found it ill.
    pub(super) fn is_up(&self, id: &str) -> bool {
        self.lock().get(id).is_some_and(|service| {
            service.state == State::Running && (!service.checked || service.health.healthy)
        })
    }

    /// Its state, if there is such a service.
    pub(super) fn state(&self, id: &str) -> Option<State> {
        self.lock().get(id).map(|service| service.state)
    }

    /// Everything, by id.
    pub(super) fn list(&self) -> Vec<ServiceInfo> {
        let all = self.lock();
        let info = |(id, service): (&String, &Service)| ServiceInfo {
            id: id.clone(),
            state: format!("{:?}", service.state),
            events: Some(ServiceEvents { events: service.history.iter().cloned().collect() }),
            health: Some(service.health.clone()),
        };
        all.iter().map(info).collect()
    }

    fn tell(&self, id: &str, state: State, message: &str, health: ServiceHealth) {
        let event = ServiceStateEvent {
            service: id.to_owned(),
            action: state.action().into(),
            message: message.to_owned(),
            health: Some(health),
        };
        self.events.publish(&event, "");
        self.logs.talos(format_args!("service[{id}]({state:?}): {message}"));
        self.logs.service("machined", format_args!("service[{id}]({state:?}): {message}"));
        self.changed.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Service>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn unknown(now: prost_types::Timestamp) -> ServiceHealth {
    ServiceHealth {
        unknown: true,
        healthy: false,
        last_message: "Unknown".to_owned(),
        last_change: Some(now),
    }
}
