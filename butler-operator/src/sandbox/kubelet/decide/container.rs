//! One container: from waiting to running to its end, and round again if its Pod says so.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::{
    api::core::v1::{
        Container, ContainerState, ContainerStateRunning, ContainerStateTerminated, ContainerStateWaiting,
        ContainerStatus, Pod, Probe,
    },
    apimachinery::pkg::apis::meta::v1::Time,
};

use super::{Note, after};
use crate::sandbox::kubelet::{
    image,
    script::{Part, Script},
};

/// However long a probe says it waits, nobody waits longer.
const LONGEST_PROBE: Duration = Duration::from_secs(10);
/// After the first restart, which comes at once; it doubles each time.
const BACKOFF: Duration = Duration::from_secs(10);
const LONGEST_BACKOFF: Duration = Duration::from_secs(300);
/// A container that ran this long is not in a loop.
const STABLE: Duration = Duration::from_secs(600);
/// How long a fetch of an image that does not exist takes.
const PULL: Duration = Duration::from_secs(3);

/// What a container's Pod and its neighbours say to it now.
pub(super) struct Cue<'a> {
    pub(super) pod: &'a Pod,
    pub(super) now: Timestamp,
    /// True when it may start, or start again.
    pub(super) may_start: bool,
    /// When the Pod's containers could first be made.
    pub(super) open_at: Timestamp,
    /// Why it waits, if it does.
    pub(super) waits_for: &'static str,
    /// When it is killed, and with which status it ends; `None` when nobody wants its end.
    pub(super) stop: Option<(Timestamp, i32)>,
}

/// A container with what follows from its part and its Pod.
pub(super) struct Role<'a> {
    pub(super) container: &'a Container,
    pub(super) part: Part,
    pub(super) script: Script,
}

impl<'a> Role<'a> {
    pub(super) fn new(pod: &Pod, container: &'a Container, part: Part) -> Self {
        Self { container, part, script: Script::of(pod, container, part) }
    }

    /// True when it is started again after an end like this.
    pub(super) fn restarts(&self, pod: &Pod, exit_code: i32) -> bool {
        let policy = pod.spec.as_ref().and_then(|spec| spec.restart_policy.as_deref()).unwrap_or("Always");
        match (self.part, policy) {
            (Part::Sidecar, _) => true,
            (_, "Never") => false,
            (Part::Main, "Always") => true,
            _ => exit_code != 0,
        }
    }

    /// True when it has come to its last end.
    pub(super) fn is_over(&self, pod: &Pod, status: &ContainerStatus) -> bool {
        ended(status).is_some_and(|end| !self.restarts(pod, end.exit_code))
    }

    /// Moves the container as far as the time allows; gives the next moment worth a look.
    pub(super) fn advance(
        &self,
        old: Option<&ContainerStatus>,
        cue: &Cue<'_>,
        notes: &mut Vec<Note>,
    ) -> (ContainerStatus, Option<Timestamp>) {
        let mut status = match old {
            Some(old) => old.clone(),
            None => self.waiting(cue),
        };
        // Ends by itself: each further round needs a pause that has not passed yet.
        loop {
            if let Some(started) = running_since(&status) {
                match self.run(&mut status, started, cue) {
                    Run::Goes(next) => return (status, next),
                    Run::Ended => {
                        let code = ended(&status).map_or(0, |end| end.exit_code);
                        notes.push(Note::Ended { container: self.container.name.clone(), code });
                    }
                }
            } else if let Some(next) = self.wait(&mut status, cue, notes) {
                return (status, next);
            }
        }
    }

    /// A container that is not running: `Some` when it stays so, with the next look; `None` when it started.
    fn wait(
        &self,
        status: &mut ContainerStatus,
        cue: &Cue<'_>,
        notes: &mut Vec<Note>,
    ) -> Option<Option<Timestamp>> {
        let end = ended(status).or_else(|| status.last_state.as_ref()?.terminated.as_ref()).cloned();
        if cue.stop.is_some() {
            return Some(None);
        }
        let mut run = status.restart_count;
        if let Some(end) = end {
            if !self.restarts(cue.pod, end.exit_code) || !cue.may_start {
                return Some(None);
            }
            let pause = backoff(run, &end);
            let again = end.finished_at.as_ref().map_or(cue.now, |time| after(time.0, pause));
            if cue.now < again {
                if waiting_reason(status) != Some("CrashLoopBackOff") {
                    let name = &self.container.name;
                    let message = format!("back-off {}s restarting failed container={name}", pause.as_secs());
                    notes.push(Note::BackOff { container: name.clone() });
                    status.last_state =
                        Some(ContainerState { terminated: Some(end), ..ContainerState::default() });
                    status.state = Some(waits("CrashLoopBackOff", Some(message)));
                }
                status.ready = false;
                status.started = Some(false);
                return Some(Some(again));
            }
            run += 1;
            status.last_state = Some(ContainerState { terminated: Some(end), ..ContainerState::default() });
        } else if !cue.may_start {
            if waiting_reason(status) != Some(cue.waits_for) {
                *status = self.waiting(cue);
            }
            return Some(None);
        } else if self.script.image_missing {
            return Some(self.no_image(status, cue, notes));
        }
        self.start(status, run, cue, notes);
        None
    }

