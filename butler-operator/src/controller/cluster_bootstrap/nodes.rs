//! The machines of a bootstrap as Talos nodes: configured, begun, and the way into what they make.

use std::{net::IpAddr, path::Path, sync::Arc, time::Duration};

use butler_core::{
    api::{
        ClusterBootstrap,
        cluster_bootstrap::{BootstrapMachine, ConfigPatch, PatchOp},
        common::{MachineRole, ProviderKind},
        names::{annotations, labels, managers},
    },
    bootstrap::{addons::NodeMachine, run::steps},
    cluster::ApiError,
    error::{Code, Diagnose},
    redact::Secret,
    settings::home::{make_private_dir, write_private},
};
use futures::future::join_all;
use jiff::Timestamp;
use k8s_openapi::api::core::v1;
use kube::{
    Api, Client, Config, Resource, ResourceExt,
    api::{Patch as ApiPatch, PatchParams},
    config::Kubeconfig,
};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::{Trouble, Workbench, machines::host, recover, trouble, wanted};
use crate::{
    addons::Target,
    controller::backoff::pause,
    ledger::Ledger,
    talos::{
        TalosError, client,
        config::{ConfigOptions, MachineType, Provider, Topology, Vip},
        patches::{Operation, Patch},
        proto::machine::apply_configuration_request::Mode,
        secrets::SecretsBundle,
        talosconfig::{Context, Talosconfig},
    },
};

/// Kubernetes, where nothing else is asked for.
const KUBERNETES: &str = "1.34.4";
/// How long one turn waits for a node or an API server; the next turn goes on waiting, with what the
/// provider says by then.
const TURN: Duration = Duration::from_secs(20);
/// How long a node that may be in maintenance mode is asked under the cluster's authority.
const GLANCE: Duration = Duration::from_secs(2);

/// Name of the Secret with the Talos secrets.
pub(super) fn talos_secret(bootstrap: &ClusterBootstrap) -> String {
    format!("{}-talos-configs", bootstrap.name_any())
}

/// The addon that holds the shared address once there is a cluster to hold it. Until then Talos does, so that
/// machines can join before any addon is there.
pub(super) const HOLDER: &str = "kube-vip";

fn kubeconfig_secret(bootstrap: &ClusterBootstrap) -> String {
    format!("{}-kubeconfig", bootstrap.name_any())
}

/// The nodes of a bootstrap.
#[derive(Debug)]
pub(super) struct Cluster {
    bundle: SecretsBundle,
    access: Context,
    options: ConfigOptions,
    machines: Vec<BootstrapMachine>,
}

impl Cluster {
    /// Reads the Talos secrets of a bootstrap; they are made where there are none.
    pub(super) async fn of(
        client: &Client,
        bootstrap: &ClusterBootstrap,
        bench: &Workbench,
    ) -> Result<Self, Trouble> {
        let bundle = bundle(client, bootstrap).await?;
        let status = bootstrap.status.clone().unwrap_or_default();
        let document = |error| trouble(&error);
        let options = options(bootstrap, &host(&status), &status.machines, bench.brings_network())?;
        let endpoints = addresses(&status.machines, MachineRole::ControlPlane);
        let name = &bootstrap.spec.cluster.name;
        let config = Talosconfig::admin(name, &bundle, endpoints, Timestamp::now()).map_err(document)?;
        let access = config.current().map_err(document)?.clone();
        Ok(Self { bundle, access, options, machines: status.machines })
    }

    /// Gives machines their configuration, all at once, and waits until they have taken it.
    pub(super) async fn configure(
        &self,
        names: &[String],
        ledger: &Ledger,
    ) -> Vec<(String, Result<(), Trouble>)> {
        let one = |name: String| async move {
            let result = self.configure_one(&name, ledger).await;
            (name, result)
        };
        join_all(names.iter().cloned().map(one)).await
    }

