use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Pod, PodStatus};
use rstest::rstest;
use serde_json::{Value, json};

use super::*;

/// A Pod whose life is watched, second by second.
pub(super) struct Watched {
    pub(super) pod: Pod,
    pub(super) status: PodStatus,
    deleted: Option<Timestamp>,
    pub(super) place: Place,
    pub(super) now: Timestamp,
    pub(super) next: Option<Timestamp>,
    pub(super) notes: Vec<Note>,
    pub(super) removed: bool,
}

impl Watched {
    pub(super) fn new(annotations: Value, spec: Value) -> Self {
        let annotations: serde_json::Map<String, Value> = annotations
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, value)| (format!("{}{name}", script::PREFIX), value.clone()))
            .collect();
        let pod = serde_json::from_value(json!({
            "metadata": {"name": "p", "namespace": "n", "uid": "u", "generation": 1, "annotations": annotations},
            "spec": spec,
        }));
        let place = Place {
            node_ip: "127.40.0.11".parse().unwrap(),
            pod_ip: Some("10.244.0.2".parse().unwrap()),
            network: true,
        };
        let now = "2026-01-01T00:00:00Z".parse().unwrap();
        let mut watched = Self {
            pod: pod.unwrap(),
            status: PodStatus::default(),
            deleted: None,
            place,
            now,
            next: None,
            notes: Vec::new(),
            removed: false,
        };
        watched.look();
        watched
    }

    pub(super) fn look(&mut self) {
        let verdict = decide(&self.pod, &self.status, self.deleted, self.now, &self.place);
        self.status = verdict.status;
        self.next = verdict.next;
        self.notes.extend(verdict.notes);
        self.removed |= verdict.remove;
    }

    /// Lets time pass, with a look whenever one is due.
    pub(super) fn pass(&mut self, seconds: f64) -> &mut Self {
        let end = after(self.now, Duration::from_secs_f64(seconds));
        while let Some(next) = self.next.filter(|next| *next <= end) {
            self.now = self.now.max(next);
            self.look();
        }
        self.now = end;
        self
    }

    pub(super) fn delete(&mut self, grace: i64) -> &mut Self {
        self.pod.metadata.deletion_grace_period_seconds = Some(grace);
        self.deleted = Some(self.now);
        self.look();
        self
    }

    fn value(&self) -> Value {
        serde_json::to_value(&self.status).unwrap()
    }

    fn phase(&self) -> &str {
        self.status.phase.as_deref().unwrap_or_default()
    }

    fn condition(&self, kind: &str) -> (String, Option<String>) {
        let found = self.status.conditions.iter().flatten().find(|condition| condition.type_ == kind);
        let found = found.unwrap_or_else(|| panic!("no {kind}"));
        (found.status.clone(), found.reason.clone())
    }

    /// The state of a container in a word.
    fn state(&self, list: &str, number: usize) -> String {
        let value = self.value();
        let state = &value[list][number]["state"];
        if state["running"].is_object() {
            return "running".to_owned();
        }
        let reason = [&state["waiting"]["reason"], &state["terminated"]["reason"]];
        reason.into_iter().find_map(Value::as_str).unwrap_or("none").to_owned()
    }

    fn main(&self) -> String {
        self.state("containerStatuses", 0)
    }
}

fn service() -> Value {
    json!({"containers": [{"name": "web", "image": "web:1"}]})
}

fn with(mut spec: Value, more: Value) -> Value {
    if let (Value::Object(spec), Value::Object(more)) = (&mut spec, more) {
        spec.extend(more);
    }
    spec
}

#[test]
fn a_service_is_created_runs_and_is_ready() {
    let mut life = Watched::new(json!({}), service());
    assert_eq!((life.phase(), life.main().as_str()), ("Pending", "ContainerCreating"));
    assert_eq!(life.condition("PodScheduled").0, "True");
    assert_eq!(life.condition("Initialized").0, "True");
    assert_eq!(life.condition("ContainersReady"), ("False".into(), Some("ContainersNotReady".into())));
    assert_eq!(life.status.host_ip.as_deref(), Some("127.40.0.11"));
    assert_eq!(life.status.pod_ip, None);
    life.pass(1.0);
    assert_eq!((life.phase(), life.main().as_str()), ("Running", "running"));
    assert_eq!(life.condition("Ready"), ("True".into(), None));
    assert_eq!(life.status.pod_ip.as_deref(), Some("10.244.0.2"));
    assert_eq!(life.next, None, "nothing more will happen by itself");
    let before = life.status.clone();
    life.pass(1e6).look();
    assert_eq!(life.status, before);
    assert_eq!(life.status.observed_generation, Some(1));
}

