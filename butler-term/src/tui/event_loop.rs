//! The loop: messages in, frames and effects out.
//!
//! What came in together is taken together, and drawn once. A key is answered by a frame at once, unless
//! there was one just before; news from elsewhere wait for the next of thirty frames a second. Nothing is drawn
//! when nothing came.

use std::{future::poll_fn, io, task::Poll, time::Duration};

use butler_core::{error::Code, settings::Environment};
use futures::{Stream, StreamExt};
use rustix::process::{Signal as Number, getpgrp, kill_process_group};
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::mpsc::Receiver,
    time::{Instant, sleep_until, timeout},
};

use super::{App, Effect, Event, Msg, pager, terminal::Screen};
use crate::{CommandError, CommandResult};

/// Time between two frames, unless a key was pressed.
const FRAME: Duration = Duration::from_millis(33);
/// How long messages are taken before a frame is drawn, and the time between two frames while keys come.
const SLICE: Duration = Duration::from_millis(8);
/// Keys that are taken before a frame is drawn: a paste into a terminal that does not mark pastes.
const KEYS: usize = 4096;
/// Time between ticks.
const TICK: Duration = Duration::from_secs(1);
/// Time between ticks while something spins.
const SPIN: Duration = Duration::from_millis(100);
/// How soon a stop by the shell takes effect; after that there is no shell that could stop us.
const STOP: Duration = Duration::from_millis(200);

/// What the loop works with beside the app.
pub struct Context<'a, M> {
    /// Messages for the app.
    pub inbox: Receiver<M>,
    /// Clock, pager, home.
    pub environment: &'a Environment,
}

/// Runs an app until it quits, or a signal ends it. `start` carries effects out and returns at once.
pub async fn run<A, S, I>(
    app: &mut A,
    screen: &mut S,
    mut input: impl FnMut() -> I,
    context: Context<'_, A::Msg>,
    mut start: impl FnMut(A::Effect),
) -> CommandResult
where
    A: App,
    S: Screen,
    I: Stream<Item = io::Result<Event>> + Unpin,
{
    let Context { mut inbox, environment } = context;
    let mut signals = Signals::listen()?;
    let mut keys = Some(input());
    let mut todo = app.update(Msg::Tick(environment.now()));
    // The first frame comes before the first effect.
    let (mut changed, mut due, mut tick) = (true, Instant::now(), Instant::now());
    let mut drawn = due;
    loop {
        if changed && Instant::now() >= due {
            app.settle();
            screen.terminal().draw(|frame| app.view(frame)).map_err(|error| lost(&error))?;
            drawn = Instant::now();
            (changed, due) = (false, drawn + FRAME);
        }
        let mut more = Vec::new();
        for effect in todo.drain(..) {
            match effect {
                Effect::Quit => return Ok(()),
                Effect::App(effect) => start(effect),
                Effect::Redraw => screen.enter().map_err(|error| lost(&error))?,
                Effect::Suspend => {
                    // Two readers would share the keyboard.
                    keys = None;
                    screen.leave().map_err(|error| lost(&error))?;
                    signals.stop().await;
                    screen.enter().map_err(|error| lost(&error))?;
                }
                Effect::Page { name, text } => {
                    keys = None;
                    screen.leave().map_err(|error| lost(&error))?;
                    let paged = signals.page(environment, &name, &text).await;
                    screen.enter().map_err(|error| lost(&error))?;
                    match paged {
                        Ok(None) => {}
                        Ok(Some(word)) => return Err(ended(word)),
                        Err(error) => more.extend(app.update(Msg::Trouble(error.to_string()))),
                    }
                }
            }
            (changed, due) = (true, Instant::now());
        }
        todo.append(&mut more);
        if !todo.is_empty() || changed && Instant::now() >= due {
            continue;
        }
        let keys = keys.get_or_insert_with(&mut input);
        let next_tick = tick + if app.animates() { SPIN } else { TICK };
        tokio::select! {
            biased;
            end = signals.next() => match end {
                End::Go(word) => return Err(ended(word)),
                End::Continue => {
                    screen.enter().map_err(|error| lost(&error))?;
                    (changed, due) = (true, Instant::now());
                }
            },
            event = keys.next() => {
                let (mut next, mut taken) = (Some(event), 0);
                while let Some(event) = next.take() {
                    let event = event.ok_or_else(|| ended("the input has ended"))?;
                    let event = event.map_err(|error| lost(&error))?;
                    // A size that changed twice between two frames is the old one, on a terminal that lost lines.
                    let resized = matches!(event, Event::Resize(..)).then_some(Effect::Redraw);
                    todo.extend(app.update(Msg::Input(event)).into_iter().chain(resized));
                    taken += 1;
                    // What asks for the terminal is done before the next key.
                    if todo.is_empty() && taken < KEYS {
                        next = waiting(keys).await;
                    }
                }
                (changed, due) = (true, due.min(drawn + SLICE));
            }
            Some(msg) = inbox.recv() => {
                let end = Instant::now() + SLICE;
                todo.extend(app.update(Msg::App(msg)));
                while Instant::now() < end && let Ok(msg) = inbox.try_recv() {
                    todo.extend(app.update(Msg::App(msg)));
                }
                changed = true;
            }
            () = sleep_until(due), if changed => {}
            () = sleep_until(next_tick) => {
                tick = Instant::now();
                todo.extend(app.update(Msg::Tick(environment.now())));
                changed = true;
            }
        }
    }
}

