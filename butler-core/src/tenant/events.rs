//! What Kubernetes recorded about a tenant cluster.

use jiff::Timestamp;
use k8s_openapi::api::core::v1 as core;
use kube::{
    Client,
    api::{Api, ListParams},
};

use crate::cluster::ApiError;

pub use core::Event;

/// The events of a cluster, newest first.
pub async fn events(client: &Client, namespace: &str, name: &str) -> Result<Vec<Event>, ApiError> {
    let api: Api<Event> = Api::namespaced(client.clone(), namespace);
    let about = format!("involvedObject.kind=TenantCluster,involvedObject.name={name}");
    let list = api.list(&ListParams::default().fields(&about)).await.map_err(|error| {
        ApiError::new(format!("list events of tenant cluster `{name}` in namespace `{namespace}`"), error)
    })?;
    let mut events = list.items;
    events.sort_by_key(|event| std::cmp::Reverse(last_seen(event)));
    Ok(events)
}

/// When it happened for the last time.
pub fn last_seen(event: &Event) -> Option<Timestamp> {
    let last = event.last_timestamp.as_ref().map(|time| time.0);
    let series = event.series.as_ref().and_then(|series| series.last_observed_time.as_ref());
    last.or(series.map(|time| time.0)).or(event.event_time.as_ref().map(|time| time.0)).or(event
        .metadata
        .creation_timestamp
        .as_ref()
        .map(|time| time.0))
}
