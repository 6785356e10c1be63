//! Keeps one part running: started, awaited, started again when it ends, stopped in its turn.

use std::{
    collections::BTreeMap,
    convert::Infallible,
    net::SocketAddr,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use jiff::Timestamp;
use kube::Client;
use tokio::{net::TcpStream, task::JoinHandle};
use tokio_util::sync::CancellationToken;

use super::wire::{Health, PartStatus};
use crate::{
    plane,
    process::{Child, Guard, ProcessError, Spawn},
};

/// How long a part may take to be ready the first time, on a machine that is busy.
const READY_LIMIT: Duration = Duration::from_secs(120);
/// How long a part may take to end when asked to.
pub(super) const GRACE: Duration = Duration::from_secs(5);
/// Pauses between an end and the next start.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(15);
/// A part that ran this long begins again with the first pause.
const HEALTHY: Duration = Duration::from_secs(30);
const ASK_EVERY: Duration = Duration::from_millis(20);
const ANSWER_LIMIT: Duration = Duration::from_secs(5);

/// A row of the table of parts.
pub(super) struct Part {
    pub(super) name: &'static str,
    pub(super) spawn: Spawn,
    pub(super) address: SocketAddr,
    pub(super) ready: Ready,
    pub(super) log: PathBuf,
    pub(super) grace: Duration,
}

/// How a part shows that it works.
#[derive(Clone)]
pub(super) enum Ready {
    /// It takes connections.
    Listens,
    /// It answers `/readyz` to this client.
    ReadyZ(Client),
    /// It answers plain HTTP on `/readyz`.
    HttpReadyZ,
}

/// What is known of every part, in the order they were started.
#[derive(Clone, Debug, Default)]
pub(super) struct Board {
    parts: Arc<Mutex<BTreeMap<usize, PartStatus>>>,
}

impl Board {
    pub(super) fn all(&self) -> Vec<PartStatus> {
        self.lock().values().cloned().collect()
    }

    pub(super) fn add(&self, status: PartStatus) -> usize {
        let mut parts = self.lock();
        let number = parts.len();
        parts.insert(number, status);
        number
    }

    fn change(&self, number: usize, change: impl FnOnce(&mut PartStatus)) {
        if let Some(status) = self.lock().get_mut(&number) {
            change(status);
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<usize, PartStatus>> {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A part that is kept running until it is stopped.
pub(super) struct Keeper {
    stop: CancellationToken,
    task: JoinHandle<()>,
}

/// A part that was started for the first time and is not ready yet; dropping it kills it.
pub(super) struct Started {
    part: Part,
    child: Child,
    board: Board,
    number: usize,
    guard: Guard,
}

/// Starts a part.
pub(super) fn start(part: Part, guard: &Guard, board: &Board) -> Result<Started, ProcessError> {
    let child = guard.spawn(&part.spawn)?;
    let number = board.add(PartStatus {
        name: part.name.to_owned(),
        state: Health::Starting,
        pid: Some(child.pid()),
        restarts: 0,
        last_exit: None,
        since: Some(Timestamp::now()),
        address: Some(part.address),
        log: part.log.clone(),
    });
    Ok(Started { part, child, board: board.clone(), number, guard: guard.clone() })
}

impl Started {
    /// Waits until the part is ready; from then on it is kept running. A part that ends before is an
    /// error: the first start is a person's, who wants to know.
    pub(super) async fn ready(self) -> Result<Keeper, ProcessError> {
        let part = &self.part;
        self.child.ready(READY_LIMIT, || part.ready.check(part.address)).await?;
        self.board.change(self.number, |status| status.state = Health::Ready);
        let stop = CancellationToken::new();
        let stopped = stop.clone();
        let task = tokio::spawn(async move { self.keep(stopped).await });
        Ok(Keeper { stop, task })
    }

    async fn keep(self, stopped: CancellationToken) {
        let Self { part, child, board, number, guard } = self;
        let mut running = Some(child);
        let mut pause = FIRST_PAUSE;
        loop {
            let begun = Instant::now();
            let exit = match running.take().map_or_else(|| guard.spawn(&part.spawn), Ok) {
                Ok(child) => {
                    board.change(number, |status| status.pid = Some(child.pid()));
                    tokio::select! {
                        exit = child.wait() => exit.to_string(),
                        never = becomes_ready(&part, &board, number) => match never {},
                        () = stopped.cancelled() => {
                            let asked = Instant::now();
                            let exit = child.stop(part.grace).await.to_string();
                            tracing::info!(part = part.name, exit, took = ?asked.elapsed(), "a part was stopped");
                            board.change(number, gone);
                            return;
                        }
                    }
                }
                Err(error) => error.to_string(),
            };
            if begun.elapsed() > HEALTHY {
                pause = FIRST_PAUSE;
            }
            tracing::warn!(part = part.name, exit, ?pause, "a part ended and is started again");
            board.change(number, |status| {
                status.pid = None;
                status.state = Health::Restarting;
                status.restarts += 1;
                status.last_exit = Some(exit);
            });
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = stopped.cancelled() => {
                    board.change(number, gone);
                    return;
                }
            }
            board.change(number, |status| status.since = Some(Timestamp::now()));
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}

fn gone(status: &mut PartStatus) {
    status.state = Health::Stopped;
    status.pid = None;
}

/// Notes when a part is ready, and never ends.
async fn becomes_ready(part: &Part, board: &Board, number: usize) -> Infallible {
    while !part.ready.check(part.address).await {
        tokio::time::sleep(ASK_EVERY * 5).await;
    }
    board.change(number, |status| status.state = Health::Ready);
    std::future::pending().await
}

impl Ready {
    async fn check(&self, address: SocketAddr) -> bool {
        let answer = async {
            match self {
                Self::Listens => TcpStream::connect(address).await.is_ok(),
                Self::ReadyZ(client) => plane::ready(client).await,
                Self::HttpReadyZ => http_ready(address).await.unwrap_or(false),
            }
        };
        tokio::time::timeout(ANSWER_LIMIT, answer).await.unwrap_or(false)
    }
}

/// True when `/readyz` answers 200. One line of HTTP needs no client.
async fn http_ready(address: SocketAddr) -> std::io::Result<bool> {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    let mut stream = TcpStream::connect(address).await?;
    let request = format!("GET /readyz HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut head = [0; 12];
    stream.read_exact(&mut head).await?;
    Ok(&head == b"HTTP/1.1 200")
}

impl Keeper {
    /// Stops the part and waits for its end.
    pub(super) async fn stop(self) {
        self.stop.cancel();
        // A task that is gone has stopped its part.
        let _ = self.task.await;
    }
}
