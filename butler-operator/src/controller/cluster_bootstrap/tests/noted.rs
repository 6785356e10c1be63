//! What a status keeps from one decision to the next: the way to the API, machines, addons, times.

use butler_core::api::cluster_bootstrap::{BootstrapMachine, ClusterBootstrapStatus};
use kube::ResourceExt;
use rstest::rstest;
use serde_json::{Value, json};

use super::{
    super::{
        decide::{Fact, Step},
        machines::host,
    },
    AGAIN, Case, START, WAIT, condition, configure, configured, fatal, installed, shown, slow,
};

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
    assert_eq!(condition(&again.status, "Addon-cni"), "False/NodeUnreachable: CNI: slow");
    let since = |status: &ClusterBootstrapStatus| {
        let found = status.conditions.iter().find(|condition| condition.type_ == "Addon-cni");
        found.map(|found| found.last_transition_time.0.as_second())
    };
    assert_eq!(since(&again.status), Some(START + 3));
}

#[test]
fn another_try_after_a_failure_has_all_the_time_of_the_first() {
    let mut case = Case::metal().phase("ConfiguringTalos").all_run().configured(&[0, 2]).after(700);
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
