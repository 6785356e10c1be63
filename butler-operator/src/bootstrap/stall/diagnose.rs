//! From what was seen to what is the matter: the first thing in the order of the work that is not as it
//! should be. Pure.

use std::path::PathBuf;

use butler_core::{
    api::cluster_bootstrap::ClusterBootstrapPhase as Phase,
    error::{Code, Diagnose},
    event::Stall,
};

use crate::driver::{DriverError, MachineState};

/// A release that helm has waited for so many seconds is not just being installed.
const HANGS: u64 = 8;

/// All that was seen.
#[derive(Clone, Debug)]
pub(in super::super) struct Evidence {
    pub(super) phase: Phase,
    /// For how many seconds nothing has moved.
    pub(super) seconds: u64,
    /// What the ClusterBootstrap says it waits for.
    pub(super) said: Option<Said>,
    pub(super) machines: Vec<MachineSeen>,
    /// The new cluster, once there is a way into it.
    pub(super) cluster: Option<ClusterSeen>,
    pub(super) files: Files,
}

/// Somebody's words, with the code that stands for them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) code: Option<Code>,
    pub(super) text: String,
}

/// A machine, as everybody sees it.
#[derive(Clone, Debug)]
pub(super) struct MachineSeen {
    pub(super) name: String,
    pub(super) control_plane: bool,
    pub(super) address: Option<String>,
    /// True when it took its configuration.
    pub(super) configured: bool,
    /// What its request says of the provider.
    pub(super) request: Option<Said>,
    /// The provider itself; none when it has no such machine.
    pub(super) provider: Result<Option<MachineState>, Said>,
    /// The last lines of its console.
    pub(super) console: Vec<String>,
    pub(super) node: Node,
}

/// The Talos node on a machine.
#[derive(Clone, Debug)]
pub(super) enum Node {
    /// There is nothing to ask.
    NotAsked,
    /// It does not answer.
    Silent(String),
    /// It answers, but not as a member of this cluster.
    Maintenance,
    /// It answers.
    Answers {
        /// Services that are not well, in words.
        etcd: Option<String>,
        kubelet: Option<String>,
        /// Members of etcd that vote; none when it cannot say.
        voting: Option<usize>,
        /// What the kernel messages say of the API server.
        api_server: Vec<String>,
    },
}

/// The new cluster.
#[derive(Clone, Debug)]
pub(super) struct ClusterSeen {
    /// Whether its API server is ready; else its words.
    pub(super) api: Result<(), String>,
    /// Machines whose node is not Ready.
    pub(super) not_ready: Vec<String>,
    /// Pods that do not run, in words.
    pub(super) pods: Vec<String>,
    /// The release that helm waits for, and for how many seconds.
    pub(super) pending: Option<(String, u64)>,
}

/// What commands need.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Files {
    /// The run.
    pub(in super::super) run: String,
    /// kubeconfig of the temporary control plane.
    pub(in super::super) temporary: PathBuf,
    /// kubeconfig of the new cluster.
    pub(in super::super) kubeconfig: PathBuf,
    /// talosconfig of the new cluster.
    pub(in super::super) talosconfig: PathBuf,
}

/// A provider that could not be asked before anything was made.
pub(in super::super) fn provider(error: &DriverError, seconds: u64) -> Stall {
    Stall {
        code: error.code().to_string(),
        what: clean(&crate::controller::chain(error)),
        evidence: vec!["nothing was made yet".to_owned()],
        next: vec![format!("butleradm explain {}", error.code())],
        seconds,
    }
}

