//! The kubelet's HTTPS server: what the API server and monitoring ask a node.
//!
//! A client shows a certificate of the cluster's authority, else it is nobody (401); what it may do
//! is asked of the API server, as every kubelet does, unless it is an administrator.

mod logs;
mod metrics;
mod tls;

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use axum::{
    Json, Router,
    extract::{ConnectInfo, Request, State, connect_info::Connected},
    http::{Method, StatusCode},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::{any, get},
    serve::{IncomingStream, Listener},
};
use k8s_openapi::api::core::v1::Pod;
use serde_json::json;
use tls::{Judge, User};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{Semaphore, mpsc, oneshot, watch},
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};
use tokio_util::sync::CancellationToken;

use super::{KubeletError, KubeletOptions, calls::Caller, clock::Clock, engine::Query};

/// How long a client may take to agree on TLS.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// How many clients may be at it at once.
const HANDSHAKES: usize = 32;
/// How long a client that is still reading at the shutdown is waited for.
const FAREWELL: Duration = Duration::from_millis(500);
/// The group that may do everything.
const ADMINISTRATORS: &str = "system:masters";

/// A server that is bound and not yet running.
pub(super) struct Server {
    listener: TcpListener,
    acceptor: TlsAcceptor,
    judge: Judge,
    shared: Shared,
}

/// What handlers need.
#[derive(Clone)]
struct Shared {
    node: Arc<str>,
    clock: Clock,
    caller: Caller,
    ask: mpsc::Sender<Query>,
    changes: watch::Receiver<u64>,
    stop: CancellationToken,
}

impl Server {
    /// Takes the address.
    pub(super) async fn bind(
        options: &KubeletOptions,
        clock: Clock,
        caller: Caller,
        ask: mpsc::Sender<Query>,
        changes: watch::Receiver<u64>,
    ) -> Result<Self, KubeletError> {
        let node = &options.node_name;
        let wrong = |what| move |source| KubeletError::Certificate { node: node.clone(), what, source };
        let judge = Judge::new(&options.client_ca).map_err(wrong("authority of clients"))?;
        let (certificate, key) = match &options.serving {
            Some(serving) => serving.clone(),
            None => tls::self_signed(node, options.address).map_err(wrong("certificate"))?,
        };
        let config = tls::config(&judge, &certificate, &key).map_err(wrong("certificate"))?;
        let address = SocketAddr::new(options.address, options.port);
        let listener = TcpListener::bind(address).await.map_err(|source| KubeletError::Listen {
            node: node.clone(),
            address,
            source,
        })?;
        let shared = Shared {
            node: node.as_str().into(),
            clock,
            caller,
            ask,
            changes,
            stop: CancellationToken::new(),
        };
        Ok(Self { listener, acceptor: TlsAcceptor::from(Arc::new(config)), judge, shared })
    }

    /// Serves until it is stopped.
    pub(super) async fn run(self, stop: CancellationToken) {
        let Self { listener, acceptor, judge, mut shared } = self;
        shared.stop = stop.clone();
        let (hand_over, connections) = mpsc::channel(1);
        let accepting = accept(listener, acceptor, judge, hand_over);
        let app = router(shared).into_make_service_with_connect_info::<Peer>();
        let serving =
            axum::serve(Connections(connections), app).with_graceful_shutdown(stop.clone().cancelled_owned());
        tokio::select! {
            () = accepting => {}
            () = async {
                // Listeners to logs hear of the stop and end; nobody else takes long.
                let _ = serving.await;
            } => {}
            () = async {
                stop.cancelled().await;
                tokio::time::sleep(FAREWELL).await;
            } => {}
        }
    }
}

/// Who is at the other end of a connection.
#[derive(Clone, Debug)]
struct Peer(Option<Arc<User>>);

impl Connected<IncomingStream<'_, Connections>> for Peer {
    fn connect_info(stream: IncomingStream<'_, Connections>) -> Self {
        stream.remote_addr().clone()
    }
}

/// Connections that have agreed on TLS.
struct Connections(mpsc::Receiver<(TlsStream<TcpStream>, Peer)>);

