//! A boot: from power on to services, with or without a configuration.

use std::{sync::Arc, time::Duration};

use butler_core::pki::{CertificateInfo, Issued};
use jiff::SignedDuration;
use tokio::sync::{mpsc, watch};
use tonic::body::Body;
use tower::ServiceExt;

use super::{
    NodeError, api, balance,
    config::{Config, Given, full},
    context::{After, Node},
    discovery, etcd, kubelet, kubernetes, listen,
    proxy::{Apid, Forwarder},
    services::State,
    status::Stage,
    tls, trustd,
};
use crate::{sandbox::machine::AgentMessage, talos::proto::machine::sequence_event::Action};

/// How long a host waits to hear of a node that boots and cannot serve yet.
const PATIENCE: Duration = Duration::from_secs(2);
const RENEW: Duration = Duration::from_secs(12 * 3600);

/// Boots, lives and ends; says what follows.
pub(super) async fn run(node: &Arc<Node>) -> Result<After, NodeError> {
    let logs = &node.machine.logs;
    logs.kernel(format_args!("Linux version {} (talos {})", super::KERNEL, node.version));
    logs.kernel(format_args!("DMI: Butler Sandbox/{}, BIOS 1.0", node.machine.file.id));
    logs.kernel(format_args!(
        "Memory: {}K available, {} CPUs",
        u64::from(node.machine.file.memory_mb) * 1024,
        node.machine.file.cpu
    ));
    power_on(node).await;
    if let Err(error) = node.machine.disk.prepare() {
        logs.talos(format_args!("cannot prepare the disk: {}", full(&error)));
    }
    node.events.sequence("initialize", Action::Start, "");
    node.events.sequence("initialize", Action::Stop, "");
    let config = match first_config(node) {
        Some(config) => config,
        None => match maintenance(node).await? {
            Some(config) => config,
            None => return Ok(node.ended().await),
        },
    };
    if node.faults().dies_after_config && !node.machine.dir.disk().join("state/booted").exists() {
        logs.talos("power off: that fault is set");
        return Ok(After::Off);
    }
    configured(node, config);
    Ok(node.ended().await)
}

