//! Decisions, one row each: what is known, what was learnt, what follows.

mod asked;
mod looked;
mod noted;

use std::time::Duration;

use butler_core::{
    api::{
        ClusterBootstrap, LoadBalancerRequest, MachineRequest, cluster_bootstrap::ClusterBootstrapStatus,
        names::finalizers,
    },
    bootstrap::addons::{AddonAction, AddonStep},
    error::Code,
};
use jiff::Timestamp;
use rstest::rstest;
use serde_json::{Value, json};

use super::{
    decide::{Decision, Fact, Step, Trouble, View, decide},
    wanted,
};
use crate::controller::{Next, Timing};

const START: i64 = 1_000_000;

/// A bootstrap of two control planes and one worker, three seconds after it came into its phase.
#[derive(Clone)]
struct Case {
    object: Value,
    requests: Vec<Value>,
    balancer: Option<Value>,
    has_provider: bool,
    now: i64,
}

fn time() -> String {
    Timestamp::from_second(START).unwrap().to_string()
}

fn pool(replicas: i32) -> Value {
    json!({ "replicas": replicas, "cpu": 4, "memoryMB": 8192, "diskGB": 60 })
}

impl Case {
    fn new(provider: &str) -> Self {
        let object = json!({
            "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "ClusterBootstrap",
            "metadata": {"name": "m", "namespace": "n", "uid": "u", "generation": 1,
                         "finalizers": [finalizers::CLUSTER_BOOTSTRAP]},
            "spec": {
                "provider": provider, "providerRef": {"name": "lab"},
                "cluster": {"name": "m", "topology": "ha", "controlPlane": pool(2), "workers": pool(1)},
                "network": {"podCIDR": "10.244.0.0/16", "serviceCIDR": "10.96.0.0/12"},
                "talos": {"version": "v1.12.1", "schematic": ""},
            },
        });
        Self { object, requests: Vec::new(), balancer: None, has_provider: true, now: START + 3 }
    }

    /// On machines of one's own, without a shared address: the first control plane is the way in.
    fn metal() -> Self {
        Self::new("proxmox")
    }

    /// Behind a load balancer of the provider.
    fn cloud() -> Self {
        Self::new("aws")
    }

    fn with(mut self, pointer: &str, value: Value) -> Self {
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        self.object.pointer_mut(parent).unwrap()[key] = value;
        self
    }

    fn vip(self) -> Self {
        self.with("/spec/network/vip", json!("10.0.0.100"))
    }

    fn single(self) -> Self {
        self.with("/spec/cluster/topology", json!("single-node"))
    }

    fn deleted(self) -> Self {
        self.with("/metadata/deletionTimestamp", json!(time()))
    }

    fn without_provider(mut self) -> Self {
        self.has_provider = false;
        self
    }

    /// In a phase since the start, with the condition of that phase.
    fn phase(self, phase: &str) -> Self {
        let condition = match phase {
            "ProvisioningMachines" => "MachinesReady",
            "ConfiguringTalos" => "TalosConfigured",
            "BootstrappingCluster" => "ControlPlaneReady",
            "InstallingAddons" => "AddonsInstalled",
            _ => "Ready",
        };
        let machine = |name: &str, role: &str| json!({"name": name, "role": role, "phase": "Running", "ipAddress": "10.0.0.1"});
        let machines = match phase {
            "ProvisioningMachines" => Vec::new(),
            _ => vec![
                machine("m-cp-0", "control-plane"),
                machine("m-cp-1", "control-plane"),
                machine("m-worker-0", "worker"),
            ],
        };
        self.with(
            "/status",
            json!({
                "phase": phase, "observedGeneration": 1, "machines": machines,
                "controlPlaneEndpoint": "https://10.0.0.1:6443",
            }),
        )
        .condition(condition, 0)
    }