impl Listener for Connections {
    type Io = TlsStream<TcpStream>;
    type Addr = Peer;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        match self.0.recv().await {
            Some(connection) => connection,
            None => std::future::pending().await,
        }
    }

    fn local_addr(&self) -> io::Result<Peer> {
        Ok(Peer(None))
    }
}

/// Accepts connections and hands them over once they have agreed on TLS, a slow one not before others.
async fn accept(
    listener: TcpListener,
    acceptor: TlsAcceptor,
    judge: Judge,
    hand_over: mpsc::Sender<(TlsStream<TcpStream>, Peer)>,
) {
    let places = Arc::new(Semaphore::new(HANDSHAKES));
    loop {
        let Ok(place) = places.clone().acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            // Out of file descriptors, most likely: others will free some.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let (acceptor, judge, hand_over) = (acceptor.clone(), judge.clone(), hand_over.clone());
        tokio::spawn(async move {
            let _place = place;
            let _ = stream.set_nodelay(true);
            if let Ok(Ok(stream)) = tokio::time::timeout(HANDSHAKE, acceptor.accept(stream)).await {
                let user = stream.get_ref().1.peer_certificates().and_then(|chain| judge.user(chain));
                let _ = hand_over.send((stream, Peer(user.map(Arc::new)))).await;
            }
        });
    }
}

fn router(shared: Shared) -> Router {
    Router::new()
        .route("/healthz", get(|| async { "ok" }))
        .route("/pods", get(pods))
        .route("/containerLogs/{namespace}/{pod}/{container}", get(logs::serve))
        .route("/metrics", get(metrics::resource))
        .route("/metrics/resource", get(metrics::resource))
        .route("/stats/summary", get(metrics::summary))
        .route("/exec/{*rest}", any(not_simulated))
        .route("/attach/{*rest}", any(not_simulated))
        .route("/run/{*rest}", any(not_simulated))
        .route("/portForward/{*rest}", any(not_simulated))
        .route_layer(middleware::from_fn_with_state(shared.clone(), authorize))
        .with_state(shared)
}

/// Lets a request pass whose sender may make it.
async fn authorize(
    State(shared): State<Shared>,
    ConnectInfo(Peer(user)): ConnectInfo<Peer>,
    request: Request,
    next: Next,
) -> Response {
    let Some(user) = user else { return (StatusCode::UNAUTHORIZED, "Unauthorized\n").into_response() };
    if user.groups.iter().any(|group| group == ADMINISTRATORS) {
        return next.run(request).await;
    }
    let part = match request.uri().path().split('/').nth(1) {
        Some("stats") => "stats",
        Some("metrics") => "metrics",
        _ => "proxy",
    };
    let verb = if request.method() == Method::GET { "get" } else { "create" };
    match shared.caller.may(&user.name, &user.groups, verb, part).await {
        Ok(true) => next.run(request).await,
        Ok(false) => {
            let text =
                format!("Forbidden (user={}, verb={verb}, resource=nodes, subresource={part})\n", user.name);
            (StatusCode::FORBIDDEN, text).into_response()
        }
        Err(_) => (StatusCode::INTERNAL_SERVER_ERROR, "Authorization error\n").into_response(),
    }
}

impl Shared {
    /// Every Pod of the node; none while the kubelet goes down.
    async fn pods(&self) -> Vec<Pod> {
        let (reply, answer) = oneshot::channel();
        let _ = self.ask.send(Query::Pods(reply)).await;
        answer.await.unwrap_or_default()
    }
}

async fn pods(State(shared): State<Shared>) -> Response {
    let items = shared.pods().await;
    Json(json!({"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": items})).into_response()
}

/// Refuses in the form that kubectl shows to people.
async fn not_simulated() -> Response {
    let message = "the containers of this node are simulated: nothing runs in them that could be entered";
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "reason": "NotImplemented", "message": message, "code": 501,
    });
    (StatusCode::NOT_IMPLEMENTED, Json(status)).into_response()
}
