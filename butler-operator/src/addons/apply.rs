//! Objects of any kind: applied in order, and waited for.

use std::{collections::HashMap, time::Duration};

use butler_core::{
    api::names::labels,
    cluster::{ApiError, crds},
};
use k8s_openapi::api::{
    apps::v1::{DaemonSet, Deployment},
    core::v1::Namespace,
};
use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject, Patch, PatchParams},
    core::GroupVersionKind,
    discovery::{self, Scope},
    runtime::wait::{Condition, Error, await_condition},
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::{sync::Mutex, time::Instant};

use super::{
    AddonError,
    error::Words,
    release::within,
    secrets::{Resolver, settle},
};

/// How long a kind may take to appear after its definition was established.
const DISCOVERY: Duration = Duration::from_secs(10);
const DISCOVERY_PAUSE: Duration = Duration::from_millis(200);

/// Applies objects for one step.
pub(super) struct Applier<'a> {
    client: &'a Client,
    /// Each step owns its fields, so that two steps can share an object.
    manager: String,
    end: Instant,
    kinds: Mutex<HashMap<GroupVersionKind, (ApiResource, bool)>>,
}

impl<'a> Applier<'a> {
    pub(super) fn new(client: &'a Client, step: &str, end: Instant) -> Self {
        Self { client, manager: format!("butleradm/{step}"), end, kinds: Mutex::default() }
    }

    /// Makes a namespace, with a level of pod security if one is given.
    pub(super) async fn namespace(&self, name: &str, level: Option<&str>) -> Result<(), AddonError> {
        let mut namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
        if let Some(level) = level {
            let mut wanted = json!({ labels::MANAGED_BY: labels::MANAGED_BY_BUTLER });
            for mode in ["enforce", "warn", "audit"] {
                wanted[format!("pod-security.kubernetes.io/{mode}")] = json!(level);
            }
            namespace["metadata"]["labels"] = wanted;
        }
        let namespaces: Api<Namespace> = Api::all(self.client.clone());
        let params = PatchParams::apply(&self.manager).force();
        let applied = namespaces.patch(name, &params, &Patch::Apply(&namespace)).await;
        applied.map_err(|error| ApiError::new(format!("apply namespace `{name}`"), error))?;
        Ok(())
    }

    /// Applies objects in order, but namespaces and definitions before everything else. Returns their names.
    pub(super) async fn apply(
        &self,
        objects: &[Value],
        resolver: &mut Resolver<'_>,
    ) -> Result<Vec<String>, AddonError> {
        let mut sorted: Vec<&Value> = objects.iter().collect();
        sorted.sort_by_key(|object| rank(object));
        let mut names = Vec::new();
        let mut definitions = Vec::new();
        for object in sorted {
            if rank(object) > 1 && !definitions.is_empty() {
                let limit = self.end.saturating_duration_since(Instant::now());
                crds::established(self.client, &std::mem::take(&mut definitions), limit).await?;
            }
            let mut object = resolver.resolve(object)?;
            settle(&mut object);
            let name = self.one(object).await.map_err(|error| match error {
                AddonError::Invalid { what, said } => {
                    AddonError::Invalid { what, said: Words(resolver.redact(&said.0)) }
                }
                other => other,
            })?;
            if let Some(definition) = name.strip_prefix("CustomResourceDefinition/") {
                definitions.push(definition.to_owned());
            }
            names.push(name);
        }
        if !definitions.is_empty() {
            let limit = self.end.saturating_duration_since(Instant::now());
            crds::established(self.client, &definitions, limit).await?;
        }
        Ok(names)
    }

    async fn one(&self, mut object: Value) -> Result<String, AddonError> {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let (version, kind, name) = (text("/apiVersion"), text("/kind"), text("/metadata/name").to_owned());
        if version.is_empty() || kind.is_empty() || name.is_empty() {
            let what = format!("an object of kind `{kind}` named `{name}`");
            return Err(AddonError::Invalid {
                what,
                said: Words::new("it lacks apiVersion, kind or a name"),
            });
        }
        let (group, version) = version.split_once('/').unwrap_or(("", version));
        let gvk = GroupVersionKind::gvk(group, version, kind);
        let (resource, namespaced) = self.kind(&gvk).await?;
        let api: Api<DynamicObject> = match text("/metadata/namespace") {
            _ if !namespaced => Api::all_with(self.client.clone(), &resource),
            "" => Api::namespaced_with(self.client.clone(), "default", &resource),
            namespace => Api::namespaced_with(self.client.clone(), namespace, &resource),
        };
        let title = format!("{}/{name}", gvk.kind);
        let failed = |error| ApiError::new(format!("apply {} `{name}`", gvk.kind), error);
        let params = PatchParams::apply(&self.manager).force();
        let status = object.as_object_mut().and_then(|map| map.remove("status"));
        api.patch(&name, &params, &Patch::Apply(&object)).await.map_err(failed)?;
        // Published definitions carry an empty status, which means nothing.
        if let Some(status) = status.filter(|_| gvk.group == butler_core::api::GROUP) {
            let head = json!({ "apiVersion": object["apiVersion"], "kind": object["kind"],
                               "metadata": { "name": name }, "status": status });
            api.patch_status(&name, &params, &Patch::Apply(&head)).await.map_err(failed)?;
        }
        Ok(title)
    }