    /// A condition that is False since some seconds after the start.
    fn condition(mut self, name: &str, after: i64) -> Self {
        let since = Timestamp::from_second(START + after).unwrap().to_string();
        let condition = json!({"type": name, "status": "False", "reason": "X", "message": "", "lastTransitionTime": since});
        match self.object["status"]["conditions"].as_array_mut() {
            Some(all) => all.push(condition),
            None => self.object["status"]["conditions"] = json!([condition]),
        }
        self
    }

    fn configured(mut self, machines: &[usize]) -> Self {
        for index in machines {
            self.object["status"]["machines"][index]["talosConfigured"] = json!(true);
        }
        self
    }

    fn installed(mut self, addons: &[(&str, bool)]) -> Self {
        for (key, done) in addons {
            self.object["status"]["addonsInstalled"][key] = json!(done);
        }
        self
    }

    /// The first machines are asked for, in these phases; those that run have an address.
    fn machines(mut self, phases: &[&str]) -> Self {
        let wanted = wanted::machine_requests(&self.bootstrap());
        for (index, (request, phase)) in wanted.iter().zip(phases).enumerate() {
            let mut request = serde_json::to_value(request).unwrap();
            let address =
                if *phase == "Running" { json!(format!("10.0.0.{}", index + 1)) } else { Value::Null };
            request["status"] =
                json!({"phase": phase, "ipAddress": address, "providerID": format!("vm-{index}")});
            self.requests.push(request);
        }
        self
    }

    fn all_run(self) -> Self {
        self.machines(&["Running"; 3])
    }

    /// The load balancer is asked for with the targets that there are, and is in this phase.
    fn balancer(mut self, phase: &str) -> Self {
        let balancer = wanted::load_balancer(&self.bootstrap(), &self.requests()).unwrap();
        let mut balancer = serde_json::to_value(balancer).unwrap();
        balancer["status"] =
            json!({"phase": phase, "endpoint": "lb.example.org", "failureMessage": "no subnet"});
        self.balancer = Some(balancer);
        self
    }

    fn released(mut self) -> Self {
        for object in self.requests.iter_mut().chain(&mut self.balancer) {
            object["metadata"]["deletionTimestamp"] = json!(time());
        }
        self
    }

    fn after(mut self, seconds: i64) -> Self {
        self.now = START + seconds;
        self
    }

    fn bootstrap(&self) -> ClusterBootstrap {
        serde_json::from_value(self.object.clone()).unwrap()
    }

    fn requests(&self) -> Vec<MachineRequest> {
        serde_json::from_value(json!(self.requests)).unwrap()
    }

    fn decide(&self, fact: Fact) -> Decision {
        let bootstrap = self.bootstrap();
        let balancer: Option<LoadBalancerRequest> = serde_json::from_value(json!(self.balancer)).unwrap();
        let view = View {
            bootstrap: &bootstrap,
            has_provider: self.has_provider,
            requests: &self.requests(),
            balancer: balancer.as_ref(),
            addons: &addons(),
            timing: Timing::default(),
            now: Timestamp::from_second(self.now).unwrap(),
        };
        decide(&view, fact)
    }
}

/// Two that must be, with 20 minutes each, and between them one that may fail.
fn addons() -> Vec<AddonStep> {
    let step = |key: &str, optional| AddonStep {
        key: key.to_owned(),
        title: key.to_uppercase(),
        requires: Vec::new(),
        action: AddonAction::Definitions,
        optional,
        deadline: Duration::from_secs(20 * 60),
    };
    vec![step("cni", false), step("extra", true), step("crds", false)]
}

fn slow() -> Trouble {
    Trouble { passes: true, code: Code::NodeUnreachable, text: "slow".into() }
}

fn fatal() -> Trouble {
    Trouble { passes: false, code: Code::NodeConfigRefused, text: "refused".into() }
}

