//! Names alone, for shell completion: one small request each, and no more than a person can read.

use std::fmt::Debug;

use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::Namespace;
use kube::{Api, Client, Resource, ResourceExt, api::ListParams, config::Kubeconfig};
use serde::de::DeserializeOwned;

use super::{
    ApiError, ConnectOptions,
    search::{Found, search},
};
use crate::settings::Environment;

/// Names of the namespaces, at most `limit`.
pub async fn namespaces(client: &Client, limit: u32) -> Result<Vec<String>, ApiError> {
    let list = Api::<Namespace>::all(client.clone()).list_metadata(&ListParams::default().limit(limit)).await;
    let list = list.map_err(|error| ApiError::new("list the names of namespaces", error))?;
    Ok(list.iter().map(ResourceExt::name_any).collect())
}

/// Names of the objects of a kind in a namespace, at most `limit`.
pub async fn of<K>(client: &Client, namespace: &str, limit: u32) -> Result<Vec<String>, ApiError>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + DeserializeOwned + Debug,
{
    let api: Api<K> = Api::namespaced(client.clone(), namespace);
    let list = api.list_metadata(&ListParams::default().limit(limit)).await.map_err(|error| {
        let plural = K::plural(&());
        ApiError::new(format!("list the names of {plural} in namespace `{namespace}`"), error)
    })?;
    Ok(list.iter().map(ResourceExt::name_any).collect())
}

/// Names of the contexts in the kubeconfig that `--context` would choose from; none when there is no
/// readable one.
pub fn contexts(options: &ConnectOptions, environment: &Environment) -> Vec<String> {
    // With a context asked for, a login is not what is searched for.
    let options = ConnectOptions { context: Some(String::new()), ..options.clone() };
    let Ok(Found::File(path)) = search(&options, environment) else { return Vec::new() };
    let contexts = Kubeconfig::read_from(path).map(|config| config.contexts).unwrap_or_default();
    contexts.into_iter().map(|context| context.name).collect()
}
