//! What happens next to a ClusterBootstrap. Pure: the object, its requests, what was just learnt, the
//! time.
//!
//! | phase | left when | condition |
//! |---|---|---|
//! | Pending | the ProviderConfig is there | |
//! | ProvisioningMachines | every machine runs and has an address, and so has the way to the API | `MachinesReady` |
//! | ConfiguringTalos | every machine answers under the cluster's authority | `TalosConfigured` |
//! | BootstrappingCluster | etcd is there and the API server is ready | `ControlPlaneReady` |
//! | InstallingAddons | every addon is installed | `AddonsInstalled` |
//! | Pivoting | nodes, etcd and the way to the API were looked at, and the new cluster has its objects | `Ready` |
//!
//! Errors that may pass are tried again until the deadline of the phase, which begins anew with each
//! machine that gets further; the status says all the while what is waited for, and the reason of its
//! condition is the word of a [`Code`]. `Failed` ends it: whoever wants another try clears the phase.

use std::time::Duration;

use butler_core::{
    api::{
        ClusterBootstrap, LoadBalancerRequest, MachineRequest,
        cluster_bootstrap::{ClusterBootstrapPhase as Phase, ClusterBootstrapStatus as Status},
        common::MachineRole,
        conditions::{reasons, status, types},
        machine_request::MachineRequestPhase,
        names::finalizers,
    },
    bootstrap::addons::AddonStep,
    error::Code,
};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt;

use super::{
    machines::{is_running, machines, phase, url},
    wanted,
};
use crate::controller::{Next, Timing, condition, failure::code_of, notice::Notice};

pub(super) mod conditions {
    pub(in super::super) const MACHINES_READY: &str = "MachinesReady";
    pub(in super::super) const TALOS_CONFIGURED: &str = "TalosConfigured";
    pub(in super::super) const CONTROL_PLANE_READY: &str = "ControlPlaneReady";
    pub(in super::super) const ADDONS_INSTALLED: &str = "AddonsInstalled";
}

/// The condition of one addon; its last transition to `False` is when its installation began.
fn of_addon(key: &str) -> String {
    format!("Addon-{key}")
}

/// Words in `status.failureReason`.
pub(super) mod failures {
    pub(in super::super) const NO_PROVIDER: &str = "ProviderConfigNotFound";
    pub(in super::super) const MACHINES: &str = "MachineProvisioningFailed";
    pub(in super::super) const BALANCER: &str = "LoadBalancerFailed";
    pub(in super::super) const TALOS: &str = "TalosConfigurationFailed";
    pub(in super::super) const BOOTSTRAP: &str = "BootstrapFailed";
    pub(in super::super) const ADDON: &str = "AddonInstallationFailed";
    pub(in super::super) const NOT_HEALTHY: &str = "ClusterNotHealthy";
}

/// The key of `status.addonsInstalled` that tells that etcd was told to begin.
pub(super) const INITIATED: &str = "bootstrap-initiated";

/// What is known before anything is done.
#[derive(Debug)]
pub(super) struct View<'a> {
    pub(super) bootstrap: &'a ClusterBootstrap,
    pub(super) has_provider: bool,
    /// The requests of this bootstrap, sorted as [`wanted::machine_requests`] sorts them.
    pub(super) requests: &'a [MachineRequest],
    pub(super) balancer: Option<&'a LoadBalancerRequest>,
    pub(super) addons: &'a [AddonStep],
    pub(super) timing: Timing,
    pub(super) now: Timestamp,
}

/// Why something was not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Trouble {
    /// True when it may pass without anybody doing something.
    pub(super) passes: bool,
    /// What `explain` knows of it.
    pub(super) code: Code,
    pub(super) text: String,
}

/// What was learnt last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fact {
    /// Nothing yet.
    Nothing,
    /// The finalizer is on the object.
    Guarded,
    /// Requests were written.
    Asked,
    /// What became of each machine's configuration.
    Configured(Vec<(String, Result<(), Trouble>)>),
    /// What became of etcd and the API server.
    Bootstrapped(Result<(), Trouble>),
    /// What became of an addon.
    Installed(String, Result<(), Trouble>),
    /// What the last look found; machines that are Ready nodes.
    Verified(Result<Vec<String>, Trouble>),
    /// Requests were told to go.
    Released,
}

