//! Keys, pastes and sizes of the terminal, read by nobody once this is dropped.
//!
//! The stream of crossterm waits on a thread that outlives it for a moment, and would take keys that are
//! meant for a pager or a shell. Here a drop waits for that thread: it keeps our waker for as long as it
//! listens, and the waker holds an end of a channel that nothing is ever sent through.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        mpsc::{self, Receiver, Sender},
    },
    task::{Context, Poll, Wake, Waker},
    time::Duration,
};

use crossterm::event::{Event, EventStream};
use futures::{Stream, StreamExt};

/// How long a drop waits at most. A terminal that was closed keeps the thread for ever.
const LONGEST: Duration = Duration::from_millis(500);

/// What comes from the terminal of this process.
pub struct Input {
    // Both are taken by the drop.
    stream: Option<EventStream>,
    held: Option<Sender<()>>,
    released: Receiver<()>,
}

impl Input {
    /// Listens to the terminal.
    #[expect(clippy::new_without_default, reason = "listening is an effect")]
    pub fn new() -> Self {
        let (held, released) = mpsc::channel();
        Self { stream: Some(EventStream::new()), held: Some(held), released }
    }
}

impl Stream for Input {
    type Item = io::Result<Event>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let (Some(held), task) = (self.held.clone(), context.waker().clone()) else {
            return Poll::Ready(None);
        };
        let waker = Waker::from(Arc::new(Listener { task, _held: held }));
        match &mut self.stream {
            Some(stream) => stream.poll_next_unpin(&mut Context::from_waker(&waker)),
            None => Poll::Ready(None),
        }
    }
}

impl Drop for Input {
    fn drop(&mut self) {
        self.stream = None;
        self.held = None;
        // An error is what we wait for: every other end is gone.
        let _ = self.released.recv_timeout(LONGEST);
    }
}

/// Wakes whoever waits for keys; alive while the thread listens.
struct Listener {
    task: Waker,
    _held: Sender<()>,
}

impl Wake for Listener {
    fn wake(self: Arc<Self>) {
        self.task.wake_by_ref();
    }
}
