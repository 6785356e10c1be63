//! One tenant cluster in full, and its end.

use kube::{
    Api, Client,
    api::{DeleteParams, DynamicObject, Preconditions},
    runtime::watcher,
};
use serde_json::Value;

use super::{EventRow, News, follow};
use crate::{cluster::ApiError, tenant};

/// A tenant cluster with every field the server has, without what only servers care for.
pub fn object(client: &Client, namespace: &str, name: &str) -> News<Value> {
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &tenant::resource());
    let config = watcher::Config::default().fields(&format!("metadata.name={name}"));
    follow(api, config, format!("watch tenant cluster `{name}` in namespace `{namespace}`"), |mut object| {
        object.metadata.managed_fields = None;
        // An object that came as JSON goes back into it.
        serde_json::to_value(&object).unwrap_or_default()
    })
}

/// What Kubernetes recorded about a tenant cluster.
pub fn object_events(client: &Client, namespace: &str, name: &str) -> News<EventRow> {
    let api = Api::namespaced(client.clone(), namespace);
    let about = format!("involvedObject.kind=TenantCluster,involvedObject.name={name}");
    let action = format!("watch events of tenant cluster `{name}` in namespace `{namespace}`");
    follow(api, watcher::Config::default().fields(&about), action, EventRow::of)
}

/// Deletes the tenant cluster that was seen, and no other that has its name by now.
pub async fn delete(client: &Client, namespace: &str, name: &str, uid: &str) -> Result<(), ApiError> {
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &tenant::resource());
    let preconditions = Preconditions { uid: Some(uid.to_owned()), resource_version: None };
    let params = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
    let action = format!("delete tenant cluster `{name}` in namespace `{namespace}`");
    api.delete(name, &params).await.map(drop).map_err(|error| ApiError::new(action, error))
}
