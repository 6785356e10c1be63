//! A node that answers what a test tells it to, on a loopback port of its own.

use std::sync::{Arc, Mutex};

use butler_core::pki::{Issued, Leaf, PrivateKey, Usage};
use butler_operator::talos::{
    kubeconfig,
    proto::{
        cluster::{HealthCheckProgress, HealthCheckRequest, cluster_service_server as cluster},
        common::{Data, Metadata},
        google::rpc,
        machine::{machine_service_server as machine, *},
    },
    secrets::SecretsBundle,
    talosconfig::{Context, Talosconfig},
};
use futures::{Stream, stream};
use jiff::{SignedDuration, Timestamp};
use tonic::{
    Request, Response, Status,
    transport::{Certificate, Identity, Server, ServerTlsConfig, server::TcpIncoming},
};

pub(crate) const HOUR: SignedDuration = SignedDuration::from_hours(1);

/// What the node was asked, and how it is to answer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Node(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    calls: Vec<String>,
    configs: Vec<Vec<u8>>,
    /// Refuses every call with this, as gRPC status or inside the answer.
    refusal: Option<(Status, Shape)>,
}

/// Where a failure stands.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
    Status,
    Envelope,
    Empty,
}

/// A running node; it stops when dropped.
pub(crate) struct Running {
    pub(crate) address: String,
    pub(crate) node: Node,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A cluster's keys, and certificates of them.
pub(crate) struct Cluster {
    pub(crate) bundle: SecretsBundle,
}

impl Cluster {
    pub(crate) fn new() -> Self {
        Self { bundle: SecretsBundle::generate(Timestamp::now() - HOUR).unwrap() }
    }

    pub(crate) fn admin(&self) -> Context {
        let config = Talosconfig::admin("test", &self.bundle, Vec::new(), Timestamp::now() - HOUR).unwrap();
        config.current().unwrap().clone()
    }

    /// A node's certificate that begins to live some time after now (or before) and lives an hour.
    pub(crate) fn server(&self, begins: SignedDuration) -> Issued {
        let leaf = Leaf {
            common_name: Some("node-1".into()),
            organization: None,
            names: vec!["127.0.0.1".into()],
            usage: Usage::Server,
            not_before: Timestamp::now() + begins,
            life: HOUR,
        };
        self.bundle.certs.os.authority().unwrap().issue(&leaf).unwrap()
    }
}

/// Starts a node that shows a certificate and, with an authority, wants one of its callers.
pub(crate) async fn start(certificate: &Issued, callers: Option<&str>) -> Running {
    let node = Node::default();
    let key = PrivateKey::from_pem(&certificate.key).unwrap().to_pkcs8_pem();
    let mut tls = ServerTlsConfig::new().identity(Identity::from_pem(&certificate.certificate, key.expose()));
    if let Some(authority) = callers {
        tls = tls.client_ca_root(Certificate::from_pem(authority));
    }
    let listener = TcpIncoming::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let server = Server::builder()
        .tls_config(tls)
        .unwrap()
        .add_service(machine::MachineServiceServer::new(node.clone()))
        .add_service(cluster::ClusterServiceServer::new(node.clone()))
        .serve_with_incoming(listener);
    let task = tokio::spawn(async move {
        let _ = server.await;
    });
    Running { address, node, task }
}

impl Node {
    pub(crate) fn calls(&self) -> Vec<String> {
        self.0.lock().unwrap().calls.clone()
    }

    pub(crate) fn configs(&self) -> Vec<Vec<u8>> {
        self.0.lock().unwrap().configs.clone()
    }

    pub(crate) fn refuse(&self, status: Status, shape: Shape) {
        self.0.lock().unwrap().refusal = Some((status, shape));
    }

    /// Notes a call; gives the envelope of each answer, and how many answers there are.
    fn hear<T>(&self, name: &str, request: &Request<T>) -> Result<(usize, Option<Metadata>), Status> {
        let mut state = self.0.lock().unwrap();
        let target = request.metadata().get("node").map(|node| format!("@{}", node.to_str().unwrap()));
        state.calls.push(format!("{name}{}", target.unwrap_or_default()));
        match &state.refusal {
            None => Ok((1, None)),
            Some((_, Shape::Empty)) => Ok((0, None)),
            Some((status, Shape::Status)) => Err(status.clone()),
            Some((status, Shape::Envelope)) => Ok((
                1,
                Some(Metadata {
                    hostname: "10.9.9.9".into(),
                    error: format!("rpc error: desc = {}", status.message()),
                    status: Some(rpc::Status {
                        code: status.code().into(),
                        message: status.message().into(),
                        details: Vec::new(),
                    }),
                }),
            )),
        }
    }

