//! Writing what we found: status by server-side apply, finalizers by a patch that notices rivals.
//!
//! Nothing is written that is there already. Every write is remembered with its version, so that no
//! controller acts on a copy from before its own write (see [`Writes`]).

use std::{collections::HashMap, fmt::Debug, sync::Mutex};

use butler_core::cluster::{ApiError, change};
use k8s_openapi::NamespaceResourceScope;
use kube::{
    Api, Client, Resource, ResourceExt,
    api::{Patch, PatchParams},
    core::ObjectMeta,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};

use super::source::lock;

/// Kinds whose objects we write.
pub trait Written:
    Resource<DynamicType = (), Scope = NamespaceResourceScope>
    + Clone
    + DeserializeOwned
    + Serialize
    + Debug
    + Send
    + Sync
    + 'static
{
}

impl<K> Written for K where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + DeserializeOwned
        + Serialize
        + Debug
        + Send
        + Sync
        + 'static
{
}

/// The versions of our last writes, by object.
#[derive(Debug, Default)]
pub(super) struct Writes(Mutex<HashMap<String, u64>>);

impl Writes {
    fn note(&self, meta: &ObjectMeta) {
        if let (Some(uid), Some(version)) = (&meta.uid, version(meta)) {
            lock(&self.0).insert(uid.clone(), version);
        }
    }

    /// True when this copy is from before our last write of the object.
    pub(super) fn outdates(&self, meta: &ObjectMeta) -> bool {
        let written = meta.uid.as_ref().and_then(|uid| lock(&self.0).get(uid).copied());
        written.zip(version(meta)).is_some_and(|(written, seen)| seen < written)
    }

    /// Forgets an object.
    pub(super) fn forget(&self, uid: &str) {
        lock(&self.0).remove(uid);
    }
}

/// Versions of one object grow; the API promises that they can be compared as numbers.
fn version(meta: &ObjectMeta) -> Option<u64> {
    meta.resource_version.as_deref()?.parse().ok()
}

/// Writes objects under the name of one field manager.
#[derive(Clone, Copy)]
pub(super) struct Writer<'a> {
    pub(super) client: &'a Client,
    pub(super) writes: &'a Writes,
    pub(super) manager: &'a str,
}

impl Writer<'_> {
    fn api<K: Written>(&self, object: &K) -> Api<K> {
        Api::namespaced(self.client.clone(), &object.namespace().unwrap_or_default())
    }

    /// Makes `status` the object's status, as far as this version knows its fields.
    pub(super) async fn status<K: Written>(
        &self,
        object: &K,
        status: &impl Serialize,
    ) -> Result<ObjectMeta, ApiError> {
        let (api, name) = (self.api(object), object.name_any());
        let wanted = serde_json::to_value(status).unwrap_or_default();
        let mut written: K =
            change::apply_status_of(&api, &name, object.meta().uid.as_deref(), self.manager, &wanted).await?;
        self.writes.note(written.meta());
        let left = leftovers(&serde_json::to_value(&written).unwrap_or_default()["status"], &wanted);
        if !left.is_empty() {
            let change = json!({ "metadata": { "uid": object.meta().uid }, "status": left });
            let params =
                PatchParams { field_manager: Some(self.manager.to_owned()), ..PatchParams::default() };
            written = api.patch_status(&name, &params, &Patch::Merge(change)).await.map_err(|error| {
                ApiError::new(format!("change the status of {} `{name}`", K::kind(&())), error)
            })?;
            self.writes.note(written.meta());
        }
        Ok(written.meta().clone())
    }

    /// Makes `finalizers` the object's finalizers, unless somebody changed the object since it was read.
    pub(super) async fn finalizers<K: Written>(
        &self,
        object: &K,
        finalizers: &[String],
    ) -> Result<K, ApiError> {
        let change = json!({ "metadata": {
            "finalizers": finalizers,
            "uid": object.meta().uid,
            "resourceVersion": object.meta().resource_version,
        }});
        let written = change::merge(&self.api(object), &object.name_any(), self.manager, &change).await?;
        self.writes.note(written.meta());
        Ok(written)
    }
}

/// Fields that a controller before us wrote and that are no longer true. Leaving them out of what we
/// apply does not take them away from their owner.
fn leftovers(found: &Value, wanted: &Value) -> Map<String, Value> {
    let fields = found.as_object().into_iter().flatten();
    fields
        .filter(|(field, _)| wanted.get(field).is_none())
        .map(|(field, _)| (field.clone(), Value::Null))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_left_is_taken_away() {
        let found = json!({"phase": "Running", "failureReason": "X", "ipAddresses": []});
        let left = leftovers(&found, &json!({"phase": "Running"}));
        assert_eq!(Value::from(left), json!({"failureReason": null, "ipAddresses": null}));
        assert!(leftovers(&Value::Null, &json!({"phase": "Running"})).is_empty());
    }

    fn meta(version: &str) -> ObjectMeta {
        ObjectMeta { uid: Some("u".into()), resource_version: Some(version.into()), ..ObjectMeta::default() }
    }

    #[test]
    fn a_copy_from_before_our_write_is_known_as_such() {
        let writes = Writes::default();
        assert!(!writes.outdates(&meta("9")));
        writes.note(&meta("100"));
        assert!(writes.outdates(&meta("99")));
        assert!(!writes.outdates(&meta("100")) && !writes.outdates(&meta("101")));
        assert!(!writes.outdates(&meta("odd")), "what cannot be compared is taken as it is");
        writes.forget("u");
        assert!(!writes.outdates(&meta("9")));
    }
}
