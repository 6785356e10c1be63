//! TCP passed on: the address that control planes share, and every node's own way to any API server.

use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

use super::{context::Node, kubernetes};

const CONNECT: Duration = Duration::from_secs(3);
/// How often a control plane tries to get the shared address.
const ELECTION: Duration = Duration::from_millis(500);

/// Passes connections on to the first of the targets that takes them. Ends when dropped.
async fn pass(listener: TcpListener, targets: impl Fn() -> Vec<SocketAddr>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    let targets = targets();
                    connections.spawn(carry(stream, targets));
                }
                Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
            },
        }
    }
}

async fn carry(mut from: TcpStream, targets: Vec<SocketAddr>) {
    for target in targets {
        if let Ok(Ok(mut to)) = tokio::time::timeout(CONNECT, TcpStream::connect(target)).await {
            let _ = (from.set_nodelay(true), to.set_nodelay(true));
            // Either side may cut the other off.
            let _ = copy_bidirectional(&mut from, &mut to).await;
            return;
        }
    }
}

/// Carries the control planes' shared addresses: whoever can bind one has it, as long as its own API
/// server is healthy.
pub(super) async fn carry_vip(node: Arc<Node>) {
    let mut components = node.components.subscribe();
    loop {
        let healthy = |all: &std::collections::BTreeMap<&'static str, kubernetes::Component>| {
            all.get(kubernetes::API_SERVER).is_some_and(|server| server.ready)
        };
        tokio::select! {
            () = node.workload.cancelled() => return,
            ready = components.wait_for(healthy) => {
                if ready.is_err() {
                    return;
                }
            }
        }
        let Some(config) = node.current() else { return };
        let own = kubernetes::api_address(&node, &config);
        let port = kubernetes::endpoint_port(&config).unwrap_or(own.port());
        let vips: Vec<IpAddr> = vips(&config).into_iter().filter(|vip| *vip != own.ip()).collect();
        let mut held = JoinSet::new();
        for vip in vips {
            let node = node.clone();
            held.spawn(async move {
                loop {
                    if let Ok(listener) = TcpListener::bind((vip, port)).await {
                        node.machine.logs.talos(format_args!("enabled shared IP {vip}"));
                        pass(listener, move || vec![own]).await;
                    }
                    tokio::time::sleep(ELECTION).await;
                }
            });
        }
        let mut changes = node.config.subscribe();
        tokio::select! {
            () = node.workload.cancelled() => return,
            _ = components.wait_for(|all| !healthy(all)) => {
                node.machine.logs.talos("removed shared IP: the API server is not healthy");
            }
            _ = changes.changed() => {}
        }
        held.shutdown().await;
    }
}

/// The shared addresses a configuration names.
fn vips(config: &super::config::Config) -> Vec<IpAddr> {
    let interfaces = &config.machine.main.machine.network.interfaces;
    let inline = interfaces.iter().filter_map(|interface| interface.vip.as_ref()).map(|vip| &vip.ip);
    inline.chain(&config.machine.layer2_vips).filter_map(|address| address.parse().ok()).collect()
}

/// A port on loopback that leads to an API server of the cluster: this node's own, one of the
/// members', or whatever the endpoint leads to.
pub(super) async fn way_to_api(node: Arc<Node>) -> std::io::Result<SocketAddr> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let address = listener.local_addr()?;
    let passing = node.clone();
    node.spawn(async move {
        let node = passing.clone();
        tokio::select! {
            () = node.stop.cancelled() => {}
            () = pass(listener, || targets(&passing)) => {}
        }
    });
    Ok(address)
}

fn targets(node: &Node) -> Vec<SocketAddr> {
    let mut targets = Vec::new();
    if node.components.borrow().get(kubernetes::API_SERVER).is_some_and(|server| server.ready)
        && let Some(config) = node.current()
    {
        targets.push(kubernetes::api_address(node, &config));
    }
    targets.extend(node.current().and_then(|config| kubernetes::endpoint_address(&config)));
    let members = node.members.borrow();
    targets
        .extend(members.iter().filter(|member| member.id != node.identity).filter_map(|member| member.api));
    let mut seen = std::collections::BTreeSet::new();
    targets.retain(|target| seen.insert(*target));
    targets
}
