//! What is known of the world outside: the connection, the management cluster, the runs on this machine.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use butler_core::{
    bootstrap::run::RunState,
    error::Diagnose,
    event::RunId,
    live::{EventRow, NodeRow, PoolRow, Seen},
    platform::{Basics, Workload},
    tenant::Summary,
};
use jiff::Timestamp;

use crate::tui::{Fault, Remote};

/// Events that are kept.
const MOST_EVENTS: usize = 500;

/// Objects by name, as a watch tells of them.
#[derive(Clone, Debug)]
pub struct Store<T> {
    items: BTreeMap<Arc<str>, T>,
    /// What a new list has named so far; none outside of lists.
    listed: Option<BTreeSet<Arc<str>>>,
}

impl<T> Default for Store<T> {
    fn default() -> Self {
        Self { items: BTreeMap::new(), listed: None }
    }
}

impl<T> Store<T> {
    /// The objects, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &T)> {
        self.items.iter()
    }

    /// The objects.
    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.items.values()
    }

    /// The object of that name.
    pub fn get(&self, name: &str) -> Option<&T> {
        self.items.get(name)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// True when there is none.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    fn there(&mut self, name: String, item: T) {
        let name: Arc<str> = name.into();
        if let Some(listed) = &mut self.listed {
            listed.insert(name.clone());
        }
        self.items.insert(name, item);
    }
}

/// Takes news of a watch. Until the first list is complete there is nothing to show, unless it is long.
pub fn learn<T>(remote: &mut Remote<Store<T>>, news: Vec<Seen<T>>, now: Timestamp) {
    for seen in news {
        match seen {
            Seen::Lost(error) => {
                remote.lose(Fault::from(&error), now);
                continue;
            }
            Seen::Back => {
                remote.find();
                continue;
            }
            _ => {}
        }
        if !matches!(remote, Remote::Ready(_) | Remote::Stale(..)) {
            match seen {
                // What came before the first list was complete is shown as it comes: long lists take long.
                Seen::There(name, item) => {
                    let mut store = Store { listed: Some(BTreeSet::new()), ..Store::default() };
                    store.there(name, item);
                    *remote = Remote::Ready(store);
                }
                Seen::Complete => *remote = Remote::Ready(Store::default()),
                _ => {}
            }
            continue;
        }
        let Some(store) = remote.value_mut() else { continue };
        match seen {
            Seen::Begun => store.listed = Some(BTreeSet::new()),
            Seen::There(name, item) => store.there(name, item),
            Seen::Complete => {
                if let Some(listed) = store.listed.take() {
                    store.items.retain(|name, _| listed.contains(name));
                }
            }
            Seen::Gone(name) => drop(store.items.remove(name.as_str())),
            Seen::Lost(_) | Seen::Back => {}
        }
    }
}

/// How the cluster is reached, and what hardly changes of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Address of the API server.
    pub server: String,
    /// As whom.
    pub identity: String,
    /// What it is.
    pub basics: Basics,
}

/// A run on this machine, or why it cannot be read.
#[derive(Clone, Debug)]
pub struct RunRow {
    /// Its id.
    pub id: RunId,
    /// How far it is.
    pub state: Result<RunState, Fault>,
}

impl RunRow {
    /// A run and how far it is.
    pub fn of<E: Diagnose>(id: RunId, state: Result<RunState, E>) -> Self {
        Self { id, state: state.map_err(|error| Fault::from(&error)) }
    }
}

/// Everything that screens show.
#[derive(Debug, Default)]
pub struct World {
    /// The time.
    pub now: Timestamp,
    /// Counts ticks, for spinners.
    pub tick: usize,
    /// The way to the management cluster.
    pub link: Remote<Link>,
    /// Its tenant clusters.
    pub tenants: Remote<Store<Summary>>,
    /// Its machines.
    pub nodes: Remote<Store<NodeRow>>,
    /// Its pools of addresses.
    pub pools: Remote<Store<PoolRow>>,
    /// Its deployments.
    pub deployments: Remote<Store<Workload>>,
    /// Its daemon sets.
    pub daemons: Remote<Store<Workload>>,
    /// What happened in it.
    pub events: Remote<Store<EventRow>>,
    /// Runs on this machine, oldest first.
    pub runs: Remote<Vec<RunRow>>,
}

impl World {
    /// Lets the oldest events go.
    pub fn trim(&mut self) {
        let Some(store) = self.events.value_mut() else { return };
        if store.items.len() <= MOST_EVENTS * 2 {
            return;
        }
        let mut times: Vec<_> = store.items.values().map(|event| event.time).collect();
        times.sort_unstable();
        let oldest = times.get(times.len() - MOST_EVENTS).copied().flatten();
        store.items.retain(|_, event| event.time >= oldest);
    }

    /// The latest events first.
    pub fn latest(&self, most: usize) -> Vec<&EventRow> {
        let mut events: Vec<&EventRow> = self.events.value().into_iter().flat_map(Store::values).collect();
        events.sort_by_key(|event| std::cmp::Reverse(event.time));
        events.truncate(most);
        events
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn there(name: &str) -> Seen<u8> {
        Seen::There(name.into(), 1)
    }

    fn names(remote: &Remote<Store<u8>>) -> Vec<&str> {
        remote.value().into_iter().flat_map(Store::iter).map(|(name, _)| name.as_ref()).collect()
    }

    #[test]
    fn a_list_that_is_read_again_forgets_what_is_gone() {
        let mut remote = Remote::default();
        let now = Timestamp::UNIX_EPOCH;
        learn(&mut remote, vec![Seen::Begun, there("a"), there("b")], now);
        assert_eq!(names(&remote), ["a", "b"], "a long list is shown as it comes");
        learn(&mut remote, vec![Seen::Complete, there("c"), Seen::Gone("a".into())], now);
        assert_eq!(names(&remote), ["b", "c"]);
        learn(&mut remote, vec![Seen::Begun, there("c")], now);
        assert_eq!(names(&remote), ["b", "c"], "what is known stays until the list is complete");
        learn(&mut remote, vec![Seen::Complete], now);
        assert_eq!(names(&remote), ["c"]);
    }

    #[test]
    fn an_empty_list_is_an_answer() {
        let mut remote = Remote::<Store<u8>>::default();
        learn(&mut remote, vec![Seen::Begun], Timestamp::UNIX_EPOCH);
        assert!(matches!(remote, Remote::Loading));
        learn(&mut remote, vec![Seen::Complete], Timestamp::UNIX_EPOCH);
        assert!(remote.value().is_some_and(Store::is_empty));
    }

    #[test]
    fn events_are_bounded() {
        let mut world = World::default();
        let event =
            |second: i64| EventRow { time: Timestamp::from_second(second).ok(), ..EventRow::default() };
        let news = (0..2000).map(|n| Seen::There(format!("{n}"), event(n))).chain([Seen::Complete]);
        learn(&mut world.events, news.collect(), Timestamp::UNIX_EPOCH);
        world.trim();
        assert_eq!(world.events.value().unwrap().len(), MOST_EVENTS);
        assert_eq!(world.latest(1)[0].time, Timestamp::from_second(1999).ok());
    }
}
