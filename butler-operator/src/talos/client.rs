//! Calls to a node. Each has a deadline, and its failure names the node and says what class it is.
//!
//! A client talks to one node: directly, or through another node's apid ([`Client::via`]). Failures
//! arrive as gRPC status from the node itself and inside the answer from an apid that forwarded to
//! many; both become the same error.

use std::{future::Future, net::Ipv6Addr, sync::Arc, time::Duration};

use butler_core::redact::Secret;
use futures::{Stream, StreamExt};
use http::Uri;
use rustls::ClientConfig;
use tonic::{
    Request, Response, Status, Streaming,
    metadata::{Ascii, MetadataValue},
    transport::{Channel, Endpoint},
};

use super::{
    API_PORT,
    error::TalosError,
    kubeconfig,
    proto::{
        cluster::{ClusterInfo, HealthCheckRequest, cluster_service_client::ClusterServiceClient},
        common::{Data, Metadata},
        machine::{self, apply_configuration_request::Mode, machine_service_client::MachineServiceClient},
    },
    talosconfig::Context,
    tls::{self, Fingerprint, KeyPin},
};

const CONNECT: Duration = Duration::from_secs(10);
const CALL: Duration = Duration::from_secs(30);
/// The node pulls the installer before it answers.
const UPGRADE: Duration = Duration::from_secs(600);
/// A snapshot of etcd takes as long as its size and the network say.
const TRANSFER: Duration = Duration::from_secs(600);
/// Both sides of Talos allow messages of this size.
const LARGEST_MESSAGE: usize = 32 << 20;

/// A connection to one node.
#[derive(Clone, Debug)]
pub struct Client {
    node: String,
    channel: Channel,
    via: Option<MetadataValue<Ascii>>,
}

/// Looks at the key a node in maintenance mode shows, without telling it anything.
pub async fn observe(address: &str) -> Result<Fingerprint, TalosError> {
    let pin = KeyPin::new(None);
    connect(address, tls::pinned(pin.clone())).await?;
    pin.seen()
        .cloned()
        .ok_or_else(|| TalosError::Unreadable { node: address.to_owned(), call: "show its key" })
}

impl Client {
    /// Connects to a node in maintenance mode that must have the pinned key.
    pub async fn maintenance(address: &str, expected: &Fingerprint) -> Result<Self, TalosError> {
        let pin = KeyPin::new(Some(expected.clone()));
        match (connect(address, tls::pinned(pin.clone())).await, pin.seen()) {
            (Err(_), Some(seen)) if seen != expected => Err(TalosError::OtherKey {
                node: address.to_owned(),
                expected: expected.clone(),
                seen: seen.clone(),
            }),
            (connection, _) => connection.map(|channel| Self::new(address, channel)),
        }
    }

    /// Connects to a configured node as the context's user.
    pub async fn connect(address: &str, context: &Context) -> Result<Self, TalosError> {
        let tls = tls::mutual(context)
            .map_err(|source| TalosError::Identity { node: address.to_owned(), source })?;
        connect(address, tls).await.map(|channel| Self::new(address, channel))
    }

    fn new(node: &str, channel: Channel) -> Self {
        Self { node: node.to_owned(), channel, via: None }
    }

    /// The same connection, its calls forwarded to another node of the cluster (without port).
    pub fn via(&self, node: &str) -> Result<Self, TalosError> {
        let header = node.parse().map_err(|_| TalosError::Address { node: node.to_owned() })?;
        Ok(Self { node: node.to_owned(), channel: self.channel.clone(), via: Some(header) })
    }

    /// Talos' version and platform.
    pub async fn version(&self) -> Result<machine::Version, TalosError> {
        let reply =
            self.call("tell its version", CALL, |mut api| async move { api.version(self.request(())).await });
        self.one("tell its version", reply.await?.messages)
    }

    /// Hands over a machine configuration. In maintenance mode the answer comes before the node uses
    /// it: success is a [`version`](Self::version) under the new authority.
    pub async fn apply(
        &self,
        config: &Secret,
        mode: Mode,
        dry_run: bool,
    ) -> Result<machine::ApplyConfiguration, TalosError> {
        let call = "take the configuration";
        let request = self.request(machine::ApplyConfigurationRequest {
            data: config.expose().as_bytes().to_vec(),
            mode: mode.into(),
            dry_run,
            try_mode_timeout: None,
        });
        let reply = self.call(call, CALL, |mut api| async move { api.apply_configuration(request).await });
        self.one(call, reply.await?.messages)
    }

