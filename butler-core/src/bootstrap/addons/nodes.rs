//! Which machine is which node.

use kube::ResourceExt;
use serde::{Deserialize, Serialize};

use crate::api::{MachineRequest, common::ProviderKind, names::annotations};

/// A machine as the cluster will see it: a node with this address belongs to the provider's machine of
/// this id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeMachine {
    /// Its internal address.
    pub address: String,
    /// What `spec.providerID` of the node must say.
    pub provider_id: String,
}

/// The machines of MachineRequests, with ids in the form that the cloud controller manager of the provider
/// wants. A request whose machine has no id or address yet is left out.
pub fn node_machines(provider: &ProviderKind, requests: &[MachineRequest]) -> Vec<NodeMachine> {
    requests.iter().filter_map(|request| node_machine(provider, request)).collect()
}

fn node_machine(provider: &ProviderKind, request: &MachineRequest) -> Option<NodeMachine> {
    let status = request.status.as_ref()?;
    let address = status.ip_addresses.first().or(status.ip_address.as_ref())?.clone();
    let id = status.provider_id.as_deref().filter(|id| !id.is_empty())?;
    let provider_id = match provider {
        _ if id.contains("://") => id.to_owned(),
        ProviderKind::Aws => {
            let zone = request.annotations().get(annotations::AVAILABILITY_ZONE);
            format!("aws:///{}/{id}", zone.map_or("", String::as_str))
        }
        ProviderKind::Azure => format!("azure://{id}"),
        ProviderKind::Gcp => format!("gce://{id}"),
        other => format!("{other}://{id}"),
    };
    Some(NodeMachine { address, provider_id })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn request(annotations: Value, status: Value) -> MachineRequest {
        serde_json::from_value(json!({
            "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "MachineRequest",
            "metadata": { "name": "a", "annotations": annotations },
            "spec": { "machineName": "a", "role": "worker", "providerRef": { "name": "p" }, "cpu": 1,
                      "memoryMB": 2048, "diskGB": 20 },
            "status": status,
        }))
        .unwrap()
    }

    #[test]
    fn every_cloud_has_its_own_form_of_id() {
        let zone = json!({ "butler.butlerlabs.dev/availability-zone": "eu-1a" });
        let table = [
            (ProviderKind::Aws, zone, "i-1", Some("aws:///eu-1a/i-1")),
            (ProviderKind::Aws, json!({}), "i-1", Some("aws:////i-1")),
            (ProviderKind::Aws, json!({}), "aws:///eu-1b/i-1", Some("aws:///eu-1b/i-1")),
            (ProviderKind::Gcp, json!({}), "gce://p/z/n", Some("gce://p/z/n")),
            (ProviderKind::Azure, json!({}), "/subscriptions/1/x", Some("azure:///subscriptions/1/x")),
            (ProviderKind::Aws, json!({}), "", None),
        ];
        for (provider, annotations, id, wanted) in table {
            let status = json!({ "providerID": id, "ipAddresses": ["10.0.0.4", "1.2.3.4"] });
            let found = node_machines(&provider, &[request(annotations, status)]);
            let ids: Vec<_> = found.iter().map(|machine| machine.provider_id.as_str()).collect();
            assert_eq!(ids, wanted.into_iter().collect::<Vec<_>>());
            assert!(found.iter().all(|machine| machine.address == "10.0.0.4"));
        }
        assert!(
            node_machines(&ProviderKind::Aws, &[request(json!({}), json!({ "providerID": "i" }))]).is_empty()
        );
    }
}
