//! A cluster that begins from a snapshot of another one's etcd: the one that was backed up.
//!
//! Its objects are those of the day of the backup. What they say of machines that are gone would be
//! believed, so it is taken back before anybody acts on it.

use std::{
    io::{self, Read},
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use butler_core::{
    api::{LoadBalancerRequest, MachineRequest, names::managers},
    cluster::ApiError,
    error::{Code, Diagnose},
};
use futures::stream;
use k8s_openapi::api::{coordination::v1::Lease, core::v1::Node};
use kube::{
    Api, Client, Resource, ResourceExt,
    api::{DeleteParams, ListParams, Patch, PatchParams},
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::talos::{TalosError, client};

/// Bytes of a snapshot in one message.
const PIECE: usize = 1 << 20;
/// Where nodes renew their Leases.
const NODE_LEASES: &str = "kube-node-lease";

/// Hands a node the snapshot and tells it to begin from it; nothing, when its etcd has begun already.
pub(super) async fn begin(node: &client::Client, snapshot: &Path) -> Result<(), TalosError> {
    if node.etcd_members().await.is_ok() {
        return Ok(());
    }
    let unreadable = |source| TalosError::Snapshot { path: snapshot.to_owned(), source };
    let file = fs_err::File::open(snapshot).map_err(unreadable)?;
    let failed = Arc::new(Mutex::new(None));
    let sent = node.etcd_recover(pieces(file, failed.clone())).await;
    // A snapshot that was not read to its end may look whole to the node.
    if let Some(error) = failed.lock().unwrap_or_else(PoisonError::into_inner).take() {
        return Err(unreadable(error));
    }
    sent?;
    node.bootstrap_recovered().await
}

/// A file, piece by piece. A stream of messages cannot carry an error, so that one is left behind.
fn pieces(
    file: impl Read + Send + 'static,
    failed: Arc<Mutex<Option<io::Error>>>,
) -> impl futures::Stream<Item = Vec<u8>> + Send {
    stream::iter(std::iter::from_fn({
        let mut file = file;
        move || {
            let mut piece = Vec::new();
            match file.by_ref().take(PIECE as u64).read_to_end(&mut piece) {
                Ok(0) => None,
                Ok(_) => Some(piece),
                Err(error) => {
                    *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                    None
                }
            }
        }
    }))
}

/// Takes back what the objects of the backup say of machines, and returns what was changed: whether nodes
/// are Ready, who was seen last, which machines and load balancers exist. All of it is told anew by those
/// that are there.
pub(super) async fn settle(target: &Client) -> Result<Vec<String>, ApiError> {
    let mut names = Vec::new();
    let nodes: Api<Node> = Api::all(target.clone());
    for node in list(&nodes).await? {
        let name = node.name_any();
        let condition = json!({
            "type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown",
            "message": "the cluster was made from a backup, and this node has said nothing since",
        });
        patch(&nodes, &name, json!({ "status": { "conditions": [condition] } }), Style::Strategic).await?;
        let leases: Api<Lease> = Api::namespaced(target.clone(), NODE_LEASES);
        gone(leases.delete(&name, &DeleteParams::default()).await, "Lease", &name)?;
        names.push(format!("Node/{name}"));
    }
    forget::<MachineRequest>(target, &mut names).await?;
    forget::<LoadBalancerRequest>(target, &mut names).await?;
    Ok(names)
}

/// Clears the status of every request. A cluster without our definitions has none.
async fn forget<K>(target: &Client, names: &mut Vec<String>) -> Result<(), ApiError>
where
    K: Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>
        + Clone
        + DeserializeOwned
        + std::fmt::Debug,
{
    let all = match list(&Api::<K>::all(target.clone())).await {
        Err(error) if error.is_not_found() || error.code() == Code::CrdsMissing => return Ok(()),
        all => all?,
    };
    for request in all {
        let name = request.name_any();
        let api: Api<K> = Api::namespaced(target.clone(), &request.namespace().unwrap_or_default());
        patch(&api, &name, json!({ "status": null }), Style::Merge).await?;
        names.push(format!("{}/{name}", K::kind(&())));
    }
    Ok(())
}

enum Style {
    Strategic,
    Merge,
}

async fn list<K>(api: &Api<K>) -> Result<Vec<K>, ApiError>
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + std::fmt::Debug,
{
    let list = api.list(&ListParams::default()).await;
    let list = list.map_err(|error| ApiError::new(format!("list every {}", K::kind(&())), error))?;
    Ok(list.items)
}

async fn patch<K>(api: &Api<K>, name: &str, change: Value, style: Style) -> Result<(), ApiError>
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + std::fmt::Debug,
{
    let params = PatchParams { field_manager: Some(managers::BOOTSTRAP.to_owned()), ..Default::default() };
    let change = match style {
        Style::Strategic => Patch::Strategic(change),
        Style::Merge => Patch::Merge(change),
    };
    let patched = api.patch_status(name, &params, &change).await;
    gone(patched, &K::kind(&()), name)
}

/// What went away meanwhile need not be changed.
fn gone<T>(result: Result<T, kube::Error>, kind: &str, name: &str) -> Result<(), ApiError> {
    match result {
        Ok(_) => Ok(()),
        Err(error) => {
            let error = ApiError::new(format!("change {kind} `{name}`"), error);
            if error.is_not_found() { Ok(()) } else { Err(error) }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::StreamExt;

    use super::*;

    struct Broken(usize);

    impl Read for Broken {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            if self.0 == 0 {
                return Err(io::Error::other("the disk is gone"));
            }
            let count = self.0.min(buffer.len());
            buffer[..count].fill(7);
            self.0 -= count;
            Ok(count)
        }
    }

    #[tokio::test]
    async fn a_snapshot_goes_in_pieces_and_what_cannot_be_read_is_not_passed_over() {
        let failed = Arc::new(Mutex::new(None));
        let whole: Vec<u8> = (0..PIECE * 2 + 5).map(|index| index as u8).collect();
        let sent: Vec<_> = pieces(io::Cursor::new(whole.clone()), failed.clone()).collect().await;
        assert_eq!(sent.iter().map(Vec::len).collect::<Vec<_>>(), [PIECE, PIECE, 5]);
        assert_eq!(sent.concat(), whole);
        assert!(failed.lock().unwrap().is_none());

        let sent: Vec<_> = pieces(Broken(PIECE + 3), failed.clone()).collect().await;
        assert_eq!(sent.len(), 1, "what is not whole is not sent");
        assert!(failed.lock().unwrap().take().is_some());
    }
}
