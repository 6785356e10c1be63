//! Leader election with a Lease: of several replicas one acts.
//!
//! A candidate watches the Lease and so hears at once when it is given up. Times of other machines are
//! not trusted: a lease has run out when its record has not changed for its duration *on our clock*,
//! counted from when we saw the change. The holder counts from the moment before it asked for the
//! renewal and stops acting after two thirds of the duration; so it has stopped before anybody else
//! can begin, whatever the clocks say.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use butler_core::{
    api::names::{leases, managers},
    cluster::ApiError,
    error::{Code, Diagnose},
};
use futures::StreamExt;
use jiff::Timestamp;
use k8s_openapi::{
    api::coordination::v1::{Lease, LeaseSpec},
    apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta},
};
use kube::{
    Api, Client,
    api::{Patch, PatchParams, PostParams},
    runtime::watcher::watch_object,
};
use serde_json::json;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::backoff::Delays;

/// Which lease, and how long it lasts.
#[derive(Clone, Debug)]
pub struct Election {
    /// Namespace of the Lease.
    pub namespace: String,
    /// Who we are; different for every process.
    pub identity: String,
    /// How long the lease lasts without renewal.
    pub duration: Duration,
}

impl Election {
    /// How long the holder acts after a renewal.
    fn acting(&self) -> Duration {
        self.duration * 2 / 3
    }

    /// Time between two renewals, and between two tries to take the lease.
    fn retry(&self) -> Duration {
        self.duration * 2 / 15
    }
}

/// Until when this process may act. Whoever is about to change something asks first.
#[derive(Clone, Debug, Default)]
pub(super) struct Leadership(Arc<Mutex<Until>>);

#[derive(Clone, Copy, Debug, Default)]
enum Until {
    #[default]
    Never,
    Moment(Instant),
    Always,
}

impl Leadership {
    /// For a process that has no rival.
    pub(super) fn always() -> Self {
        Self(Arc::new(Mutex::new(Until::Always)))
    }

    /// True while acting is safe.
    pub(super) fn holds(&self) -> bool {
        match *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            Until::Never => false,
            Until::Moment(end) => Instant::now() < end,
            Until::Always => true,
        }
    }

    fn set(&self, until: Until) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = until;
    }
}

/// A candidate, or the holder.
#[derive(Debug)]
pub(super) struct Elector {
    api: Api<Lease>,
    election: Election,
    leadership: Leadership,
    /// The record as we last wrote it.
    held: Option<Lease>,
    acts_until: Instant,
}

impl Elector {
    /// A candidate.
    pub(super) fn new(client: Client, election: Election) -> Self {
        let api = Api::namespaced(client, &election.namespace);
        Self { api, election, leadership: Leadership::default(), held: None, acts_until: Instant::now() }
    }

    /// What those who act ask.
    pub(super) fn leadership(&self) -> Leadership {
        self.leadership.clone()
    }

    /// Waits until the lease is ours.
    pub(super) async fn acquire(&mut self) {
        let retry = self.election.retry();
        let mut delays = Delays::new(Duration::from_millis(200), retry.max(Duration::from_millis(400)));
        let mut changes = watch_object(self.api.clone(), leases::CONTROLLERS).boxed();
        let mut seen: Option<(Option<Lease>, Instant)> = None;
        let mut not_before = Instant::now();
        let mut told: Option<String> = None;
        loop {
            let claim = seen.as_ref().map(|(lease, at)| claimable(lease.as_ref(), *at).max(not_before));
            tokio::select! {
                change = changes.next() => match change {
                    Some(Ok(lease)) => {
                        delays.reset();
                        let holder = holder(lease.as_ref()).map(str::to_owned);
                        if holder.is_some() && holder != told {
                            tracing::info!(holder = holder.as_deref(), "another replica acts; standing by");
                        }
                        told = holder;
                        let same = seen.as_ref().is_some_and(|(old, _)| record(old.as_ref()) == record(lease.as_ref()));
                        match &mut seen {
                            // The same record again says nothing about its holder.
                            Some((old, _)) if same => *old = lease,
                            _ => seen = Some((lease, Instant::now())),
                        }
                    }
                    Some(Err(error)) => {
                        let error = ApiError::watching("watch the lease of the controllers", error);
                        tracing::warn!(code = %error.code(), "{}", chain(&error));
                        sleep(delays.next()).await;
                    }
                    None => changes = watch_object(self.api.clone(), leases::CONTROLLERS).boxed(),
                },
                () = at(claim) => {
                    let lease = seen.as_ref().and_then(|(lease, _)| lease.clone());
                    match self.claim(lease).await {
                        Ok(()) => return,
                        // Another was quicker; the watch brings its record.
                        Err(error) if error.code() == Code::ObjectConflict => {}
                        Err(error) => tracing::warn!(code = %error.code(), "{}", chain(&error)),
                    }
                    not_before = Instant::now() + retry;
                }
            }
        }
    }