    /// Starts etcd on the first control plane. A node that has done so already is a success.
    pub async fn bootstrap(&self) -> Result<(), TalosError> {
        self.begin(self.request(machine::BootstrapRequest::default())).await
    }

    /// Starts etcd on the first control plane from the snapshot that it was handed. A node whose etcd has
    /// begun already is a success.
    pub async fn bootstrap_recovered(&self) -> Result<(), TalosError> {
        let message = machine::BootstrapRequest { recover_etcd: true, recover_skip_hash_check: false };
        self.begin(self.request(message)).await
    }

    async fn begin(&self, request: Request<machine::BootstrapRequest>) -> Result<(), TalosError> {
        let call = "bootstrap etcd";
        let reply = self.call(call, CALL, |mut api| async move { api.bootstrap(request).await }).await;
        match reply.and_then(|reply| self.one(call, reply.messages)) {
            Err(error) if error.is_already_exists() => Ok(()),
            result => result.map(drop),
        }
    }

    /// The node's services, sorted by id.
    pub async fn services(&self) -> Result<Vec<machine::ServiceInfo>, TalosError> {
        let call = "list its services";
        let reply = self.call(call, CALL, |mut api| async move { api.service_list(self.request(())).await });
        self.one(call, reply.await?.messages).map(|list| list.services)
    }

    /// Starts a service.
    pub async fn service_start(&self, id: &str) -> Result<(), TalosError> {
        let call = "start the service";
        let request = self.request(machine::ServiceStartRequest { id: id.to_owned() });
        let reply = self.call(call, CALL, |mut api| async move { api.service_start(request).await });
        self.one(call, reply.await?.messages).map(drop)
    }

    /// Stops a service.
    pub async fn service_stop(&self, id: &str) -> Result<(), TalosError> {
        let call = "stop the service";
        let request = self.request(machine::ServiceStopRequest { id: id.to_owned() });
        let reply = self.call(call, CALL, |mut api| async move { api.service_stop(request).await });
        self.one(call, reply.await?.messages).map(drop)
    }

    /// Restarts a service.
    pub async fn service_restart(&self, id: &str) -> Result<(), TalosError> {
        let call = "restart the service";
        let request = self.request(machine::ServiceRestartRequest { id: id.to_owned() });
        let reply = self.call(call, CALL, |mut api| async move { api.service_restart(request).await });
        self.one(call, reply.await?.messages).map(drop)
    }

    /// Runs the cluster's health checks on the node. Each item is a line of progress; the end of the
    /// stream means healthy, an error that it did not become so within `wait`.
    pub async fn health(
        &self,
        wait: Duration,
        nodes: ClusterInfo,
    ) -> Result<impl Stream<Item = Result<String, TalosError>> + use<>, TalosError> {
        let call = "check the cluster's health";
        let request = self.request(HealthCheckRequest {
            // Longer than any duration that fits is no limit at all.
            wait_timeout: prost_types::Duration::try_from(wait).ok(),
            cluster_info: Some(nodes),
        });
        let mut api = ClusterServiceClient::new(self.channel.clone());
        let stream = self.within(call, CALL, async move { api.health_check(request).await }).await?;
        Ok(self.items(call, stream, |item| (item.metadata, item.message)))
    }

    /// The administrator's kubeconfig, made by the node for this call.
    pub async fn kubeconfig(&self) -> Result<Secret, TalosError> {
        let call = "make a kubeconfig";
        let stream =
            self.call(call, CALL, |mut api| async move { api.kubeconfig(self.request(())).await }).await?;
        let archive = self.collect(call, stream);
        let archive = tokio::time::timeout(CALL, archive).await.map_err(|_| self.timeout(call, CALL))??;
        kubeconfig::from_archive(&archive).ok_or_else(|| self.unreadable(call))
    }

    /// Log lines of a service or container, as they come.
    pub async fn logs(
        &self,
        request: machine::LogsRequest,
    ) -> Result<impl Stream<Item = Result<Vec<u8>, TalosError>> + use<>, TalosError> {
        let call = "send its logs";
        let stream =
            self.call(call, CALL, |mut api| async move { api.logs(self.request(request)).await }).await?;
        Ok(self.items(call, stream, bytes))
    }

    /// Kernel messages.
    pub async fn dmesg(
        &self,
        follow: bool,
    ) -> Result<impl Stream<Item = Result<Vec<u8>, TalosError>> + use<>, TalosError> {
        let call = "send its kernel messages";
        let request = self.request(machine::DmesgRequest { follow, tail: false });
        let stream = self.call(call, CALL, |mut api| async move { api.dmesg(request).await }).await?;
        Ok(self.items(call, stream, bytes))
    }

