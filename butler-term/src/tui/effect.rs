//! Where effects run: on a thread with an async runtime of its own, so that reading ten thousand objects
//! never keeps a key waiting. What they learn comes back through a bounded queue; a screen that is behind
//! slows them down.

use std::{future::Future, thread};

use butler_core::error::Code;
use tokio::{
    runtime::{Builder, Handle},
    sync::{mpsc, oneshot},
    task::AbortHandle,
};

use crate::{CommandError, CommandResult};

/// Messages that may wait for the screen.
const QUEUE: usize = 1024;

/// A thread for effects. They end when this value goes.
#[derive(Debug)]
pub struct Worker {
    handle: Handle,
    _stop: oneshot::Sender<()>,
}

impl Worker {
    /// Starts the thread.
    pub fn start() -> CommandResult<Self> {
        let failed = |error: &dyn std::error::Error| {
            CommandError::new(Code::Internal, "cannot start the thread for effects").caused_by(error)
        };
        let runtime = Builder::new_current_thread().enable_all().build().map_err(|error| failed(&error))?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel::<()>();
        let run = move || {
            let _ = runtime.block_on(stopped);
            // A file system that hangs must not hold up the end.
            runtime.shutdown_background();
        };
        thread::Builder::new().name("effects".to_owned()).spawn(run).map_err(|error| failed(&error))?;
        Ok(Self { handle, _stop: stop })
    }

    /// Starts an effect; it ends by itself, or when it is aborted.
    pub fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) -> AbortHandle {
        self.handle.spawn(work).abort_handle()
    }
}

/// Brings messages to an app.
#[derive(Debug)]
pub struct Mail<M>(mpsc::Sender<M>);

impl<M> Clone for Mail<M> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<M> Mail<M> {
    /// The way in, and what the loop reads from.
    pub fn channel() -> (Self, mpsc::Receiver<M>) {
        let (sender, receiver) = mpsc::channel(QUEUE);
        (Self(sender), receiver)
    }

    /// Sends, and waits while the screen is behind. False when nobody reads any more.
    pub async fn send(&self, msg: M) -> bool {
        self.0.send(msg).await.is_ok()
    }
}