    async fn configure_one(&self, name: &str, ledger: &Ledger) -> Result<(), Trouble> {
        let machine = self.machine(name)?;
        let address = machine.ip_address.as_deref().unwrap_or_default();
        if self.answers(address).await {
            return Ok(());
        }
        let role = match machine.role {
            MachineRole::ControlPlane => MachineType::ControlPlane,
            _ => MachineType::Worker,
        };
        let config =
            self.options.generate(&self.bundle, role, Some(name)).map_err(|error| trouble(&error))?;
        let key = until(TURN, || client::observe(address)).await.map_err(|error| trouble(&error))?;
        let intent = json!({ "address": address, "key": key.to_string() });
        let work = async {
            let node = client::Client::maintenance(address, &key).await.map_err(|error| trouble(&error))?;
            node.apply(&config, Mode::Auto, false).await.map_err(|error| trouble(&error))?;
            let taken = || async {
                let node = client::Client::connect(address, &self.access).await?;
                node.version().await
            };
            until(TURN, taken).await.map(drop).map_err(|error| trouble(&error))
        };
        ledger.effect(&steps::configure(name), intent, work, |()| json!({ "address": address })).await
    }

    /// True when a node has its configuration.
    async fn answers(&self, address: &str) -> bool {
        let ask = async {
            let node = client::Client::connect(address, &self.access).await?;
            node.version().await
        };
        matches!(tokio::time::timeout(GLANCE, ask).await, Ok(Ok(_)))
    }

    /// Lets go of the address that control planes share: from now on the addon holds it, and of two that hold
    /// it on different machines each would say that it is there.
    pub(super) async fn let_go(&self) -> Result<(), Trouble> {
        let options = without_address(&self.options);
        let control_planes = self.machines.iter().filter(|machine| machine.role == MachineRole::ControlPlane);
        let one = |machine: &BootstrapMachine| {
            let (name, address) = (machine.name.clone(), machine.ip_address.clone().unwrap_or_default());
            let config = options.generate(&self.bundle, MachineType::ControlPlane, Some(&name));
            async move {
                let config = config.map_err(|error| trouble(&error))?;
                let apply = || async {
                    let node = client::Client::connect(&address, &self.access).await?;
                    node.apply(&config, Mode::NoReboot, false).await
                };
                until(TURN, apply).await.map_err(|error| trouble(&error))
            }
        };
        join_all(control_planes.map(one)).await.into_iter().try_for_each(|result| result.map(drop))
    }

    /// Begins etcd on the first control plane, empty or from a snapshot, and waits until the API server is
    /// ready. All of it may have happened before.
    pub(super) async fn begin(
        &self,
        first: &str,
        snapshot: Option<&Path>,
        ledger: &Ledger,
    ) -> Result<Secret, Trouble> {
        let address = self.machine(first)?.ip_address.as_deref().unwrap_or_default();
        let connect = || client::Client::connect(address, &self.access);
        let work = async {
            let begin = || async {
                let node = connect().await?;
                match snapshot {
                    Some(snapshot) => recover::begin(&node, snapshot).await,
                    None => node.bootstrap().await,
                }
            };
            until(TURN, begin).await.map_err(|error| trouble(&error))
        };
        let intent = match snapshot {
            Some(_) => json!({ "machine": first, "recover": true }),
            None => json!({ "machine": first }),
        };
        ledger.effect(steps::BOOTSTRAP, intent, work, |()| json!({})).await?;
        let fetch = || async { connect().await?.kubeconfig().await };
        let kubeconfig = until(TURN, fetch).await.map_err(|error| trouble(&error))?;
        let target = connect_to(&kubeconfig).await?;
        ready(&target).await?;
        Ok(kubeconfig)
    }

    /// Keeps the way into the new cluster beside the bootstrap.
    pub(super) async fn keep_kubeconfig(
        &self,
        client: &Client,
        bootstrap: &ClusterBootstrap,
        kubeconfig: &Secret,
    ) -> Result<(), Trouble> {
        let data = json!({ "kubeconfig": kubeconfig.expose() });
        write_secret(client, bootstrap, &kubeconfig_secret(bootstrap), data).await
    }

