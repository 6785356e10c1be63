//! Machine requests as people handle them: listed, looked at, made, removed, waited for.
//!
//! Objects are read as JSON, so that one which does not fit its kind is still shown.

mod summary;
mod wait;

pub use summary::Summary;
pub use wait::{MachineError, gone, ready};

use k8s_openapi::api::core::v1::Namespace;
use kube::{
    Client, Resource,
    api::{Api, ApiResource, DeleteParams, DynamicObject, PostParams},
};

use crate::{
    api::{MachineRequest, names::managers},
    cluster::{ApiError, names, pages::Pages},
};

fn api(client: &Client, namespace: &str) -> Api<DynamicObject> {
    Api::namespaced_with(client.clone(), namespace, &ApiResource::erase::<MachineRequest>(&()))
}

/// The requests themselves, in the server's order: by namespace, then name. No namespace: all of them.
pub fn objects(client: &Client, namespace: Option<&str>, selector: Option<&str>) -> Pages {
    let place = match namespace {
        Some(namespace) => format!("in namespace `{namespace}`"),
        None => "in all namespaces".to_owned(),
    };
    let url = MachineRequest::url_path(&(), namespace);
    Pages::new(client, url, format!("list machine requests {place}"), selector)
}

/// Names of the requests in a namespace; at most `limit`, in one small request.
pub async fn names(client: &Client, namespace: &str, limit: u32) -> Result<Vec<String>, ApiError> {
    names::of::<MachineRequest>(client, namespace, limit).await
}

/// One request, with every field the server has.
pub async fn get(client: &Client, namespace: &str, name: &str) -> Result<DynamicObject, ApiError> {
    api(client, namespace).get(name).await.map_err(|error| failed("get", namespace, name, error))
}

/// Makes a request. With `dry_run` the API server checks it and stores nothing.
pub async fn create(
    client: &Client,
    namespace: &str,
    request: &MachineRequest,
    dry_run: bool,
) -> Result<MachineRequest, ApiError> {
    let api: Api<MachineRequest> = Api::namespaced(client.clone(), namespace);
    let params = PostParams { dry_run, field_manager: Some(managers::MACHINE.to_owned()) };
    let name = request.metadata.name.as_deref().unwrap_or_default();
    api.create(&params, request).await.map_err(|error| failed("create", namespace, name, error))
}

/// Removes a request, and with it the machine. With `dry_run` the API server only checks.
pub async fn delete(client: &Client, namespace: &str, name: &str, dry_run: bool) -> Result<(), ApiError> {
    let params = DeleteParams { dry_run, ..DeleteParams::default() };
    let deleted = api(client, namespace).delete(name, &params).await;
    deleted.map(drop).map_err(|error| failed("delete", namespace, name, error))
}

/// Whose machines are this platform's, unless its controllers were told otherwise: the UID of the
/// namespace `kube-system`, which lives as long as the cluster.
pub async fn owner(client: &Client) -> Result<String, ApiError> {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let found = namespaces.get_metadata("kube-system").await;
    let found = found.map_err(|error| ApiError::new("get namespace `kube-system`", error))?;
    Ok(found.metadata.uid.unwrap_or_default())
}

fn failed(verb: &str, namespace: &str, name: &str, error: kube::Error) -> ApiError {
    ApiError::new(format!("{verb} machine request `{name}` in namespace `{namespace}`"), error)
}