/// What became of the configuration of the three machines.
fn configured(results: [Result<(), Trouble>; 3]) -> Fact {
    let names = ["m-cp-0", "m-cp-1", "m-worker-0"].map(str::to_owned);
    Fact::Configured(names.into_iter().zip(results).collect())
}

fn installed(key: &str, result: Result<(), Trouble>) -> Fact {
    Fact::Installed(key.to_owned(), result)
}

/// The phase, and why it failed if it did.
fn shown(status: &ClusterBootstrapStatus) -> String {
    let phase = status.phase.as_ref().map(ToString::to_string).unwrap_or_default();
    let failure = match (&status.failure_reason, &status.failure_message) {
        (Some(reason), Some(message)) => format!(" {reason}: {message}"),
        _ => String::new(),
    };
    format!("{phase}{failure}")
}

/// A condition as `Status/Reason: message`.
fn condition(status: &ClusterBootstrapStatus, name: &str) -> String {
    let found = status.conditions.iter().find(|condition| condition.type_ == name);
    found.map_or_else(
        || "none".to_owned(),
        |found| format!("{}/{}: {}", found.status, found.reason, found.message),
    )
}

fn configure(names: &[&str]) -> Step {
    Step::Configure(names.iter().map(|name| (*name).to_owned()).collect())
}

const AT_ONCE: Step = Step::Done(Next::After(Duration::ZERO));
const WAIT: Step = Step::Done(Next::Await);
const AGAIN: Step = Step::Done(Next::Retry("transient"));

#[rstest]
// before anything
#[case::guards_first(Case::metal().with("/metadata/finalizers", json!([])), Fact::Nothing, "", Step::AddFinalizer)]
#[case::guards_even_when_paused(
    Case::metal().with("/metadata/finalizers", json!([])).with("/spec/paused", json!(true)),
    Fact::Nothing, "", Step::AddFinalizer)]
#[case::paused(Case::metal().with("/spec/paused", json!(true)), Fact::Guarded, "", WAIT)]
#[case::paused_on_the_way(
    Case::metal().phase("ConfiguringTalos").with("/spec/paused", json!(true)),
    Fact::Nothing, "ConfiguringTalos", WAIT)]
#[case::begins(Case::metal(), Fact::Guarded, "ProvisioningMachines", AT_ONCE)]
#[case::a_local_cluster_is_there(Case::new("local"), Fact::Guarded, "InstallingAddons", AT_ONCE)]
#[case::no_provider(
    Case::metal().without_provider(), Fact::Guarded,
    "Failed ProviderConfigNotFound: ProviderConfig `lab` does not exist", WAIT)]
// machines
#[case::waits_for_machines(
    Case::metal().phase("ProvisioningMachines").machines(&["Running", "Creating", "Pending"]),
    Fact::Nothing, "ProvisioningMachines", WAIT)]
#[case::asks_once_a_turn(
    Case::metal().phase("ProvisioningMachines"), Fact::Asked, "ProvisioningMachines", WAIT)]
#[case::all_run(
    Case::metal().phase("ProvisioningMachines").all_run(), Fact::Nothing, "ConfiguringTalos", AT_ONCE)]
#[case::one_failed(
    Case::metal().phase("ProvisioningMachines").machines(&["Running", "Failed", "Running"]), Fact::Nothing,
    "Failed MachineProvisioningFailed: machine `m-cp-1`: no reason given", WAIT)]
#[case::balancer_not_ready(
    Case::cloud().phase("ProvisioningMachines").all_run().balancer("Creating"),
    Fact::Nothing, "ProvisioningMachines", WAIT)]
#[case::balancer_ready(
    Case::cloud().phase("ProvisioningMachines").all_run().balancer("Ready"),
    Fact::Nothing, "ConfiguringTalos", AT_ONCE)]
#[case::balancer_ready_before_the_machines(
    Case::cloud().phase("ProvisioningMachines").machines(&["Creating"; 3]).balancer("Ready"),
    Fact::Nothing, "ProvisioningMachines", WAIT)]
