//! The supervisor's socket: how everything is doing, and that there is a management cluster now.

use axum::{
    Json, Router,
    extract::State,
    http::StatusCode,
    routing::{get, post},
};
use butler_core::settings::home::write_private;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{
    keeper::Board,
    management::ManagementCluster,
    wire::{Health, PlatformStatus},
};
use crate::sandbox::{Place, SandboxError, host::Host, place::Composition, socket};

#[derive(Clone)]
pub(super) struct Shared {
    pub(super) place: Place,
    pub(super) board: Board,
    pub(super) host: Host,
    /// Cancelled once everything was ready for the first time.
    pub(super) ready: CancellationToken,
    /// Where a new management cluster is told of.
    pub(super) wanted: mpsc::Sender<Option<ManagementCluster>>,
}

/// Opens the socket and answers until the future is dropped.
pub(super) fn serve(shared: Shared) -> Result<impl Future<Output = ()> + Send + use<>, SandboxError> {
    let path = shared.place.control_socket();
    let listener = socket::listen(&path).map_err(|source| SandboxError::System {
        action: format!("listen at `{}`", path.display()),
        source,
    })?;
    let router = Router::new()
        .route("/v1/status", get(status))
        .route("/v1/management", post(manage).delete(release))
        .with_state(shared);
    Ok(async move {
        // It fails only when it cannot begin, and it has a listener.
        let _ = axum::serve(listener, router).await;
    })
}

/// Keeps what is said of a management cluster, then starts its controllers. What is kept survives a kill.
async fn manage(
    State(shared): State<Shared>,
    Json(cluster): Json<ManagementCluster>,
) -> Result<Json<()>, (StatusCode, String)> {
    if shared.place.composition() != Composition::Machines {
        return Err((StatusCode::CONFLICT, "this sandbox has a management plane of its own".to_owned()));
    }
    let text = serde_json::to_vec_pretty(&cluster).unwrap_or_default();
    write_private(&shared.place.management(), &text)
        .map_err(|error| (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()))?;
    // A receiver that is gone is a supervisor that ends; the next one reads the file.
    let _ = shared.wanted.send(Some(cluster)).await;
    Ok(Json(()))
}

/// Its machines are about to go, and controllers would make them again.
async fn release(State(shared): State<Shared>) -> Result<Json<()>, (StatusCode, String)> {
    match fs_err::remove_file(shared.place.management()) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err((StatusCode::INTERNAL_SERVER_ERROR, error.to_string()));
        }
        _ => {}
    }
    let _ = shared.wanted.send(None).await;
    Ok(Json(()))
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