    /// The members of etcd, as the first control plane knows them, and how many there should be.
    pub(super) async fn etcd_members(&self) -> Result<(usize, usize), TalosError> {
        let control_planes = addresses(&self.machines, MachineRole::ControlPlane);
        let first = control_planes.first().map(String::as_str).unwrap_or_default();
        let members = client::Client::connect(first, &self.access).await?.etcd_members().await?;
        let voting = members.iter().filter(|member| !member.is_learner).count();
        Ok((voting, control_planes.len()))
    }

    fn machine(&self, name: &str) -> Result<&BootstrapMachine, Trouble> {
        let machine = self.machines.iter().find(|machine| machine.name == name);
        machine.ok_or_else(|| Trouble {
            passes: false,
            code: Code::BootstrapFailed,
            text: format!("there is no machine `{name}`"),
        })
    }
}

/// Asks until the answer is there, an error does not pass, or the time is over.
async fn until<T, E: Diagnose, F: Future<Output = Result<T, E>>>(
    limit: Duration,
    mut ask: impl FnMut() -> F,
) -> Result<T, E> {
    let begun = Instant::now();
    loop {
        match ask().await {
            Err(error) if may_pass(&error) && begun.elapsed() < limit => {}
            result => return result,
        }
        sleep(pause(begun.elapsed())).await;
    }
}

/// A node between two lives refuses, resets, shows another certificate or none.
fn may_pass(error: &impl Diagnose) -> bool {
    error.kind().is_retryable()
        || matches!(error.code(), Code::NodeCertificate | Code::NodeDenied | Code::NodeNotReady)
}

fn addresses(machines: &[BootstrapMachine], role: MachineRole) -> Vec<String> {
    let of_role = machines.iter().filter(|machine| machine.role == role);
    of_role.filter_map(|machine| machine.ip_address.clone()).collect()
}

async fn bundle(client: &Client, bootstrap: &ClusterBootstrap) -> Result<SecretsBundle, Trouble> {
    const KEY: &str = "secrets.yaml";
    let name = talos_secret(bootstrap);
    let text = match read_secret(client, bootstrap, &name, KEY).await {
        Ok(text) => return SecretsBundle::from_yaml(&text).map_err(|error| trouble(&error)),
        Err(error) if !error.is_not_found() => return Err(trouble(&error)),
        Err(_) => SecretsBundle::generate(Timestamp::now()).and_then(|bundle| bundle.to_yaml()),
    };
    let text = text.map_err(|error| trouble(&error))?;
    write_secret(client, bootstrap, &name, json!({ KEY: text.expose() })).await?;
    SecretsBundle::from_yaml(&text).map_err(|error| trouble(&error))
}

/// The kubeconfig of the new cluster, as the controller keeps it beside the bootstrap.
pub async fn kubeconfig(client: &Client, bootstrap: &ClusterBootstrap) -> Result<Secret, ApiError> {
    read_secret(client, bootstrap, &kubeconfig_secret(bootstrap), "kubeconfig").await
}

async fn read_secret(
    client: &Client,
    bootstrap: &ClusterBootstrap,
    name: &str,
    key: &str,
) -> Result<Secret, ApiError> {
    let secrets: Api<v1::Secret> =
        Api::namespaced(client.clone(), &bootstrap.namespace().unwrap_or_default());
    let action = || format!("get Secret `{name}`");
    let mut secret = secrets.get(name).await.map_err(|error| ApiError::new(action(), error))?;
    let bytes = secret.data.as_mut().and_then(|data| data.remove(key)).unwrap_or_default();
    Ok(String::from_utf8_lossy(&bytes.0).into_owned().into())
}

