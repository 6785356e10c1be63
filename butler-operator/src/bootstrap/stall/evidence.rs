//! Asks everybody who may know why a run does not move on, all at once and none for long.

use std::{sync::Arc, time::Duration};

use butler_core::{
    api::{
        ClusterBootstrap, MachineRequest,
        cluster_bootstrap::{
            BootstrapMachine, ClusterBootstrapPhase as Phase, ClusterBootstrapStatus as Status,
        },
        common::MachineRole,
        conditions::status::FALSE,
        names::{labels, namespaces},
    },
    error::{Code, Diagnose},
    redact::Secret,
    settings::home::write_private,
};
use futures::{StreamExt, future::join_all};
use jiff::Timestamp;
use k8s_openapi::api::core::v1;
use kube::{Api, Client, ResourceExt, api::ListParams};

use super::diagnose::{ClusterSeen, Evidence, Files, MachineSeen, Node, Said};
use crate::{
    controller::{self, chain, code_of},
    driver::{Driver, ErrorClass, MachineKey, Ownership},
    talos::{
        TalosError, client,
        proto::machine::ServiceInfo,
        secrets::SecretsBundle,
        talosconfig::{Context, Talosconfig},
    },
};

/// How long anybody may take to answer.
const LIMIT: Duration = Duration::from_secs(3);
/// Lines of a console that are shown.
const LINES: usize = 3;
/// Pods and kernel messages that are shown.
const MOST: usize = 3;

/// Whom to ask.
pub(in super::super) struct Witnesses {
    /// The temporary control plane.
    pub(in super::super) client: Client,
    /// The provider; none where machines are not ours.
    pub(in super::super) driver: Option<Arc<dyn Driver>>,
    /// The Talos secrets of the cluster.
    pub(in super::super) talos: Secret,
    /// Whose the machines are.
    pub(in super::super) owner: String,
    pub(in super::super) files: Files,
}

impl std::fmt::Debug for Witnesses {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Witnesses").field("owner", &self.owner).finish_non_exhaustive()
    }
}

impl Witnesses {
    /// Asks all of them.
    pub(in super::super) async fn ask(&self, bootstrap: &ClusterBootstrap, seconds: u64) -> Evidence {
        let status = bootstrap.status.clone().unwrap_or_default();
        let phase = status.phase.clone().unwrap_or(Phase::Pending);
        let requests = self.requests(bootstrap).await;
        let access = self.access(bootstrap, &status);
        let machines = requests.iter().map(|request| self.machine(request, &status, access.as_ref(), &phase));
        let begun = matches!(phase, Phase::BootstrappingCluster | Phase::InstallingAddons | Phase::Pivoting);
        let cluster = async {
            match begun {
                true => self.cluster(bootstrap, &requests).await,
                false => None,
            }
        };
        let (machines, cluster) = tokio::join!(join_all(machines), cluster);
        let said = said(&status);
        Evidence { phase, seconds, said, machines, cluster, files: self.files.clone() }
    }

    async fn requests(&self, bootstrap: &ClusterBootstrap) -> Vec<MachineRequest> {
        let api: Api<MachineRequest> = Api::namespaced(self.client.clone(), namespaces::SYSTEM);
        let ours = format!("{}={}", labels::CLUSTER_BOOTSTRAP, bootstrap.name_any());
        let params = ListParams::default().labels(&ours);
        let listed = tokio::time::timeout(LIMIT, api.list(&params)).await;
        listed.ok().and_then(Result::ok).map(|list| list.items).unwrap_or_default()
    }

    /// The way to the nodes; also written to a file, for the person who is told of it.
    fn access(&self, bootstrap: &ClusterBootstrap, status: &Status) -> Option<Context> {
        let bundle = SecretsBundle::from_yaml(&self.talos).ok()?;
        let of_control_planes = status.machines.iter().filter(|one| one.role == MachineRole::ControlPlane);
        let endpoints = of_control_planes.filter_map(|machine| machine.ip_address.clone()).collect();
        let config =
            Talosconfig::admin(&bootstrap.spec.cluster.name, &bundle, endpoints, Timestamp::now()).ok()?;
        if let Ok(text) = config.to_yaml() {
            // Without the file a command is told that cannot be used; that is all.
            let _ = write_private(&self.files.talosconfig, text.expose().as_bytes());
        }
        config.current().ok().cloned()
    }