#[rstest]
#[case::no_probe(json!({}), 0.3, 0.3)]
#[case::readiness(json!({"readinessProbe": {"initialDelaySeconds": 3}}), 0.3, 3.3)]
#[case::both(json!({"startupProbe": {"initialDelaySeconds": 2}, "readinessProbe": {"initialDelaySeconds": 3}}), 2.3, 5.3)]
#[case::bounded(json!({"readinessProbe": {"initialDelaySeconds": 3600}}), 0.3, 10.3)]
#[case::nonsense(json!({"readinessProbe": {"initialDelaySeconds": -5}}), 0.3, 0.3)]
fn readiness_waits_for_probes(#[case] probes: Value, #[case] started: f64, #[case] ready: f64) {
    let spec = json!({"containers": [with(json!({"name": "web"}), probes)]});
    for (time, wanted) in [(started - 0.1, false), (started, true)] {
        let mut life = Watched::new(json!({}), spec.clone());
        life.pass(time);
        assert_eq!(life.value()["containerStatuses"][0]["started"], wanted, "started at {time}");
    }
    for (time, wanted) in [(ready - 0.1, "False"), (ready, "True")] {
        let mut life = Watched::new(json!({}), spec.clone());
        assert_eq!(life.pass(time).condition("Ready").0, wanted, "ready at {time}");
    }
}

#[test]
fn init_containers_run_one_after_the_other_and_sidecars_stay() {
    let spec = with(
        service(),
        json!({"restartPolicy": "Never", "initContainers": [
            {"name": "one"}, {"name": "side", "restartPolicy": "Always"}, {"name": "two"},
        ]}),
    );
    let mut life = Watched::new(json!({"run-seconds.one": "2", "run-seconds.two": "3"}), spec);
    let states = |life: &Watched| [0, 1, 2].map(|number| life.state("initContainerStatuses", number));
    assert_eq!(states(&life), ["PodInitializing"; 3]);
    life.pass(1.0);
    assert_eq!(states(&life), ["running", "PodInitializing", "PodInitializing"]);
    assert_eq!(life.condition("Initialized"), ("False".into(), Some("ContainersNotInitialized".into())));
    life.pass(2.0);
    assert_eq!(states(&life), ["Completed", "running", "running"]);
    assert_eq!((life.phase(), life.main().as_str()), ("Pending", "PodInitializing"));
    life.pass(2.5);
    assert_eq!(states(&life), ["Completed", "running", "Completed"]);
    assert_eq!((life.phase(), life.condition("Ready").0.as_str()), ("Running", "True"));
    life.pass(2.0);
    assert_eq!(states(&life), ["Completed"; 3], "the sidecar ends with the work");
    assert_eq!((life.phase(), life.main().as_str()), ("Succeeded", "Completed"));
    assert_eq!(life.condition("Ready"), ("False".into(), Some("PodCompleted".into())));
}

#[rstest]
#[case("Never", json!({}), "Succeeded", 0)]
#[case("OnFailure", json!({}), "Succeeded", 0)]
#[case("Never", json!({"exit-code": "3"}), "Failed", 3)]
#[case("Never", json!({"fail": "true"}), "Failed", 1)]
fn a_job_ends_as_its_script_says(
    #[case] policy: &str,
    #[case] script: Value,
    #[case] phase: &str,
    #[case] code: i32,
) {
    let mut life = Watched::new(script, with(service(), json!({"restartPolicy": policy})));
    life.pass(1.0);
    assert_eq!(life.phase(), "Running");
    life.pass(1.0);
    assert_eq!(life.phase(), phase);
    let value = life.value();
    let end = &value["containerStatuses"][0]["state"]["terminated"];
    assert_eq!(end["exitCode"], code);
    assert_eq!(end["startedAt"], "2026-01-01T00:00:00Z");
    assert_eq!(end["finishedAt"], "2026-01-01T00:00:01Z");
    assert_eq!(life.next, None);
}

#[test]
fn a_failed_init_container_fails_a_pod_that_is_not_restarted() {
    let init = json!({"restartPolicy": "Never", "initContainers": [{"name": "init"}]});
    let mut life = Watched::new(json!({"exit-code.init": "2"}), with(service(), init));
    life.pass(5.0);
    assert_eq!((life.phase(), life.main().as_str()), ("Failed", "PodInitializing"));
}

#[test]
fn a_crash_loop_waits_longer_each_time() {
    let mut life = Watched::new(json!({"crash-loop": "true"}), service());
    let restarts = |life: &Watched| life.value()["containerStatuses"][0]["restartCount"].clone();
    life.pass(1.5);
    assert_eq!((life.main().as_str(), restarts(&life)), ("running", json!(1)), "at once the first time");
    life.pass(1.0);
    assert_eq!((life.main().as_str(), life.phase()), ("CrashLoopBackOff", "Running"));
    assert_eq!(life.condition("Ready").0, "False");
    life.pass(10.0);
    assert_eq!((life.main().as_str(), restarts(&life)), ("running", json!(2)));
    life.pass(20.0);
    assert_eq!((life.main().as_str(), restarts(&life)), ("CrashLoopBackOff", json!(2)));
    life.pass(3600.0);
    let restarts = restarts(&life).as_i64().unwrap();
    assert!((10..20).contains(&restarts), "no more than one in five minutes: {restarts}");
    let ids: Vec<_> = life.notes.iter().filter(|note| matches!(note, Note::Started { .. })).collect();
    assert_eq!(ids.len() as i64, restarts + 1);
}

