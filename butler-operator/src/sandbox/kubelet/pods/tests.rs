use jiff::SignedDuration;
use serde_json::{Value, json};

use super::*;

fn store(dir: &tempfile::TempDir) -> Pods {
    let clock = Clock::new(SignedDuration::ZERO);
    let node_ip = "127.40.0.11".parse().unwrap();
    let addresses = Addresses::for_node(node_ip, 10_250);
    let logs = Logs::open(dir.path()).unwrap();
    let mut pods = Pods::new(clock, node_ip, addresses, logs, Recorder::new("node-1", clock.now()));
    pods.network_is_up();
    pods
}

fn pod(name: &str, uid: &str, more: Value) -> Pod {
    let mut pod = json!({
        "metadata": {
            "name": name, "namespace": "shop", "uid": uid,
            "annotations": {"sandbox.butler.butlerlabs.dev/start-seconds": "0"},
        },
        "spec": {"containers": [{"name": "web", "image": "web:1"}]},
        "status": {"phase": "Pending", "qosClass": "BestEffort"},
    });
    if let (Value::Object(pod), Value::Object(more)) = (&mut pod, more) {
        pod.extend(more);
    }
    serde_json::from_value(pod).unwrap()
}

fn key(name: &str) -> PodKey {
    PodKey { namespace: "shop".to_owned(), name: name.to_owned() }
}

fn phase(pods: &Pods, name: &str) -> String {
    pods.get(&key(name)).and_then(|tracked| tracked.status.phase.clone()).unwrap_or_default()
}

#[test]
fn an_older_status_from_the_watch_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mut pods = store(&dir);
    let pending = pod("a", "u-1", json!({}));
    assert!(pods.apply(pending.clone(), None).is_none());
    assert_eq!(phase(&pods, "a"), "Running");
    let (key, uid, request) = pods.next_request().unwrap();
    assert!(matches!(&request, PodRequest::Tell(status) if status.phase.as_deref() == Some("Running")));
    pods.apply(pending, None);
    assert_eq!(phase(&pods, "a"), "Running");
    assert!(!pods.has_request(), "one request at a time for a Pod");
    pods.answered(&key, &uid, &request, Outcome::Done);
    assert!(!pods.has_request(), "and nothing new to tell");
}

#[test]
fn what_could_not_be_told_is_told_again() {
    let dir = tempfile::tempdir().unwrap();
    let mut pods = store(&dir);
    pods.apply(pod("a", "u-1", json!({})), None);
    for outcome in [Outcome::Failed, Outcome::Failed, Outcome::Hopeless] {
        let (key, uid, request) = pods.next_request().unwrap();
        pods.answered(&key, &uid, &request, outcome);
    }
    assert!(pods.next_request().is_none(), "a hopeless case is left alone");
}

#[test]
fn a_pod_of_the_same_name_begins_anew_with_another_address() {
    let dir = tempfile::tempdir().unwrap();
    let mut pods = store(&dir);
    pods.apply(pod("a", "u-1", json!({})), None);
    let (held, uid, request) = pods.next_request().unwrap();
    let first = pods.get(&held).unwrap().status.pod_ip.clone();
    let replaced = pods.apply(pod("a", "u-2", json!({})), None).unwrap();
    assert_eq!(replaced.uid(), "u-1");
    assert_ne!(pods.get(&held).unwrap().status.pod_ip, first);
    // The late answer is about the other one.
    pods.answered(&held, &uid, &request, Outcome::Failed);
    assert_eq!(pods.next_request().unwrap().1, "u-2");
    assert!(pods.forget(&held, Some("u-1")).is_none(), "so is news of its end");
    assert!(pods.get(&held).is_some());
}

#[test]
fn what_is_not_on_a_list_is_gone() {
    let dir = tempfile::tempdir().unwrap();
    let mut pods = store(&dir);
    for name in ["a", "b", "c"] {
        pods.apply(pod(name, name, json!({})), None);
    }
    pods.begin_list();
    pods.mention(key("a"));
    pods.mention(key("c"));
    assert!(!pods.synced());
    let gone: Vec<_> = pods.end_list().iter().map(|tracked| tracked.uid().to_owned()).collect();
    assert_eq!(gone, ["b"]);
    assert!(pods.synced());
}