/// What is there already. Asked as this task: a stream that was polled by nobody in particular wakes nobody.
async fn waiting<I: Stream + Unpin>(keys: &mut I) -> Option<Option<I::Item>> {
    poll_fn(|context| match keys.poll_next_unpin(context) {
        Poll::Ready(event) => Poll::Ready(Some(event)),
        Poll::Pending => Poll::Ready(None),
    })
    .await
}

fn ended(word: &str) -> CommandError {
    CommandError::new(Code::Interrupted, word)
}

/// The terminal is gone, and with it whoever would read more.
fn lost(error: &dyn std::error::Error) -> CommandError {
    ended("the terminal is gone").caused_by(error)
}

/// What a signal means.
enum End {
    /// The end, in a word.
    Go(&'static str),
    /// We were stopped and go on.
    Continue,
}

struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
    continued: Signal,
}

impl Signals {
    fn listen() -> CommandResult<Self> {
        let listen = |kind| {
            signal(kind)
                .map_err(|e| CommandError::new(Code::Internal, "cannot listen for signals").caused_by(&e))
        };
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hangup: listen(SignalKind::hangup())?,
            continued: listen(SignalKind::from_raw(Number::CONT.as_raw()))?,
        })
    }

    async fn next(&mut self) -> End {
        tokio::select! {
            biased;
            _ = self.hangup.recv() => End::Go("the terminal was closed"),
            _ = self.terminate.recv() => End::Go("terminated"),
            _ = self.interrupt.recv() => End::Go("interrupted"),
            _ = self.continued.recv() => End::Continue,
        }
    }

    /// Stops as Ctrl-Z would if the terminal made it a signal: the whole group, and only if a shell is
    /// there that can continue it.
    async fn stop(&mut self) {
        if kill_process_group(getpgrp(), Number::TSTP).is_ok() {
            let _ = timeout(STOP, self.continued.recv()).await;
        }
    }

    /// Shows a text in the pager until it ends; a signal that ends us ends it too.
    async fn page(
        &mut self,
        environment: &Environment,
        name: &str,
        text: &str,
    ) -> io::Result<Option<&'static str>> {
        let (mut pager, _copy) = pager::start(environment, name, text)?;
        loop {
            tokio::select! {
                ended = pager.wait() => return ended.map(|_| None),
                _ = self.hangup.recv() => return Ok(Some("the terminal was closed")),
                _ = self.terminate.recv() => return Ok(Some("terminated")),
                // Ctrl-C is for the pager, which has the terminal; so is a stop.
                _ = self.interrupt.recv() => {}
                _ = self.continued.recv() => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::stream;
    use ratatui::{Frame, Terminal, backend::TestBackend};

    use super::*;
    use crate::tui::{KeyCode, KeyEvent, KeyModifiers, Mail};

    impl Screen for Terminal<TestBackend> {
        type Backend = TestBackend;

        fn terminal(&mut self) -> &mut Self {
            self
        }

        fn leave(&mut self) -> io::Result<()> {
            Ok(())
        }

        fn enter(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Counts what comes; ends on `q`.
    #[derive(Default)]
    struct Counter {
        keys: usize,
        news: usize,
        frames: std::cell::Cell<usize>,
        wanted: usize,
    }

    impl App for Counter {
        type Msg = ();
        type Effect = &'static str;

        fn update(&mut self, msg: Msg<()>) -> Vec<Effect<&'static str>> {
            match msg {
                Msg::Input(Event::Key(KeyEvent { code: KeyCode::Char('q'), .. })) => {
                    return vec![Effect::Quit];
                }
                Msg::Input(_) => self.keys += 1,
                Msg::App(()) => {
                    self.news += 1;
                    if self.news == self.wanted {
                        return vec![Effect::App("done"), Effect::Quit];
                    }
                }
                Msg::Tick(_) | Msg::Trouble(_) => {}
            }
            Vec::new()
        }

        fn view(&self, frame: &mut Frame<'_>) {
            self.frames.set(self.frames.get() + 1);
            frame.render_widget(format!("{} keys", self.keys), frame.area());
        }

        fn animates(&self) -> bool {
            false
        }
    }

    fn key(c: char) -> io::Result<Event> {
        Ok(Event::Key(KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE)))
    }

    #[tokio::test]
    async fn keys_that_come_together_are_drawn_together() {
        let mut screen = Terminal::new(TestBackend::new(20, 1)).unwrap();
        let (_mail, inbox) = Mail::channel();
        let environment = Environment::default();
        let mut app = Counter::default();
        let keys = || stream::iter((0..3000).map(|_| key('x')).chain([key('q')]));
        run(&mut app, &mut screen, keys, Context { inbox, environment: &environment }, |_| {}).await.unwrap();
        assert_eq!(app.keys, 3000);
        assert!(app.frames.get() <= 3, "{} frames", app.frames.get());
    }

    #[tokio::test]
    async fn news_are_drawn_at_most_thirty_times_a_second_and_effects_are_started() {
        let mut screen = Terminal::new(TestBackend::new(20, 1)).unwrap();
        let (mail, inbox) = Mail::channel();
        let environment = Environment::default();
        let mut app = Counter { wanted: 20_000, ..Counter::default() };
        tokio::spawn(async move { while mail.send(()).await {} });
        let start = Instant::now();
        let mut started = Vec::new();
        let keys = stream::pending;
        let context = Context { inbox, environment: &environment };
        run(&mut app, &mut screen, keys, context, |effect| started.push(effect)).await.unwrap();
        // What came together with the last one was taken too.
        assert!(app.news >= 20_000, "{}", app.news);
        assert_eq!(started, ["done"]);
        let most = 3 + start.elapsed().as_millis() / FRAME.as_millis();
        assert!((app.frames.get() as u128) <= most, "{} frames, at most {most}", app.frames.get());
    }

    #[tokio::test]
    async fn an_input_that_ends_is_the_end() {
        let mut screen = Terminal::new(TestBackend::new(20, 1)).unwrap();
        let (_mail, inbox) = Mail::channel();
        let environment = Environment::default();
        let context = Context { inbox, environment: &environment };
        let ended =
            run(&mut Counter::default(), &mut screen, || stream::iter([key('x')]), context, |_| {}).await;
        assert_eq!(ended.unwrap_err().code(), Code::Interrupted);
    }
}
