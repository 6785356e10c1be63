//! Decisions, one row each: what is known, what was learnt, what follows. And what is asked for, and how
//! machines are configured.

use std::time::Duration;

use butler_core::{
    api::{
        ClusterBootstrap, LoadBalancerRequest, MachineRequest,
        cluster_bootstrap::{BootstrapMachine, ClusterBootstrapStatus},
        common::MachineRole,
        names::{annotations, finalizers, labels},
    },
    bootstrap::addons::{AddonAction, AddonStep},
};
use jiff::Timestamp;
use kube::ResourceExt;
use rstest::rstest;
use serde_json::{Value, json};

use super::{
    decide::{Decision, Fact, Step, Trouble, View, decide, host},
    nodes::options,
    wanted,
};
use crate::{
    controller::Next,
    talos::{
        config::{MachineConfig, MachineType, Provider, Topology, main::Interface},
        secrets::SecretsBundle,
    },
};

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
    Trouble { passes: true, text: "slow".into() }
}

fn fatal() -> Trouble {
    Trouble { passes: false, text: "refused".into() }
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
    Case::metal().phase("ConfiguringTalos").after(601), configured([Ok(()), Err(slow()), Ok(())]),
    "Failed TalosConfigurationFailed: not done within 10 min: machine `m-cp-1`: slow", WAIT)]
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
    "TalosConfigured", "False/Reconciling: machine `m-cp-1`: slow")]
#[case::refusing_machine(
    Case::metal().phase("ConfiguringTalos"), configured([Ok(()), Ok(()), Err(fatal())]),
    "Ready", "False/TalosConfigurationFailed: machine `m-worker-0`: refused")]
#[case::addon_is_next(
    Case::metal().phase("InstallingAddons"), installed("cni", Ok(())),
    "AddonsInstalled", "False/Reconciling: installing EXTRA")]
#[case::addon_done(
    Case::metal().phase("InstallingAddons"), installed("cni", Ok(())), "Addon-cni", "True/Ready: ")]
#[case::addon_slow(
    Case::metal().phase("InstallingAddons"), installed("cni", Err(slow())),
    "Addon-cni", "False/Reconciling: CNI: slow")]
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

/// The rules of the way to the API; it is known only when it will never change.
#[rstest]
#[case::shared_address(Case::metal().vip(), "https://10.0.0.100:6443")]
#[case::shared_address_wins_over_a_balancer(Case::cloud().vip(), "https://10.0.0.100:6443")]
#[case::balancer(Case::cloud().balancer("Ready"), "https://lb.example.org:6443")]
#[case::first_control_plane(Case::metal(), "https://10.0.0.1:6443")]
#[case::six(Case::metal().with("/spec/network/vip", json!("fd00::1")), "https://[fd00::1]:6443")]
fn endpoints(#[case] case: Case, #[case] expected: &str) {
    let mut case = case.phase("ProvisioningMachines").all_run();
    if case.balancer.is_some() {
        case = case.balancer("Ready");
    }
    let status = case.decide(Fact::Nothing).status;
    assert_eq!(status.control_plane_endpoint.as_deref(), Some(expected));
    let bare = expected.trim_start_matches("https://").trim_end_matches(":6443");
    assert_eq!(host(&status), bare.trim_matches(['[', ']']));
}

#[test]
fn a_single_node_in_a_cloud_is_its_own_way_in() {
    let case = Case::cloud().single().phase("ProvisioningMachines").machines(&["Running"]);
    let decision = case.decide(Fact::Nothing);
    assert_eq!(decision.status.control_plane_endpoint.as_deref(), Some("https://10.0.0.1:6443"));
    assert_eq!(shown(&decision.status), "ConfiguringTalos");
}

#[test]
fn what_is_missing_is_asked_for_and_what_is_there_is_not() {
    let names = |step: Step| match step {
        Step::Ask(requests, balancer) => {
            let names = requests.iter().map(ResourceExt::name_any);
            names.chain(balancer.map(|balancer| balancer.name_any())).collect::<Vec<_>>()
        }
        other => panic!("{other:?}"),
    };
    let case = Case::metal().phase("ProvisioningMachines");
    assert_eq!(names(case.decide(Fact::Nothing).step), ["m-cp-0", "m-cp-1", "m-worker-0"]);
    let case = case.machines(&["Running"]);
    assert_eq!(names(case.decide(Fact::Nothing).step), ["m-cp-1", "m-worker-0"]);
    // A control plane that got its address goes behind the load balancer.
    let mut case = Case::cloud().phase("ProvisioningMachines").machines(&["Pending"; 3]).balancer("Ready");
    assert_eq!(case.decide(Fact::Nothing).step, WAIT);
    case.requests[0]["status"]["ipAddress"] = json!("10.0.0.1");
    assert_eq!(names(case.decide(Fact::Nothing).step), ["m-cp-lb"]);
}