#[test]
fn a_deleted_pod_is_told_of_and_then_removed_once() {
    let dir = tempfile::tempdir().unwrap();
    let mut pods = store(&dir);
    let metadata = json!({
        "name": "a", "namespace": "shop", "uid": "u-1",
        "deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 0,
    });
    pods.apply(pod("a", "u-1", json!({})), None);
    pods.apply(pod("a", "u-1", json!({"metadata": metadata})), None);
    let mut requests = Vec::new();
    while let Some((key, uid, request)) = pods.next_request() {
        pods.answered(&key, &uid, &request, Outcome::Done);
        requests.push(matches!(request, PodRequest::Remove));
    }
    assert_eq!(requests, [false, true]);
    pods.look(&key("a"));
    assert!(!pods.has_request(), "a finalizer may keep the object");
}

#[test]
fn somebody_else_may_end_a_pod() {
    let dir = tempfile::tempdir().unwrap();
    let mut pods = store(&dir);
    pods.apply(pod("a", "u-1", json!({})), None);
    let (key, uid, request) = pods.next_request().unwrap();
    pods.answered(&key, &uid, &request, Outcome::Done);
    pods.apply(pod("a", "u-1", json!({"status": {"phase": "Failed", "reason": "NodeLost"}})), None);
    assert_eq!(phase(&pods, "a"), "Failed");
    assert!(!pods.has_request(), "and knows it already");
}

#[test]
fn a_log_is_found_or_said_to_be_missing() {
    let dir = tempfile::tempdir().unwrap();
    let mut pods = store(&dir);
    pods.apply(pod("a", "u-1", json!({})), None);
    let waits = json!({"spec": {"containers": [{"name": "web", "image": "web:missing"}]}});
    pods.apply(pod("b", "u-2", waits), None);
    let source = pods.log(&key("a"), "web", false).unwrap();
    assert!(source.path.exists());
    let run = source.run.unwrap();
    assert!(!run.is_cancelled());
    let refusals = [
        pods.log(&key("a"), "web", true),
        pods.log(&key("a"), "other", false),
        pods.log(&key("b"), "web", false),
        pods.log(&key("c"), "web", false),
    ];
    assert_eq!(refusals.map(|refusal| refusal.unwrap_err().0), [400, 404, 400, 404]);
    pods.forget(&key("a"), Some("u-1"));
    assert!(run.is_cancelled() && !source.path.exists());
}

#[test]
fn a_reboot_starts_containers_again_and_once() {
    let dir = tempfile::tempdir().unwrap();
    let mut pods = store(&dir);
    let runs = |policy: &str| {
        let running = json!({"running": {"startedAt": "2026-01-01T00:00:00Z"}});
        json!({
            "spec": {"restartPolicy": policy, "containers": [{"name": "web", "image": "web:1"}]},
            "status": {
                "phase": "Running", "startTime": "2026-01-01T00:00:00Z", "podIP": "10.244.0.9",
                "containerStatuses": [{
                    "name": "web", "image": "web:1", "imageID": "", "state": running,
                    "ready": true, "started": true, "restartCount": 2,
                }],
            },
        })
    };
    let mut long = pod("job", "u-2", runs("Never"));
    let annotations = long.metadata.annotations.get_or_insert_default();
    annotations.insert("sandbox.butler.butlerlabs.dev/run-seconds".to_owned(), "604800".to_owned());
    long.status.as_mut().unwrap().container_statuses.as_mut().unwrap()[0].state = serde_json::from_value(
        json!({"running": {"startedAt": Timestamp::now() - SignedDuration::from_mins(1)}}),
    )
    .unwrap();
    let booted = pods.clock.now();
    pods.apply(pod("web", "u-1", runs("Always")), None);
    pods.apply(long, None);
    pods.rebooted(booted);
    pods.look(&key("web"));
    let web = pods.get(&key("web")).unwrap().container("web").unwrap();
    assert!(is_running(web) && web.restart_count == 3);
    assert_eq!(web.last_state.as_ref().unwrap().terminated.as_ref().unwrap().exit_code, 255);
    assert_eq!(phase(&pods, "job"), "Failed");
    assert_eq!(pods.get(&key("web")).unwrap().status.pod_ip.as_deref(), Some("10.244.0.9"));
}
