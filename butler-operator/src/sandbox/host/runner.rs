//! Keeps the process of a machine as the machine's switch says: running, started again after a crash
//! with growing pauses, or stopped.

use std::{net::IpAddr, path::PathBuf, pin::pin, sync::Arc, time::Duration};

use futures::{FutureExt, future::FusedFuture};
use jiff::Timestamp;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, BufReader},
    process::{ChildStderr, ChildStdout},
    sync::watch,
    task::JoinHandle,
    time::Instant,
};

use super::console::Console;
use crate::{
    process::{Child, ProcessError},
    sandbox::machine::AgentMessage,
};

/// How long a process may take to end when it is asked to.
const GRACE: Duration = Duration::from_secs(3);
/// Pauses between a crash and the next start.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// A process that lived this long is started again without a pause to speak of.
const HEALTHY: Duration = Duration::from_secs(30);
/// A longer line on stdout is no message.
const LONGEST_LINE: usize = 64 << 10;
/// How long the pipes of a process that has ended are read.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// What is seen of the process.
#[derive(Clone, Debug, Default)]
pub(super) struct Live {
    pub(super) pid: Option<u32>,
    /// The address the machine says it has, once it has booted.
    pub(super) address: Option<IpAddr>,
    pub(super) stage: Option<String>,
    pub(super) restarts: u32,
    pub(super) last_exit: Option<String>,
    pub(super) since: Option<Timestamp>,
}

/// What happens to a machine by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Told {
    /// It looks different.
    Changed,
    /// It was switched off from inside.
    SwitchedOff,
}

/// How to start a process, and whom to tell.
pub(super) struct Job {
    pub(super) start: Box<dyn Fn() -> Result<Child, ProcessError> + Send + Sync>,
    pub(super) told: Box<dyn Fn(Told) + Send + Sync>,
    pub(super) console: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Wanted {
    on: bool,
    resets: u64,
    gone: bool,
}

/// The task that keeps one process.
#[derive(Debug)]
pub(super) struct Runner {
    wanted: watch::Sender<Wanted>,
    live: watch::Receiver<Live>,
    task: Option<JoinHandle<()>>,
}

impl Runner {
    pub(super) fn start(job: Job, on: bool) -> Self {
        let (wanted, wants) = watch::channel(Wanted { on, resets: 0, gone: false });
        let (sender, live) = watch::channel(Live::default());
        let task = tokio::spawn(run(job, wants, Arc::new(sender)));
        Self { wanted, live, task: Some(task) }
    }

    pub(super) fn live(&self) -> Live {
        self.live.borrow().clone()
    }

    /// Turns the switch; what it does is seen later, see [`stopped`](Self::stopped).
    pub(super) fn switch(&self, on: bool) {
        self.wanted.send_modify(|wanted| wanted.on = on);
    }

    /// Off and on again.
    pub(super) fn reset(&self) {
        self.wanted.send_modify(|wanted| {
            wanted.on = true;
            wanted.resets += 1;
        });
    }

    /// Ends the process for good and hands out the task that does it.
    pub(super) fn end(&mut self) -> Option<JoinHandle<()>> {
        self.wanted.send_modify(|wanted| wanted.gone = true);
        self.task.take()
    }