/// Decides.
pub(in super::super) fn diagnose(evidence: &Evidence) -> Stall {
    let found = match evidence.phase {
        Phase::ProvisioningMachines => evidence.machines.iter().find_map(provisioning),
        Phase::ConfiguringTalos => {
            let waiting = evidence.machines.iter().filter(|machine| !machine.configured);
            waiting.filter_map(|machine| configuring(machine, evidence.said.as_ref())).next()
        }
        Phase::BootstrappingCluster => {
            let first = evidence.machines.iter().find(|machine| machine.control_plane);
            first.and_then(|first| control_plane(first, evidence))
        }
        Phase::InstallingAddons => later(evidence).or_else(|| addon(evidence)),
        Phase::Pivoting => later(evidence).or_else(|| joining(evidence)),
        _ => None,
    };
    let Finding { code, what, mut shown, next } = found.unwrap_or_else(|| unknown(evidence));
    let next = next.iter().map(|command| command.line(&evidence.files));
    let next = next.chain([format!("butleradm explain {code}")]).collect();
    shown.retain(|line| !line.is_empty());
    Stall {
        code: code.to_string(),
        what: clean(&what),
        evidence: shown.iter().map(|line| clean(line)).collect(),
        next,
        seconds: evidence.seconds,
    }
}

struct Finding {
    code: Code,
    what: String,
    shown: Vec<String>,
    next: Vec<Command>,
}

