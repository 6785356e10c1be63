//! The host's calls over its socket; see [`wire`](super::wire).

use std::path::Path;

use axum::{
    Json, Router,
    extract::{Path as UrlPath, Query, State},
    http::StatusCode,
    response::{IntoResponse, Response},
    routing::{get, post},
};
use futures::StreamExt;
use serde::Deserialize;
use tokio::sync::broadcast::error::RecvError;

use super::{
    Host, HostError, Refusal,
    calls::{Calls, meet},
    wire::{
        About, BalancerBody, BalancerSpecBody, ConsoleBody, DeletionBody, ErrorBody, FindBody, FoundBody,
        ImageBody, ImageSpecBody, KeyBody, MachineBody, MachineSpecBody, NodeStatus, Nothing,
    },
};
use crate::{
    driver::{Deletion, ErrorClass},
    sandbox::socket,
};

/// User data of a machine is the largest body; Talos refuses more than some megabytes.
const LARGEST: usize = 16 << 20;

type Answer<T> = Result<Json<T>, Refusal>;

/// Opens the socket and answers until the future is dropped.
pub(super) fn serve(host: Host, path: &Path) -> Result<impl Future<Output = ()> + Send + use<>, HostError> {
    let listener =
        socket::listen(path).map_err(|source| HostError::Listen { path: path.to_owned(), source })?;
    let router = Router::new()
        .route("/v1/about", get(about))
        .route("/v1/nodes", get(nodes))
        .route("/v1/machines", get(list).post(create))
        .route("/v1/machines/{name}/get", post(look))
        .route("/v1/machines/{name}/delete", post(delete))
        .route("/v1/machines/{name}/power", post(power))
        .route("/v1/machines/{name}/console", post(console))
        .route("/v1/load-balancers", get(list_balancers).post(ensure_balancer))
        .route("/v1/load-balancers/{name}/get", post(balancer))
        .route("/v1/load-balancers/{name}/delete", post(delete_balancer))
        .route("/v1/images", post(ensure_image))
        .route("/v1/images/{name}/delete", post(delete_image))
        .route("/v1/find/{kind}", get(find))
        .route("/v1/changes", get(changes))
        .layer(axum::middleware::from_fn_with_state(Calls::new(&host.shared.store), meet))
        .layer(axum::extract::DefaultBodyLimit::max(LARGEST))
        .with_state(host);
    Ok(async move {
        // It fails only when it cannot begin, and it has a listener.
        let _ = axum::serve(listener, router).await;
    })
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let status = match self.class {
            ErrorClass::NotFound => StatusCode::NOT_FOUND,
            ErrorClass::Conflict => StatusCode::CONFLICT,
            ErrorClass::Transient => StatusCode::SERVICE_UNAVAILABLE,
            ErrorClass::Quota => StatusCode::INSUFFICIENT_STORAGE,
            ErrorClass::Auth => StatusCode::FORBIDDEN,
            ErrorClass::Invalid => StatusCode::UNPROCESSABLE_ENTITY,
        };
        (status, Json(ErrorBody { class: self.class.into(), message: self.message })).into_response()
    }
}

/// Carries work to its end even when the caller hangs up half way.
async fn whole<T: Send + 'static>(
    work: impl Future<Output = Result<T, Refusal>> + Send + 'static,
) -> Result<T, Refusal> {
    let lost = |_| Refusal::new(ErrorClass::Transient, "the host is being stopped");
    tokio::spawn(work).await.map_err(lost)?
}

async fn about(State(host): State<Host>) -> Json<About> {
    Json(host.about())
}

async fn nodes(State(host): State<Host>) -> Json<Vec<NodeStatus>> {
    Json(host.nodes())
}

#[derive(Deserialize)]
struct Owned {
    owner: Option<String>,
}

async fn list(State(host): State<Host>, Query(query): Query<Owned>) -> Json<Vec<MachineBody>> {
    Json(host.list(query.owner.as_deref()).into_iter().map(MachineBody::from).collect())
}

