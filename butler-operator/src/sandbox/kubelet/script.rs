//! What a Pod does while it runs. Nothing is executed, so a Pod's annotations say how its containers
//! behave; without any, a service runs for ever and a job ends well after a second.
//!
//! Each annotation also exists for a single container: `exit-code.migrate` is for the container
//! `migrate` alone. Init containers only listen to that form.

use std::time::Duration;

use k8s_openapi::api::core::v1::{Container, Pod};

/// Prefix of every annotation below.
pub const PREFIX: &str = "sandbox.butler.butlerlabs.dev/";
/// With which status a container ends; one that would run for ever ends after [`RUN_SECONDS`].
pub const EXIT_CODE: &str = "exit-code";
/// A container ends with status 1; the value is what it says about it.
pub const FAIL: &str = "fail";
/// `true`: a container ends with status 1 each time it is started.
pub const CRASH_LOOP: &str = "crash-loop";
/// How many seconds a run of a container lasts, if it ends at all; fractions are fine.
pub const RUN_SECONDS: &str = "run-seconds";
/// How many seconds it takes to fetch images and make containers.
pub const START_SECONDS: &str = "start-seconds";
/// `true`: a container runs and is never ready.
pub const NEVER_READY: &str = "never-ready";
/// `true`: the image does not exist. So it is for every image with the tag `missing`.
pub const IMAGE_MISSING: &str = "image-missing";
/// `true`: a container does not end when asked to, only when killed at the end of the grace period.
pub const IGNORE_TERM: &str = "ignore-term";
/// What a container writes to its log when it starts; lines as they are.
pub const LOG: &str = "log";

/// The tag of images that cannot be fetched.
const MISSING_TAG: &str = ":missing";
/// How long a job, or a container that fails, runs.
const RUN: Duration = Duration::from_secs(1);
/// How long an init container runs.
const INIT_RUN: Duration = Duration::from_millis(100);
/// How long it takes to make a Pod's containers.
const START: Duration = Duration::from_millis(250);
/// Nobody waits longer than this for anything that an annotation makes slow.
const LONGEST: Duration = Duration::from_secs(7 * 24 * 3600);

/// How one container behaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Script {
    /// How long each run lasts; `None` runs for ever.
    pub(super) run: Option<Duration>,
    /// The status at the end of a run.
    pub(super) exit_code: i32,
    /// What the container says when it fails.
    pub(super) message: Option<String>,
    pub(super) never_ready: bool,
    pub(super) image_missing: bool,
    pub(super) ignores_term: bool,
}

/// The part a container plays in its Pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Runs to its end before the next one starts.
    Init,
    /// An init container that goes on running.
    Sidecar,
    /// One of the Pod's own containers.
    Main,
}

impl Script {
    /// Reads a container's behaviour from its Pod.
    pub(super) fn of(pod: &Pod, container: &Container, part: Part) -> Self {
        let find = |key: &str| annotation(pod, key, &container.name, part == Part::Main);
        let is = |key: &str| find(key).is_some_and(|value| value == "true");
        let fail = find(FAIL).filter(|value| *value != "false");
        let exit_code = match find(EXIT_CODE).and_then(|value| value.parse().ok()) {
            Some(code) => Some(code),
            None if fail.is_some() || is(CRASH_LOOP) => Some(1),
            None => None,
        };
        let given = find(RUN_SECONDS).and_then(seconds);
        let usual = match part {
            Part::Init => Some(INIT_RUN),
            Part::Sidecar => exit_code.map(|_| RUN),
            Part::Main if is_job(pod) || exit_code.is_some() => Some(RUN),
            Part::Main => None,
        };
        let image = container.image.as_deref().unwrap_or_default();
        Self {
            run: given.or(usual),
            exit_code: exit_code.unwrap_or(0),
            message: fail.filter(|text| *text != "true").map(str::to_owned),
            never_ready: is(NEVER_READY),
            image_missing: is(IMAGE_MISSING) || image.ends_with(MISSING_TAG),
            ignores_term: is(IGNORE_TERM),
        }
    }
}

