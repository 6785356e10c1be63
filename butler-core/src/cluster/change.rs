//! The two ways an object is changed. Both send only what we mean to change, so fields written by an
//! older or newer Butler stay; replacing an object from a typed struct would drop them.

use std::fmt::Debug;

use kube::{
    Api, Resource,
    api::{Patch, PatchParams},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::ApiError;

/// Changes the named fields of an object by JSON merge patch; `null` removes a field.
pub async fn merge<K>(api: &Api<K>, name: &str, manager: &str, change: &Value) -> Result<K, ApiError>
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug,
{
    let params = PatchParams { field_manager: Some(manager.to_owned()), ..PatchParams::default() };
    api.patch(name, &params, &Patch::Merge(change)).await.map_err(|e| failed::<K>("", name, e))
}

/// Makes `status` the part of the object's status that `manager` owns, by server-side apply. What
/// others own stays, and so do fields we do not know; conflicts are settled in our favour.
pub async fn apply_status<K>(
    api: &Api<K>,
    name: &str,
    manager: &str,
    status: &impl Serialize,
) -> Result<K, ApiError>
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug,
{
    apply_status_of(api, name, None, manager, status).await
}

/// As [`apply_status`], and a conflict if the object of that name is no longer the one with this `uid`.
pub async fn apply_status_of<K>(
    api: &Api<K>,
    name: &str,
    uid: Option<&str>,
    manager: &str,
    status: &impl Serialize,
) -> Result<K, ApiError>
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug,
{
    let mut change = json!({
        "apiVersion": K::api_version(&()),
        "kind": K::kind(&()),
        "metadata": { "name": name },
        "status": status,
    });
    if let Some(uid) = uid {
        change["metadata"]["uid"] = uid.into();
    }
    api.patch_status(name, &PatchParams::apply(manager).force(), &Patch::Apply(change))
        .await
        .map_err(|e| failed::<K>("the status of ", name, e))
}

fn failed<K: Resource<DynamicType = ()>>(part: &str, name: &str, error: kube::Error) -> ApiError {
    ApiError::new(format!("change {part}{} `{name}`", K::kind(&())), error)
}