async fn write_secret(
    client: &Client,
    bootstrap: &ClusterBootstrap,
    name: &str,
    data: Value,
) -> Result<(), Trouble> {
    let namespace = bootstrap.namespace().unwrap_or_default();
    let secrets: Api<v1::Secret> = Api::namespaced(client.clone(), &namespace);
    let object = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "Opaque",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": { labels::CLUSTER_BOOTSTRAP: bootstrap.name_any() },
            "ownerReferences": bootstrap.controller_owner_ref(&()).map(|owner| vec![owner]),
        },
        "stringData": data,
    });
    let params = PatchParams::apply(managers::CLUSTER_BOOTSTRAP).force();
    let written = secrets.patch(name, &params, &ApiPatch::Apply(object)).await;
    written.map(drop).map_err(|error| trouble(&ApiError::new(format!("write Secret `{name}`"), error)))
}

/// A client of the new cluster, and its kubeconfig as a file for programs.
pub(super) async fn target(
    bench: &Workbench,
    kubeconfig: Secret,
    machines: Arc<[NodeMachine]>,
) -> Result<Target, Trouble> {
    let path = bench.work.join("kubeconfig");
    make_private_dir(&bench.work).map_err(|error| trouble(&error))?;
    write_private(&path, kubeconfig.expose().as_bytes()).map_err(|error| trouble(&error))?;
    let client = connect_to(&kubeconfig).await?;
    Ok(Target { client, kubeconfig: path, credentials: Arc::clone(&bench.credentials), machines })
}

pub(super) async fn connect_to(kubeconfig: &Secret) -> Result<Client, Trouble> {
    // What a parser says of a text may quote it.
    let unusable = || Trouble {
        passes: false,
        code: Code::KubeconfigMalformed,
        text: "the kubeconfig of the new cluster is not usable".into(),
    };
    let kubeconfig = Kubeconfig::from_yaml(kubeconfig.expose()).map_err(|_| unusable())?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &Default::default()).await;
    let mut config = config.map_err(|_| unusable())?;
    config.connect_timeout = Some(Duration::from_secs(5));
    // Whoever asks decides whether to ask again.
    config.default_retry = false;
    Client::try_from(config).map_err(|error| trouble(&ApiError::new("make a client", error)))
}

async fn ready(client: &Client) -> Result<(), Trouble> {
    let ask = || async {
        let request = http::Request::get("/readyz").body(Vec::new()).unwrap_or_default();
        client
            .request_text(request)
            .await
            .map(drop)
            .map_err(|error| ApiError::new("ask the new API server whether it is ready", error))
    };
    let begun = Instant::now();
    loop {
        // Before it is ready it refuses everybody it does not know yet.
        match ask().await {
            Ok(()) => return Ok(()),
            Err(error) if begun.elapsed() >= TURN => {
                return Err(Trouble { passes: true, ..trouble(&error) });
            }
            Err(_) => {}
        }
        sleep(pause(begun.elapsed())).await;
    }
}

