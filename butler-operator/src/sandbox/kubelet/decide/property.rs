//! Whatever a Pod says and whenever it is looked at, its life is a legal one.

use k8s_openapi::api::core::v1::PodStatus;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{conditions::holds, tests::Watched, *};

fn rank(status: &PodStatus) -> u8 {
    match status.phase.as_deref() {
        Some("Pending") => 0,
        Some("Running") => 1,
        Some("Succeeded" | "Failed") => 2,
        other => panic!("no such phase: {other:?}"),
    }
}

/// Both statuses, and what must hold between them.
fn check(old: &PodStatus, new: &PodStatus) -> Result<(), TestCaseError> {
    prop_assert!(rank(old) <= rank(new), "{:?} became {:?}", old.phase, new.phase);
    if rank(old) == 2 {
        prop_assert_eq!(old, new, "the end is the end");
    }
    prop_assert!(old.pod_ip.is_none() || old.pod_ip == new.pod_ip);
    prop_assert_eq!(&old.start_time, &new.start_time);
    let lists = [
        (true, &old.init_container_statuses, &new.init_container_statuses),
        (false, &old.container_statuses, &new.container_statuses),
    ];
    let pairs = lists.into_iter().flat_map(|(init, old, new)| {
        old.iter().flatten().zip(new.iter().flatten()).map(move |(old, new)| (init, old, new))
    });
    for (init, old, new) in pairs {
        prop_assert_eq!(&old.name, &new.name);
        prop_assert!(old.restart_count <= new.restart_count);
        prop_assert!(!container::has_started(old) || container::has_started(new), "it has been started");
        let state = new.state.clone().unwrap_or_default();
        let states = [state.running.is_some(), state.waiting.is_some(), state.terminated.is_some()];
        prop_assert_eq!(states.iter().filter(|state| **state).count(), 1, "in one state at a time");
        if let Some(end) = container::ended(new) {
            prop_assert!(end.started_at <= end.finished_at);
        }
        let did_its_work = container::ended(new).is_some_and(|end| end.exit_code == 0);
        prop_assert!(!new.ready || state.running.is_some() || init && did_its_work, "ready without running");
    }
    let holds = |kind| holds(new.conditions.as_ref(), kind);
    prop_assert!(!holds("Ready") || holds("ContainersReady"));
    prop_assert!(
        !holds("ContainersReady") || (holds("Initialized") && new.phase.as_deref() == Some("Running"))
    );
    prop_assert!(!conditions::initialized(old) || holds("Initialized"));
    for (old, new) in old.conditions.iter().flatten().zip(new.conditions.iter().flatten()) {
        prop_assert_eq!(old.status == new.status, old.last_transition_time == new.last_transition_time);
    }
    Ok(())
}

fn container() -> impl Strategy<Value = (Value, Vec<(String, String)>)> {
    let probe = prop::option::of(-1..20_i32);
    let script = prop::collection::vec(
        (
            prop::sample::select(vec![
                "exit-code",
                "run-seconds",
                "crash-loop",
                "never-ready",
                "ignore-term",
                "fail",
            ]),
            prop::sample::select(vec!["0", "1", "2.5", "137", "true", "x", "40"]),
        ),
        0..3,
    );
    (probe.clone(), probe, any::<bool>(), script).prop_map(|(startup, readiness, missing, script)| {
        let delay = |seconds: Option<i32>| seconds.map(|seconds| json!({"initialDelaySeconds": seconds}));
        let image = if missing { "web:missing" } else { "web:1" };
        let spec =
            json!({"image": image, "startupProbe": delay(startup), "readinessProbe": delay(readiness)});
        (spec, script.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect())
    })
}

fn pod() -> impl Strategy<Value = (Value, Value)> {
    let policy = prop::sample::select(vec!["Always", "OnFailure", "Never"]);
    let init = prop::collection::vec((container(), any::<bool>()), 0..3);
    let main = prop::collection::vec(container(), 1..3);
    let limit = prop::option::weighted(0.2, 1..60_i64);
    (policy, init, main, limit, any::<bool>()).prop_map(|(policy, init, main, limit, host)| {
        let mut annotations = serde_json::Map::new();
        let mut named = |name: String, (mut spec, script): (Value, Vec<(String, String)>)| {
            for (key, value) in script {
                annotations.insert(format!("{key}.{name}"), json!(value));
            }
            spec["name"] = json!(name);
            spec
        };
        let init: Vec<Value> = init
            .into_iter()
            .enumerate()
            .map(|(number, (container, sidecar))| {
                let mut spec = named(format!("init-{number}"), container);
                if sidecar {
                    spec["restartPolicy"] = json!("Always");
                }
                spec
            })
            .collect();
        let main: Vec<Value> = main
            .into_iter()
            .enumerate()
            .map(|(number, main)| named(format!("main-{number}"), main))
            .collect();
        let spec = json!({
            "restartPolicy": policy, "initContainers": init, "containers": main,
            "activeDeadlineSeconds": limit, "hostNetwork": host,
        });
        (json!(annotations), spec)
    })
}

proptest! {
    #[test]
    fn a_status_never_goes_back(
        (annotations, spec) in pod(),
        steps in prop::collection::vec((0.0..20.0_f64, any::<bool>()), 1..30),
        deletion in prop::option::of((0..30_usize, 0..60_i64)),
        truncates in any::<bool>(),
    ) {
        let mut life = Watched::new(annotations, spec);
        let mut deleted = false;
        for (number, (pause, at_due)) in steps.into_iter().enumerate() {
            let old = life.status.clone();
            match life.next {
                // A look at the very moment, or at some other.
                Some(next) if at_due => life.now = life.now.max(next),
                _ => life.now = after(life.now, Duration::from_secs_f64(pause)),
            }
            match deletion {
                Some((when, grace)) if when <= number && !deleted => {
                    deleted = true;
                    life.delete(grace);
                }
                _ => life.look(),
            }
            prop_assert!(life.next.is_none_or(|next| next > life.now), "a look that changes nothing is not due again");
            check(&old, &life.status)?;
            let before = life.status.clone();
            life.look();
            prop_assert_eq!(&before, &life.status, "the same moment, the same status");
            if truncates {
                // A kubelet that begins anew has what the API server kept: whole seconds.
                let kept = serde_json::to_value(&life.status).unwrap();
                life.status = serde_json::from_value(kept).unwrap();
            }
        }
        if deleted {
            life.pass(100.0);
            prop_assert!(life.removed, "it goes in the end");
        }
    }
}