/// What to do.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    AddFinalizer,
    /// Write these requests.
    Ask(Vec<MachineRequest>, Option<Box<LoadBalancerRequest>>),
    /// Give these machines their configuration.
    Configure(Vec<String>),
    /// Begin etcd, wait for the API server.
    Bootstrap(String),
    /// Install one addon.
    Install(String),
    /// Look at everything, and hand over.
    Verify,
    /// Delete the requests.
    Release,
    RemoveFinalizer,
    Done(Next),
}

/// What to write, whom to tell, what to do.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Decision {
    pub(super) status: Status,
    pub(super) notice: Option<Notice>,
    pub(super) step: Step,
}

/// Decides.
pub(super) fn decide(view: &View<'_>, fact: Fact) -> Decision {
    if view.bootstrap.metadata.deletion_timestamp.is_some() {
        return deletion(view, &fact);
    }
    if !view.bootstrap.finalizers().iter().any(|name| name == finalizers::CLUSTER_BOOTSTRAP) {
        return view.stay(Step::AddFinalizer);
    }
    if view.bootstrap.spec.paused == Some(true) {
        return view.stay(Step::Done(Next::Await));
    }
    match view.phase() {
        Phase::Pending => pending(view),
        Phase::ProvisioningMachines => provisioning(view, &fact),
        Phase::ConfiguringTalos => configuring(view, fact),
        Phase::BootstrappingCluster => bootstrapping(view, fact),
        Phase::InstallingAddons => installing(view, fact),
        Phase::Pivoting => pivoting(view, fact),
        _ => view.stay(Step::Done(Next::Await)),
    }
}

impl View<'_> {
    fn status(&self) -> Status {
        let mut status = self.bootstrap.status.clone().unwrap_or_default();
        status.observed_generation = self.bootstrap.metadata.generation;
        status
    }

    fn phase(&self) -> Phase {
        self.bootstrap.status.as_ref().and_then(|status| status.phase.clone()).unwrap_or(Phase::Pending)
    }

    fn stay(&self, step: Step) -> Decision {
        Decision { status: self.status(), notice: None, step }
    }

    fn set(&self, status: &mut Status, condition: (&str, &str, &str), message: impl Into<String>) {
        let generation = self.bootstrap.metadata.generation;
        condition::set(&mut status.conditions, condition, message, generation, self.now);
    }

    /// Waits for something, and says for what.
    fn wait(&self, condition: &str, message: impl Into<String>, step: Step) -> Decision {
        let mut status = self.status();
        self.set(&mut status, (condition, status::FALSE, reasons::RECONCILING), message);
        Decision { status, notice: None, step }
    }

    /// Leaves a phase whose condition is now true.
    fn advance(&self, mut status: Status, done: &str, phase: Phase, text: &str) -> Decision {
        self.set(&mut status, (done, status::TRUE, reasons::READY), "");
        let (next, message) = match &phase {
            Phase::ConfiguringTalos => (conditions::TALOS_CONFIGURED, "machines get their configuration"),
            Phase::BootstrappingCluster => (conditions::CONTROL_PLANE_READY, "etcd begins"),
            Phase::InstallingAddons => (conditions::ADDONS_INSTALLED, "addons are installed"),
            _ => (types::READY, "the cluster is looked at"),
        };
        let is_ready = phase == Phase::Ready;
        if !is_ready {
            self.set(&mut status, (next, status::FALSE, reasons::RECONCILING), message);
        }
        let notice = Notice::normal(if is_ready { "Ready" } else { "Progressing" }, "Bootstrap", text);
        status.phase = Some(phase);
        Decision { status, notice: Some(notice), step: Step::Done(Next::After(Duration::ZERO)) }
    }

    /// The time for a phase begins anew: something got further.
    fn restart(&self, status: &mut Status, condition: &str) {
        let Some(known) = status.conditions.iter_mut().find(|known| known.type_ == condition) else { return };
        known.last_transition_time = Time(self.now);
    }

    /// Tries again while there is time, else gives up.
    fn again(
        &self,
        mut status: Status,
        condition: &str,
        reason: &str,
        limit: Duration,
        trouble: &Trouble,
    ) -> Decision {
        let began = condition::since(&status.conditions, condition, status::FALSE);
        let late = began.is_some_and(|began| self.now.duration_since(began) > signed(limit));
        if trouble.passes && !late {
            self.set(&mut status, (condition, status::FALSE, trouble.code.word()), &trouble.text);
            return Decision { status, notice: None, step: Step::Done(Next::Retry("transient")) };
        }
        let mut text = trouble.text.clone();
        if trouble.passes {
            text = format!("not done within {} min: {text}", limit.as_secs() / 60);
        }
        let mut decision = self.fail(condition, reason, Some(trouble.code), text);
        decision.status.machines = status.machines;
        decision
    }

    /// Gives up. The condition has the code as its reason, where there is one; the whole has the word.
    fn fail(&self, condition: &str, reason: &str, code: Option<Code>, text: impl Into<String>) -> Decision {
        let text = text.into();
        let mut status = self.status();
        self.set(&mut status, (condition, status::FALSE, code.map_or(reason, |code| code.word())), &text);
        if condition != types::READY {
            self.set(&mut status, (types::READY, status::FALSE, reason), &text);
        }
        status.phase = Some(Phase::Failed);
        status.failure_reason = Some(reason.to_owned());
        status.failure_message = Some(text.clone());
        let notice = Some(Notice::warning("Failed", "Bootstrap", text));
        Decision { status, notice, step: Step::Done(Next::Await) }
    }
}