#[case::balancer_failed(
    Case::cloud().phase("ProvisioningMachines").all_run().balancer("Failed"),
    Fact::Nothing, "Failed LoadBalancerFailed: no subnet", WAIT)]
// configurations
#[case::configures_all(
    Case::metal().phase("ConfiguringTalos"), Fact::Nothing, "ConfiguringTalos",
    configure(&["m-cp-0", "m-cp-1", "m-worker-0"]))]
#[case::configures_only_the_rest(
    Case::metal().phase("ConfiguringTalos").configured(&[0, 2]), Fact::Nothing, "ConfiguringTalos",
    configure(&["m-cp-1"]))]
#[case::all_configured(
    Case::metal().phase("ConfiguringTalos"), configured([Ok(()), Ok(()), Ok(())]),
    "BootstrappingCluster", AT_ONCE)]
#[case::all_were_configured_before(
    Case::metal().phase("ConfiguringTalos").configured(&[0, 1, 2]), Fact::Nothing,
    "BootstrappingCluster", AT_ONCE)]
#[case::one_is_slow(
    Case::metal().phase("ConfiguringTalos").after(600), configured([Ok(()), Err(slow()), Ok(())]),
    "ConfiguringTalos", AGAIN)]
#[case::one_is_too_slow(
    Case::metal().phase("ConfiguringTalos").configured(&[0, 2]).after(601), configured([Ok(()), Err(slow()), Ok(())]),
    "Failed TalosConfigurationFailed: not done within 10 min: machine `m-cp-1`: slow", WAIT)]
#[case::others_got_further_so_there_is_more_time(
    Case::metal().phase("ConfiguringTalos").configured(&[0]).after(9999), configured([Ok(()), Err(slow()), Ok(())]),
    "ConfiguringTalos", AGAIN)]
#[case::an_address_changed_before_anything_was_configured(
    Case::metal().phase("ConfiguringTalos").all_run(), configured([Err(slow()), Err(slow()), Err(slow())]),
    "ProvisioningMachines", AT_ONCE)]
#[case::an_address_changed_too_late(
    Case::metal().phase("ConfiguringTalos").all_run().configured(&[0]), configured([Ok(()), Err(slow()), Err(slow())]),
    "ConfiguringTalos", AGAIN)]
#[case::one_refuses(
    Case::metal().phase("ConfiguringTalos"), configured([Ok(()), Ok(()), Err(fatal())]),
    "Failed TalosConfigurationFailed: machine `m-worker-0`: refused", WAIT)]
#[case::one_refuses_while_a_later_one_is_slow(
    Case::metal().phase("ConfiguringTalos"), configured([Err(slow()), Err(fatal()), Err(slow())]),
    "Failed TalosConfigurationFailed: machine `m-cp-1`: refused", WAIT)]
// etcd and the API server
#[case::begins_on_the_first(
    Case::metal().phase("BootstrappingCluster"), Fact::Nothing, "BootstrappingCluster",
    Step::Bootstrap("m-cp-0".into()))]
#[case::begun(
    Case::metal().phase("BootstrappingCluster"), Fact::Bootstrapped(Ok(())), "InstallingAddons", AT_ONCE)]
#[case::slow_to_begin(
    Case::metal().phase("BootstrappingCluster").after(600), Fact::Bootstrapped(Err(slow())),
    "BootstrappingCluster", AGAIN)]
#[case::too_slow_to_begin(
    Case::metal().phase("BootstrappingCluster").after(601), Fact::Bootstrapped(Err(slow())),
    "Failed BootstrapFailed: not done within 10 min: slow", WAIT)]
#[case::does_not_begin(
    Case::metal().phase("BootstrappingCluster"), Fact::Bootstrapped(Err(fatal())),
    "Failed BootstrapFailed: refused", WAIT)]
