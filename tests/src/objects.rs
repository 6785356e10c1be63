//! Objects from JSON.

use anyhow::{Context, Result};
use kube::{
    Client,
    api::{Api, DynamicObject, PostParams},
    core::GroupVersionKind,
};
use serde_json::Value;

/// Creates an object of any kind the server knows. `namespace` is for kinds that live in one.
pub async fn create(client: &Client, namespace: Option<&str>, object: &Value) -> Result<DynamicObject> {
    let object: DynamicObject = serde_json::from_value(object.clone())?;
    let types = object.types.as_ref().context("the object has no apiVersion and kind")?;
    let kind = GroupVersionKind::try_from(types)?;
    let (resource, _) = kube::discovery::pinned_kind(client, &kind).await?;
    let api: Api<DynamicObject> = match namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    };
    let name = object.metadata.name.as_deref().unwrap_or_default();
    let created = api.create(&PostParams::default(), &object).await;
    created.with_context(|| format!("cannot create {} `{name}`", kind.kind))
}
