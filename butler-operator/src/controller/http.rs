//! `/healthz`, `/readyz` and `/metrics`.

use std::{net::SocketAddr, sync::Arc};

use axum::{
    Router,
    extract::State,
    http::{StatusCode, header},
    response::IntoResponse,
    routing::get,
};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::{ControllerError, health::Health, metrics::Metrics};

#[derive(Clone)]
struct Shared {
    metrics: Arc<Metrics>,
    health: Health,
}

/// Listens; nothing is answered before [`serve`].
pub(super) async fn listen(address: SocketAddr) -> Result<TcpListener, ControllerError> {
    TcpListener::bind(address).await.map_err(|source| ControllerError::Listen { address, source })
}

/// Answers until `stop`.
pub(super) async fn serve(
    listener: TcpListener,
    metrics: Arc<Metrics>,
    health: Health,
    stop: CancellationToken,
) {
    let app = Router::new()
        // That this is answered is the whole message: one thread does everything.
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
        .route("/metrics", get(page))
        .with_state(Shared { metrics, health });
    let served = axum::serve(listener, app).with_graceful_shutdown(stop.cancelled_owned());
    if let Err(error) = served.await {
        tracing::warn!("the metrics server ended: {error}");
    }
}

async fn ready(State(shared): State<Shared>) -> impl IntoResponse {
    let report = shared.health.report();
    let status = if report.ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, report.text)
}

async fn page(State(shared): State<Shared>) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], shared.metrics.text())
}
