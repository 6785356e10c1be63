//! Names alone, for shell completion: one small request each, and no more than a person can read.

use std::{path::Path, time::Duration};

use k8s_openapi::api::core::v1::Namespace;
use kube::{
    Api, Client, ResourceExt,
    api::{DynamicObject, ListParams},
    config::Kubeconfig,
};

use super::{
    ApiError, ConnectOptions,
    search::{Found, search},
};
use crate::settings::Environment;

const MOST: u32 = 500;

/// Names of the tenant clusters in a namespace, or in all.
pub async fn cluster_names(client: &Client, namespace: Option<&str>) -> Result<Vec<String>, ApiError> {
    let kind = crate::tenant::resource();
    let api: Api<DynamicObject> = match namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &kind),
        None => Api::all_with(client.clone(), &kind),
    };
    let list = api.list_metadata(&ListParams::default().limit(MOST)).await;
    let list = list.map_err(|error| ApiError::new("list the names of tenant clusters", error))?;
    Ok(list.iter().map(ResourceExt::name_any).collect())
}

/// Names of the namespaces.
pub async fn namespace_names(client: &Client) -> Result<Vec<String>, ApiError> {
    let list = Api::<Namespace>::all(client.clone()).list_metadata(&ListParams::default().limit(MOST)).await;
    let list = list.map_err(|error| ApiError::new("list the names of namespaces", error))?;
    Ok(list.iter().map(ResourceExt::name_any).collect())
}

/// Names of the contexts in the kubeconfig that a command would use; none when there is no readable one.
pub fn context_names(kubeconfig: Option<&Path>, environment: &Environment) -> Vec<String> {
    let options = ConnectOptions {
        kubeconfig: kubeconfig.map(Path::to_owned),
        // A context is wanted, so logins are not considered.
        context: Some(String::new()),
        request_timeout: Duration::ZERO,
    };
    let path = match search(&options, environment) {
        Ok(Found::File(path)) => Some(path),
        _ => None,
    };
    let contexts = path.and_then(|path| Kubeconfig::read_from(path).ok()).map(|config| config.contexts);
    contexts.unwrap_or_default().into_iter().map(|context| context.name).collect()
}
