use std::collections::BTreeMap;

use butler_core::cluster::ApiError;
use jiff::SignedDuration;
use k8s_openapi::api::core::v1::NodeCondition;
use kube::core::Status;

use super::*;

fn options() -> KubeletOptions {
    // Nobody is called.
    let nobody = tower::service_fn(|_: http::Request<kube::client::Body>| {
        std::future::pending::<Result<http::Response<kube::client::Body>, std::convert::Infallible>>()
    });
    let role = ("node-role.kubernetes.io/control-plane".to_owned(), String::new());
    KubeletOptions {
        node_name: "node-1".to_owned(),
        address: "127.40.0.11".parse().unwrap(),
        port: 10_250,
        cpu: 2,
        memory_mb: 2048,
        disk_gb: 10,
        labels: BTreeMap::from([role, ("pool".to_owned(), "a".to_owned())]),
        annotations: BTreeMap::new(),
        taints: Vec::new(),
        provider_id: Some("sandbox://node-1".to_owned()),
        kubelet_version: "v1.34.4".to_owned(),
        os_image: String::new(),
        kernel_version: String::new(),
        container_runtime: String::new(),
        machine_id: "one".to_owned(),
        system_uuid: String::new(),
        boot_id: "boot".to_owned(),
        client: kube::Client::new(nobody, "default"),
        client_ca: String::new(),
        serving: None,
        network_ready: true,
        log_dir: std::path::PathBuf::new(),
        clock_skew: SignedDuration::ZERO,
    }
}

fn start() -> Timestamp {
    "2026-01-01T00:00:00Z".parse().unwrap()
}

fn refusal(code: u16) -> CallError {
    let status = Status::failure("no", "No").with_code(code);
    ApiError::new("try", kube::Error::Api(Box::new(status))).into()
}

/// The Node as the API server would give it back.
fn stored(mut node: Node, version: u64) -> Node {
    node.metadata.uid = Some("u-1".to_owned());
    node.metadata.resource_version = Some(version.to_string());
    node
}

/// A kubelet whose Node is registered.
async fn registered(options: &KubeletOptions) -> Registration {
    let mut registration = Registration::default();
    assert!(registration.next_request(options, true, start()).is_none(), "not before it has looked");
    registration.begin_list();
    registration.end_list();
    let request = registration.next_request(options, true, start()).unwrap();
    let NodeRequest::Register(node) = &request else { panic!("{request:?}") };
    let node = stored((**node).clone(), 1);
    assert!(registration.next_request(options, true, start()).is_none(), "one at a time");
    registration.answered(&request, Ok(node), start());
    registration
}

#[tokio::test]
async fn a_registered_node_speaks_again_when_its_heart_beats() {
    let options = options();
    let mut registration = registered(&options).await;
    assert_eq!(registration.owner().unwrap().uid, "u-1");
    assert_eq!(registration.lease_request(start()).as_deref(), Some("u-1"));
    assert!(registration.lease_request(start()).is_none());
    registration.lease_answered(Ok(()), start());
    let due = registration.next_due().unwrap();
    assert!((10..11).contains(&due.duration_since(start()).as_secs()), "{due}");
    let later = start() + SignedDuration::from_mins(4);
    assert!(registration.next_request(&options, true, later).is_none());
    let later = start() + SignedDuration::from_mins(6);
    assert!(matches!(registration.next_request(&options, true, later), Some(NodeRequest::Tell(_))));
}

#[tokio::test]
async fn a_node_that_may_not_set_a_label_registers_without() {
    let options = options();
    let mut registration = Registration::default();
    registration.end_list();
    let first = registration.next_request(&options, true, start()).unwrap();
    registration.answered(&first, Err(refusal(403)), start());
    let Some(NodeRequest::Register(node)) = registration.next_request(&options, true, start()) else {
        panic!("it tries again at once")
    };
    let labels = node.metadata.labels.unwrap();
    assert!(labels.contains_key("pool") && labels.contains_key("kubernetes.io/hostname"));
    assert!(!labels.contains_key("node-role.kubernetes.io/control-plane"));
}

#[tokio::test]
async fn failures_make_it_wait() {
    let options = options();
    let mut registration = Registration::default();
    registration.end_list();
    let mut now = start();
    for _ in 0..10 {
        let request = registration.next_request(&options, true, now).unwrap();
        registration.answered(&request, Err(refusal(500)), now);
        assert!(registration.next_request(&options, true, now).is_none());
        now = registration.next_due().unwrap();
    }
    assert!(now > start() + SignedDuration::from_secs(20), "pauses grow: {now}");
}

#[tokio::test]
async fn two_nodes_of_one_name_do_not_argue_all_the_time() {
    let options = options();
    let mut registration = registered(&options).await;
    let other = KubeletOptions { machine_id: "two".to_owned(), ..options.clone() };
    let mut told = 0;
    let mut now = start();
    let end = start() + SignedDuration::from_mins(1);
    let mut version = 2;
    while now < end {
        // Whatever we say, the other one says otherwise.
        registration.apply(stored(node::object(&other, true, now), version));
        let Some(request) = registration.next_request(&options, true, now) else {
            now = registration.next_due().unwrap().max(now + SignedDuration::from_millis(1));
            continue;
        };
        told += 1;
        version += 2;
        registration.answered(&request, Ok(stored(node::object(&options, true, now), version - 1)), now);
    }
    assert!((5..30).contains(&told), "{told} times in a minute");
}

#[tokio::test]
async fn old_news_is_no_news() {
    let options = options();
    let mut registration = registered(&options).await;
    let ready = |registration: &Registration| -> Option<NodeCondition> {
        let conditions = registration.node.as_ref()?.status.as_ref()?.conditions.clone()?;
        conditions.into_iter().find(|condition| condition.type_ == "Ready")
    };
    registration.apply(stored(node::object(&options, false, start()), 0));
    assert_eq!(ready(&registration).unwrap().status, "True");
    registration.deleted(Some("u-0"));
    assert!(registration.owner().is_some(), "another one was deleted");
    registration.deleted(Some("u-1"));
    assert!(matches!(registration.next_request(&options, true, start()), Some(NodeRequest::Register(_))));
}

#[tokio::test]
async fn a_reboot_is_seen_by_the_node_that_is_there() {
    let options = options();
    assert!(!registered(&options).await.was_rebooted("boot"), "a new node was not rebooted");
    let mut registration = Registration::default();
    registration.begin_list();
    registration.apply(stored(node::object(&options, true, start()), 1));
    registration.end_list();
    assert!(!registration.was_rebooted("boot") && registration.was_rebooted("another"));
}