#[test]
fn a_missing_image_is_never_started() {
    let mut life =
        Watched::new(json!({}), json!({"containers": [{"name": "web", "image": "shop/web:missing"}]}));
    life.pass(1.0);
    assert_eq!((life.phase(), life.main().as_str()), ("Pending", "ErrImagePull"));
    life.pass(9.0);
    assert_eq!((life.phase(), life.main().as_str()), ("Pending", "ImagePullBackOff"));
    assert_eq!(life.next, None);
    life.delete(30);
    assert!(life.removed, "there is nothing to wait for");
}

#[test]
fn a_pod_without_network_waits_for_one() {
    let mut life = Watched::new(json!({}), service());
    life.place.network = false;
    life.status = PodStatus::default();
    life.look();
    life.pass(100.0);
    assert_eq!((life.phase(), life.main().as_str()), ("Pending", "ContainerCreating"));
    assert!(life.notes.contains(&Note::NetworkMissing));
    life.place.network = true;
    life.look();
    assert_eq!(life.phase(), "Running");

    let host = Watched::new(json!({"start-seconds": "0"}), with(service(), json!({"hostNetwork": true})));
    assert_eq!((host.phase(), &host.status.pod_ip), ("Running", &host.status.host_ip));
}

#[rstest]
#[case::polite(json!({}), "Always", 30, 0.3, "Succeeded")]
#[case::stubborn(json!({"ignore-term": "true"}), "Always", 30, 30.0, "Failed")]
#[case::no_grace(json!({}), "Always", 0, 0.0, "Failed")]
#[case::a_job(json!({"run-seconds": "600"}), "Never", 30, 0.3, "Failed")]
#[case::done_meanwhile(json!({"run-seconds": "2", "ignore-term": "true"}), "Never", 30, 1.25, "Succeeded")]
fn a_deleted_pod_ends_within_its_grace(
    #[case] script: Value,
    #[case] policy: &str,
    #[case] grace: i64,
    #[case] takes: f64,
    #[case] phase: &str,
) {
    let mut life = Watched::new(script, with(service(), json!({"restartPolicy": policy})));
    life.pass(1.0).delete(grace);
    if takes > 0.0 {
        assert!(life.notes.contains(&Note::Stopping { container: "web".into() }));
        assert!(!life.pass(takes - 0.01).removed, "not before");
        assert_eq!(life.phase(), "Running");
    }
    life.pass(0.02);
    assert!(life.removed);
    assert_eq!(life.phase(), phase);
}

#[test]
fn a_deadline_ends_a_pod() {
    let mut life = Watched::new(json!({}), with(service(), json!({"activeDeadlineSeconds": 60})));
    life.pass(59.9);
    assert_eq!(life.phase(), "Running");
    life.pass(0.2);
    assert_eq!((life.phase(), life.status.reason.as_deref()), ("Failed", Some("DeadlineExceeded")));
    assert_eq!(life.value()["containerStatuses"][0]["state"]["terminated"]["exitCode"], KILLED);
    assert!(!life.removed);
    assert!(life.delete(30).removed);
}

#[test]
fn a_readiness_gate_is_asked() {
    let gate = json!({"readinessGates": [{"conditionType": "open"}]});
    let mut life = Watched::new(json!({}), with(service(), gate));
    life.pass(1.0);
    assert_eq!(life.condition("ContainersReady").0, "True");
    assert_eq!(life.condition("Ready"), ("False".into(), Some("ReadinessGatesNotReady".into())));
    let others = json!({"conditions": [{"type": "open", "status": "True"}]});
    life.pod.status = serde_json::from_value(others).unwrap();
    let since = life.now;
    life.look();
    let ready = life.status.conditions.iter().flatten().find(|condition| condition.type_ == "Ready").unwrap();
    assert_eq!((ready.status.as_str(), &ready.last_transition_time), ("True", &Some(Time(since))));
}

#[test]
fn what_others_say_is_not_ours_to_tell() {
    let all: PodStatus = serde_json::from_value(json!({
        "phase": "Pending", "qosClass": "Burstable",
        "conditions": [{"type": "PodScheduled", "status": "True"}, {"type": "DisruptionTarget", "status": "True"}],
    }))
    .unwrap();
    let own = own(Some(&all));
    assert_eq!(own.qos_class, None);
    let kinds: Vec<_> = own.conditions.iter().flatten().map(|condition| condition.type_.as_str()).collect();
    assert_eq!(kinds, ["PodScheduled"]);
}
