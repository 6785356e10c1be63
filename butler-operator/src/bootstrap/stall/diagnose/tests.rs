//! What is seen, and what follows from it, one row each.

use rstest::rstest;

use super::*;

fn machine(name: &str) -> MachineSeen {
    MachineSeen {
        name: name.to_owned(),
        control_plane: name.contains("cp"),
        address: Some("10.0.0.1".to_owned()),
        configured: true,
        request: None,
        provider: Ok(Some(MachineState::Running)),
        console: vec!["[talos] waiting".to_owned()],
        node: well(1),
    }
}

fn well(voting: usize) -> Node {
    Node::Answers { etcd: None, kubelet: None, voting: Some(voting), api_server: Vec::new() }
}

fn said(code: Option<Code>, text: &str) -> Option<Said> {
    Some(Said { code, text: text.to_owned() })
}

fn cluster() -> ClusterSeen {
    ClusterSeen { api: Ok(()), not_ready: Vec::new(), pods: Vec::new(), pending: None }
}

fn evidence(phase: Phase, machines: Vec<MachineSeen>) -> Evidence {
    let files = Files {
        run: "RUN".into(),
        temporary: "/r/temporary/kubeconfig".into(),
        kubeconfig: "/r/work/kubeconfig".into(),
        talosconfig: "/r/work/talosconfig".into(),
    };
    Evidence { phase, seconds: 21, said: said(None, "1 of 2 machines run"), machines, cluster: None, files }
}

fn provisioning(change: impl FnOnce(&mut MachineSeen)) -> Evidence {
    let mut seen = machine("m-cp-0");
    (seen.address, seen.configured, seen.node) = (None, false, Node::NotAsked);
    change(&mut seen);
    evidence(Phase::ProvisioningMachines, vec![seen])
}

fn configuring(change: impl FnOnce(&mut MachineSeen)) -> Evidence {
    let mut seen = machine("m-cp-1");
    (seen.configured, seen.node) = (false, Node::Maintenance);
    change(&mut seen);
    evidence(Phase::ConfiguringTalos, vec![machine("m-cp-0"), seen])
}

fn begun(phase: Phase, change: impl FnOnce(&mut Evidence)) -> Evidence {
    let mut seen = evidence(phase, vec![machine("m-cp-0"), machine("m-worker-0")]);
    seen.cluster = Some(cluster());
    change(&mut seen);
    seen
}

#[rstest]
#[case::no_address(provisioning(|_| {}), Code::MachineNoAddress, "machine `m-cp-0` has no address")]
#[case::off_before_it_had_one(
    provisioning(|machine| machine.provider = Ok(Some(MachineState::Stopped))),
    Code::MachineOff, "machine `m-cp-0` is switched off")]
#[case::provider_cannot_be_asked(
    provisioning(|machine| machine.provider = Err(Said { code: Some(Code::ProviderTimeout), text: "no answer".into() })),
    Code::ProviderTimeout, "machine `m-cp-0`: no answer")]
#[case::provider_does_not_make_it(
    provisioning(|machine| {
        machine.provider = Ok(None);
        machine.request = said(Some(Code::ProviderThrottled), "cannot create machine `m-cp-0`: 429");
    }),
    Code::ProviderThrottled, "machine `m-cp-0`: cannot create machine `m-cp-0`: 429")]
#[case::provider_says_nothing(
    provisioning(|machine| machine.provider = Ok(None)),
    Code::ProviderTimeout, "machine `m-cp-0` was asked for, and the provider has not answered")]
#[case::load_balancer(
    { let mut seen = provisioning(|machine| machine.address = Some("10.0.0.1".into()));
      seen.said = said(None, "the load balancer is not ready"); seen },
    Code::RunStalled, "the load balancer is not ready")]
#[case::wrong_address(
    configuring(|machine| machine.node = Node::Silent("connection refused".into())),
    Code::NodeSilent,
    "nothing answers at 10.0.0.1, which the provider gives as the address of machine `m-cp-1`")]
#[case::died_of_its_configuration(
    configuring(|machine| {
        machine.node = Node::Silent("connection refused".into());
        machine.provider = Ok(Some(MachineState::Stopped));
    }),
    Code::MachineOff, "machine `m-cp-1` is switched off")]
#[case::still_without_configuration(
    { let mut seen = configuring(|_| {});
      seen.said = said(Some(Code::NodeTimeout), "machine `m-cp-1`: did not take the configuration"); seen },
    Code::NodeTimeout, "machine `m-cp-1` has not taken its configuration")]
#[case::etcd(
    begun(Phase::BootstrappingCluster, |seen| {
        seen.cluster = None;
        seen.machines[0].node = Node::Answers {
            etcd: Some("Preparing: waits".into()), kubelet: None, voting: None, api_server: Vec::new(),
        };
    }),
    Code::EtcdNotFormed, "etcd has not begun on node `m-cp-0`")]