    /// The members of etcd, as this control plane knows them.
    pub async fn etcd_members(&self) -> Result<Vec<machine::EtcdMember>, TalosError> {
        let call = "list etcd's members";
        let request = self.request(machine::EtcdMemberListRequest { query_local: true });
        let reply = self.call(call, CALL, |mut api| async move { api.etcd_member_list(request).await });
        self.one(call, reply.await?.messages).map(|list| list.members)
    }

    /// A snapshot of etcd, piece by piece.
    pub async fn etcd_snapshot(
        &self,
    ) -> Result<impl Stream<Item = Result<Vec<u8>, TalosError>> + use<>, TalosError> {
        let call = "send a snapshot of etcd";
        let request = self.request(machine::EtcdSnapshotRequest {});
        let stream = self.call(call, CALL, |mut api| async move { api.etcd_snapshot(request).await }).await?;
        Ok(self.items(call, stream, bytes))
    }

    /// Hands over a snapshot of etcd, piece by piece, for [`bootstrap_recovered`](Self::bootstrap_recovered).
    pub async fn etcd_recover(
        &self,
        pieces: impl Stream<Item = Vec<u8>> + Send + 'static,
    ) -> Result<(), TalosError> {
        let call = "take a snapshot of etcd";
        let request = self.request(pieces.map(|bytes| Data { metadata: None, bytes }));
        let reply = self.call(call, TRANSFER, |mut api| async move { api.etcd_recover(request).await });
        self.one(call, reply.await?.messages).map(drop)
    }

    /// Wipes the node as asked.
    pub async fn reset(&self, request: machine::ResetRequest) -> Result<(), TalosError> {
        let call = "reset itself";
        let reply = self.call(call, CALL, |mut api| async move { api.reset(self.request(request)).await });
        self.one(call, reply.await?.messages).map(drop)
    }

    /// Restarts the node.
    pub async fn reboot(&self) -> Result<(), TalosError> {
        let call = "reboot";
        let request = self.request(machine::RebootRequest::default());
        let reply = self.call(call, CALL, |mut api| async move { api.reboot(request).await });
        self.one(call, reply.await?.messages).map(drop)
    }

    /// Turns the node off; with `force` without draining it first.
    pub async fn shutdown(&self, force: bool) -> Result<(), TalosError> {
        let call = "shut down";
        let request = self.request(machine::ShutdownRequest { force });
        let reply = self.call(call, CALL, |mut api| async move { api.shutdown(request).await });
        self.one(call, reply.await?.messages).map(drop)
    }

    /// Installs another version of Talos and restarts into it.
    pub async fn upgrade(&self, image: &str) -> Result<(), TalosError> {
        let call = "upgrade";
        let request = self.request(machine::UpgradeRequest { image: image.to_owned(), ..Default::default() });
        let reply = self.call(call, UPGRADE, |mut api| async move { api.upgrade(request).await });
        self.one(call, reply.await?.messages).map(drop)
    }

    /// Restarts into the version before the last upgrade.
    pub async fn rollback(&self) -> Result<(), TalosError> {
        let call = "roll back";
        let request = self.request(machine::RollbackRequest {});
        let reply = self.call(call, CALL, |mut api| async move { api.rollback(request).await });
        self.one(call, reply.await?.messages).map(drop)
    }