#[test]
fn what_was_done_to_a_machine_stays_noted_while_its_request_changes() {
    let mut case = Case::metal().phase("ProvisioningMachines").machines(&["Running", "Creating", "Running"]);
    case.object["status"]["machines"] = json!([
        {"name": "m-cp-0", "role": "control-plane", "phase": "Pending", "talosConfigured": true, "ready": true}
    ]);
    let status = case.decide(Fact::Nothing).status;
    let told = |machine: &BootstrapMachine| {
        (machine.name.clone(), machine.ip_address.clone(), machine.talos_configured, machine.ready)
    };
    let all: Vec<_> = status.machines.iter().map(told).collect();
    assert_eq!(
        all,
        [
            ("m-cp-0".to_owned(), Some("10.0.0.1".to_owned()), Some(true), Some(true)),
            ("m-cp-1".to_owned(), None, None, None),
            ("m-worker-0".to_owned(), Some("10.0.0.3".to_owned()), None, None),
        ]
    );
}

#[rstest]
#[case::machine(Case::metal().machines(&["Running", "Failed", "Running"]))]
#[case::balancer(Case::cloud().all_run().balancer("Failed"))]
fn a_failure_of_what_was_asked_for_still_tells_of_every_machine(#[case] case: Case) {
    let status = case.phase("ProvisioningMachines").decide(Fact::Nothing).status;
    assert_eq!((status.phase.unwrap().as_str(), status.machines.len()), ("Failed", 3));
}

#[test]
fn machines_that_took_their_configuration_are_noted_though_another_did_not() {
    let case = Case::metal().phase("ConfiguringTalos");
    for trouble in [slow(), fatal()] {
        let status = case.decide(configured([Ok(()), Err(trouble), Ok(())])).status;
        let noted: Vec<_> = status.machines.iter().map(|machine| machine.talos_configured).collect();
        assert_eq!(noted, [Some(true), None, Some(true)]);
    }
}

#[test]
fn machines_are_ready_when_their_nodes_are() {
    let nodes = vec!["m-cp-0".to_owned(), "m-worker-0".to_owned()];
    let status = Case::metal().phase("Pivoting").decide(Fact::Verified(Ok(nodes))).status;
    let ready: Vec<_> = status.machines.iter().map(|machine| machine.ready).collect();
    assert_eq!(ready, [Some(true), Some(false), Some(true)]);
}

#[test]
fn addons_are_noted_with_etcd_that_has_begun_and_what_was_passed_over() {
    let status = Case::metal().phase("BootstrappingCluster").decide(Fact::Bootstrapped(Ok(()))).status;
    assert_eq!(json!(status.addons_installed), json!({ "bootstrap-initiated": true }));
    let case = Case::metal().phase("InstallingAddons");
    let status = case.decide(installed("cni", Ok(()))).status;
    assert_eq!(json!(status.addons_installed), json!({ "cni": true }));
    let skipped = case.decide(installed("extra", Err(slow())));
    assert_eq!(json!(skipped.status.addons_installed), json!({ "extra": false }));
    assert_eq!(skipped.notice.map(|notice| notice.reason), Some("AddonSkipped"));
}

#[test]
fn an_addon_that_is_tried_again_keeps_its_beginning_and_what_the_last_try_said() {
    let mut case = Case::metal().phase("InstallingAddons");
    let began = case.decide(Fact::Nothing).status;
    case.object["status"] = json!(began);
    case.now += 100;
    let tried = case.decide(installed("cni", Err(slow()))).status;
    case.object["status"] = json!(tried);
    case.now += 100;
    let again = case.decide(Fact::Nothing);
    assert_eq!(again.step, Step::Install("cni".into()));
    assert_eq!(condition(&again.status, "Addon-cni"), "False/Reconciling: CNI: slow");
    let since = |status: &ClusterBootstrapStatus| {
        let found = status.conditions.iter().find(|condition| condition.type_ == "Addon-cni");
        found.map(|found| found.last_transition_time.0.as_second())
    };
    assert_eq!(since(&again.status), Some(START + 3));
}