    /// What the server calls a kind, and whether it is namespaced. One that was just defined may take a
    /// moment to be served.
    async fn kind(&self, gvk: &GroupVersionKind) -> Result<(ApiResource, bool), AddonError> {
        let mut kinds = self.kinds.lock().await;
        if let Some(known) = kinds.get(gvk) {
            return Ok(known.clone());
        }
        let until = self.end.min(Instant::now() + DISCOVERY);
        loop {
            match discovery::pinned_kind(self.client, gvk).await {
                Ok((resource, capabilities)) => {
                    let found = (resource, capabilities.scope == Scope::Namespaced);
                    kinds.insert(gvk.clone(), found.clone());
                    return Ok(found);
                }
                Err(error) if Instant::now() + DISCOVERY_PAUSE >= until => {
                    let action = format!("find kind `{}` of `{}`", gvk.kind, gvk.api_version());
                    return Err(ApiError::new(action, error).into());
                }
                Err(_) => tokio::time::sleep(DISCOVERY_PAUSE).await,
            }
        }
    }

    /// Waits until workloads such as `deployment/kube-system/a` are rolled out.
    pub(super) async fn rolled_out(&self, workloads: &[String]) -> Result<(), AddonError> {
        futures::future::try_join_all(workloads.iter().map(async |workload| {
            let mut parts = workload.splitn(3, '/');
            match (parts.next(), parts.next(), parts.next()) {
                (Some("deployment"), Some(namespace), Some(name)) => {
                    self.wait::<Deployment>(workload, namespace, name, deployed).await
                }
                (Some("daemonset"), Some(namespace), Some(name)) => {
                    self.wait::<DaemonSet>(workload, namespace, name, spread).await
                }
                _ => Err(AddonError::Invalid {
                    what: format!("`{workload}`"),
                    said: Words::new("it is neither deployment/NAMESPACE/NAME nor daemonset/NAMESPACE/NAME"),
                }),
            }
        }))
        .await?;
        Ok(())
    }

    /// Every deployment of a namespace, as [`rolled_out`](Self::rolled_out) wants them.
    pub(super) async fn deployments(&self, namespace: &str) -> Result<Vec<String>, AddonError> {
        let api: Api<Deployment> = Api::namespaced(self.client.clone(), namespace);
        let list = api.list_metadata(&Default::default()).await;
        let list =
            list.map_err(|error| ApiError::new(format!("list deployments in `{namespace}`"), error))?;
        let names = list.items.into_iter().filter_map(|item| item.metadata.name);
        Ok(names.map(|name| format!("deployment/{namespace}/{name}")).collect())
    }

    async fn wait<K>(
        &self,
        what: &str,
        namespace: &str,
        name: &str,
        condition: impl Condition<K>,
    ) -> Result<(), AddonError>
    where
        K: kube::Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>
            + Clone
            + std::fmt::Debug
            + DeserializeOwned
            + Send
            + 'static,
    {
        let api: Api<K> = Api::namespaced(self.client.clone(), namespace);
        let work = async {
            match await_condition(api, name, condition).await {
                Ok(_) => Ok(()),
                Err(Error::ProbeFailed(error)) => {
                    Err(ApiError::watching(format!("watch `{what}`"), error).into())
                }
            }
        };
        within(self.end, &format!("`{what}`"), "rolled out", work).await
    }
}

/// Namespaces, definitions, the rest.
fn rank(object: &Value) -> u8 {
    match object["kind"].as_str() {
        Some("Namespace") => 0,
        Some("CustomResourceDefinition") => 1,
        _ => 2,
    }
}

/// True when every replica is of the last revision and available.
fn deployed(deployment: Option<&Deployment>) -> bool {
    let Some((deployment, status)) = deployment.and_then(|found| Some((found, found.status.as_ref()?)))
    else {
        return false;
    };
    let wanted = deployment.spec.replicas.unwrap_or(1);
    status.observed_generation >= deployment.metadata.generation
        && status.updated_replicas.unwrap_or(0) >= wanted
        && status.available_replicas.unwrap_or(0) >= wanted
}

/// True when it runs wherever it should, which is somewhere.
fn spread(set: Option<&DaemonSet>) -> bool {
    let Some((set, status)) = set.and_then(|found| Some((found, found.status.as_ref()?))) else {
        return false;
    };
    status.observed_generation >= set.metadata.generation
        && status.desired_number_scheduled > 0
        && status.updated_number_scheduled.unwrap_or(0) >= status.desired_number_scheduled
        && status.number_available.unwrap_or(0) >= status.desired_number_scheduled
}
