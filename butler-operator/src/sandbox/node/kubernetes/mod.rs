//! Kubernetes on a control plane: kube-apiserver, kube-controller-manager and kube-scheduler as real
//! programs, which Kubernetes itself gets to see as static Pods.

mod args;
pub(super) mod join;
mod manifests;
pub(super) mod pki;
pub(super) mod pods;

use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use jiff::Timestamp;

use super::{
    children::{self, Part, Program, Report},
    config::{Config, full},
    context::Node,
};
use crate::sandbox::machine::NodePorts;

pub(super) const API_SERVER: &str = "kube-apiserver";
pub(super) const CONTROLLER_MANAGER: &str = "kube-controller-manager";
pub(super) const SCHEDULER: &str = "kube-scheduler";

/// Pause between two tries of something that others must make possible first.
const RETRY: Duration = Duration::from_millis(500);

/// One of the three programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Component {
    pub(super) pid: Option<u32>,
    pub(super) ready: bool,
    pub(super) restarts: i32,
    pub(super) started: Option<Timestamp>,
}

/// Where this node's API server listens. Ports differ from the configuration's where all machines
/// share one address.
pub(super) fn api_address(node: &Node, config: &Config) -> SocketAddr {
    let file = &node.machine.file;
    let port = if file.ports.api == NodePorts::default().api {
        config.machine.main.cluster.control_plane.local_api_server_port.unwrap_or(file.ports.api)
    } else {
        file.ports.api
    };
    SocketAddr::new(file.address, port)
}

fn endpoint(config: &Config) -> Option<http::Uri> {
    config.machine.main.cluster.control_plane.endpoint.parse().ok()
}

/// The host in the cluster's endpoint.
pub(super) fn endpoint_host(config: &Config) -> Option<String> {
    endpoint(config)?.host().map(str::to_owned)
}

/// The port in the cluster's endpoint.
pub(super) fn endpoint_port(config: &Config) -> Option<u16> {
    Some(endpoint(config)?.port_u16().unwrap_or(443))
}

/// The cluster's endpoint, where it is an address.
pub(super) fn endpoint_address(config: &Config) -> Option<SocketAddr> {
    let host = endpoint_host(config)?;
    let address: IpAddr = host.trim_start_matches('[').trim_end_matches(']').parse().ok()?;
    Some(SocketAddr::new(address, endpoint_port(config)?))
}

/// Runs the three programs as soon as etcd is there.
pub(super) async fn run(node: Arc<Node>) {
    let mut etcd = node.etcd.subscribe();
    node.components.send_modify(|all| {
        for name in [API_SERVER, CONTROLLER_MANAGER, SCHEDULER] {
            all.insert(name, Component { pid: None, ready: false, restarts: -1, started: None });
        }
    });
    tokio::select! {
        () = node.workload.cancelled() => return,
        joined = etcd.wait_for(|phase| phase.member) => if joined.is_err() { return },
    }
    drop(etcd);
    loop {
        match node
            .current()
            .ok_or_else(|| "there is no configuration".to_owned())
            .and_then(|config| pki::write(&node, &config))
        {
            Ok(()) => break,
            Err(error) => {
                node.machine.logs.talos(format_args!("cannot write the control plane's files: {error}"))
            }
        }
        tokio::select! {
            () = node.workload.cancelled() => return,
            () = tokio::time::sleep(RETRY * 4) => {}
        }
    }
    let client = match pki::admin_client(&node).await {
        Ok(client) => client,
        Err(error) => return node.machine.logs.talos(format_args!("cannot make a client: {error}")),
    };
    let part = |name| Control { node: node.clone(), name, client: client.clone() };
    let objects = async {
        tokio::select! {
            () = node.workload.cancelled() => {}
            () = manifests::apply(&node, &client) => {}
        }
    };
    let others = async {
        let mut components = node.components.subscribe();
        // The others only write errors as long as there is no API server.
        tokio::select! {
            () = node.workload.cancelled() => return,
            ready = components.wait_for(|all| all.get(API_SERVER).is_some_and(|server| server.ready)) => {
                if ready.is_err() { return }
            }
        }
        futures::join!(
            children::supervise(node.clone(), part(CONTROLLER_MANAGER)),
            children::supervise(node.clone(), part(SCHEDULER)),
            objects,
        );
    };
    futures::join!(children::supervise(node.clone(), part(API_SERVER)), others);
}

struct Control {
    node: Arc<Node>,
    name: &'static str,
    client: kube::Client,
}

impl Control {
    fn change(&self, change: impl FnOnce(&mut Component)) {
        let modified = self.node.components.send_if_modified(|all| {
            let Some(component) = all.get_mut(self.name) else { return false };
            let old = component.clone();
            change(component);
            *component != old
        });
        if modified {
            self.node.changed.notify_one();
        }
    }
}

impl Part for Control {
    fn id(&self) -> &str {
        self.name
    }

    fn program(&self) -> Result<Program, String> {
        let config = self.node.current().ok_or("there is no configuration")?;
        let parts = &self.node.machine.file.parts;
        let (path, args) = match self.name {
            API_SERVER => (&parts.kube_apiserver, args::api_server(&self.node, &config)),
            CONTROLLER_MANAGER => {
                (&parts.kube_controller_manager, args::controller_manager(&self.node, &config))
            }
            _ => (&parts.kube_scheduler, args::scheduler(&self.node, &config)),
        };
        Ok(Program { path: path.clone(), args, log: self.node.machine.logs.file(self.name) })
    }

    async fn check(&self) -> Result<(), String> {
        if self.name != API_SERVER {
            // They listen nowhere; whoever lives is well.
            return Ok(());
        }
        let request = http::Request::get("/readyz").body(Vec::new()).map_err(|error| full(&error))?;
        let answer = tokio::time::timeout(Duration::from_secs(5), self.client.request_text(request)).await;
        answer.map_err(|_| "no answer".to_owned())?.map_err(|error| full(&error)).map(drop)
    }

    fn report(&self, report: Report) {
        let logs = &self.node.machine.logs;
        match report {
            Report::Started(pid) => {
                let now = self.node.machine.clock.now();
                self.change(|component| {
                    component.pid = Some(pid);
                    component.restarts += 1;
                    component.started = Some(now);
                });
                logs.talos(format_args!("static pod {} started (PID {pid})", self.name));
            }
            Report::Healthy => self.change(|component| component.ready = true),
            Report::Unhealthy(_) => self.change(|component| component.ready = false),
            Report::Ended(status) => {
                logs.talos(format_args!("static pod {} ended: {status}", self.name));
                self.change(|component| (component.pid, component.ready) = (None, false));
            }
            Report::Failed(error) => {
                logs.talos(format_args!("static pod {} cannot start: {error}", self.name));
                self.change(|component| (component.pid, component.ready) = (None, false));
            }
            Report::Stopped => self.change(|component| (component.pid, component.ready) = (None, false)),
        }
    }

    fn lifetime(&self) -> Option<Duration> {
        let seconds = self.node.faults().api_server_flaps_seconds;
        (self.name == API_SERVER && seconds > 0).then(|| Duration::from_secs(seconds))
    }
}