#[test]
fn another_try_after_a_failure_has_all_the_time_of_the_first() {
    let mut case = Case::metal().phase("ConfiguringTalos").all_run().after(700);
    let failed = case.decide(configured([Ok(()), Err(slow()), Ok(())])).status;
    assert_eq!(failed.phase.as_ref().map(|phase| phase.as_str()), Some("Failed"));
    case.object["status"] = json!(failed);
    // What a person does who wants another try.
    case.object["status"]["phase"] = Value::Null;
    case.now = START + 9000;
    for phase in ["ProvisioningMachines", "ConfiguringTalos"] {
        let status = case.decide(Fact::Nothing).status;
        assert_eq!(shown(&status), phase, "no word of the earlier failure");
        case.object["status"] = json!(status);
    }
    assert_eq!(case.decide(Fact::Nothing).step, configure(&["m-cp-1"]), "the others have theirs");
    let slow_again = case.decide(configured([Ok(()), Err(slow()), Ok(())]));
    assert_eq!((shown(&slow_again.status).as_str(), slow_again.step), ("ConfiguringTalos", AGAIN));
}

#[test]
fn deciding_twice_changes_nothing() {
    let mut case = Case::cloud().phase("ProvisioningMachines").all_run().balancer("Creating");
    let first = case.decide(Fact::Nothing);
    case.object["status"] = json!(first.status);
    case.now += 60;
    assert_eq!(case.decide(Fact::Nothing), first);
}

// what is asked for

#[rstest]
#[case::ha(Case::metal(), &["m-cp-0", "m-cp-1", "m-worker-0"])]
#[case::no_workers(Case::metal().with("/spec/cluster/workers", Value::Null), &["m-cp-0", "m-cp-1"])]
#[case::zero_workers(Case::metal().with("/spec/cluster/workers", pool(0)), &["m-cp-0", "m-cp-1"])]
#[case::single(Case::metal().single(), &["m-cp-0"])]
#[case::many(
    Case::metal().with("/spec/cluster/controlPlane", pool(3)).with("/spec/cluster/workers", pool(2)),
    &["m-cp-0", "m-cp-1", "m-cp-2", "m-worker-0", "m-worker-1"])]
#[case::local(Case::new("local"), &[])]
fn machines_by_topology(#[case] case: Case, #[case] expected: &[&str]) {
    let requests = wanted::machine_requests(&case.bootstrap());
    let names: Vec<_> = requests.iter().map(|request| request.spec.machine_name.as_str()).collect();
    assert_eq!(names, expected);
    assert!(requests.iter().all(|request| request.name_any() == request.spec.machine_name));
}

#[test]
fn a_request_says_whose_it_is_and_what_the_pool_says() {
    let workers = json!({
        "replicas": 1, "cpu": 8, "memoryMB": 16384, "diskGB": 120,
        "extraDisks": [{"sizeGB": 50}], "labels": {"rack": "r1"},
    });
    let bootstrap = Case::metal().with("/spec/cluster/workers", workers).bootstrap();
    let request = wanted::machine_requests(&bootstrap).pop().unwrap();
    let expected = [(labels::CLUSTER_BOOTSTRAP, "m"), (labels::CLUSTER, "m"), (labels::ROLE, "worker")];
    assert_eq!(json!(request.metadata.labels), json!(std::collections::BTreeMap::from(expected)));
    assert_eq!(request.metadata.namespace.as_deref(), Some("n"));
    let owner = &request.metadata.owner_references.unwrap()[0];
    assert_eq!((owner.uid.as_str(), owner.controller), ("u", Some(true)));
    let spec = request.spec;
    assert_eq!((spec.cpu, spec.memory_mb, spec.disk_gb, spec.extra_disks.len()), (8, 16384, 120, 1));
    assert_eq!(spec.provider_ref.namespace.as_deref(), Some("n"), "its own namespace where none is named");
    assert_eq!(json!(spec.labels), json!({ "rack": "r1" }));
    assert_eq!((spec.user_data, spec.network_data), (None, None), "machines boot into maintenance mode");
}

#[rstest]
#[case::aws("aws", true)]
#[case::azure("azure", true)]
#[case::gcp("gcp", true)]
#[case::harvester("harvester", false)]
#[case::nutanix("nutanix", false)]
#[case::proxmox("proxmox", false)]
#[case::sandbox("sandbox", false)]
fn machines_in_clouds_carry_the_tag_of_their_cluster(#[case] provider: &str, #[case] tagged: bool) {
    for request in wanted::machine_requests(&Case::new(provider).bootstrap()) {
        let tag = request.spec.labels.get("kubernetes.io/cluster/m").map(String::as_str);
        assert_eq!(tag, tagged.then_some("owned"), "{}", request.spec.machine_name);
    }
}