    async fn machine(
        &self,
        request: &MachineRequest,
        status: &Status,
        access: Option<&Context>,
        phase: &Phase,
    ) -> MachineSeen {
        let name = request.spec.machine_name.clone();
        let known = status.machines.iter().find(|machine| machine.name == name);
        let told = request.status.clone().unwrap_or_default();
        let key = MachineKey {
            name: name.clone(),
            ownership: Ownership::new(
                &self.owner,
                &request.namespace().unwrap_or_default(),
                &request.name_any(),
            ),
            id: None,
        };
        let address = known.and_then(|known: &BootstrapMachine| known.ip_address.clone()).or(told.ip_address);
        let looks_at_node = !matches!(phase, Phase::Pending | Phase::ProvisioningMachines);
        let node = async {
            match (access, &address) {
                (Some(access), Some(address)) if looks_at_node => node(address, access).await,
                _ => Node::NotAsked,
            }
        };
        let (provider, console, node) = tokio::join!(self.at_provider(&key), self.console(&key), node);
        let not_ready = told.conditions.iter().find(|one| one.type_ == "Ready" && one.status == FALSE);
        MachineSeen {
            control_plane: request.spec.role == MachineRole::ControlPlane,
            configured: known.is_some_and(|known| known.talos_configured == Some(true)),
            request: not_ready.map(|one| Said { code: code_of(&one.reason), text: one.message.clone() }),
            name,
            address,
            provider,
            console,
            node,
        }
    }

    async fn at_provider(&self, key: &MachineKey) -> Result<Option<crate::driver::MachineState>, Said> {
        let Some(driver) = &self.driver else { return Ok(None) };
        match tokio::time::timeout(LIMIT, driver.get(key)).await {
            Ok(Ok(machine)) => Ok(Some(machine.state)),
            Ok(Err(error)) if error.class() == ErrorClass::NotFound => Ok(None),
            Ok(Err(error)) => Err(Said { code: Some(error.code()), text: chain(&error) }),
            Err(_) => Err(Said {
                code: Some(Code::ProviderTimeout),
                text: format!("the provider gives no answer within {} s", LIMIT.as_secs()),
            }),
        }
    }

    async fn console(&self, key: &MachineKey) -> Vec<String> {
        let Some(console) = self.driver.as_deref().and_then(Driver::console) else { return Vec::new() };
        let text = tokio::time::timeout(LIMIT, console.log(key, Some(LINES))).await;
        let text = text.ok().and_then(Result::ok).unwrap_or_default();
        text.lines().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect()
    }

    async fn cluster(
        &self,
        bootstrap: &ClusterBootstrap,
        requests: &[MachineRequest],
    ) -> Option<ClusterSeen> {
        let kubeconfig = controller::kubeconfig(&self.client, bootstrap).await.ok()?;
        let client = controller::client_of(&kubeconfig).await?;
        let ready = async {
            let request = http::Request::get("/readyz").body(Vec::new()).unwrap_or_default();
            client.request_text(request).await.map(drop)
        };
        let api = match tokio::time::timeout(LIMIT, ready).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(chain(&error)),
            Err(_) => Err(format!("the API server gives no answer within {} s", LIMIT.as_secs())),
        };
        if api.is_err() {
            return Some(ClusterSeen { api, not_ready: Vec::new(), pods: Vec::new(), pending: None });
        }
        let (nodes, pods): (Api<v1::Node>, Api<v1::Pod>) =
            (Api::all(client.clone()), Api::all(client.clone()));
        let params = ListParams::default();
        let look = async { tokio::join!(nodes.list(&params), pods.list(&params), pending(&client)) };
        let Ok((nodes, pods, pending)) = tokio::time::timeout(LIMIT, look).await else { return None };
        let ready: Vec<String> =
            nodes.into_iter().flatten().filter(is_ready).map(|node| node.name_any()).collect();
        let missing = requests.iter().map(|request| request.spec.machine_name.clone());
        let not_ready = missing.filter(|name| !ready.contains(name)).collect();
        let pods = pods.into_iter().flatten().filter_map(|pod| trouble(&pod)).take(MOST).collect();
        Some(ClusterSeen { api, not_ready, pods, pending })
    }
}

/// The release that helm is at work on, and for how many seconds. helm keeps a Secret for each revision, whose
/// labels are all that is read.
async fn pending(client: &Client) -> Option<(String, u64)> {
    let api: Api<v1::Secret> = Api::all(client.clone());
    let wanted = "owner=helm,status in (pending-install,pending-upgrade,pending-rollback)";
    let found = api.list_metadata(&ListParams::default().labels(wanted)).await.ok()?;
    let age = |since: Timestamp| Timestamp::now().duration_since(since).as_secs().unsigned_abs();
    let ages = found.items.into_iter().filter_map(|secret| {
        let name = secret.labels().get("name")?.clone();
        Some((name, age(secret.creation_timestamp()?.0)))
    });
    ages.max_by_key(|(_, age)| *age)
}