async fn create(State(host): State<Host>, Json(spec): Json<MachineSpecBody>) -> Answer<MachineBody> {
    Ok(Json(host.create(&spec.into())?.into()))
}

async fn look(
    State(host): State<Host>,
    UrlPath(name): UrlPath<String>,
    Json(key): Json<KeyBody>,
) -> Answer<MachineBody> {
    Ok(Json(host.get(&name, key.id.as_deref(), &key.ownership)?.into()))
}

async fn delete(
    State(host): State<Host>,
    UrlPath(name): UrlPath<String>,
    Json(key): Json<KeyBody>,
) -> Answer<DeletionBody> {
    whole(async move { host.delete(&name, key.id.as_deref(), &key.ownership).await }).await?;
    Ok(Json(Deletion::Gone.into()))
}

async fn power(
    State(host): State<Host>,
    UrlPath(name): UrlPath<String>,
    Json(key): Json<KeyBody>,
) -> Answer<Nothing> {
    let power = key.power.ok_or_else(|| Refusal::new(ErrorClass::Invalid, "`power` is missing"))?;
    whole(async move { host.power(&name, key.id.as_deref(), &key.ownership, power.into()).await }).await?;
    Ok(Json(Nothing {}))
}

async fn console(
    State(host): State<Host>,
    UrlPath(name): UrlPath<String>,
    Json(key): Json<KeyBody>,
) -> Answer<ConsoleBody> {
    let text = host.console(&name, key.id.as_deref(), &key.ownership, key.lines)?;
    Ok(Json(ConsoleBody { text }))
}

async fn list_balancers(State(host): State<Host>, Query(query): Query<Owned>) -> Json<Vec<BalancerBody>> {
    Json(host.balancers(query.owner.as_deref()))
}

async fn ensure_balancer(
    State(host): State<Host>,
    Json(spec): Json<BalancerSpecBody>,
) -> Answer<BalancerBody> {
    whole(async move { host.ensure_balancer(spec).await }).await.map(Json)
}

async fn balancer(
    State(host): State<Host>,
    UrlPath(name): UrlPath<String>,
    Json(key): Json<KeyBody>,
) -> Answer<BalancerBody> {
    host.balancer(&name, key.id.as_deref(), &key.ownership).map(Json)
}

async fn delete_balancer(
    State(host): State<Host>,
    UrlPath(name): UrlPath<String>,
    Json(key): Json<KeyBody>,
) -> Answer<DeletionBody> {
    host.delete_balancer(&name, key.id.as_deref(), &key.ownership)?;
    Ok(Json(Deletion::Gone.into()))
}

async fn ensure_image(State(host): State<Host>, Json(spec): Json<ImageSpecBody>) -> Answer<ImageBody> {
    host.ensure_image(spec).map(Json)
}

async fn delete_image(State(host): State<Host>, UrlPath(name): UrlPath<String>) -> Answer<DeletionBody> {
    host.delete_image(&name)?;
    Ok(Json(Deletion::Gone.into()))
}

#[derive(Deserialize)]
struct Below {
    parent: Option<String>,
}

async fn find(
    State(host): State<Host>,
    UrlPath(kind): UrlPath<FindBody>,
    Query(query): Query<Below>,
) -> Json<Vec<FoundBody>> {
    let found = host.find(kind.into(), query.parent.as_deref());
    Json(found.into_iter().map(FoundBody::from).collect())
}

async fn changes(State(host): State<Host>) -> Response {
    let stream = futures::stream::unfold(host.subscribe(), |mut changes| async move {
        match changes.recv().await {
            Ok(ownership) => Some((ownership, changes)),
            // A reader that fell behind looks at everything and comes back.
            Err(RecvError::Lagged(_) | RecvError::Closed) => None,
        }
    });
    socket::lines(stream.boxed())
}
