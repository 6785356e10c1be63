//! The objects of a run in its temporary control plane. Written by server-side apply, so that it makes no
//! difference whether they are there.

use butler_core::{
    api::{
        ClusterBootstrap, LoadBalancerRequest, MachineRequest,
        cluster_bootstrap::ClusterBootstrapPhase,
        names::{labels, managers, namespaces},
    },
    bootstrap::{config::Config, objects},
    cluster::ApiError,
    event::{Change, ObjectRef, Reporter},
    redact::Secret,
};
use k8s_openapi::api::core::v1;
use kube::{
    Api, Client, Resource, ResourceExt,
    api::{ListParams, Patch, PatchParams},
    core::NamespaceResourceScope,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::{BootstrapError, Machines};

/// Writes everything that the controllers need, the ClusterBootstrap last.
pub(super) async fn write(
    client: &Client,
    config: &Config,
    machines: &Machines,
    talos: &Secret,
    kubeconfig: Option<&Secret>,
    reporter: &Reporter,
) -> Result<(), BootstrapError> {
    let namespace = namespaces::SYSTEM;
    let made: v1::Namespace =
        serde_json::from_value(json!({ "metadata": { "name": namespace } })).unwrap_or_default();
    apply(Api::all(client.clone()), &made, reporter).await?;
    let secrets: Api<v1::Secret> = Api::namespaced(client.clone(), namespace);
    if let Some(secret) = objects::credentials(config, &machines.secrets(config)) {
        apply(secrets.clone(), &secret, reporter).await?;
    }
    let cluster = &config.cluster.name;
    // A cluster that is there has a kubeconfig; any other is made of machines with Talos.
    let opener = match kubeconfig {
        Some(kubeconfig) => secret(cluster, "kubeconfig", "kubeconfig", kubeconfig),
        None => secret(cluster, "talos-configs", "secrets.yaml", talos),
    };
    apply(secrets, &opener, reporter).await?;
    let provider = objects::provider_config(config, &objects::provider_name(config));
    apply(Api::namespaced(client.clone(), namespace), &provider, reporter).await?;
    let bootstraps: Api<ClusterBootstrap> = Api::namespaced(client.clone(), namespace);
    let written = apply(bootstraps.clone(), &objects::cluster_bootstrap(config), reporter).await?;
    let phase = written.status.and_then(|status| status.phase);
    if phase == Some(ClusterBootstrapPhase::Failed) {
        // Another try: what was done is found again by looking.
        let change = json!({ "status": { "phase": null, "failureReason": null, "failureMessage": null } });
        let params = PatchParams::default();
        again::<MachineRequest>(client, cluster, &change).await?;
        again::<LoadBalancerRequest>(client, cluster, &change).await?;
        bootstraps.patch_status(cluster, &params, &Patch::Merge(change)).await.map_err(|error| {
            ApiError::new(format!("clear the status of ClusterBootstrap `{cluster}`"), error)
        })?;
    }
    Ok(())
}

/// Requests that failed are tried again too; else the bootstrap would see them and fail at once.
async fn again<K>(client: &Client, cluster: &str, change: &Value) -> Result<(), ApiError>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + Serialize
        + DeserializeOwned
        + std::fmt::Debug,
{
    let kind = K::kind(&());
    let api: Api<K> = Api::namespaced(client.clone(), namespaces::SYSTEM);
    let ours = ListParams::default().labels(&format!("{}={cluster}", labels::CLUSTER_BOOTSTRAP));
    let all = api.list(&ours).await.map_err(|error| ApiError::new(format!("list {kind}s"), error))?;
    for request in all {
        let value = serde_json::to_value(&request).unwrap_or_default();
        if value["status"]["phase"] != "Failed" {
            continue;
        }
        let name = request.name_any();
        let written = api.patch_status(&name, &PatchParams::default(), &Patch::Merge(change)).await;
        written.map_err(|error| ApiError::new(format!("clear the status of {kind} `{name}`"), error))?;
    }
    Ok(())
}

fn secret(cluster: &str, what: &str, key: &str, value: &Secret) -> v1::Secret {
    serde_json::from_value(json!({
        "metadata": {
            "name": format!("{cluster}-{what}"),
            "namespace": namespaces::SYSTEM,
            "labels": { labels::CLUSTER_BOOTSTRAP: cluster },
        },
        "type": "Opaque",
        "stringData": { key: value.expose() },
    }))
    .unwrap_or_default()
}

async fn apply<K>(api: Api<K>, object: &K, reporter: &Reporter) -> Result<K, ApiError>
where
    K: Resource<DynamicType = ()> + Clone + Serialize + DeserializeOwned + std::fmt::Debug,
{
    let name = object.name_any();
    let kind = K::kind(&()).into_owned();
    let mut value = serde_json::to_value(object).unwrap_or_default();
    value["apiVersion"] = K::api_version(&()).into();
    value["kind"] = kind.clone().into();
    let params = PatchParams::apply(managers::BOOTSTRAP).force();
    let written: K = api
        .patch(&name, &params, &Patch::Apply(value))
        .await
        .map_err(|error| ApiError::new(format!("apply {kind} `{name}`"), error))?;
    let change = match written.meta().generation {
        Some(generation) if generation > 1 => Change::Updated,
        _ => Change::Created,
    };
    let reference = ObjectRef { kind, namespace: object.namespace(), name };
    reporter.resource(reference, change).await;
    Ok(written)
}
