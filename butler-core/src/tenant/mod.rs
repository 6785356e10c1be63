//! Reading tenant clusters: lists that stay cheap at ten thousand, one cluster in full, its events,
//! and a watch that tells what changed.
//!
//! Objects are read as JSON, not as the typed kind: one that an older or newer Butler wrote, or that
//! does not fit its schema, must still be shown.

mod events;
mod list;
mod scope;
mod summary;
mod table;
pub mod watch;
mod workers;

pub use events::{Event, events, last_seen};
pub use list::{Listing, list, objects};
pub use scope::{Scope, own_namespace, team_namespace};
pub use summary::{Summary, UNREADABLE, Workers};
pub use workers::refine;

use kube::{
    Client, ResourceExt,
    api::{Api, ApiResource, DynamicObject, ListParams},
};

use crate::{api::TenantCluster, cluster::ApiError};

/// The kind on the wire.
pub fn resource() -> ApiResource {
    ApiResource::erase::<TenantCluster>(&())
}

/// One tenant cluster, with every field the server has.
pub async fn get(client: &Client, namespace: &str, name: &str) -> Result<DynamicObject, ApiError> {
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &resource());
    api.get(name).await.map_err(|error| {
        ApiError::new(format!("get tenant cluster `{name}` in namespace `{namespace}`"), error)
    })
}

/// Names of the tenant clusters in a namespace; at most `limit`, in one small request.
pub async fn names(client: &Client, namespace: &str, limit: u32) -> Result<Vec<String>, ApiError> {
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &resource());
    let list = api.list_metadata(&ListParams::default().limit(limit)).await.map_err(|error| {
        ApiError::new(format!("list the names of tenant clusters in namespace `{namespace}`"), error)
    })?;
    Ok(list.iter().map(ResourceExt::name_any).collect())
}