/// The choices that the configurations of a cluster are made of.
pub(super) fn options(
    bootstrap: &ClusterBootstrap,
    endpoint: &str,
    machines: &[BootstrapMachine],
    brings_network: bool,
) -> Result<ConfigOptions, Trouble> {
    let wrong = |text: String| Trouble { passes: false, code: Code::MachineConfigInvalid, text };
    let spec = &bootstrap.spec;
    let provider = match spec.provider {
        ProviderKind::Harvester => Provider::Harvester,
        ProviderKind::Nutanix => Provider::Nutanix,
        ProviderKind::Proxmox => Provider::Proxmox,
        ProviderKind::Aws => Provider::Aws,
        ProviderKind::Azure => Provider::Azure,
        ProviderKind::Gcp => Provider::Gcp,
        ProviderKind::Sandbox => Provider::Sandbox,
        ref other => return Err(wrong(format!("machines of provider `{other}` do not run Talos"))),
    };
    let kubernetes = bootstrap.annotations().get(annotations::KUBERNETES_VERSION);
    let kubernetes = kubernetes.map_or(KUBERNETES, |version| version.trim_start_matches('v'));
    let vip = wanted::vip(bootstrap).filter(|_| !wanted::is_cloud(bootstrap));
    let workers = machines.iter().filter(|machine| machine.role == MachineRole::Worker).count();
    let mut mtu = None;
    let mut patches = Vec::new();
    for patch in &spec.talos.config_patches {
        match mtu_of(patch) {
            Some(found) => mtu = Some(found),
            None => patches.push(patch_of(patch).map_err(wrong)?),
        }
    }
    Ok(ConfigOptions {
        cluster: spec.cluster.name.clone(),
        provider,
        topology: if wanted::is_single(bootstrap) { Topology::SingleNode } else { Topology::Ha },
        workers: u32::try_from(workers).unwrap_or_default(),
        talos: spec.talos.version.parse().map_err(|error| trouble(&error))?,
        kubernetes: kubernetes
            .parse()
            .map_err(|_| wrong(format!("`{kubernetes}` is not a version of Kubernetes")))?,
        endpoint: endpoint.to_owned(),
        control_planes: addresses(machines, MachineRole::ControlPlane)
            .iter()
            .filter_map(|address| address.parse::<IpAddr>().ok())
            .collect(),
        vip: vip
            .and_then(|vip| vip.parse().ok())
            .map(|address| Vip { address, interface: interface(bootstrap) }),
        install_disk: spec.talos.install_disk.clone().unwrap_or_else(|| "/dev/vda".to_owned()),
        schematic: Some(spec.talos.schematic.clone()).filter(|schematic| !schematic.is_empty()),
        pod_cidr: spec.network.pod_cidr.clone(),
        service_cidr: spec.network.service_cidr.clone(),
        talos_network: !brings_network && spec.provider == ProviderKind::Sandbox,
        mtu,
        time_servers: Vec::new(),
        mirrors: Default::default(),
        patches,
    })
}

/// The same, but for the shared address: somebody else holds it.
pub(super) fn without_address(options: &ConfigOptions) -> ConfigOptions {
    ConfigOptions { vip: None, ..options.clone() }
}

/// The network card that carries the shared address.
fn interface(bootstrap: &ClusterBootstrap) -> String {
    let usual = match bootstrap.spec.provider {
        ProviderKind::Nutanix => "ens3",
        ProviderKind::Harvester => "enp1s0",
        _ => "eth0",
    };
    let named = bootstrap.spec.network.vip_interface.clone().filter(|name| !name.is_empty());
    named.unwrap_or_else(|| usual.to_owned())
}

/// The patch that only sets the largest packet of every card. It would replace what else is said of
/// cards, such as a shared address, so it is taken up where cards are written.
fn mtu_of(patch: &ConfigPatch) -> Option<u16> {
    if patch.op != PatchOp::Add || patch.path != "/machine/network/interfaces" {
        return None;
    }
    let value: Value = serde_json::from_str(patch.value.as_deref()?).ok()?;
    let [only] = value.as_array()?.as_slice() else { return None };
    let known = ["deviceSelector", "dhcp", "mtu"];
    let plain = only.as_object()?.keys().all(|key| known.contains(&key.as_str()))
        && only["deviceSelector"] == json!({ "physical": true });
    only["mtu"].as_u64().filter(|_| plain).and_then(|mtu| u16::try_from(mtu).ok())
}

fn patch_of(patch: &ConfigPatch) -> Result<Patch, String> {
    let op = match patch.op {
        PatchOp::Add => Operation::Add,
        PatchOp::Remove => Operation::Remove,
        PatchOp::Replace => Operation::Replace,
        ref other => return Err(format!("`{other}` is not an operation of a patch")),
    };
    let value = patch.value.clone().unwrap_or_default().into();
    Ok(Patch { op, path: patch.path.clone(), value })
}
