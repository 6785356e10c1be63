//! What happened since boot: a ring that everyone reads at their own pace.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures::{Stream, stream};
use prost::Message;
use prost_types::Any;
use ring::rand::{SecureRandom, SystemRandom};
use tokio::sync::watch;

use super::clock::Clock;
use crate::talos::proto::machine::{
    Event, EventsRequest, MachineStatusEvent, PhaseEvent, SequenceEvent, ServiceStateEvent, TaskEvent,
    phase_event, sequence_event, task_event,
};

/// How many events are remembered.
const CAPACITY: usize = 1000;

/// The ring of events.
#[derive(Debug)]
pub(super) struct Events {
    clock: Arc<Clock>,
    ring: Mutex<Ring>,
    count: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Ring {
    /// Number of the oldest event kept.
    first: u64,
    events: VecDeque<(jiff::Timestamp, Event)>,
}

/// A message that may stand in an event.
pub(super) trait Payload: Message {
    /// Its full name.
    const NAME: &'static str;
}

macro_rules! payloads {
    ($($message:ident),+) => {$(
        impl Payload for $message {
            const NAME: &'static str = concat!("machine.", stringify!($message));
        }
    )+};
}

payloads!(MachineStatusEvent, PhaseEvent, SequenceEvent, ServiceStateEvent, TaskEvent);

impl Events {
    pub(super) fn new(clock: Arc<Clock>) -> Self {
        Self { clock, ring: Mutex::default(), count: watch::Sender::new(0) }
    }

    /// Adds an event; `actor` is the call that caused it.
    pub(super) fn publish<P: Payload>(&self, payload: &P, actor: &str) {
        let data = Any { type_url: format!("talos/runtime/{}", P::NAME), value: payload.encode_to_vec() };
        let now = self.clock.now();
        let event = Event { metadata: None, data: Some(data), id: xid(now), actor_id: actor.to_owned() };
        let mut ring = self.lock();
        ring.events.push_back((now, event));
        if ring.events.len() > CAPACITY {
            ring.events.pop_front();
            ring.first += 1;
        }
        let count = ring.first + ring.events.len() as u64;
        drop(ring);
        self.count.send_replace(count);
    }

    /// A sequence begins (`Start`), ends (`Stop`) or fails.
    pub(super) fn sequence(&self, name: &str, action: sequence_event::Action, actor: &str) {
        let event = SequenceEvent { sequence: name.to_owned(), action: action.into(), error: None };
        self.publish(&event, actor);
    }

    /// A phase with one task, both over at once.
    pub(super) fn phase(&self, name: &str, task: &str, actor: &str) {
        use {phase_event::Action as Phase, task_event::Action as Task};
        let phase = |action: Phase| PhaseEvent { phase: name.to_owned(), action: action.into() };
        let step = |action: Task| TaskEvent { task: task.to_owned(), action: action.into() };
        self.publish(&phase(Phase::Start), actor);
        self.publish(&step(Task::Start), actor);
        self.publish(&step(Task::Stop), actor);
        self.publish(&phase(Phase::Stop), actor);
    }

    /// The stream a caller asked for: an empty event, then history, then what comes.
    pub(super) fn stream(
        self: &Arc<Self>,
        request: &EventsRequest,
    ) -> impl Stream<Item = Event> + Send + use<> {
        let (next, actor) = (self.begin(request), request.with_actor_id.clone());
        let hello = Event { data: Some(Any::default()), id: xid(self.clock.now()), ..Event::default() };
        let state = (self.clone(), self.count.subscribe(), next, Some(hello));
        let all = stream::unfold(state, |(events, mut count, next, hello)| async move {
            if let Some(hello) = hello {
                return Some((hello, (events, count, next, None)));
            }
            loop {
                if let Some((next, event)) = events.at(next) {
                    return Some((event, (events, count, next + 1, None)));
                }
                count.changed().await.ok()?;
            }
        });
        futures::StreamExt::filter(all, move |event| {
            let wanted = actor.is_empty()
                || event.actor_id == actor
                || event.data.as_ref().is_some_and(|data| data.type_url.is_empty());
            std::future::ready(wanted)
        })
    }