fn pending(view: &View<'_>) -> Decision {
    if !view.has_provider {
        let name = &view.bootstrap.spec.provider_ref.name;
        return view.fail(
            types::READY,
            failures::NO_PROVIDER,
            None,
            format!("ProviderConfig `{name}` does not exist"),
        );
    }
    let mut status = view.status();
    status.failure_reason = None;
    status.failure_message = None;
    // Deadlines count from conditions: another try has all the time of the first.
    status.conditions.clear();
    let (phase, condition, message) = if wanted::is_local(view.bootstrap) {
        (Phase::InstallingAddons, conditions::ADDONS_INSTALLED, "addons are installed")
    } else {
        (Phase::ProvisioningMachines, conditions::MACHINES_READY, "machines are asked for")
    };
    view.set(&mut status, (condition, status::FALSE, reasons::RECONCILING), message);
    status.phase = Some(phase);
    Decision { status, notice: None, step: Step::Done(Next::After(Duration::ZERO)) }
}

fn provisioning(view: &View<'_>, fact: &Fact) -> Decision {
    let wanted = wanted::machine_requests(view.bootstrap);
    let exists = |request: &MachineRequest| {
        view.requests.iter().any(|known| known.metadata.name == request.metadata.name)
    };
    let missing: Vec<_> = wanted.iter().filter(|request| !exists(request)).cloned().collect();
    let balancer = wanted::load_balancer(view.bootstrap, view.requests);
    let stale = balancer.filter(|wanted| view.balancer.is_none_or(|known| known.spec != wanted.spec));
    if *fact != Fact::Asked && (!missing.is_empty() || stale.is_some()) {
        return view.stay(Step::Ask(missing, stale.map(Box::new)));
    }
    let mut status = view.status();
    status.machines = machines(&status, view.requests);
    let failed = view.requests.iter().find(|request| phase(request) == MachineRequestPhase::Failed);
    if let Some(request) = failed {
        let failure = request.status.as_ref();
        let why = failure.and_then(|status| status.failure_message.clone());
        let code = failure.and_then(|status| code_of(status.failure_reason.as_deref()?));
        let text =
            format!("machine `{}`: {}", request.name_any(), why.as_deref().unwrap_or("no reason given"));
        let mut decision = view.fail(conditions::MACHINES_READY, failures::MACHINES, code, text);
        decision.status.machines = status.machines;
        return decision;
    }
    let endpoint = match view.endpoint() {
        Ok(endpoint) => endpoint,
        Err(text) => {
            let mut decision = view.fail(conditions::MACHINES_READY, failures::BALANCER, None, text);
            decision.status.machines = status.machines;
            return decision;
        }
    };
    let ready = view.requests.iter().filter(|request| is_running(request)).count();
    match endpoint {
        Some(endpoint) if ready == wanted.len() => {
            status.control_plane_endpoint = Some(url(&endpoint));
            let text = format!("All {ready} machines run");
            view.advance(status, conditions::MACHINES_READY, Phase::ConfiguringTalos, &text)
        }
        endpoint => {
            let what = match endpoint {
                None if ready == wanted.len() => "the load balancer is not ready".to_owned(),
                _ => format!("{ready} of {} machines run", wanted.len()),
            };
            view.set(&mut status, (conditions::MACHINES_READY, status::FALSE, reasons::RECONCILING), what);
            Decision { status, notice: None, step: Step::Done(Next::Await) }
        }
    }
}

