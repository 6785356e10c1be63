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

#[cfg(test)]
mod tests {
    use bytes::{BufMut, Bytes, BytesMut};
    use http::Request;
    use http_body_util::{BodyExt, Full};
    use proptest::{prelude::*, test_runner::TestRunner};
    use tonic::body::Body;
    use tower::ServiceExt;

    use super::*;
    use crate::{
        driver::{Ownership, Role},
        process::Guard,
        sandbox::{
            machine::{MachineDir, MachineFile, NodeParts},
            node::{
                clock::Clock,
                context::{self, Agent},
                disk::Disk,
                logs::Logs,
                roles::{ADMIN, Roles},
            },
        },
    };

    /// Methods whose answers end by themselves: one that follows a log would be waited for in vain.
    const METHODS: &[&str] = &[
        "/machine.MachineService/ApplyConfiguration",
        "/machine.MachineService/Bootstrap",
        "/machine.MachineService/EtcdMemberList",
        "/machine.MachineService/EtcdRemoveMemberByID",
        "/machine.MachineService/GenerateClientConfiguration",
        "/machine.MachineService/Kubeconfig",
        "/machine.MachineService/Read",
        "/machine.MachineService/ServiceList",
        "/machine.MachineService/ServiceRestart",
        "/machine.MachineService/ServiceStop",
        "/machine.MachineService/Version",
        "/machine.MachineService/NoSuchMethod",
        "/cosi.resource.State/Get",
        "/cosi.resource.State/List",
        "/storage.StorageService/Disks",
        "/time.TimeService/TimeCheck",
        "/no.such.Service/Method",
        "/",
    ];

    fn node(dir: &std::path::Path) -> Arc<Node> {
        let dir = MachineDir(dir.to_owned());
        let nowhere = || "/nowhere".into();
        let file = MachineFile {
            id: "m".into(),
            name: "m".into(),
            ownership: Ownership { owner: "o".into(), object: "n.m".into() },
            role: Role::Worker,
            cpu: 1,
            memory_mb: 1024,
            disk_gb: 10,
            address: "127.0.0.1".parse().unwrap(),
            ports: crate::sandbox::machine::NodePorts::default(),
            mac: "02:00:00:00:00:01".into(),
            talos_version: "v1.11.5".into(),
            parts: NodeParts {
                etcd: nowhere(),
                kube_apiserver: nowhere(),
                kube_controller_manager: nowhere(),
                kube_scheduler: nowhere(),
                etcdutl: None,
            },
            discovery_dir: dir.0.join("discovery"),
        };
        let (clock, disk) = (Arc::new(Clock::new(dir.faults_file())), Disk::new(&dir));
        let logs = Logs::new(clock.clone(), disk.clone(), Box::new(std::io::sink()));
        Node::new(Arc::new(context::Machine {
            dir,
            file,
            disk,
            clock,
            logs: Arc::new(logs),
            agent: Agent::new(Box::new(std::io::sink())),
            guard: Guard::start(&butler_core::settings::Environment::default()).unwrap(),
        }))
    }

    /// Calls a method with these bytes; true when the answer has a status.
    async fn call(routes: &Routes, path: &str, body: Bytes) -> bool {
        let mut request = Request::post(path)
            .header("content-type", "application/grpc")
            .body(Body::new(Full::new(body)))
            .unwrap();
        request.extensions_mut().insert(Roles::from([ADMIN.to_owned()]));
        let answer = routes.clone().oneshot(request).await.unwrap();
        if answer.headers().contains_key("grpc-status") {
            return true;
        }
        let body = answer.into_body().collect().await.unwrap();
        body.trailers().is_some_and(|trailers| trailers.contains_key("grpc-status"))
    }

    #[test]
    fn any_bytes_in_any_call_are_answered() {
        let dir = tempfile::tempdir().unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let _entered = runtime.enter();
        let node = node(dir.path());
        let (give, _given) = tokio::sync::mpsc::channel(1);
        let all = [routes(node.clone(), None), maintenance::routes(node, give)];
        let message = proptest::collection::vec(any::<u8>(), 0..120);
        let cases = (0..METHODS.len(), message, any::<bool>(), any::<u8>(), any::<u32>());
        let mut runner = TestRunner::new(ProptestConfig { cases: 600, ..ProptestConfig::default() });
        let tried = runner.run(&cases, |(method, message, honest, flag, length)| {
            let mut body = BytesMut::new();
            if honest {
                body.put_u8(0);
                body.put_u32(message.len() as u32);
            } else {
                body.put_u8(flag);
                body.put_u32(length);
            }
            body.extend_from_slice(&message);
            for routes in &all {
                prop_assert!(runtime.block_on(call(routes, METHODS[method], body.clone().freeze())));
            }
            Ok(())
        });
        tried.unwrap();
    }
}
