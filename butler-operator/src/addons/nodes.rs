//! The provider's ids on nodes.

use std::{collections::BTreeMap, pin::pin};

use butler_core::{bootstrap::addons::NodeMachine, cluster::ApiError, error::Diagnose};
use futures::StreamExt;
use k8s_openapi::api::core::v1::Node;
use kube::{
    Api, Client, ResourceExt,
    api::{Patch, PatchParams},
    runtime::{WatchStreamExt, watcher},
};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{AddonError, error::Words};

/// Writes the id of every machine on its node, waiting for nodes that are not there yet.
pub(super) async fn write_ids(
    client: &Client,
    machines: &[NodeMachine],
    end: Instant,
) -> Result<Value, AddonError> {
    let api: Api<Node> = Api::all(client.clone());
    let mut done: BTreeMap<String, String> = BTreeMap::new();
    let work = async {
        let mut nodes =
            pin!(watcher(api.clone(), watcher::Config::default()).default_backoff().applied_objects());
        while done.len() < machines.len() {
            let node = match nodes.next().await {
                Some(Ok(node)) => node,
                Some(Err(error)) => {
                    let error = ApiError::watching("watch the nodes", error);
                    if error.kind().is_retryable() {
                        continue;
                    }
                    return Err(error.into());
                }
                None => break,
            };
            let Some(machine) = machine_of(&node, machines) else { continue };
            write(&api, &node, machine).await?;
            done.insert(machine.address.clone(), node.name_any());
        }
        Ok(())
    };
    let result = tokio::time::timeout_at(end, work).await;
    if let Ok(Err(error)) = result {
        return Err(error);
    }
    // No machine at all means that nobody knows them yet.
    if machines.is_empty() || done.len() < machines.len() {
        return Err(AddonError::Nodes { found: done.len(), wanted: machines.len() });
    }
    Ok(json!({ "nodes": done.into_values().collect::<Vec<_>>() }))
}

fn machine_of<'a>(node: &Node, machines: &'a [NodeMachine]) -> Option<&'a NodeMachine> {
    let addresses = node.status.as_ref()?.addresses.as_ref()?;
    let internal =
        |address: &str| addresses.iter().any(|known| known.type_ == "InternalIP" && known.address == address);
    machines.iter().find(|machine| internal(&machine.address))
}

async fn write(api: &Api<Node>, node: &Node, machine: &NodeMachine) -> Result<(), AddonError> {
    let name = node.name_any();
    let known = node.spec.as_ref().and_then(|spec| spec.provider_id.as_deref()).unwrap_or_default();
    if known == machine.provider_id {
        return Ok(());
    }
    if !known.is_empty() {
        // The API server would refuse: an id is for life.
        let said =
            format!("it has the provider's id `{known}`, and its machine is `{}`", machine.provider_id);
        return Err(AddonError::Invalid { what: format!("node `{name}`"), said: Words(said) });
    }
    let patch = json!({ "spec": { "providerID": machine.provider_id } });
    let patched = api.patch(&name, &PatchParams::default(), &Patch::Merge(&patch)).await;
    patched.map_err(|error| ApiError::new(format!("write the provider's id on node `{name}`"), error))?;
    Ok(())
}