#[case::api_server(
    begun(Phase::BootstrappingCluster, |seen| seen.cluster = None),
    Code::ApiServerDown, "the API server on node `m-cp-0` is not ready, or does not stay so")]
#[case::partition_of_the_first(
    begun(Phase::BootstrappingCluster, |seen| seen.machines[0].node = Node::Silent("no answer within 3 s".into())),
    Code::NodeLost, "node `m-cp-0` had its configuration and does not answer any more")]
#[case::api_server_comes_and_goes(
    begun(Phase::InstallingAddons, |seen| {
        seen.said = said(Some(Code::ReleaseFailed), "helm could not");
        seen.cluster = Some(ClusterSeen { api: Err("connection refused".into()), ..cluster() });
    }),
    Code::ApiServerDown, "the API server on node `m-cp-0` is not ready, or does not stay so")]
#[case::chart_server(
    begun(Phase::InstallingAddons, |seen| seen.said = said(Some(Code::AddonSourceUnreachable), "cannot get the index")),
    Code::AddonSourceUnreachable, "cannot get the index")]
#[case::release_hangs(
    begun(Phase::InstallingAddons, |seen| {
        seen.said = said(None, "installing cert-manager");
        seen.cluster = Some(ClusterSeen { pods: vec!["Pod `a`: ImagePullBackOff".into()], ..cluster() });
    }),
    Code::AddonLate, "installing cert-manager: its Pods do not run")]
#[case::release_hangs_after_another_try_failed(
    begun(Phase::InstallingAddons, |seen| {
        seen.said = said(Some(Code::ReleaseFailed), "helm could not install release `web`");
        seen.cluster = Some(ClusterSeen { pending: Some(("web".into(), 9)), ..cluster() });
    }),
    Code::AddonLate, "helm waits for release `web`, whose Pods do not run")]
#[case::release_is_tried_again(
    begun(Phase::InstallingAddons, |seen| {
        seen.said = said(Some(Code::ReleaseFailed), "helm could not install release `web`");
        seen.cluster = Some(ClusterSeen { pending: Some(("web".into(), 2)), ..cluster() });
    }),
    Code::ReleaseFailed, "helm could not install release `web`")]
#[case::partition_of_another(
    begun(Phase::Pivoting, |seen| {
        seen.machines[1].node = Node::Silent("no answer within 3 s".into());
        seen.cluster = Some(ClusterSeen { not_ready: vec!["m-worker-0".into()], ..cluster() });
    }),
    Code::NodeLost, "node `m-worker-0` had its configuration and does not answer any more")]
#[case::not_every_control_plane_votes(
    begun(Phase::Pivoting, |seen| seen.machines[0].node = well(0)),
    Code::EtcdNotFormed, "0 of 1 control planes vote in etcd")]
#[case::not_ready(
    begun(Phase::Pivoting, |seen| {
        seen.cluster = Some(ClusterSeen { not_ready: vec!["m-worker-0".into()], ..cluster() });
    }),
    Code::NodesNotReady, "nodes that are not Ready: m-worker-0")]
#[case::nobody_knows(begun(Phase::Pivoting, |_| {}), Code::RunStalled, "1 of 2 machines run")]
fn diagnoses(#[case] seen: Evidence, #[case] code: Code, #[case] what: &str) {
    let stall = diagnose(&seen);
    assert_eq!((stall.code, stall.what.as_str(), stall.seconds), (code.to_string(), what, 21));
    assert_eq!(stall.next.last().unwrap(), &format!("butleradm explain {code}"));
    assert!(stall.next.len() > 1, "a step of its own: {:?}", stall.next);
}

#[test]
fn a_machine_without_an_address_is_told_with_its_provider_its_console_and_a_command_to_copy() {
    let stall = diagnose(&provisioning(|machine| {
        machine.provider = Ok(Some(MachineState::Creating));
        machine.console = vec!["a\u{1b}[31m hang".to_owned(), "  b".to_owned()];
    }));
    assert_eq!(
        stall.evidence,
        ["the provider says that it is on and booting", "its console says last: a[31m hang / b"]
    );
    assert_eq!(
        stall.next[0],
        "butleradm machine console m-cp-0 --tail 20 --owner RUN --kubeconfig /r/temporary/kubeconfig"
    );
}

#[test]
fn what_others_say_at_length_is_cut() {
    let mut seen = begun(Phase::InstallingAddons, |_| {});
    seen.said = said(Some(Code::ReleaseFailed), &"é ".repeat(4000));
    assert!(diagnose(&seen).what.chars().count() <= 600);
}