#[case::nothing_to_begin_on(
    Case::metal().phase("BootstrappingCluster").with("/status/machines", json!([])), Fact::Nothing,
    "Failed BootstrapFailed: there is no control plane among the machines", WAIT)]
// addons
#[case::installs_the_first(
    Case::metal().phase("InstallingAddons"), Fact::Nothing, "InstallingAddons", Step::Install("cni".into()))]
#[case::goes_on_with_the_next(
    Case::metal().phase("InstallingAddons"), installed("cni", Ok(())), "InstallingAddons",
    Step::Install("extra".into()))]
#[case::passes_over_the_optional_one(
    Case::metal().phase("InstallingAddons").installed(&[("cni", true)]), installed("extra", Err(fatal())),
    "InstallingAddons", AT_ONCE)]
#[case::what_was_passed_over_stays_so(
    Case::metal().phase("InstallingAddons").installed(&[("cni", true), ("extra", false)]), Fact::Nothing,
    "InstallingAddons", Step::Install("crds".into()))]
#[case::one_is_slow_to_install(
    Case::metal().phase("InstallingAddons").condition("Addon-cni", 0).after(1200),
    installed("cni", Err(slow())), "InstallingAddons", AGAIN)]
#[case::one_is_too_slow_to_install(
    Case::metal().phase("InstallingAddons").condition("Addon-cni", 0).after(1201),
    installed("cni", Err(slow())),
    "Failed AddonInstallationFailed: not done within 20 min: CNI: slow", WAIT)]
#[case::time_of_earlier_addons_does_not_count(
    Case::metal().phase("InstallingAddons").condition("Addon-crds", 1000).after(2200),
    installed("crds", Err(slow())), "InstallingAddons", AGAIN)]
#[case::one_cannot_be_installed(
    Case::metal().phase("InstallingAddons"), installed("cni", Err(fatal())),
    "Failed AddonInstallationFailed: CNI: refused", WAIT)]
#[case::all_installed(
    Case::metal().phase("InstallingAddons").installed(&[("cni", true), ("extra", false)]),
    installed("crds", Ok(())), "Pivoting", AT_ONCE)]
// the last look
#[case::looks(Case::metal().phase("Pivoting"), Fact::Nothing, "Pivoting", Step::Verify)]
#[case::healthy(
    Case::metal().phase("Pivoting"), Fact::Verified(Ok(vec!["m-cp-0".into()])), "Ready", AT_ONCE)]
#[case::not_healthy_yet(
    Case::metal().phase("Pivoting").after(600), Fact::Verified(Err(slow())), "Pivoting", AGAIN)]
#[case::not_healthy_in_time(
    Case::metal().phase("Pivoting").after(601), Fact::Verified(Err(slow())),
    "Failed ClusterNotHealthy: not done within 10 min: slow", WAIT)]
#[case::cannot_be_healthy(
    Case::metal().phase("Pivoting"), Fact::Verified(Err(fatal())), "Failed ClusterNotHealthy: refused", WAIT)]
// ends
#[case::ready_is_left_alone(Case::metal().phase("Ready").after(9999), Fact::Nothing, "Ready", WAIT)]
#[case::failed_is_left_alone(Case::metal().phase("Failed").after(9999), Fact::Nothing, "Failed", WAIT)]
// going
#[case::not_ours_to_remove(
    Case::metal().with("/metadata/finalizers", json!([])).deleted().all_run(), Fact::Nothing, "", WAIT)]
#[case::removes(Case::metal().phase("Ready").all_run().deleted(), Fact::Nothing, "Ready", Step::Release)]
#[case::removes_once(Case::metal().phase("Ready").all_run().deleted(), Fact::Released, "Ready", WAIT)]
#[case::removes_though_paused(
    Case::metal().phase("Ready").all_run().with("/spec/paused", json!(true)).deleted(), Fact::Nothing,
    "Ready", Step::Release)]