fn configuring(view: &View<'_>, fact: Fact) -> Decision {
    let mut status = view.status();
    if view.has_moved() {
        // Nothing was configured with the old addresses yet, so the way to the API may change too.
        let reconciling = (conditions::MACHINES_READY, status::FALSE, reasons::RECONCILING);
        view.set(&mut status, reconciling, "a machine has another address now");
        status.phase = Some(Phase::ProvisioningMachines);
        return Decision { status, notice: None, step: Step::Done(Next::After(Duration::ZERO)) };
    }
    let mut trouble = None;
    if let Fact::Configured(results) = fact {
        let before = status.machines.clone();
        for (name, result) in results {
            match result {
                Ok(()) => {
                    let machine = status.machines.iter_mut().find(|machine| machine.name == name);
                    machine.into_iter().for_each(|machine| machine.talos_configured = Some(true));
                }
                // One that does not pass ends it, whatever else is only slow.
                Err(found) if trouble.as_ref().is_none_or(|known: &Trouble| known.passes) => {
                    trouble = Some(Trouble { text: format!("machine `{name}`: {}", found.text), ..found });
                }
                Err(_) => {}
            }
        }
        if status.machines != before {
            view.restart(&mut status, conditions::TALOS_CONFIGURED);
        }
    }
    let waiting: Vec<String> = status
        .machines
        .iter()
        .filter(|machine| machine.talos_configured != Some(true))
        .map(|machine| machine.name.clone())
        .collect();
    if waiting.is_empty() {
        let text = format!("All {} machines have their configuration", status.machines.len());
        return view.advance(status, conditions::TALOS_CONFIGURED, Phase::BootstrappingCluster, &text);
    }
    match trouble {
        Some(trouble) => {
            let limit = view.timing.talos;
            view.again(status, conditions::TALOS_CONFIGURED, failures::TALOS, limit, &trouble)
        }
        None => Decision { status, notice: None, step: Step::Configure(waiting) },
    }
}

fn bootstrapping(view: &View<'_>, fact: Fact) -> Decision {
    let mut status = view.status();
    match fact {
        Fact::Bootstrapped(Ok(())) => {
            status.addons_installed.insert(INITIATED.to_owned(), true);
            let text = "etcd has begun and the API server is ready";
            view.advance(status, conditions::CONTROL_PLANE_READY, Phase::InstallingAddons, text)
        }
        Fact::Bootstrapped(Err(trouble)) => {
            let limit = view.timing.talos;
            view.again(status, conditions::CONTROL_PLANE_READY, failures::BOOTSTRAP, limit, &trouble)
        }
        _ => {
            let first = status.machines.iter().find(|machine| machine.role == MachineRole::ControlPlane);
            match first.map(|machine| machine.name.clone()) {
                Some(first) => Decision { status, notice: None, step: Step::Bootstrap(first) },
                None => view.fail(
                    conditions::CONTROL_PLANE_READY,
                    failures::BOOTSTRAP,
                    None,
                    "there is no control plane among the machines",
                ),
            }
        }
    }
}