    async fn claim(&mut self, found: Option<Lease>) -> Result<(), ApiError> {
        let asked = Instant::now();
        let now = MicroTime(Timestamp::now());
        let failed = |error| ApiError::new("take the lease of the controllers", error);
        let lease = match found {
            None => {
                let spec = LeaseSpec {
                    holder_identity: Some(self.election.identity.clone()),
                    lease_duration_seconds: Some(seconds(self.election.duration)),
                    acquire_time: Some(now.clone()),
                    renew_time: Some(now),
                    lease_transitions: Some(0),
                    ..LeaseSpec::default()
                };
                let metadata =
                    ObjectMeta { name: Some(leases::CONTROLLERS.to_owned()), ..ObjectMeta::default() };
                let params =
                    PostParams { field_manager: Some(managers::LEADER.to_owned()), ..PostParams::default() };
                self.api.create(&params, &Lease { metadata, spec: Some(spec) }).await.map_err(failed)?
            }
            Some(lease) => {
                let transitions =
                    lease.spec.as_ref().and_then(|spec| spec.lease_transitions).unwrap_or_default();
                let change = json!({ "spec": {
                    "holderIdentity": self.election.identity,
                    "leaseDurationSeconds": seconds(self.election.duration),
                    "acquireTime": now,
                    "renewTime": now,
                    "leaseTransitions": transitions.saturating_add(1),
                }});
                self.write(&lease, change).await.map_err(failed)?
            }
        };
        self.renewed(lease, asked);
        Ok(())
    }

    /// Renews the lease until that does not succeed in time, or another has it. Then nobody here may
    /// act any more.
    pub(super) async fn hold(&mut self) {
        while let Some(lease) = self.held.clone() {
            sleep(self.election.retry()).await;
            let asked = Instant::now();
            // One try must not use up the time of all.
            let limit = self.acts_until.saturating_duration_since(asked).min(self.election.acting() / 2);
            let change = json!({ "spec": { "renewTime": MicroTime(Timestamp::now()) } });
            let outcome = timeout(limit, self.write(&lease, change)).await;
            match outcome {
                Ok(Ok(lease)) => self.renewed(lease, asked),
                Ok(Err(kube::Error::Api(status))) if status.is_conflict() || status.is_not_found() => {
                    let Ok(Ok(found)) = timeout(limit, self.api.get_opt(leases::CONTROLLERS)).await else {
                        continue;
                    };
                    // Somebody may have put a label on it; that takes nothing from us.
                    if holder(found.as_ref()) != Some(&self.election.identity) {
                        tracing::warn!(holder = holder(found.as_ref()), "the lease is no longer ours");
                        break;
                    }
                    self.held = found;
                }
                Ok(Err(error)) => {
                    let error = ApiError::new("renew the lease of the controllers", error);
                    tracing::warn!(code = %error.code(), "{}", chain(&error));
                }
                Err(_) => tracing::warn!("the lease was not renewed: no answer within {limit:?}"),
            }
            if Instant::now() >= self.acts_until {
                tracing::warn!("the lease could not be renewed in time");
                break;
            }
        }
        self.leadership.set(Until::Never);
        self.held = None;
    }

    /// How long acting is still safe.
    pub(super) fn remaining(&self) -> Duration {
        self.acts_until.saturating_duration_since(Instant::now())
    }

