//! The answers of a node, one file per area.

mod disks;
mod etcd;
mod lifecycle;
mod machine;
pub(super) mod maintenance;
mod read;
mod stats;

use std::{pin::Pin, sync::Arc};

use futures::Stream;
use tonic::{Response, Status, service::Routes};

use super::{
    context::Node,
    cosi::service::StateService,
    health::Health,
    proxy::{Forwarder, LARGEST},
};
use crate::talos::proto::{
    cluster::cluster_service_server::ClusterServiceServer, cosi::resource::state_server::StateServer,
    machine::machine_service_server::MachineServiceServer,
    storage::storage_service_server::StorageServiceServer, time::time_service_server::TimeServiceServer,
};

/// The services of a configured node.
pub(super) fn routes(node: Arc<Node>, forwarder: Option<Arc<Forwarder>>) -> Routes {
    let machine = MachineServiceServer::new(machine::Machine(node.clone()));
    Routes::new(machine.max_decoding_message_size(LARGEST).max_encoding_message_size(LARGEST))
        .add_service(ClusterServiceServer::new(Health::new(node.clone(), forwarder)))
        .add_service(StateServer::new(StateService(node.clone())).max_encoding_message_size(LARGEST))
        .add_service(StorageServiceServer::new(disks::Storage(node.clone())))
        .add_service(TimeServiceServer::new(disks::Time(node)))
        .prepare()
}

type Items<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

type Streamed<T> = Result<Response<Items<T>>, Status>;

/// An answer of one element.
macro_rules! reply {
    ($response:ident, $element:expr) => {
        Ok(Response::new($response { messages: vec![$element] }))
    };
}
use reply;

/// Refuses on workers.
fn control_plane(node: &Node, call: &str) -> Result<(), Status> {
    if node.is_control_plane() {
        return Ok(());
    }
    Err(Status::unimplemented(format!("{call} is only available on control plane nodes")))
}
