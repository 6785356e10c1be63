//! The handle of a program that runs.

use std::{
    fmt,
    future::Future,
    io,
    path::PathBuf,
    process::{self, ChildStderr, ChildStdin, ChildStdout, ExitStatus},
    sync::{Arc, Condvar, Mutex, PoisonError},
    thread::JoinHandle,
    time::Duration,
};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::sync::Notify;

use super::{Guard, LogTail, ProcessError, Spawn, Streams};

/// Pause between two looks at a readiness condition.
const READY_INTERVAL: Duration = Duration::from_millis(20);

/// A program that was started, with its process group. Dropping it kills the whole group.
///
/// A thread waits for the program and reaps it, so the handle belongs to no async runtime. When the
/// program ends, what is left of its group is killed.
pub struct Child {
    program: String,
    pid: Pid,
    log: Option<(PathBuf, u64)>,
    input: Option<ChildStdin>,
    output: Option<(ChildStdout, ChildStderr)>,
    exit: Arc<Exit>,
    watcher: Option<JoinHandle<()>>,
}

/// The three streams of a child that was started with [`Streams::Piped`].
#[derive(Debug)]
pub struct Pipes {
    /// Its input.
    pub stdin: ChildStdin,
    /// Its output.
    pub stdout: ChildStdout,
    /// Its other output.
    pub stderr: ChildStderr,
}

/// How the program ended. The lock is held while reaping and while sending a signal, so that a signal
/// never reaches a stranger who got the same process id.
#[derive(Default)]
struct Exit {
    status: Mutex<Option<ExitStatus>>,
    told: Condvar,
    woken: Notify,
}

impl Child {
    pub(super) fn watch(
        mut process: process::Child,
        spawn: &Spawn,
        log_start: u64,
        guard: Guard,
    ) -> io::Result<Self> {
        let id = process.id();
        let pid = Pid::from_child(&process);
        let output = process.stdout.take().zip(process.stderr.take());
        let exit = Arc::new(Exit::default());
        let shared = exit.clone();
        let watcher = std::thread::Builder::new().name(format!("child {id}")).spawn(move || {
            // Not yet reaped, so its id still means this group.
            let ended = || waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
            let _ = rustix::io::retry_on_intr(ended);
            let _ = kill_process_group(pid, Signal::KILL);
            guard.forget(id);
            shared.finish(process);
        })?;
        let log = match &spawn.streams {
            Streams::Log(path) => Some((path.clone(), log_start)),
            Streams::Piped => None,
        };
        Ok(Self { program: spawn.name(), pid, log, input: None, output, exit, watcher: Some(watcher) })
    }

    pub(super) fn with_input(mut self, input: Option<ChildStdin>) -> Self {
        self.input = input;
        self
    }

    /// Its process id, which is also the id of its group.
    pub fn pid(&self) -> u32 {
        self.pid.as_raw_nonzero().get().unsigned_abs()
    }

    /// Its pipes, once, if it was started with [`Streams::Piped`].
    pub fn take_pipes(&mut self) -> Option<Pipes> {
        let (stdout, stderr) = self.output.take()?;
        Some(Pipes { stdin: self.input.take()?, stdout, stderr })
    }

    /// How it ended, if it has.
    pub fn exited(&self) -> Option<ExitStatus> {
        *self.exit.lock()
    }

    /// Waits until it ends.
    pub async fn wait(&self) -> ExitStatus {
        loop {
            let woken = self.exit.woken.notified();
            if let Some(status) = self.exited() {
                return status;
            }
            woken.await;
        }
    }

    /// Waits until it ends, blocking this thread for no longer than `limit`.
    pub fn wait_blocking(&self, limit: Duration) -> Option<ExitStatus> {
        let guard = self.exit.lock();
        let (status, _) = self
            .exit
            .told
            .wait_timeout_while(guard, limit, |status| status.is_none())
            .unwrap_or_else(PoisonError::into_inner);
        *status
    }

    /// Waits until `check` says yes. Fails at once when the program ends first, and when `limit` passes.
    pub async fn ready<F>(&self, limit: Duration, mut check: impl FnMut() -> F) -> Result<(), ProcessError>
    where
        F: Future<Output = bool>,
    {
        let poll = async {
            while !check().await {
                tokio::time::sleep(READY_INTERVAL).await;
            }
        };
        let program = self.program.clone();
        tokio::select! {
            biased;
            status = self.wait() => Err(ProcessError::Ended { program, status, log: self.log_tail() }),
            () = poll => Ok(()),
            () = tokio::time::sleep(limit) => {
                Err(ProcessError::NotReady { program, limit, log: self.log_tail() })
            }
        }
    }

    /// Sends a signal to the whole group, unless the program has ended.
    pub fn signal(&self, signal: Signal) {
        let status = self.exit.lock();
        if status.is_none() {
            // It may be ending this very moment.
            let _ = kill_process_group(self.pid, signal);
        }
    }

    /// Asks the group to end, and kills it when that takes longer than `grace`.
    pub async fn stop(&self, grace: Duration) -> ExitStatus {
        self.signal(Signal::TERM);
        match tokio::time::timeout(grace, self.wait()).await {
            Ok(status) => status,
            Err(_) => {
                self.signal(Signal::KILL);
                self.wait().await
            }
        }
    }

    fn log_tail(&self) -> LogTail {
        match &self.log {
            Some((path, start)) => LogTail::read(path, *start),
            None => LogTail { path: None, lines: Vec::new() },
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
        if let Some(watcher) = self.watcher.take() {
            let _ = watcher.join();
        }
    }
}

impl fmt::Debug for Child {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Child")
            .field("program", &self.program)
            .field("pid", &self.pid)
            .finish_non_exhaustive()
    }
}

impl Exit {
    fn lock(&self) -> std::sync::MutexGuard<'_, Option<ExitStatus>> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reaps the process and tells everyone who waits.
    fn finish(&self, mut process: process::Child) {
        let mut status = self.lock();
        // Only a process that was reaped behind our back has no status; it is gone as well.
        *status = Some(process.wait().unwrap_or_default());
        drop(status);
        self.told.notify_all();
        self.woken.notify_waiters();
    }
}