#[case::waits_until_they_are_gone(
    Case::metal().phase("Ready").all_run().released().deleted(), Fact::Nothing, "Ready", WAIT)]
#[case::removes_the_balancer_too(
    Case::cloud().phase("Ready").balancer("Ready").deleted(), Fact::Nothing, "Ready", Step::Release)]
#[case::waits_for_the_balancer_too(
    Case::cloud().phase("Ready").balancer("Ready").released().deleted(), Fact::Nothing, "Ready", WAIT)]
#[case::all_gone(Case::metal().phase("Ready").deleted(), Fact::Nothing, "Ready", Step::RemoveFinalizer)]
fn decisions(#[case] case: Case, #[case] fact: Fact, #[case] status: &str, #[case] step: Step) {
    let decision = case.decide(fact);
    assert_eq!((shown(&decision.status).as_str(), decision.step), (status, step));
}

/// The condition says what is waited for, and what happened; so does the one of the whole when it fails.
#[rstest]
#[case::machines(
    Case::metal().phase("ProvisioningMachines").machines(&["Running", "Creating", "Pending"]), Fact::Nothing,
    "MachinesReady", "False/Reconciling: 1 of 3 machines run")]
#[case::balancer(
    Case::cloud().phase("ProvisioningMachines").all_run().balancer("Creating"), Fact::Nothing,
    "MachinesReady", "False/Reconciling: the load balancer is not ready")]
#[case::machines_run(
    Case::metal().phase("ProvisioningMachines").all_run(), Fact::Nothing, "MachinesReady", "True/Ready: ")]
#[case::next_condition(
    Case::metal().phase("ProvisioningMachines").all_run(), Fact::Nothing,
    "TalosConfigured", "False/Reconciling: machines get their configuration")]
#[case::slow_machine(
    Case::metal().phase("ConfiguringTalos"), configured([Ok(()), Err(slow()), Ok(())]),
    "TalosConfigured", "False/NodeUnreachable: machine `m-cp-1`: slow")]
#[case::refusing_machine(
    Case::metal().phase("ConfiguringTalos"), configured([Ok(()), Ok(()), Err(fatal())]),
    "Ready", "False/TalosConfigurationFailed: machine `m-worker-0`: refused")]
#[case::code_of_a_refusal(
    Case::metal().phase("ConfiguringTalos"), configured([Ok(()), Ok(()), Err(fatal())]),
    "TalosConfigured", "False/NodeConfigRefused: machine `m-worker-0`: refused")]
#[case::addon_is_next(
    Case::metal().phase("InstallingAddons"), installed("cni", Ok(())),
    "AddonsInstalled", "False/Reconciling: installing extra: EXTRA")]
#[case::addon_done(
    Case::metal().phase("InstallingAddons"), installed("cni", Ok(())), "Addon-cni", "True/Ready: ")]
#[case::addon_slow(
    Case::metal().phase("InstallingAddons"), installed("cni", Err(slow())),
    "Addon-cni", "False/NodeUnreachable: CNI: slow")]
#[case::addon_passed_over(
    Case::metal().phase("InstallingAddons"), installed("extra", Err(slow())),
    "Addon-extra", "False/Failed: passed over, the cluster works without it: EXTRA: slow")]
#[case::addon_failed(
    Case::metal().phase("InstallingAddons"), installed("cni", Err(fatal())),
    "Ready", "False/AddonInstallationFailed: CNI: refused")]
#[case::healthy(
    Case::metal().phase("Pivoting"), Fact::Verified(Ok(Vec::new())), "Ready", "True/Ready: ")]
#[case::going(
    Case::metal().phase("Ready").all_run().deleted(), Fact::Nothing,
    "Ready", "False/Reconciling: 3 requests are not gone yet")]
fn conditions(#[case] case: Case, #[case] fact: Fact, #[case] name: &str, #[case] expected: &str) {
    assert_eq!(condition(&case.decide(fact).status, name), expected);
}