    /// Gives the lease up, so that another replica need not wait for its end. A request that was cut
    /// off may have taken or renewed it without our knowing, so it is looked at where that is possible.
    pub(super) async fn release(&mut self) {
        self.leadership.set(Until::Never);
        let mut held = self.held.take();
        let released = timeout(Duration::from_secs(2), async {
            loop {
                let lease = match held.take() {
                    Some(lease) => lease,
                    None => match self.api.get_opt(leases::CONTROLLERS).await? {
                        Some(found) if holder(Some(&found)) == Some(&self.election.identity) => found,
                        _ => return Ok(false),
                    },
                };
                let change = json!({ "spec": {
                    "holderIdentity": null,
                    "leaseDurationSeconds": 1,
                    "renewTime": MicroTime(Timestamp::now()),
                }});
                match self.write(&lease, change).await {
                    Err(kube::Error::Api(status)) if status.is_conflict() => {}
                    written => return written.map(|_| true),
                }
            }
        });
        match released.await {
            Ok(Ok(true)) => tracing::info!("the lease is given up"),
            Ok(Ok(false)) => {}
            Ok(Err(error)) => {
                let error = ApiError::new("give up the lease of the controllers", error);
                tracing::warn!(code = %error.code(), "{}", chain(&error));
            }
            Err(_) => tracing::warn!("the lease was not given up in time; it runs out by itself"),
        }
    }

    /// Changes the record, unless another changed it since.
    async fn write(&self, lease: &Lease, mut change: serde_json::Value) -> Result<Lease, kube::Error> {
        change["metadata"] = json!({ "resourceVersion": lease.metadata.resource_version });
        let params =
            PatchParams { field_manager: Some(managers::LEADER.to_owned()), ..PatchParams::default() };
        self.api.patch(leases::CONTROLLERS, &params, &Patch::Merge(change)).await
    }

    fn renewed(&mut self, lease: Lease, asked: Instant) {
        self.acts_until = asked + self.election.acting();
        self.leadership.set(Until::Moment(self.acts_until));
        self.held = Some(lease);
    }
}

/// Leases count whole seconds; less than one would be none.
fn seconds(duration: Duration) -> i32 {
    i32::try_from(duration.as_secs_f64().ceil() as i64).unwrap_or(i32::MAX).max(1)
}

fn holder(lease: Option<&Lease>) -> Option<&str> {
    lease?.spec.as_ref()?.holder_identity.as_deref().filter(|holder| !holder.is_empty())
}

/// What a holder changes with each renewal.
fn record(lease: Option<&Lease>) -> Option<(Option<&str>, Option<&MicroTime>, Option<&str>)> {
    let lease = lease?;
    let renewed = lease.spec.as_ref().and_then(|spec| spec.renew_time.as_ref());
    Some((holder(Some(lease)), renewed, lease.metadata.uid.as_deref()))
}

/// When a lease that was seen to change at `seen` may be taken.
fn claimable(lease: Option<&Lease>, seen: Instant) -> Instant {
    if holder(lease).is_none() {
        return seen;
    }
    let duration = lease.and_then(|lease| lease.spec.as_ref()?.lease_duration_seconds).unwrap_or(15);
    seen + Duration::from_secs(duration.try_into().unwrap_or(15))
}

async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

/// An error with its causes in one line, for logs.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text += ": ";
        text += &cause.to_string();
        next = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lease(holder: Option<&str>, duration: i32) -> Lease {
        let spec = LeaseSpec {
            holder_identity: holder.map(str::to_owned),
            lease_duration_seconds: Some(duration),
            ..LeaseSpec::default()
        };
        Lease { spec: Some(spec), ..Lease::default() }
    }

    #[tokio::test]
    async fn a_lease_can_be_taken_when_free_or_after_its_duration_on_our_clock() {
        let seen = Instant::now();
        assert_eq!(claimable(None, seen), seen);
        assert_eq!(claimable(Some(&lease(None, 15)), seen), seen);
        assert_eq!(claimable(Some(&lease(Some(""), 15)), seen), seen);
        assert_eq!(claimable(Some(&lease(Some("other"), 7)), seen), seen + Duration::from_secs(7));
        assert_eq!(claimable(Some(&lease(Some("other"), -1)), seen), seen + Duration::from_secs(15));
    }

    #[tokio::test(start_paused = true)]
    async fn acting_ends_before_the_lease_does() {
        let election =
            Election { namespace: "a".into(), identity: "me".into(), duration: Duration::from_secs(15) };
        assert!(election.acting() + election.retry() < election.duration);
        let leadership = Leadership::default();
        assert!(!leadership.holds());
        leadership.set(Until::Moment(Instant::now() + election.acting()));
        assert!(leadership.holds());
        tokio::time::advance(election.acting()).await;
        assert!(!leadership.holds());
        assert!(Leadership::always().holds());
    }

    #[test]
    fn durations_below_a_second_count_as_one() {
        assert_eq!([0, 1, 1500, 15_000].map(|ms| seconds(Duration::from_millis(ms))), [1, 1, 2, 15]);
    }
}