#[rstest]
#[case::cloud(Case::cloud(), true)]
#[case::sandbox(Case::new("sandbox"), true)]
#[case::metal(Case::metal(), false)]
#[case::shared_address(Case::cloud().vip(), false)]
#[case::empty_address(Case::cloud().with("/spec/network/vip", json!("")), true)]
#[case::single(Case::cloud().single(), false)]
fn a_load_balancer_is_for_several_control_planes_of_providers_that_have_them(
    #[case] case: Case,
    #[case] wanted: bool,
) {
    assert_eq!(wanted::load_balancer(&case.bootstrap(), &[]).is_some(), wanted);
}

#[test]
fn behind_the_load_balancer_are_the_control_planes_that_have_an_address() {
    let case = Case::cloud().machines(&["Running", "Creating", "Running"]);
    let balancer = wanted::load_balancer(&case.bootstrap(), &case.requests()).unwrap();
    assert_eq!((balancer.name_any().as_str(), balancer.spec.port), ("m-cp-lb", Some(6443)));
    assert_eq!(balancer.labels().get(labels::CLUSTER_BOOTSTRAP).map(String::as_str), Some("m"));
    assert_eq!(
        json!(balancer.spec.targets),
        json!([{ "ip": "10.0.0.1", "instanceID": "vm-0", "instanceName": "m-cp-0" }])
    );
}

// configurations

fn machines(case: &Case) -> Vec<BootstrapMachine> {
    case.clone().phase("ProvisioningMachines").all_run().decide(Fact::Nothing).status.machines
}

fn interfaces(case: &Case, role: MachineType) -> Vec<Interface> {
    let options = options(&case.bootstrap(), "10.0.0.100", &machines(case), true).unwrap();
    let bundle = SecretsBundle::generate(Timestamp::now()).unwrap();
    let config = options.generate(&bundle, role, Some("m-cp-0")).unwrap();
    MachineConfig::from_yaml(&config).unwrap().main.machine.network.interfaces
}

#[rstest]
#[case("harvester", Provider::Harvester)]
#[case("nutanix", Provider::Nutanix)]
#[case("proxmox", Provider::Proxmox)]
#[case("aws", Provider::Aws)]
#[case("azure", Provider::Azure)]
#[case("gcp", Provider::Gcp)]
#[case("sandbox", Provider::Sandbox)]
fn every_provider_of_machines_is_known_to_talos(#[case] name: &str, #[case] expected: Provider) {
    let made = options(&Case::new(name).bootstrap(), "h", &[], true).unwrap();
    assert_eq!(made.provider, expected);
}

#[rstest]
#[case::provider(Case::new("local"), "machines of provider `local` do not run Talos")]
#[case::kubernetes(
    Case::metal().with("/metadata/annotations", json!({ annotations::KUBERNETES_VERSION: "v1.x" })),
    "`1.x` is not a version of Kubernetes")]
fn choices_that_cannot_be_do_not_pass(#[case] case: Case, #[case] text: &str) {
    let trouble = options(&case.bootstrap(), "h", &[], true).unwrap_err();
    assert_eq!(trouble, Trouble { passes: false, text: text.to_owned() });
}

#[test]
fn a_version_of_talos_that_is_none_does_not_pass() {
    let case = Case::metal().with("/spec/talos/version", json!("newest"));
    assert!(!options(&case.bootstrap(), "h", &[], true).unwrap_err().passes);
}

#[test]
fn a_version_of_kubernetes_is_taken_with_and_without_its_letter() {
    for text in ["v1.33.2", "1.33.2"] {
        let case =
            Case::metal().with("/metadata/annotations", json!({ annotations::KUBERNETES_VERSION: text }));
        let made = options(&case.bootstrap(), "h", &[], true).unwrap();
        assert_eq!(made.kubernetes.to_string(), "1.33.2");
    }
}

#[test]
fn certificates_name_the_way_in_and_every_control_plane() {
    let case = Case::metal();
    let made = options(&case.bootstrap(), "10.0.0.1", &machines(&case), true).unwrap();
    assert_eq!((made.workers, made.topology), (1, Topology::Ha));
    assert_eq!((made.install_disk.as_str(), made.schematic.as_deref()), ("/dev/vda", None));
    let bundle = SecretsBundle::generate(Timestamp::now()).unwrap();
    for role in [MachineType::ControlPlane, MachineType::Worker] {
        let config = made.generate(&bundle, role, None).unwrap();
        let names = MachineConfig::from_yaml(&config).unwrap().main.machine.cert_sans;
        assert_eq!(names, ["10.0.0.1", "10.0.0.2"], "the way in first, nothing twice");
    }
}