    fn request<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        if let Some(node) = &self.via {
            request.metadata_mut().insert("node", node.clone());
        }
        request
    }

    async fn call<T, F>(
        &self,
        call: &'static str,
        deadline: Duration,
        make: impl FnOnce(MachineServiceClient<Channel>) -> F,
    ) -> Result<T, TalosError>
    where
        F: Future<Output = Result<Response<T>, Status>>,
    {
        let api = MachineServiceClient::new(self.channel.clone()).max_decoding_message_size(LARGEST_MESSAGE);
        self.within(call, deadline, make(api)).await
    }

    async fn within<T>(
        &self,
        call: &'static str,
        deadline: Duration,
        future: impl Future<Output = Result<Response<T>, Status>>,
    ) -> Result<T, TalosError> {
        match tokio::time::timeout(deadline, future).await {
            Ok(Ok(response)) => Ok(response.into_inner()),
            Ok(Err(status)) => Err(TalosError::status(&self.node, call, status)),
            Err(_) => Err(self.timeout(call, deadline)),
        }
    }

    /// The one element of an answer, or the failure in its envelope.
    fn one<T: Enveloped>(&self, call: &'static str, messages: Vec<T>) -> Result<T, TalosError> {
        let message = messages.into_iter().next().ok_or_else(|| self.unreadable(call))?;
        match TalosError::envelope(&self.node, call, message.metadata()) {
            Some(error) => Err(error),
            None => Ok(message),
        }
    }

    fn items<T: 'static, U>(
        &self,
        call: &'static str,
        stream: Streaming<T>,
        open: fn(T) -> (Option<Metadata>, U),
    ) -> impl Stream<Item = Result<U, TalosError>> + use<T, U> {
        let node = self.node.clone();
        stream.map(move |item| {
            let (metadata, value) = open(item.map_err(|status| TalosError::status(&node, call, status))?);
            match TalosError::envelope(&node, call, metadata.as_ref()) {
                Some(error) => Err(error),
                None => Ok(value),
            }
        })
    }

    async fn collect(&self, call: &'static str, stream: Streaming<Data>) -> Result<Vec<u8>, TalosError> {
        let mut all = Vec::new();
        let mut pieces = self.items(call, stream, bytes);
        while let Some(piece) = pieces.next().await {
            all.extend(piece?);
            if all.len() > LARGEST_MESSAGE {
                return Err(self.unreadable(call));
            }
        }
        Ok(all)
    }

    fn timeout(&self, call: &'static str, after: Duration) -> TalosError {
        TalosError::Timeout { node: self.node.clone(), call, after }
    }

    fn unreadable(&self, call: &'static str) -> TalosError {
        TalosError::Unreadable { node: self.node.clone(), call }
    }
}

async fn connect(address: &str, tls: Arc<ClientConfig>) -> Result<Channel, TalosError> {
    let authority = authority(address);
    let url = |scheme| {
        Uri::try_from(format!("{scheme}://{authority}"))
            .map_err(|_| TalosError::Address { node: address.to_owned() })
    };
    // The connector makes TLS itself, so tonic must not; the node is told the truth all the same.
    let endpoint = Endpoint::from(url("http")?)
        .origin(url("https")?)
        .keep_alive_while_idle(true)
        .http2_keep_alive_interval(CALL);
    let connector = tower::service_fn(move |uri| tls::dial(uri, tls.clone()));
    // The deadline covers the TLS handshake too, which a silent peer could hold up.
    match tokio::time::timeout(CONNECT, endpoint.connect_with_connector(connector)).await {
        Ok(channel) => channel.map_err(|error| TalosError::connect(address, error)),
        Err(_) => {
            Err(TalosError::Timeout { node: address.to_owned(), call: "take a connection", after: CONNECT })
        }
    }
}

/// `host`, `host:port` or an IPv6 address, with Talos' port where none is given.
fn authority(address: &str) -> String {
    if address.parse::<Ipv6Addr>().is_ok() {
        return format!("[{address}]:{API_PORT}");
    }
    match address.rsplit_once(':') {
        Some((_, port)) if port.parse::<u16>().is_ok() => address.to_owned(),
        _ => format!("{address}:{API_PORT}"),
    }
}

fn bytes(data: Data) -> (Option<Metadata>, Vec<u8>) {
    (data.metadata, data.bytes)
}

/// An element of an answer.
trait Enveloped {
    fn metadata(&self) -> Option<&Metadata>;
}

macro_rules! enveloped {
    ($($message:ident),+) => {$(
        impl Enveloped for machine::$message {
            fn metadata(&self) -> Option<&Metadata> {
                self.metadata.as_ref()
            }
        }
    )+};
}

enveloped!(
    ApplyConfiguration,
    Bootstrap,
    EtcdMembers,
    EtcdRecover,
    Reboot,
    Reset,
    Rollback,
    ServiceList,
    ServiceRestart,
    ServiceStart,
    ServiceStop,
    Shutdown,
    Upgrade,
    Version
);

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("10.0.0.1", "10.0.0.1:50000")]
    #[case("10.0.0.1:4000", "10.0.0.1:4000")]
    #[case("node-1.lan", "node-1.lan:50000")]
    #[case("fd00::1", "[fd00::1]:50000")]
    #[case("[fd00::1]:4000", "[fd00::1]:4000")]
    fn an_address_gets_the_port_of_talos(#[case] address: &str, #[case] expected: &str) {
        assert_eq!(authority(address), expected);
    }
}
