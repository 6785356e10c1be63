//! A load balancer: a TCP proxy that hands each connection to the next target that answers.

use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinSet,
};
use tokio_util::sync::{CancellationToken, DropGuard};

/// Pause between two rounds of probes.
const PROBE_EVERY: Duration = Duration::from_secs(2);
/// How long a target may take to accept.
const PATIENCE: Duration = Duration::from_secs(1);

/// Where connections go, and where a target is probed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Backend {
    pub(super) connect: SocketAddr,
    pub(super) probe: SocketAddr,
}

/// A proxy that runs; it ends with this value.
#[derive(Debug)]
pub(super) struct Proxy {
    shared: Arc<Shared>,
    _end: DropGuard,
}

#[derive(Debug, Default)]
struct Shared {
    targets: Mutex<Vec<(Backend, bool)>>,
    next: AtomicUsize,
    probe_now: tokio::sync::Notify,
}

impl Proxy {
    /// Begins to listen.
    pub(super) async fn start(address: SocketAddr) -> std::io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let end = CancellationToken::new();
        let shared = Arc::new(Shared::default());
        let (accepting, probing) = (accept(listener, shared.clone()), probe(shared.clone()));
        let ended = end.clone();
        tokio::spawn(async move {
            tokio::select! {
                () = accepting => {}
                () = probing => {}
                () = ended.cancelled() => {}
            }
        });
        Ok(Self { shared, _end: end.drop_guard() })
    }

    /// Exchanges the targets; those that stay keep their health, new ones are believed at first.
    pub(super) fn set_targets(&self, backends: Vec<Backend>) {
        let mut targets = self.shared.targets();
        let known = std::mem::take(&mut *targets);
        let health =
            |backend: &Backend| known.iter().find(|(known, _)| known == backend).is_none_or(|known| known.1);
        *targets = backends.into_iter().map(|backend| (backend, health(&backend))).collect();
        self.shared.probe_now.notify_one();
    }
}

impl Shared {
    fn targets(&self) -> std::sync::MutexGuard<'_, Vec<(Backend, bool)>> {
        self.targets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Targets in the order to try them: healthy ones in turn, then the others.
    fn order(&self) -> Vec<Backend> {
        let targets = self.targets().clone();
        let (mut healthy, others): (Vec<_>, Vec<_>) = targets.into_iter().partition(|(_, healthy)| *healthy);
        if !healthy.is_empty() {
            let turn = self.next.fetch_add(1, Ordering::Relaxed) % healthy.len();
            healthy.rotate_left(turn);
        }
        healthy.into_iter().chain(others).map(|(backend, _)| backend).collect()
    }

    fn note(&self, backend: &Backend, healthy: bool) {
        for target in self.targets().iter_mut().filter(|(known, _)| known == backend) {
            target.1 = healthy;
        }
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    // Dropped with this future, and all connections with it.
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(forward(stream, shared.clone()));
                }
                // Too many open files, most likely.
                Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn forward(mut client: TcpStream, shared: Arc<Shared>) {
    for backend in shared.order() {
        match tokio::time::timeout(PATIENCE, TcpStream::connect(backend.connect)).await {
            Ok(Ok(mut server)) => {
                // Either side may break off; the other sees it.
                let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
                return;
            }
            _ => shared.note(&backend, false),
        }
    }
}

async fn probe(shared: Arc<Shared>) {
    loop {
        let targets: Vec<Backend> = shared.targets().iter().map(|(backend, _)| *backend).collect();
        for backend in targets {
            let answer = tokio::time::timeout(PATIENCE, TcpStream::connect(backend.probe)).await;
            shared.note(&backend, matches!(answer, Ok(Ok(_))));
        }
        tokio::select! {
            () = tokio::time::sleep(PROBE_EVERY) => {}
            () = shared.probe_now.notified() => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    /// A server that says its name to whoever connects.
    async fn server(name: &'static str) -> (SocketAddr, tokio::task::JoinHandle<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let task = tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let _ = stream.write_all(name.as_bytes()).await;
            }
        });
        (address, task)
    }

    async fn ask(address: SocketAddr) -> String {
        let mut text = String::new();
        TcpStream::connect(address).await.unwrap().read_to_string(&mut text).await.unwrap();
        text
    }

    fn backend(address: SocketAddr) -> Backend {
        Backend { connect: address, probe: address }
    }

    #[tokio::test]
    async fn connections_take_turns_and_avoid_the_dead() {
        let port = crate::process::ports::reserve("127.0.0.1".parse().unwrap()).unwrap();
        let proxy = Proxy::start(port.address()).await.unwrap();
        assert_eq!(ask(port.address()).await, "", "nobody is behind it");
        let ((one, task), (two, _kept)) = (server("one").await, server("two").await);
        proxy.set_targets(vec![backend(one), backend(two)]);
        let mut seen = [ask(port.address()).await, ask(port.address()).await];
        seen.sort();
        assert_eq!(seen, ["one", "two"]);
        task.abort();
        let _ = task.await;
        for _ in 0..4 {
            assert_eq!(ask(port.address()).await, "two");
        }
        drop(proxy);
        let gone = || async { Ok(TcpStream::connect(port.address()).await.is_err()) };
        butler_tests::eventually("nobody listens", Duration::from_secs(5), gone).await.unwrap();
    }
}
