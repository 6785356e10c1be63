//! A port of the node: TLS, HTTP/2, one task per connection, all of them gone when the port closes.

use std::{convert::Infallible, future::Future, net::SocketAddr, sync::Arc, time::Duration};

use butler_core::pki::CertificateInfo;
use http::{Request, Response};
use hyper::{body::Incoming, server::conn::http2, service::service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use rustls::ServerConfig;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinSet,
};
use tokio_rustls::TlsAcceptor;
use tonic::body::Body;

use super::roles::Roles;

/// How long a peer may take for its part of the handshake.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// More connections than any cluster of one machine needs; the rest wait in the kernel's queue.
const CONNECTIONS: usize = 512;

/// Whoever is at the other end.
#[derive(Clone, Debug, Default)]
pub(super) struct Peer {
    /// Organisations of its certificate.
    pub(super) roles: Roles,
}

/// Serves until dropped.
pub(super) async fn serve<S, F>(listener: TcpListener, tls: watch::Receiver<Arc<ServerConfig>>, service: S)
where
    S: Fn(Peer, Request<Incoming>) -> F + Clone + Send + 'static,
    F: Future<Output = Response<Body>> + Send + 'static,
{
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
            accepted = listener.accept(), if connections.len() < CONNECTIONS => match accepted {
                Ok((stream, _)) => {
                    let tls = tls.borrow().clone();
                    connections.spawn(connection(stream, tls, service.clone()));
                }
                // Out of file handles, most likely: the next try may find one.
                Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
            },
        }
    }
}

async fn connection<S, F>(stream: TcpStream, tls: Arc<ServerConfig>, service: S)
where
    S: Fn(Peer, Request<Incoming>) -> F + Send + 'static,
    F: Future<Output = Response<Body>> + Send + 'static,
{
    let _ = stream.set_nodelay(true);
    let Ok(Ok(stream)) = tokio::time::timeout(HANDSHAKE, TlsAcceptor::from(tls).accept(stream)).await else {
        return;
    };
    let certificate = stream.get_ref().1.peer_certificates().and_then(|chain| chain.first());
    let roles = certificate
        .and_then(|der| CertificateInfo::from_der(der).ok())
        .map(|info| info.organizations.into_iter().filter(|role| !role.is_empty()).collect())
        .unwrap_or_default();
    let peer = Peer { roles };
    let answer = service_fn(move |request| {
        let answer = service(peer.clone(), request);
        async move { Ok::<_, Infallible>(answer.await) }
    });
    // How a connection ends is the peer's business.
    let _ = http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .keep_alive_interval(Duration::from_secs(60))
        .max_concurrent_streams(256)
        .serve_connection(TokioIo::new(stream), answer)
        .await;
}

/// Opens a port; one that was closed a moment ago may take another moment.
pub(super) async fn bind(address: SocketAddr) -> std::io::Result<TcpListener> {
    let mut tries = 0;
    loop {
        match TcpListener::bind(address).await {
            Err(error) if error.kind() == std::io::ErrorKind::AddrInUse && tries < 20 => {
                tries += 1;
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            bound => return bound,
        }
    }
}