fn installing(view: &View<'_>, fact: Fact) -> Decision {
    let mut status = view.status();
    let step = |key: &str| view.addons.iter().find(|step| step.key == key);
    match fact {
        Fact::Installed(key, Ok(())) => {
            view.set(&mut status, (&of_addon(&key), status::TRUE, reasons::READY), "");
            status.addons_installed.insert(key, true);
        }
        Fact::Installed(key, Err(trouble)) => {
            let (optional, limit) =
                step(&key).map_or((false, view.timing.talos), |step| (step.optional, step.deadline));
            let title = step(&key).map_or(key.as_str(), |step| step.title.as_str()).to_owned();
            let text = format!("{title}: {}", trouble.text);
            if !optional {
                let trouble = Trouble { text, ..trouble };
                return view.again(status, &of_addon(&key), failures::ADDON, limit, &trouble);
            }
            let message = format!("passed over, the cluster works without it: {text}");
            view.set(&mut status, (&of_addon(&key), status::FALSE, reasons::FAILED), &message);
            status.addons_installed.insert(key, false);
            let notice = Some(Notice::warning("AddonSkipped", "Install", message));
            return Decision { status, notice, step: Step::Done(Next::After(Duration::ZERO)) };
        }
        _ => {}
    }
    let next = view.addons.iter().find(|step| !status.addons_installed.contains_key(&step.key));
    match next {
        Some(step) => {
            let condition = (conditions::ADDONS_INSTALLED, status::FALSE, reasons::RECONCILING);
            view.set(&mut status, condition, format!("installing {}: {}", step.key, step.title));
            let condition = of_addon(&step.key);
            // What an earlier try said stays until this one says something else.
            if condition::since(&status.conditions, &condition, status::FALSE).is_none() {
                view.set(&mut status, (&condition, status::FALSE, reasons::RECONCILING), "");
            }
            Decision { status, notice: None, step: Step::Install(step.key.clone()) }
        }
        None => {
            let text = format!("{} addons are installed", view.addons.len());
            view.advance(status, conditions::ADDONS_INSTALLED, Phase::Pivoting, &text)
        }
    }
}

fn pivoting(view: &View<'_>, fact: Fact) -> Decision {
    match fact {
        Fact::Verified(Ok(nodes)) => {
            let mut status = view.status();
            for machine in &mut status.machines {
                machine.ready = Some(nodes.contains(&machine.name));
            }
            view.advance(status, types::READY, Phase::Ready, "The management cluster is ready")
        }
        Fact::Verified(Err(trouble)) => {
            view.again(view.status(), types::READY, failures::NOT_HEALTHY, view.timing.verify, &trouble)
        }
        _ => view.stay(Step::Verify),
    }
}

fn deletion(view: &View<'_>, fact: &Fact) -> Decision {
    let ours = view.bootstrap.finalizers().iter().any(|name| name == finalizers::CLUSTER_BOOTSTRAP);
    if !ours {
        return view.stay(Step::Done(Next::Await));
    }
    if view.requests.is_empty() && view.balancer.is_none() {
        return view.stay(Step::RemoveFinalizer);
    }
    // What was just told to go is not seen going at once.
    let asked = *fact == Fact::Released
        || view.requests.iter().all(|request| request.metadata.deletion_timestamp.is_some())
            && view.balancer.is_none_or(|balancer| balancer.metadata.deletion_timestamp.is_some());
    let left = view.requests.len() + usize::from(view.balancer.is_some());
    let message = format!("{left} requests are not gone yet");
    view.wait(types::READY, message, if asked { Step::Done(Next::Await) } else { Step::Release })
}

fn signed(duration: Duration) -> jiff::SignedDuration {
    jiff::SignedDuration::try_from(duration).unwrap_or(jiff::SignedDuration::MAX)
}