    fn no_image(
        &self,
        status: &mut ContainerStatus,
        cue: &Cue<'_>,
        notes: &mut Vec<Note>,
    ) -> Option<Timestamp> {
        let image = self.container.image.as_deref().unwrap_or_default();
        let gives_up = after(cue.open_at, PULL);
        let (reason, message, next) = if cue.now < gives_up {
            let full = image::full_name(image);
            let message = format!("failed to pull and unpack image \"{full}\": {full}: not found");
            ("ErrImagePull", message, Some(gives_up))
        } else {
            ("ImagePullBackOff", format!("Back-off pulling image \"{image}\""), None)
        };
        if waiting_reason(status) != Some(reason) {
            notes
                .push(Note::ImageMissing { container: self.container.name.clone(), image: image.to_owned() });
            status.state = Some(waits(reason, Some(message)));
        }
        next
    }

    fn start(&self, status: &mut ContainerStatus, run: i32, cue: &Cue<'_>, notes: &mut Vec<Note>) {
        let uid = cue.pod.metadata.uid.as_deref().unwrap_or_default();
        let name = &self.container.name;
        let image = self.container.image.as_deref().unwrap_or_default();
        status.restart_count = run;
        status.container_id = Some(image::container_id(uid, name, run));
        status.image = image::full_name(image);
        status.image_id = image::id(image);
        status.started = Some(false);
        status.ready = false;
        status.state = Some(ContainerState {
            running: Some(ContainerStateRunning { started_at: Some(Time(cue.now)) }),
            ..ContainerState::default()
        });
        notes.push(Note::Started { container: name.clone(), image: image.to_owned(), run });
    }

    /// A container that is running: goes on, or ends.
    fn run(&self, status: &mut ContainerStatus, started: Timestamp, cue: &Cue<'_>) -> Run {
        let by_itself = self.script.run.map(|run| (after(started, run), self.script.exit_code));
        let end = match (by_itself, cue.stop) {
            (Some(end), Some(stop)) => Some(if stop.0 < end.0 { stop } else { end }),
            (end, stop) => end.or(stop),
        };
        if let Some((time, exit_code)) = end
            && time <= cue.now
        {
            let killed = Some((time, exit_code)) == cue.stop;
            let message = self.script.message.clone().filter(|_| !killed && exit_code != 0);
            status.state = Some(ContainerState {
                terminated: Some(ContainerStateTerminated {
                    container_id: status.container_id.clone(),
                    exit_code,
                    finished_at: Some(Time(time.max(started))),
                    message,
                    reason: Some(if exit_code == 0 { "Completed" } else { "Error" }.to_owned()),
                    started_at: Some(Time(started)),
                    ..ContainerStateTerminated::default()
                }),
                ..ContainerState::default()
            });
            // An init container that did its work counts as ready.
            status.ready = self.part == Part::Init && exit_code == 0;
            status.started = Some(false);
            return Run::Ended;
        }
        let mut next = end.map(|(time, _)| time);
        let started_up = after(started, probe_delay(self.container.startup_probe.as_ref()));
        if status.started != Some(true) {
            status.started = Some(started_up <= cue.now);
        }
        if self.part != Part::Init && !status.ready && !self.script.never_ready {
            let ready_at = after(started_up, probe_delay(self.container.readiness_probe.as_ref()));
            status.ready = ready_at <= cue.now;
            if !status.ready {
                next = super::earlier(next, Some(if started_up > cue.now { started_up } else { ready_at }));
            }
        } else if status.started != Some(true) {
            next = super::earlier(next, Some(started_up));
        }
        Run::Goes(next)
    }

    fn waiting(&self, cue: &Cue<'_>) -> ContainerStatus {
        ContainerStatus {
            name: self.container.name.clone(),
            image: self.container.image.clone().unwrap_or_default(),
            started: Some(false),
            state: Some(waits(cue.waits_for, None)),
            ..ContainerStatus::default()
        }
    }
}

enum Run {
    Goes(Option<Timestamp>),
    Ended,
}

/// When it was started, if it runs.
pub(super) fn running_since(status: &ContainerStatus) -> Option<Timestamp> {
    let running = status.state.as_ref()?.running.as_ref()?;
    Some(running.started_at.as_ref().map_or(Timestamp::UNIX_EPOCH, |time| time.0))
}

/// How it ended, if it did and nothing followed.
pub(super) fn ended(status: &ContainerStatus) -> Option<&ContainerStateTerminated> {
    status.state.as_ref()?.terminated.as_ref()
}

/// Why it waits, if it does.
pub(super) fn waiting_reason(status: &ContainerStatus) -> Option<&str> {
    status.state.as_ref()?.waiting.as_ref()?.reason.as_deref()
}

/// True when it was started at least once.
pub(super) fn has_started(status: &ContainerStatus) -> bool {
    let last = || status.last_state.as_ref().is_some_and(|state| state.terminated.is_some());
    running_since(status).is_some() || ended(status).is_some() || last()
}

fn waits(reason: &str, message: Option<String>) -> ContainerState {
    ContainerState {
        waiting: Some(ContainerStateWaiting { reason: Some(reason.to_owned()), message }),
        ..ContainerState::default()
    }
}

fn probe_delay(probe: Option<&Probe>) -> Duration {
    let seconds = probe.and_then(|probe| probe.initial_delay_seconds).unwrap_or(0);
    Duration::from_secs(u64::try_from(seconds).unwrap_or(0)).min(LONGEST_PROBE)
}

/// How long a container rests after its `run`th restart, counted from zero.
fn backoff(run: i32, end: &ContainerStateTerminated) -> Duration {
    let lasted =
        end.started_at.as_ref().zip(end.finished_at.as_ref()).map(|(from, to)| to.0.duration_since(from.0));
    if run == 0 || lasted.is_some_and(|lasted| lasted.unsigned_abs() >= STABLE) {
        return Duration::ZERO;
    }
    let doublings = u32::try_from(run - 1).unwrap_or(0).min(8);
    (BACKOFF * 2_u32.pow(doublings)).min(LONGEST_BACKOFF)
}