    /// Waits until no process runs.
    pub(super) fn stopped(&self) -> impl Future<Output = ()> + use<> {
        let mut live = self.live.clone();
        async move {
            // A task that is gone has no process either.
            let _ = live.wait_for(|live| live.pid.is_none()).await;
        }
    }
}

async fn run(job: Job, mut wants: watch::Receiver<Wanted>, live: Arc<watch::Sender<Live>>) {
    let mut console = Console::new(job.console.clone());
    let mut pause = FIRST_PAUSE;
    loop {
        let Ok(want) = wants.wait_for(|wanted| wanted.on || wanted.gone).await.map(|wanted| *wanted) else {
            return;
        };
        if want.gone {
            return;
        }
        let begun = Instant::now();
        let crash = match (job.start)() {
            Ok(child) => live_on(&job, child, want, &mut wants, &live, &mut console).await,
            Err(error) => Some(with_causes(&error)),
        };
        live.send_modify(|live| {
            let Live { restarts, last_exit, .. } = std::mem::take(live);
            *live = Live { restarts, last_exit, ..Live::default() };
            if let Some(crash) = &crash {
                live.restarts += 1;
                live.last_exit = Some(crash.clone());
            }
        });
        let Some(crash) = crash else {
            (job.told)(Told::Changed);
            continue;
        };
        if begun.elapsed() >= HEALTHY {
            pause = FIRST_PAUSE;
        }
        let note = format!("[host] the process ended ({crash}); it is started again in {pause:?}\n");
        console.write(note.as_bytes());
        (job.told)(Told::Changed);
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            _ = wants.wait_for(|wanted| *wanted != want) => {}
        }
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Follows a process to its end. Returns how it ended, if that was a crash.
async fn live_on(
    job: &Job,
    mut child: Child,
    want: Wanted,
    wants: &mut watch::Receiver<Wanted>,
    live: &Arc<watch::Sender<Live>>,
    console: &mut Console,
) -> Option<String> {
    live.send_modify(|live| {
        live.pid = Some(child.pid());
        live.since = Some(Timestamp::now());
    });
    (job.told)(Told::Changed);
    // Its input stays open as long as it lives.
    let pipes = child.take_pipes();
    let (_input, streams) = match pipes {
        Some(pipes) => (Some(pipes.stdin), Some((pipes.stdout, pipes.stderr))),
        None => (None, None),
    };
    let listen = async {
        if let Some((stdout, stderr)) = streams
            && let (Ok(stdout), Ok(stderr)) = (ChildStdout::from_std(stdout), ChildStderr::from_std(stderr))
        {
            tokio::join!(messages(stdout, |message| heard(job, live, message)), copy(stderr, console));
        }
    };
    let mut listen = pin!(listen.fuse());
    let ended = tokio::select! {
        status = child.wait() => Some(status),
        _ = wants.wait_for(|wanted| *wanted != want) => None,
        // It ends before the process does when that closes its output.
        () = async { (&mut listen).await; std::future::pending().await } => None,
    };
    let status = match ended {
        Some(status) => status,
        None => {
            tokio::select! {
                status = child.stop(GRACE) => status,
                // The pipes are read meanwhile: a process must not hang over its last words.
                () = async { (&mut listen).await; std::future::pending().await } => return None,
            }
        }
    };
    if !listen.is_terminated() {
        let _ = tokio::time::timeout(LAST_WORDS, listen).await;
    }
    // A process that was told to end did not crash, however it ended.
    ended?;
    if status.success() {
        (job.told)(Told::SwitchedOff);
        return None;
    }
    Some(status.to_string())
}

fn heard(job: &Job, live: &watch::Sender<Live>, message: AgentMessage) {
    live.send_modify(|live| match message {
        AgentMessage::Booted { address, .. } => live.address = Some(address),
        AgentMessage::Stage { stage } => live.stage = Some(stage),
    });
    (job.told)(Told::Changed);
}

/// Reads messages, one per line; anything else on the stream is passed over.
async fn messages(stdout: ChildStdout, mut heard: impl FnMut(AgentMessage)) {
    let mut stdout = BufReader::new(stdout);
    let mut line = Vec::new();
    let mut too_long = false;
    while let Ok(buffer) = stdout.fill_buf().await {
        if buffer.is_empty() {
            return;
        }
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let taken = end.map_or(buffer.len(), |end| end + 1);
        too_long |= line.len() + taken > LONGEST_LINE;
        if !too_long {
            line.extend_from_slice(&buffer[..taken]);
        }
        stdout.consume(taken);
        if end.is_some() {
            if let Ok(message) = serde_json::from_slice(&line)
                && !too_long
            {
                heard(message);
            }
            line.clear();
            too_long = false;
        }
    }
}

async fn copy(mut stderr: ChildStderr, console: &mut Console) {
    let mut buffer = vec![0; 8 << 10];
    while let Ok(count @ 1..) = stderr.read(&mut buffer).await {
        console.write(&buffer[..count]);
    }
}

fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text = format!("{text}: {cause}");
        next = cause.source();
    }
    text
}