/// The faults that come before anything else.
async fn power_on(node: &Node) {
    let mut waited = false;
    while node.faults().never_boots {
        if !waited {
            node.machine.logs.kernel("watchdog: the machine hangs");
            waited = true;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    let slow = node.faults().slow_boot();
    if !slow.is_zero() {
        node.machine.logs.kernel(format_args!("the disk is slow: {} s", slow.as_secs()));
        tokio::time::sleep(slow).await;
    }
}

/// The configuration on disk, or the one that came with the machine.
fn first_config(node: &Node) -> Option<Config> {
    let logs = &node.machine.logs;
    let read = |bytes: &[u8], place: &str| match Config::read(bytes) {
        Ok(Given::Complete(config)) => Some(*config),
        Ok(Given::Partial) => None,
        Err(error) => {
            logs.talos(format_args!("configuration of {place} is not used: {error}"));
            None
        }
    };
    match node.machine.disk.config() {
        Ok(Some(text)) => {
            if let Some(config) = read(text.expose().as_bytes(), "STATE") {
                return Some(config);
            }
        }
        Ok(None) => {}
        Err(error) => logs.talos(format_args!("cannot read STATE: {}", full(&error))),
    }
    let user_data = fs_err::read(node.machine.dir.user_data()).ok()?;
    let config = read(&user_data, "user data")?;
    if let Some(words) = node.faults().refuses_config {
        logs.talos(format_args!("configuration of user data is refused: {words}"));
        return None;
    }
    if let Err(error) = node.machine.disk.write_config(&config.text) {
        logs.talos(format_args!("cannot write STATE: {}", full(&error)));
    }
    Some(config)
}

/// Waits for a configuration; `None` when the boot ends before one comes.
async fn maintenance(node: &Arc<Node>) -> Result<Option<Config>, NodeError> {
    node.enter(Stage::Maintenance, "");
    let (issued, print) = tls::throw_away(node).map_err(NodeError::Certificate)?;
    let config = tls::server(&issued.certificate, &issued.key, None, node.machine.clock.clone())
        .map_err(NodeError::Tls)?;
    let listener = bind(node).await?;
    let (give, mut given) = mpsc::channel(1);
    let routes = api::maintenance::routes(node.clone(), give);
    let (_keep, config) = watch::channel(config);
    let answer = move |_peer, request: http::Request<hyper::body::Incoming>| {
        let routes = routes.clone();
        async move {
            match routes.oneshot(request.map(Body::new)).await {
                Ok(answer) => answer,
                Err(never) => match never {},
            }
        }
    };
    node.machine.logs.talos(format_args!(
        "this machine is reachable at {}; server certificate fingerprint: {print}",
        node.machine.file.address
    ));
    booted(node);
    node.spawn(correct_address(node.clone()));
    node.spawn(refresh(node.clone()));
    let server = listen::serve(listener, config, answer);
    tokio::pin!(server);
    let config = tokio::select! {
        () = node.stop.cancelled() => return Ok(None),
        () = &mut server => None,
        config = given.recv() => config,
    };
    // Whoever applied it gets the answer before the port closes.
    let _ = tokio::time::timeout(Duration::from_millis(300), &mut server).await;
    Ok(config)
}

async fn bind(node: &Node) -> Result<tokio::net::TcpListener, NodeError> {
    let address = node.machine.file.talos();
    listen::bind(address).await.map_err(|source| NodeError::Listen { address, source })
}

/// Tells the host where the machine is.
fn booted(node: &Node) {
    let address = node.faults().wrong_address.unwrap_or(node.machine.file.address);
    node.machine.agent.send(&AgentMessage::Booted { address, boot_id: node.boot_id.clone() });
}

/// A machine that told a wrong address tells the right one as soon as that fault is gone.
async fn correct_address(node: Arc<Node>) {
    if node.faults().wrong_address.is_none() {
        return;
    }
    while node.faults().wrong_address.is_some() {
        tokio::select! {
            () = node.stop.cancelled() => return,
            () = tokio::time::sleep(Duration::from_millis(500)) => {}
        }
    }
    booted(&node);
}

/// Starts everything a configured node runs.
fn configured(node: &Arc<Node>, config: Config) {
    // Only marks that a configuration was lived with once.
    let _ = node.machine.disk.write(&node.machine.dir.disk().join("state/booted"), b"");
    let is_control_plane = config.is_control_plane();
    node.config.send_replace(Some(Arc::new(config)));
    node.events.sequence("boot", Action::Start, "");
    node.enter(Stage::Booting, "");
    for (phase, task) in [
        ("memorySizeCheck", "memorySizeCheck"),
        ("diskSizeCheck", "diskSizeCheck"),
        ("ephemeral", "mountEphemeralPartition"),
        ("udevSetup", "writeUdevRules"),
        ("userSetup", "writeUserFiles"),
    ] {
        node.events.phase(phase, task, "");
    }
    let services = &node.services;
    services.simulate("machined", "Service started as goroutine");
    for (id, pid) in [("containerd", 900), ("cri", 910), ("udevd", 920), ("dashboard", 930)] {
        services.simulate(id, &format!("Process Process([\"/bin/{id}\"]) started with PID {pid}"));
    }
    for id in ["auditd", "syslogd"] {
        services.simulate(id, "Service started as goroutine");
    }
    node.events.phase("startEverything", "startAllServices", "");
    // A first look now, so that others are known before the first call.
    node.spawn(discovery::run(node.clone()));
    node.spawn(refresh(node.clone()));
    node.spawn(apid(node.clone()));
    if is_control_plane {
        node.spawn(trustd::run(node.clone()));
        node.spawn(etcd::run(node.clone()));
        node.spawn(kubernetes::run(node.clone()));
        node.spawn(balance::carry_vip(node.clone()));
    }
    node.spawn(kubelet::run(node.clone()));
}

/// Keeps status and resources in step with what happens.
async fn refresh(node: Arc<Node>) {
    loop {
        node.refresh();
        tokio::select! {
            () = node.stop.cancelled() => return,
            () = node.changed.notified() => {}
        }
    }
}

/// The Talos API of a configured node.
async fn apid(node: Arc<Node>) {
    let id = "apid";
    node.services.set(id, State::Starting, "Starting service");
    node.services.set(id, State::Preparing, "Running pre state");
    let (tell, told) = tokio::sync::oneshot::channel::<()>();
    let waiting = node.clone();
    node.spawn(async move {
        // A worker whose control plane is away has an address all the same.
        let _ = tokio::time::timeout(PATIENCE, told).await;
        booted(&waiting);
    });
    let prepared = async {
        let config = node.current()?;
        let issued = tokio::select! {
            () = node.stop.cancelled() => return None,
            issued = certificate(&node, &config) => issued,
        };
        Some((server_config(&node, &config, &issued), config.is_control_plane()))
    };
    let Some((config, is_control_plane)) = prepared.await else { return };
    let config = match config {
        Ok(config) => config,
        Err(error) => return node.services.set(id, State::Failed, &error),
    };
    let listener = match bind(&node).await {
        Ok(listener) => listener,
        Err(error) => {
            node.services.set(id, State::Failed, &full(&error));
            return node.end(After::Off);
        }
    };
    node.services.simulate(id, "Started task apid (PID 1000) for container apid");
    let forwarder = is_control_plane.then(|| Forwarder::new(node.clone()));
    let routes = api::routes(node.clone(), forwarder.clone());
    let apid = Apid::new(node.clone(), routes, forwarder);
    let (renewed, config) = watch::channel(config);
    let _ = tell.send(());
    let answer = move |peer, request| apid.clone().handle(peer, request);
    tokio::select! {
        () = node.stop.cancelled() => {}
        () = listen::serve(listener, config, answer) => {}
        () = renew(&node, renewed) => {}
    }
}

/// Issues the certificate anew twice a day and whenever a change of the configuration asks for it.
async fn renew(node: &Arc<Node>, renewed: watch::Sender<Arc<rustls::ServerConfig>>) {
    let mut changes = node.config.subscribe();
    loop {
        tokio::select! {
            () = tokio::time::sleep(RENEW) => {}
            Ok(()) = changes.changed() => {}
        }
        let Some(config) = node.current() else { continue };
        let issued = certificate(node, &config).await;
        match server_config(node, &config, &issued) {
            Ok(config) => {
                renewed.send_replace(config);
            }
            Err(error) => node.services.health("apid", false, &error),
        }
    }
}

fn server_config(node: &Node, config: &Config, issued: &Issued) -> Result<Arc<rustls::ServerConfig>, String> {
    let callers = Some(config.machine.main.machine.ca.crt.as_str());
    tls::server(&issued.certificate, &issued.key, callers, node.machine.clock.clone())
        .map_err(|error| full(&error))
}

/// A control plane signs for itself; a worker keeps what it got as long as that is good.
async fn certificate(node: &Arc<Node>, config: &Config) -> Issued {
    let machine = &config.machine.main.machine;
    if config.is_control_plane() {
        loop {
            let issued = machine
                .ca
                .authority()
                .and_then(|authority| tls::own_server(node, &authority, &machine.cert_sans));
            match issued {
                Ok(issued) => return issued,
                Err(error) => node.services.set("apid", State::Failed, &full(&error)),
            }
            tokio::time::sleep(Duration::from_secs(5)).await;
        }
    }
    let dir = node.machine.disk.state();
    let (crt, key) = (dir.join("apid.crt"), dir.join("apid.key"));
    let kept = || {
        let certificate = fs_err::read_to_string(&crt).ok()?;
        let info = CertificateInfo::from_pem(&certificate).ok()?;
        let authority = CertificateInfo::from_pem(&machine.ca.crt).ok()?;
        let names = tls::own_names(node, &machine.cert_sans);
        let soon = node.machine.clock.now() + SignedDuration::from_hours(13);
        let good = info.signed_by(&authority)
            && info.not_after > soon
            && names.iter().all(|name| info.names.contains(name));
        let key = fs_err::read_to_string(&key).ok()?;
        good.then(|| Issued { certificate, key: key.into() })
    };
    if let Some(kept) = kept() {
        return kept;
    }
    let issued = trustd::obtain(node, config).await;
    let disk = &node.machine.disk;
    // Without it the next boot asks again.
    let _ = disk.write(&key, issued.key.expose().as_bytes());
    let _ = disk.write(&crt, issued.certificate.as_bytes());
    issued
}