    /// The number of the first event a caller wants.
    fn begin(&self, request: &EventsRequest) -> u64 {
        let ring = self.lock();
        let len = ring.events.len();
        let index = if !request.tail_id.is_empty() {
            ring.events.iter().position(|(_, event)| event.id == request.tail_id).map_or(0, |at| at + 1)
        } else if request.tail_seconds > 0 {
            let span = Duration::from_secs(u64::from(request.tail_seconds.unsigned_abs()));
            let from = self.clock.now().saturating_sub(span).unwrap_or(jiff::Timestamp::MIN);
            ring.events.iter().position(|(time, _)| *time >= from).unwrap_or(len)
        } else {
            match usize::try_from(request.tail_events) {
                Ok(count) => len.saturating_sub(count),
                Err(_) => 0,
            }
        };
        ring.first + index as u64
    }

    /// The event of this number, or the oldest after it.
    fn at(&self, number: u64) -> Option<(u64, Event)> {
        let ring = self.lock();
        let number = number.max(ring.first);
        let index = usize::try_from(number - ring.first).ok()?;
        ring.events.get(index).map(|(_, event)| (number, event.clone()))
    }

    fn lock(&self) -> MutexGuard<'_, Ring> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An id that sorts by time: twelve bytes in twenty characters.
fn xid(now: jiff::Timestamp) -> String {
    const LETTERS: &[u8; 32] = b"0123456789abcdefghijklmnopqrstuv";
    let mut bytes = [0_u8; 12];
    // Without randomness ids are still ordered, only not unique.
    let _ = SystemRandom::new().fill(&mut bytes);
    let seconds = u32::try_from(now.as_second()).unwrap_or_default();
    bytes[..4].copy_from_slice(&seconds.to_be_bytes());
    let number = bytes.iter().fold(0_u128, |number, byte| number << 8 | u128::from(*byte)) << 4;
    (0..20).rev().map(|at| char::from(LETTERS[(number >> (at * 5) & 31) as usize])).collect()
}

#[cfg(test)]
mod tests {
    use futures::StreamExt;

    use super::*;

    fn events() -> Arc<Events> {
        Arc::new(Events::new(Arc::new(Clock::new("/nowhere".into()))))
    }

    async fn read(events: &Arc<Events>, request: EventsRequest, count: usize) -> Vec<Event> {
        events.stream(&request).take(count).collect().await
    }

    #[tokio::test]
    async fn a_stream_begins_with_an_empty_event_and_goes_on_with_what_was_asked() {
        let events = events();
        events.phase("one", "task", "actor");
        let request = EventsRequest { tail_events: -1, ..EventsRequest::default() };
        let all = read(&events, request, 5).await;
        assert_eq!(all[0].data.as_ref().unwrap().type_url, "");
        assert_eq!(all[1].data.as_ref().unwrap().type_url, "talos/runtime/machine.PhaseEvent");
        assert!(all.iter().all(|event| event.id.len() == 20));

        let request = EventsRequest { tail_events: 1, ..EventsRequest::default() };
        assert_eq!(read(&events, request, 2).await[1], all[4]);
        let request = EventsRequest { tail_id: all[2].id.clone(), ..EventsRequest::default() };
        assert_eq!(read(&events, request, 2).await[1], all[3]);
    }

    #[tokio::test]
    async fn the_ring_forgets_the_oldest_and_a_slow_reader_goes_on_behind_the_gap() {
        let events = events();
        let mut stream = Box::pin(events.stream(&EventsRequest::default()));
        stream.next().await.unwrap();
        for _ in 0..CAPACITY {
            events.phase("p", "t", "");
        }
        assert_eq!(events.lock().events.len(), CAPACITY);
        assert!(stream.next().await.is_some());
    }

    #[tokio::test]
    async fn only_the_actor_that_was_asked_for_is_heard() {
        let events = events();
        events.phase("one", "task", "a");
        events.phase("two", "task", "b");
        let request =
            EventsRequest { tail_events: -1, with_actor_id: "b".into(), ..EventsRequest::default() };
        let seen = read(&events, request, 5).await;
        assert!(seen[1..].iter().all(|event| event.actor_id == "b"));
    }
}
