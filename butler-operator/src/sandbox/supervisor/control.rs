//! The supervisor's socket: how everything is doing.

use axum::{Json, Router, extract::State, routing::get};
use tokio_util::sync::CancellationToken;

use super::{
    keeper::Board,
    wire::{Health, PlatformStatus},
};
use crate::sandbox::{Place, SandboxError, host::Host, socket};

#[derive(Clone)]
struct Shared {
    board: Board,
    host: Host,
    /// Cancelled once everything was ready for the first time.
    ready: CancellationToken,
}

/// Opens the socket and answers until the future is dropped.
pub(super) fn serve(
    place: &Place,
    board: Board,
    host: Host,
    ready: CancellationToken,
) -> Result<impl Future<Output = ()> + Send + use<>, SandboxError> {
    let path = place.control_socket();
    let listener = socket::listen(&path).map_err(|source| SandboxError::System {
        action: format!("listen at `{}`", path.display()),
        source,
    })?;
    let router = Router::new().route("/v1/status", get(status)).with_state(Shared { board, host, ready });
    Ok(async move {
        // It fails only when it cannot begin, and it has a listener.
        let _ = axum::serve(listener, router).await;
    })
}

async fn status(State(shared): State<Shared>) -> Json<PlatformStatus> {
    let parts = shared.board.all();
    let worst = parts.iter().map(|part| part.state).find(|state| *state != Health::Ready);
    let state = if shared.ready.is_cancelled() { worst.unwrap_or(Health::Ready) } else { Health::Starting };
    Json(PlatformStatus {
        state,
        network: shared.host.network().to_string(),
        login_server: None,
        parts,
        machines: shared.host.nodes(),
    })
}