/// How long it takes until the containers of a Pod are made.
pub(super) fn start_delay(pod: &Pod) -> Duration {
    annotation(pod, START_SECONDS, "", true).and_then(seconds).unwrap_or(START)
}

/// What a container writes when it starts, if the Pod says so.
pub(super) fn first_lines<'a>(pod: &'a Pod, container: &str) -> Option<&'a str> {
    annotation(pod, LOG, container, true)
}

/// True when the Pod is meant to come to an end.
pub(super) fn is_job(pod: &Pod) -> bool {
    let owned_by_job = || pod.metadata.owner_references.iter().flatten().any(|owner| owner.kind == "Job");
    let policy = pod.spec.as_ref().and_then(|spec| spec.restart_policy.as_deref());
    matches!(policy, Some("Never" | "OnFailure")) || owned_by_job()
}

fn annotation<'a>(pod: &'a Pod, key: &str, container: &str, for_all: bool) -> Option<&'a str> {
    let annotations = pod.metadata.annotations.as_ref()?;
    let own = annotations.get(&format!("{PREFIX}{key}.{container}"));
    let any = || annotations.get(&format!("{PREFIX}{key}")).filter(|_| for_all);
    own.or_else(any).map(String::as_str)
}

fn seconds(text: &str) -> Option<Duration> {
    let seconds: f64 = text.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok().map(|duration| duration.min(LONGEST))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn script(annotations: serde_json::Value, policy: &str, part: Part) -> Script {
        let pod: Pod = serde_json::from_value(json!({
            "metadata": {"annotations": annotations},
            "spec": {"restartPolicy": policy, "containers": [{"name": "web", "image": "web:1"}]},
        }))
        .unwrap();
        let container = &pod.spec.as_ref().unwrap().containers[0];
        Script::of(&pod, container, part)
    }

    fn key(name: &str) -> String {
        format!("{PREFIX}{name}")
    }

    #[rstest]
    #[case::service("Always", Part::Main, None)]
    #[case::job("OnFailure", Part::Main, Some(RUN))]
    #[case::init("Always", Part::Init, Some(INIT_RUN))]
    #[case::sidecar_of_a_job("Never", Part::Sidecar, None)]
    fn without_annotations_services_run_and_jobs_end_well(
        #[case] policy: &str,
        #[case] part: Part,
        #[case] run: Option<Duration>,
    ) {
        let script = script(json!({}), policy, part);
        assert_eq!((script.run, script.exit_code, script.image_missing), (run, 0, false));
    }

    #[rstest]
    #[case("exit-code", "3", 3, None)]
    #[case("fail", "out of luck", 1, Some("out of luck"))]
    #[case("fail", "true", 1, None)]
    #[case("crash-loop", "true", 1, None)]
    fn a_failure_ends_even_a_service(
        #[case] name: &str,
        #[case] value: &str,
        #[case] code: i32,
        #[case] message: Option<&str>,
    ) {
        let script = script(json!({key(name): value}), "Always", Part::Main);
        assert_eq!((script.run, script.exit_code), (Some(RUN), code));
        assert_eq!(script.message.as_deref(), message);
    }

    #[rstest]
    #[case("run-seconds", "-1")]
    #[case("run-seconds", "NaN")]
    #[case("exit-code", "many")]
    #[case("crash-loop", "maybe")]
    #[case("fail", "false")]
    fn nonsense_is_as_good_as_nothing(#[case] name: &str, #[case] value: &str) {
        let plain = script(json!({}), "Always", Part::Main);
        assert_eq!(script(json!({key(name): value}), "Always", Part::Main), plain);
    }

    #[test]
    fn an_init_container_listens_to_its_own_annotation_only() {
        let annotations = json!({key("exit-code"): "7", key("run-seconds.web"): "2.5"});
        let script = script(annotations, "Always", Part::Init);
        assert_eq!((script.exit_code, script.run), (0, Some(Duration::from_millis(2500))));
    }
}
