//! What the ClusterBootstrap of a run says, as events of the run.

use std::{collections::BTreeMap, pin::pin, time::Duration};

use butler_core::{
    api::{
        ClusterBootstrap,
        cluster_bootstrap::{ClusterBootstrapPhase as Phase, ClusterBootstrapStatus as Status},
        conditions::status::FALSE,
    },
    error::Code,
    event::{EventKind, ObjectRef, ObjectStatus, Outcome, Reporter, RunId, StatusSnapshot, Unit},
};
use futures::StreamExt;
use kube::{Api, runtime::watcher::watch_object};
use tokio::time::{Instant, sleep_until};

use super::{
    BootstrapError,
    stall::{Vigil, diagnose::diagnose, evidence::Witnesses, progress},
};

/// Where a bootstrap is, for a message when time is over.
#[derive(Clone, Debug, Default)]
pub(super) struct Position {
    pub(super) phase: String,
    pub(super) message: String,
}

/// Follows a ClusterBootstrap to its end and tells what happens on the way.
#[derive(Debug)]
pub(super) struct Follower<'a> {
    reporter: &'a Reporter,
    run: RunId,
    addons: usize,
    phase: Option<Phase>,
    said: BTreeMap<String, String>,
    position: &'a std::sync::Mutex<Position>,
    vigil: Vigil,
    witnesses: Witnesses,
}

impl<'a> Follower<'a> {
    pub(super) fn new(
        reporter: &'a Reporter,
        run: RunId,
        addons: usize,
        position: &'a std::sync::Mutex<Position>,
        stall_after: Duration,
        witnesses: Witnesses,
    ) -> Self {
        let vigil = Vigil::new(stall_after, Instant::now());
        Self { reporter, run, addons, phase: None, said: BTreeMap::new(), position, vigil, witnesses }
    }

    /// Returns when the bootstrap is Ready, or has failed.
    pub(super) async fn follow(
        mut self,
        api: Api<ClusterBootstrap>,
        cluster: &str,
    ) -> Result<ClusterBootstrap, BootstrapError> {
        let mut watch = pin!(watch_object(api, cluster));
        let mut last: Option<ClusterBootstrap> = None;
        loop {
            let seen = tokio::select! {
                seen = watch.next() => seen,
                () = sleep_until(self.vigil.due()) => {
                    self.look(last.as_ref()).await;
                    continue;
                }
            };
            // A watch that breaks is begun again by itself.
            let Some(seen) = seen else { break };
            let Ok(Some(bootstrap)) = seen else { continue };
            let status = bootstrap.status.clone().unwrap_or_default();
            let before = last.as_ref().and_then(|last| last.status.clone()).unwrap_or_default();
            if progress(&before) != progress(&status) && self.vigil.moved(Instant::now()) {
                self.reporter.emit(EventKind::Moving {}).await;
            }
            last = Some(bootstrap.clone());
            self.tell(&status).await;
            match status.phase {
                Some(Phase::Ready) => return Ok(bootstrap),
                Some(Phase::Failed) => {
                    return Err(BootstrapError::Failed {
                        cluster: cluster.to_owned(),
                        run: self.run,
                        reason: status.failure_reason.clone().unwrap_or_default(),
                        code: code(&status),
                        message: status.failure_message.unwrap_or_default(),
                    });
                }
                _ => {}
            }
        }
        Err(BootstrapError::Failed {
            cluster: cluster.to_owned(),
            run: self.run,
            reason: "Lost".to_owned(),
            code: Code::BootstrapFailed,
            message: "the watch of the temporary control plane ended".to_owned(),
        })
    }

    /// Looks why nothing moves, and tells it if that is news.
    async fn look(&mut self, bootstrap: Option<&ClusterBootstrap>) {
        let Some(bootstrap) = bootstrap else {
            // The temporary control plane has said nothing at all yet.
            self.vigil.moved(Instant::now());
            return;
        };
        let seconds = self.vigil.seconds(Instant::now());
        let stall = diagnose(&self.witnesses.ask(bootstrap, seconds).await);
        if self.vigil.found(&stall, Instant::now()) {
            self.lock().message.clone_from(&stall.what);
            self.reporter.emit(EventKind::Stalled(stall)).await;
        }
    }

    async fn tell(&mut self, status: &Status) {
        if status.phase != self.phase {
            self.change_phase(status).await;
        }
        for condition in &status.conditions {
            let old = self.said.get(&condition.type_);
            let news =
                condition.status == FALSE && !condition.message.is_empty() && old != Some(&condition.message);
            if news {
                self.said.insert(condition.type_.clone(), condition.message.clone());
                self.lock().message.clone_from(&condition.message);
                self.reporter.emit(EventKind::info("bootstrap", condition.message.clone())).await;
            }
        }
        let machines = status.machines.iter().map(|machine| ObjectStatus {
            reference: ObjectRef {
                kind: "MachineRequest".to_owned(),
                namespace: None,
                name: machine.name.clone(),
            },
            phase: machine.phase.to_string(),
            message: machine.ip_address.clone(),
        });
        let phase = status.phase.as_ref().map(ToString::to_string);
        self.reporter.snapshot(StatusSnapshot { phase, objects: machines.collect() });
        if status.phase == Some(Phase::InstallingAddons) {
            let done = status
                .conditions
                .iter()
                .filter(|condition| condition.type_.starts_with("Addon-") && condition.status != FALSE);
            let total = Some(self.addons as u64);
            self.reporter.progress("addons", done.count() as u64, total, Unit::Items);
        }
    }

    async fn change_phase(&mut self, status: &Status) {
        if let Some(phase) = self.phase.take() {
            let result = match &status.phase {
                Some(Phase::Failed) => Outcome::Failed {
                    code: code(status).to_string(),
                    message: status.failure_message.clone().unwrap_or_default(),
                },
                _ => Outcome::Succeeded,
            };
            self.reporter.emit(EventKind::PhaseFinished { phase: phase.to_string(), result }).await;
        }
        let work = status.phase.clone().filter(|phase| !matches!(phase, Phase::Ready | Phase::Failed));
        if let Some(phase) = work {
            self.lock().phase = phase.to_string();
            self.reporter.emit(EventKind::PhaseStarted { phase: phase.to_string() }).await;
            self.phase = Some(phase);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Position> {
        self.position.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// What `explain` knows of a failure: the reason of the condition that gave up.
fn code(status: &Status) -> Code {
    let failed = status.conditions.iter().rev().filter(|condition| condition.status == FALSE);
    let mut codes = failed.filter_map(|condition| Code::of_word(&condition.reason));
    // The word for the whole is also that of a code.
    codes.find(|code| *code != Code::BootstrapFailed).unwrap_or(Code::BootstrapFailed)
}