/// What the ClusterBootstrap waits for: the condition that was added last is that of the work that goes on.
fn said(status: &Status) -> Option<Said> {
    let open: Vec<_> = status.conditions.iter().filter(|one| one.status == FALSE).collect();
    let addon = open.iter().rev().find(|one| one.type_.starts_with("Addon-") && !one.message.is_empty());
    let addon =
        addon.filter(|one| !status.addons_installed.contains_key(one.type_.trim_start_matches("Addon-")));
    let found = addon.or_else(|| open.iter().rev().find(|one| !one.message.is_empty()))?;
    Some(Said { code: Code::of_word(&found.reason), text: found.message.clone() })
}

async fn node(address: &str, access: &Context) -> Node {
    let ask = async {
        let node = client::Client::connect(address, access).await?;
        Ok::<_, TalosError>((node.services().await?, node))
    };
    let (services, node) = match tokio::time::timeout(LIMIT, ask).await {
        Err(_) => return Node::Silent(format!("no answer within {} s", LIMIT.as_secs())),
        Ok(Err(error)) => {
            return match error.code() {
                Code::NodeCertificate | Code::NodeDenied => Node::Maintenance,
                _ => Node::Silent(chain(&error)),
            };
        }
        Ok(Ok(answer)) => answer,
    };
    let unwell = |id: &str| services.iter().find(|service| service.id == id).and_then(unwell);
    let voting = async {
        let members = tokio::time::timeout(LIMIT, node.etcd_members()).await.ok()?.ok()?;
        Some(members.iter().filter(|member| !member.is_learner).count())
    };
    let (voting, api_server) = tokio::join!(voting, kernel(&node, "kube-apiserver"));
    Node::Answers { etcd: unwell("etcd"), kubelet: unwell("kubelet"), voting, api_server }
}

/// What is wrong with a service, in words.
fn unwell(service: &ServiceInfo) -> Option<String> {
    let health = service.health.as_ref();
    if service.state == "Running" && health.is_none_or(|health| health.unknown || health.healthy) {
        return None;
    }
    let known = health.filter(|health| !health.unknown && !health.last_message.is_empty());
    let said = known.map(|health| health.last_message.clone());
    let event =
        service.events.as_ref().and_then(|events| events.events.last()).map(|event| event.msg.clone());
    let words = said.or(event).unwrap_or_default();
    Some(format!("{}: {words}", service.state))
}

/// The last kernel messages about something.
async fn kernel(node: &client::Client, about: &str) -> Vec<String> {
    let read = async {
        let mut all = Vec::new();
        let mut messages = std::pin::pin!(node.dmesg(false).await.ok()?);
        while let Some(Ok(message)) = messages.next().await {
            all.extend(message);
            all.push(b'\n');
        }
        Some(String::from_utf8_lossy(&all).into_owned())
    };
    let text = tokio::time::timeout(LIMIT, read).await.ok().flatten().unwrap_or_default();
    let mut lines: Vec<String> =
        text.lines().filter(|line| line.contains(about)).map(|line| line.trim().to_owned()).collect();
    lines.split_off(lines.len().saturating_sub(MOST))
}

fn is_ready(node: &v1::Node) -> bool {
    let mut conditions = node.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions.any(|one| one.type_ == "Ready" && one.status == "True")
}

/// Why a Pod does not run, in words; none when it does, or is done.
fn trouble(pod: &v1::Pod) -> Option<String> {
    let status = pod.status.as_ref()?;
    let name = format!("Pod `{}` in namespace `{}`", pod.name_any(), pod.namespace().unwrap_or_default());
    if matches!(status.phase.as_deref(), Some("Succeeded")) {
        return None;
    }
    let containers = status.init_container_statuses.iter().chain(&status.container_statuses).flatten();
    for container in containers {
        let state = container.state.as_ref();
        if let Some(waiting) = state.and_then(|state| state.waiting.as_ref()) {
            let reason = waiting.reason.as_deref().unwrap_or("waiting");
            let words = waiting.message.as_deref().unwrap_or_default();
            return Some(format!("{name}: {reason} {words}"));
        }
        if let Some(ended) =
            state.and_then(|state| state.terminated.as_ref()).filter(|end| end.exit_code != 0)
        {
            return Some(format!("{name}: container `{}` ended with {}", container.name, ended.exit_code));
        }
    }
    let mut conditions = status.conditions.iter().flatten().filter(|one| one.status == "False");
    let why = conditions.next()?;
    let reason = why.reason.as_deref().unwrap_or(&why.type_);
    Some(format!("{name}: {reason} {}", why.message.as_deref().unwrap_or_default()))
}