    fn data<T>(
        &self,
        name: &str,
        request: &Request<T>,
        pieces: &[&[u8]],
    ) -> Result<Response<BoxStream<Data>>, Status> {
        let (_, metadata) = self.hear(name, request)?;
        let item = |bytes: &&[u8]| Data { metadata: metadata.clone(), bytes: bytes.to_vec() };
        Ok(boxed(pieces.iter().map(item).collect()))
    }
}

type BoxStream<T> = std::pin::Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

fn boxed<T: Send + 'static>(items: Vec<T>) -> Response<BoxStream<T>> {
    Response::new(Box::pin(stream::iter(items.into_iter().map(Ok))))
}

/// The machine API. Most methods answer with one element, whose fields beside the envelope may be
/// given; the others are written out. (The trait's attribute must see methods, so the macro makes the
/// whole `impl`.)
macro_rules! machine_service {
    (
        [$($method:ident($request:ty) -> $response:ident { $element:ident $({ $($field:ident: $value:expr),+ })? };)+]
        $($others:tt)*
    ) => {
        #[expect(clippy::needless_update, reason = "some elements have nothing but their envelope")]
        #[tonic::async_trait]
        impl machine::MachineService for Node {
            $(async fn $method(&self, request: Request<$request>) -> Result<Response<$response>, Status> {
                let (count, metadata) = self.hear(stringify!($method), &request)?;
                let element = $element { metadata, $($($field: $value,)+)? ..Default::default() };
                Ok(Response::new($response { messages: vec![element; count] }))
            })+
            $($others)*
        }
    };
}

machine_service! {
    [
        bootstrap(BootstrapRequest) -> BootstrapResponse { Bootstrap };
        etcd_member_list(EtcdMemberListRequest) -> EtcdMemberListResponse {
            EtcdMembers { members: vec![EtcdMember { id: u64::MAX, hostname: "node-1".into(), ..Default::default() }] }
        };
        reboot(RebootRequest) -> RebootResponse { Reboot };
        reset(ResetRequest) -> ResetResponse { Reset };
        rollback(RollbackRequest) -> RollbackResponse { Rollback };
        service_list(()) -> ServiceListResponse {
            ServiceList { services: vec![ServiceInfo { id: "apid".into(), ..Default::default() }] }
        };
        service_restart(ServiceRestartRequest) -> ServiceRestartResponse { ServiceRestart };
        service_start(ServiceStartRequest) -> ServiceStartResponse { ServiceStart };
        service_stop(ServiceStopRequest) -> ServiceStopResponse { ServiceStop };
        shutdown(ShutdownRequest) -> ShutdownResponse { Shutdown };
        upgrade(UpgradeRequest) -> UpgradeResponse { Upgrade };
        version(()) -> VersionResponse {
            Version { version: Some(VersionInfo { tag: "v1.11.5".into(), ..Default::default() }) }
        };
    ]

    async fn apply_configuration(
        &self,
        request: Request<ApplyConfigurationRequest>,
    ) -> Result<Response<ApplyConfigurationResponse>, Status> {
        let (count, metadata) = self.hear("apply_configuration", &request)?;
        self.0.lock().unwrap().configs.push(request.into_inner().data);
        let element = ApplyConfiguration { metadata, mode_details: "Applied".into(), ..Default::default() };
        Ok(Response::new(ApplyConfigurationResponse { messages: vec![element; count] }))
    }

    async fn kubeconfig(&self, request: Request<()>) -> Result<Response<BoxStream<Data>>, Status> {
        let archive = kubeconfig::to_archive(&"apiVersion: v1\n".into()).unwrap();
        let (first, rest) = archive.split_at(archive.len() / 2);
        self.data("kubeconfig", &request, &[first, rest])
    }

    async fn logs(&self, request: Request<LogsRequest>) -> Result<Response<BoxStream<Data>>, Status> {
        self.data("logs", &request, &[b"one\n", b"two\n"])
    }

    async fn dmesg(&self, request: Request<DmesgRequest>) -> Result<Response<BoxStream<Data>>, Status> {
        self.data("dmesg", &request, &[b"kern: boot\n"])
    }

    async fn etcd_snapshot(
        &self,
        request: Request<EtcdSnapshotRequest>,
    ) -> Result<Response<BoxStream<Data>>, Status> {
        self.data("etcd_snapshot", &request, &[&[0; 1000], &[1; 1000]])
    }
}

#[tonic::async_trait]
impl cluster::ClusterService for Node {
    async fn health_check(
        &self,
        request: Request<HealthCheckRequest>,
    ) -> Result<Response<BoxStream<HealthCheckProgress>>, Status> {
        let (_, metadata) = self.hear("health_check", &request)?;
        Ok(boxed(vec![HealthCheckProgress { metadata, message: "waiting for etcd: OK".into() }]))
    }
}
