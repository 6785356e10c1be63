//! Whether a new cluster is what it should be, looked at from outside.

use std::time::Duration;

use butler_core::{api::MachineRequest, cluster::ApiError, error::Code};
use k8s_openapi::api::core::v1::Node;
use kube::{Api, Client, ResourceExt, api::ListParams};
use tokio::time::{Instant, sleep};

use super::{Trouble, nodes::Cluster, trouble};
use crate::controller::backoff::pause;

/// How long one turn looks.
const TURN: Duration = Duration::from_secs(20);

/// Waits until every machine is a node that is Ready, or at least a node; without machines, until every
/// node is. Returns those that are Ready.
pub(super) async fn nodes(
    client: &Client,
    requests: &[MachineRequest],
    must_be_ready: bool,
) -> Result<Vec<String>, Trouble> {
    let all: Api<Node> = Api::all(client.clone());
    let begun = Instant::now();
    loop {
        let list = all.list(&ListParams::default()).await;
        let list =
            list.map_err(|error| trouble(&ApiError::new("list the nodes of the new cluster", error)))?;
        let ready: Vec<String> =
            list.items.iter().filter(|node| is_ready(node)).map(ResourceExt::name_any).collect();
        let mut wanted: Vec<String> =
            requests.iter().map(|request| request.spec.machine_name.clone()).collect();
        if wanted.is_empty() {
            wanted = list.items.iter().map(ResourceExt::name_any).collect();
        }
        let there: Vec<String> = list.items.iter().map(ResourceExt::name_any).collect();
        let enough = if must_be_ready { &ready } else { &there };
        let missing: Vec<_> = wanted.iter().filter(|name| !enough.contains(name)).cloned().collect();
        if missing.is_empty() && !wanted.is_empty() {
            return Ok(ready);
        }
        if begun.elapsed() >= TURN {
            let text = format!("nodes that are not Ready: {}", missing.join(", "));
            return Err(Trouble { passes: true, code: Code::NodesNotReady, text });
        }
        sleep(pause(begun.elapsed())).await;
    }
}

fn is_ready(node: &Node) -> bool {
    let conditions = node.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions.into_iter().any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

/// Waits until every control plane is a voting member of etcd.
pub(super) async fn etcd(cluster: &Cluster) -> Result<(), Trouble> {
    let begun = Instant::now();
    loop {
        let text = match cluster.etcd_members().await {
            Ok((voting, wanted)) if voting == wanted => return Ok(()),
            Ok((voting, wanted)) => format!("{voting} of {wanted} control planes vote in etcd"),
            Err(error) if begun.elapsed() >= TURN => return Err(trouble(&error)),
            Err(_) => String::new(),
        };
        if begun.elapsed() >= TURN {
            return Err(Trouble { passes: true, code: Code::EtcdNotFormed, text });
        }
        sleep(pause(begun.elapsed())).await;
    }
}
