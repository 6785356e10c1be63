//! What the new cluster takes over: the requests of its own machines, and the record of how it was
//! made. Its controllers find the machines by their mark and go on with them.

use butler_core::{
    api::{
        ClusterBootstrap, LoadBalancerRequest, MachineRequest,
        cluster_bootstrap::ClusterBootstrapPhase,
        conditions::{reasons, status, types},
        names::managers,
    },
    cluster::ApiError,
    error::{Code, Diagnose},
};
use jiff::Timestamp;
use kube::{
    Api, Client, Resource, ResourceExt,
    api::{Patch, PatchParams},
    core::ObjectMeta,
};
use serde_json::json;

use super::{Written, wanted};
use crate::controller::condition;

/// The bootstrap as it will be remembered: that the objects are there is the last thing that was missing.
/// `nodes` are the machines that are Ready.
pub(super) fn at_its_end(bootstrap: &ClusterBootstrap, nodes: &[String], now: Timestamp) -> ClusterBootstrap {
    let mut bootstrap = bootstrap.clone();
    let generation = bootstrap.metadata.generation;
    let status = bootstrap.status.get_or_insert_default();
    status.phase = Some(ClusterBootstrapPhase::Ready);
    for machine in &mut status.machines {
        machine.ready = Some(nodes.contains(&machine.name));
    }
    let ready = (types::READY, status::TRUE, reasons::READY);
    condition::set(&mut status.conditions, ready, "", generation, now);
    bootstrap
}

/// Copies the objects and returns their names. A cluster without our definitions takes nothing over.
pub(super) async fn hand_over(
    target: &Client,
    bootstrap: &ClusterBootstrap,
    requests: &[MachineRequest],
) -> Result<Vec<String>, ApiError> {
    let provider = bootstrap.spec.provider.to_string();
    let mut names = Vec::new();
    for request in requests {
        let mut copy = request.clone();
        copy.metadata = bare(request);
        copy.spec.provider_ref.name.clone_from(&provider);
        copy.status = None;
        match apply(target, &copy).await {
            Err(error) if error.code() == Code::CrdsMissing || error.is_not_found() => return Ok(Vec::new()),
            result => names.push(result?),
        }
    }
    if let Some(balancer) = wanted::load_balancer(bootstrap, requests) {
        let mut copy: LoadBalancerRequest = balancer.clone();
        copy.metadata = bare(&balancer);
        copy.spec.provider_config_ref.name.clone_from(&provider);
        names.push(apply(target, &copy).await?);
    }
    let mut record = bootstrap.clone();
    record.metadata = bare(bootstrap);
    record.spec.paused = Some(true);
    record.spec.provider_ref.name = provider;
    record.status = None;
    names.push(apply(target, &record).await?);
    let api: Api<ClusterBootstrap> =
        Api::namespaced(target.clone(), &bootstrap.namespace().unwrap_or_default());
    let status = bootstrap.status.clone().unwrap_or_default();
    let status = json!({ "status": status });
    let params =
        PatchParams { field_manager: Some(managers::CLUSTER_BOOTSTRAP.to_owned()), ..Default::default() };
    api.patch_status(&bootstrap.name_any(), &params, &Patch::Merge(status))
        .await
        .map_err(|error| ApiError::new("write the record of the bootstrap", error))?;
    Ok(names)
}

/// Name and labels; owners and finalizers are of the old cluster.
fn bare<K: Resource>(object: &K) -> ObjectMeta {
    ObjectMeta {
        name: object.meta().name.clone(),
        namespace: object.meta().namespace.clone(),
        labels: object.meta().labels.clone(),
        annotations: object.meta().annotations.clone(),
        ..ObjectMeta::default()
    }
}

async fn apply<K: Written>(client: &Client, object: &K) -> Result<String, ApiError> {
    super::apply_object(client, object).await?;
    Ok(format!("{}/{}", K::kind(&()), object.name_any()))
}