#[rstest]
#[case::nutanix(Case::new("nutanix").vip(), Some("ens3"))]
#[case::harvester(Case::new("harvester").vip(), Some("enp1s0"))]
#[case::proxmox(Case::metal().vip(), Some("eth0"))]
#[case::named(Case::new("nutanix").vip().with("/spec/network/vipInterface", json!("bond0")), Some("bond0"))]
#[case::named_emptily(Case::new("nutanix").vip().with("/spec/network/vipInterface", json!("")), Some("ens3"))]
#[case::no_address(Case::metal(), None)]
#[case::cloud(Case::cloud().vip(), None)]
fn the_card_of_the_shared_address(#[case] case: Case, #[case] expected: Option<&str>) {
    let vip = options(&case.bootstrap(), "h", &[], true).unwrap().vip;
    assert_eq!(vip.as_ref().map(|vip| vip.interface.as_str()), expected);
    assert!(vip.is_none_or(|vip| vip.address.to_string() == "10.0.0.100"));
}

const MTU: &str = r#"[{"deviceSelector":{"physical":true},"dhcp":true,"mtu":1400}]"#;

fn patched(case: Case, patches: &[(&str, &str, &str)]) -> Case {
    let patch = |(op, path, value): &(&str, &str, &str)| json!({ "op": op, "path": path, "value": value });
    case.with("/spec/talos/configPatches", patches.iter().map(patch).collect())
}

#[rstest]
#[case::shared_address(Case::metal().vip(), "10.0.0.100")]
#[case::address_of_a_balancer(Case::new("gcp"), "10.0.0.100/32")]
fn the_largest_packet_and_the_address_of_the_api_go_together(#[case] case: Case, #[case] address: &str) {
    let case = patched(case, &[("add", "/machine/network/interfaces", MTU)]);
    let all = interfaces(&case, MachineType::ControlPlane);
    assert!(all.iter().any(|card| card.mtu == Some(1400)), "{all:?}");
    let of = |card: &Interface| {
        card.vip.iter().any(|vip| vip.ip == address) || card.addresses.iter().any(|own| own == address)
    };
    assert!(all.iter().any(of), "{all:?}");
    let workers = interfaces(&case, MachineType::Worker);
    assert!(workers.iter().any(|card| card.mtu == Some(1400)), "{workers:?}");
    assert!(!workers.iter().any(of), "workers do not answer for the API: {workers:?}");
}

#[test]
fn other_patches_are_kept_in_their_order() {
    let own = r#"[{"interface":"eth1","dhcp":true,"mtu":1400}]"#;
    let case = patched(
        Case::metal(),
        &[
            ("add", "/machine/time", r#"{"servers":["10.0.0.9"]}"#),
            ("add", "/machine/network/interfaces", MTU),
            ("add", "/machine/network/interfaces", own),
            ("replace", "/machine/network/interfaces", MTU),
        ],
    );
    let made = options(&case.bootstrap(), "h", &[], true).unwrap();
    let paths: Vec<_> = made.patches.iter().map(|patch| (patch.op, patch.path.as_str())).collect();
    use crate::talos::patches::Operation::{Add, Replace};
    let cards = "/machine/network/interfaces";
    assert_eq!(paths, [(Add, "/machine/time"), (Add, cards), (Replace, cards)]);
    assert_eq!(made.mtu, Some(1400));
}

#[rstest]
#[case::sandbox_without_one("sandbox", false, true)]
#[case::sandbox_with_cilium("sandbox", true, false)]
#[case::metal_without_one("proxmox", false, false)]
#[case::metal_with_cilium("proxmox", true, false)]
fn talos_brings_a_network_only_to_a_sandbox_that_has_none(
    #[case] provider: &str,
    #[case] brings_network: bool,
    #[case] expected: bool,
) {
    let made = options(&Case::new(provider).bootstrap(), "h", &[], brings_network).unwrap();
    assert_eq!(made.talos_network, expected);
}

#[test]
fn machines_keep_their_roles() {
    let roles: Vec<_> = machines(&Case::metal()).into_iter().map(|machine| machine.role).collect();
    assert_eq!(roles, [MachineRole::ControlPlane, MachineRole::ControlPlane, MachineRole::Worker]);
}