/// Commands with what they need filled in, so that they can be copied.
enum Command {
    Console(String),
    PowerOn(String),
    Talos(String, &'static str),
    Kubectl(String),
    Status,
}

impl Command {
    fn line(&self, files: &Files) -> String {
        let Files { run, temporary, kubeconfig, talosconfig } = files;
        let at_provider = format!("--owner {run} --kubeconfig {}", temporary.display());
        match self {
            Self::Console(machine) => format!("butleradm machine console {machine} --tail 20 {at_provider}"),
            Self::PowerOn(machine) => format!("butleradm machine power {machine} on {at_provider}"),
            Self::Talos(address, rest) => {
                format!("talosctl --talosconfig {} -n {address} {rest}", talosconfig.display())
            }
            Self::Kubectl(rest) => format!("kubectl --kubeconfig {} {rest}", kubeconfig.display()),
            Self::Status => format!("butleradm bootstrap status {run}"),
        }
    }
}

/// Nothing that was asked knows.
fn unknown(evidence: &Evidence) -> Finding {
    let said = evidence.said.as_ref();
    let what = said
        .map_or_else(|| format!("phase {} does not get further", evidence.phase), |said| said.text.clone());
    let code = said.and_then(|said| said.code).unwrap_or(Code::RunStalled);
    Finding { code, what, shown: Vec::new(), next: vec![Command::Status] }
}

/// What the provider and its console say of a machine.
fn witnesses(machine: &MachineSeen) -> Vec<String> {
    let state = match &machine.provider {
        Ok(Some(MachineState::Creating)) => "the provider says that it is on and booting".to_owned(),
        Ok(Some(MachineState::Running)) => "the provider says that it runs".to_owned(),
        Ok(Some(MachineState::Stopped)) => "the provider says that it is off".to_owned(),
        Ok(Some(MachineState::Deleting)) => "the provider says that it is being removed".to_owned(),
        Ok(Some(MachineState::Failed(words))) => format!("the provider says that it failed: {words}"),
        Ok(None) => "the provider has no such machine".to_owned(),
        Err(said) => format!("the provider could not be asked: {}", said.text),
    };
    let console = match machine.console.as_slice() {
        [] => "its console is empty".to_owned(),
        lines => format!("its console says last: {}", lines.join(" / ")),
    };
    vec![state, console]
}

/// The provider does not do its part, or the machine is off.
fn at_provider(machine: &MachineSeen) -> Option<Finding> {
    let name = &machine.name;
    let finding = |code, what, shown| Finding { code, what, shown, next: vec![Command::Status] };
    match (&machine.provider, &machine.request) {
        (Err(said), _) => {
            let code = said.code.unwrap_or(Code::ProviderTransient);
            Some(finding(code, format!("machine `{name}`: {}", said.text), Vec::new()))
        }
        (Ok(None), Some(said)) if said.code.is_some() => {
            let code = said.code.unwrap_or(Code::ProviderTransient);
            let shown = vec!["it is tried again with growing pauses".to_owned()];
            Some(finding(code, format!("machine `{name}`: {}", said.text), shown))
        }
        (Ok(Some(MachineState::Stopped)), _) => Some(Finding {
            code: Code::MachineOff,
            what: format!("machine `{name}` is switched off"),
            shown: witnesses(machine),
            next: vec![Command::Console(name.clone()), Command::PowerOn(name.clone())],
        }),
        _ => None,
    }
}

fn provisioning(machine: &MachineSeen) -> Option<Finding> {
    let name = &machine.name;
    at_provider(machine).or_else(|| {
        let waits = machine.address.is_none() && matches!(machine.provider, Ok(Some(_)));
        if matches!(machine.provider, Ok(None)) && machine.request.is_none() {
            return Some(Finding {
                code: Code::ProviderTimeout,
                what: format!("machine `{name}` was asked for, and the provider has not answered"),
                shown: vec!["the provider has no such machine yet".to_owned()],
                next: vec![Command::Status],
            });
        }
        waits.then(|| Finding {
            code: Code::MachineNoAddress,
            what: format!("machine `{name}` has no address"),
            shown: witnesses(machine),
            next: vec![Command::Console(name.clone())],
        })
    })
}

fn configuring(machine: &MachineSeen, said: Option<&Said>) -> Option<Finding> {
    let name = &machine.name;
    let address = machine.address.as_deref().unwrap_or("no address");
    at_provider(machine).or_else(|| match &machine.node {
        Node::Silent(why) => {
            let mut shown = vec![format!("asked at {address}: {why}")];
            shown.extend(witnesses(machine));
            Some(Finding {
                code: Code::NodeSilent,
                what: format!("nothing answers at {address}, which the provider gives as the address of machine `{name}`"),
                shown,
                next: vec![Command::Console(name.clone())],
            })
        }
        Node::Maintenance => {
            let said = said?;
            Some(Finding {
                code: said.code.unwrap_or(Code::NodeNotReady),
                what: format!("machine `{name}` has not taken its configuration"),
                shown: [vec![said.text.clone()], witnesses(machine)].concat(),
                next: vec![Command::Console(name.clone())],
            })
        }
        Node::NotAsked | Node::Answers { .. } => None,
    })
}

/// A node that had its configuration is not there any more.
fn lost(machine: &MachineSeen) -> Option<Finding> {
    let off = at_provider(machine);
    let Node::Silent(why) = &machine.node else { return off };
    off.or_else(|| {
        let (name, address) = (&machine.name, machine.address.as_deref().unwrap_or_default());
        let mut shown = vec![format!("asked at {address}: {why}")];
        shown.extend(witnesses(machine));
        Some(Finding {
            code: Code::NodeLost,
            what: format!("node `{name}` had its configuration and does not answer any more"),
            shown,
            next: vec![Command::Console(name.clone()), Command::Talos(address.to_owned(), "version")],
        })
    })
}

/// etcd and the API server of the first control plane.
fn control_plane(first: &MachineSeen, evidence: &Evidence) -> Option<Finding> {
    if let Some(lost) = lost(first) {
        return Some(lost);
    }
    let Node::Answers { etcd, api_server, .. } = &first.node else { return None };
    let (name, address) = (&first.name, first.address.clone().unwrap_or_default());
    if let Some(etcd) = etcd {
        return Some(Finding {
            code: Code::EtcdNotFormed,
            what: format!("etcd has not begun on node `{name}`"),
            shown: vec![format!("its service: {etcd}")],
            next: vec![Command::Talos(address.clone(), "service etcd"), Command::Talos(address, "logs etcd")],
        });
    }
    let api = evidence.cluster.as_ref().map(|cluster| &cluster.api);
    let why = match api {
        Some(Ok(())) => return None,
        Some(Err(why)) => why.clone(),
        None => evidence.said.as_ref().map(|said| said.text.clone()).unwrap_or_default(),
    };
    let mut shown = vec!["etcd is well".to_owned(), why];
    if !api_server.is_empty() {
        shown.push(format!("kernel messages: {}", api_server.join(" / ")));
    }
    Some(Finding {
        code: Code::ApiServerDown,
        what: format!("the API server on node `{name}` is not ready, or does not stay so"),
        shown,
        next: vec![Command::Talos(address.clone(), "dmesg"), Command::Talos(address, "containers -k")],
    })
}

/// What must not break after the cluster began.
fn later(evidence: &Evidence) -> Option<Finding> {
    let down = evidence.cluster.as_ref().is_some_and(|cluster| cluster.api.is_err());
    let first = evidence.machines.iter().find(|machine| machine.control_plane)?;
    if down || matches!(first.node, Node::Silent(_)) {
        return control_plane(first, evidence);
    }
    // Another node: whoever waits for all nodes waits for it too.
    evidence.machines.iter().find_map(lost)
}

fn addon(evidence: &Evidence) -> Option<Finding> {
    let said = evidence.said.as_ref()?;
    let seen = evidence.cluster.as_ref();
    let pods = seen.map(|cluster| cluster.pods.clone()).unwrap_or_default();
    let kubectl =
        || vec![Command::Kubectl("get pods -A".to_owned()), Command::Kubectl("get events -A".to_owned())];
    // What an earlier try said is not what this one waits for.
    let pending = seen.and_then(|cluster| cluster.pending.as_ref());
    if let Some((release, _)) = pending.filter(|(_, seconds)| *seconds >= HANGS) {
        let what = format!("helm waits for release `{release}`, whose Pods do not run");
        return Some(Finding { code: Code::AddonLate, what, shown: pods, next: kubectl() });
    }
    if let Some(code) = said.code {
        let shown = [vec!["it is tried again with growing pauses".to_owned()], pods].concat();
        return Some(Finding { code, what: said.text.clone(), shown, next: vec![Command::Status] });
    }
    if pods.is_empty() {
        return None;
    }
    Some(Finding {
        code: Code::AddonLate,
        what: format!("{}: its Pods do not run", said.text),
        shown: pods,
        next: kubectl(),
    })
}

fn joining(evidence: &Evidence) -> Option<Finding> {
    let control_planes: Vec<_> = evidence.machines.iter().filter(|machine| machine.control_plane).collect();
    let voting = control_planes.iter().find_map(|machine| match &machine.node {
        Node::Answers { voting, .. } => *voting,
        _ => None,
    });
    if let Some(voting) = voting.filter(|voting| *voting < control_planes.len()) {
        let services = control_planes.iter().filter_map(|machine| match &machine.node {
            Node::Answers { etcd: Some(etcd), .. } => {
                Some(format!("etcd on node `{}`: {etcd}", machine.name))
            }
            _ => None,
        });
        let address = control_planes.first().and_then(|machine| machine.address.clone()).unwrap_or_default();
        return Some(Finding {
            code: Code::EtcdNotFormed,
            what: format!("{voting} of {} control planes vote in etcd", control_planes.len()),
            shown: services.collect(),
            next: vec![Command::Talos(address, "etcd members")],
        });
    }
    let missing = evidence.cluster.as_ref().map(|cluster| cluster.not_ready.clone()).unwrap_or_default();
    if missing.is_empty() {
        return None;
    }
    let kubelets = evidence.machines.iter().filter(|machine| missing.contains(&machine.name));
    let shown = kubelets.filter_map(|machine| match &machine.node {
        Node::Answers { kubelet: Some(kubelet), .. } => {
            Some(format!("kubelet on node `{}`: {kubelet}", machine.name))
        }
        _ => None,
    });
    Some(Finding {
        code: Code::NodesNotReady,
        what: format!("nodes that are not Ready: {}", missing.join(", ")),
        shown: shown.collect(),
        next: vec![Command::Kubectl("get nodes -o wide".to_owned())],
    })
}

/// One line for a terminal, whatever others wrote, and not too much of it.
fn clean(text: &str) -> String {
    const LONGEST: usize = 600;
    let words: Vec<_> = text.split_whitespace().collect();
    let mut line: String = words.join(" ").chars().filter(|letter| !letter.is_control()).collect();
    if line.chars().count() > LONGEST {
        line = line.chars().take(LONGEST - 1).chain(['…']).collect();
    }
    line
}

#[cfg(test)]
mod tests;
