//! MachineRequest: asks the driver for the machine and tells what became of it.

mod decide;
#[cfg(test)]
mod tests;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use butler_core::{
    api::{
        MachineRequest,
        common::MachineRole,
        machine_request::{MachineRequestPhase, MachineRequestSpec, MachineRequestStatus},
        names::{finalizers, managers},
    },
    cluster::ApiError,
};
use futures::stream::BoxStream;
use kube::{ResourceExt, runtime::reflector::ObjectRef};

use super::{
    Context, Next, Reconciler,
    failure::Failure,
    provider::{Connected, Fingerprint},
    source::{Guarded, lock},
    status::Writer,
};
use crate::driver::{BootData, Disk, ErrorClass, MachineKey, MachineSpec, Ownership, Role};
use decide::{Fact, Step, View, decide};
pub(super) use decide::{IP_TIMEOUT, VM_DELETED};

/// More steps than any path through the decisions has.
const MOST_STEPS: usize = 12;

/// The controller.
#[derive(Debug)]
pub(super) struct MachineRequests {
    context: Arc<Context>,
    /// What providers were like when a machine could not be made, by UID of the request. Lost with the
    /// process, and then every failure is tried once more.
    failures: Mutex<HashMap<String, Fingerprint>>,
}

#[async_trait]
impl Reconciler for MachineRequests {
    type Kind = MachineRequest;

    const NAME: &'static str = "machine-request";

    fn new(context: Arc<Context>) -> Self {
        Self { context, failures: Mutex::default() }
    }

    async fn ready(&self) {
        self.context.providers.ready().await;
    }

    fn triggers(&self) -> Vec<BoxStream<'static, ObjectRef<Guarded<MachineRequest>>>> {
        let requests = self.context.sources.of();
        vec![self.context.providers.triggers(requests, |request| &request.spec.provider_ref)]
    }

    async fn reconcile(&self, request: &MachineRequest) -> Result<Next, ApiError> {
        let namespace = request.namespace().unwrap_or_default();
        let provided = self.context.providers.connect(&namespace, &request.spec.provider_ref).await?;
        let (fact, connected) = match provided {
            Ok(connected) => (Fact::Driver, Some(connected)),
            Err(obstacle) => (Fact::NoDriver(obstacle), None),
        };
        let mut request = request.clone();
        let mut fact = fact;
        for _ in 0..MOST_STEPS {
            let decision = decide(&self.view(&request, connected.as_deref()), fact);
            // The pause may have been long; another may have begun in it.
            if !self.context.leadership.holds() {
                return Ok(Next::Retry("not-leader"));
            }
            let changed = self.write(&mut request, decision.status).await?;
            let is_last = decision.step == Step::RemoveFinalizer;
            if let Some(notice) = decision.notice.filter(|_| changed || is_last) {
                self.context.board.publish(&request, &notice).await;
            }
            fact = match (decision.step, &connected) {
                (Step::Done(next), _) => return Ok(next),
                (Step::AddFinalizer, Some(connected)) => {
                    self.add_finalizer(&mut request, &connected.provider).await?;
                    Fact::Guarded
                }
                (Step::RemoveFinalizer, Some(connected)) => {
                    self.remove_finalizer(&request, &connected.provider).await?;
                    return Ok(Next::Await);
                }
                (step, Some(connected)) => self.call(step, &request, connected).await,
                // Without a driver nothing is decided that needs one.
                (_, None) => return Ok(Next::Await),
            };
        }
        Ok(Next::Retry("undecided"))
    }

    fn forget(&self, uid: &str) {
        lock(&self.failures).remove(uid);
    }
}

impl MachineRequests {
    fn view<'a>(&self, request: &'a MachineRequest, connected: Option<&'a Connected>) -> View<'a> {
        let failed = request.metadata.uid.as_ref().and_then(|uid| lock(&self.failures).get(uid).cloned());
        View {
            request,
            provider: connected.map_or("", |connected| &connected.provider),
            provider_changed: failed.as_ref() != connected.map(|connected| &connected.fingerprint),
            timing: self.context.timing.told(connected.is_some_and(|connected| connected.tells)),
            now: self.context.now(),
        }
    }

    fn writer(&self) -> Writer<'_> {
        let Context { client, writes, .. } = &*self.context;
        Writer { client, writes, manager: managers::MACHINE_REQUEST }
    }

    /// Writes the status if it says something new, and keeps it in the request.
    async fn write(
        &self,
        request: &mut MachineRequest,
        mut new: MachineRequestStatus,
    ) -> Result<bool, ApiError> {
        let old = request.status.clone().unwrap_or_default();
        // When it was written is not news in itself.
        new.last_updated.clone_from(&old.last_updated);
        if new == old {
            return Ok(false);
        }
        new.last_updated = Some(butler_core::api::common::Time(self.context.now()));
        request.metadata = self.writer().status(request, &new).await?;
        tracing::info!(
            namespace = request.namespace(),
            machine = request.name_any(),
            phase = new.phase.as_ref().map(MachineRequestPhase::as_str),
            reason = new.failure_reason,
            "status"
        );
        request.status = Some(new);
        Ok(true)
    }

    async fn add_finalizer(&self, request: &mut MachineRequest, provider: &str) -> Result<(), ApiError> {
        let mut all = request.finalizers().to_vec();
        all.push(finalizers::machine_request(provider));
        request.metadata = self.writer().finalizers(request, &all).await?.metadata;
        Ok(())
    }

    async fn remove_finalizer(&self, request: &MachineRequest, provider: &str) -> Result<(), ApiError> {
        let ours = finalizers::machine_request(provider);
        let rest: Vec<String> = request.finalizers().iter().filter(|name| **name != ours).cloned().collect();
        self.writer().finalizers(request, &rest).await?;
        Ok(())
    }

    /// Asks the provider.
    async fn call(&self, step: Step, request: &MachineRequest, connected: &Connected) -> Fact {
        let driver = &connected.driver;
        let mut key = self.key(request);
        match step {
            Step::Create => {
                let created = driver.create(&self.spec(request)).await.map_err(Failure::from);
                let uid = request.metadata.uid.clone().unwrap_or_default();
                match &created {
                    Ok(_) => lock(&self.failures).remove(&uid),
                    Err(_) => lock(&self.failures).insert(uid, connected.fingerprint.clone()),
                };
                Fact::Created(created)
            }
            Step::Delete => Fact::Deleted(driver.delete(&key).await.map_err(Failure::from)),
            _ => {
                // That it is gone is proven by its name and mark, not by an id that may be old.
                if request.metadata.deletion_timestamp.is_some() {
                    key.id = None;
                }
                Fact::Looked(match driver.get(&key).await {
                    Ok(machine) => Ok(Some(machine)),
                    Err(error) if error.class() == ErrorClass::NotFound => Ok(None),
                    Err(error) => Err(Failure::from(error)),
                })
            }
        }
    }

    fn ownership(&self, request: &MachineRequest) -> Ownership {
        let namespace = request.namespace().unwrap_or_default();
        Ownership::new(&self.context.owner, &namespace, &request.name_any())
    }

    fn key(&self, request: &MachineRequest) -> MachineKey {
        MachineKey {
            name: request.spec.machine_name.clone(),
            ownership: self.ownership(request),
            id: request.status.as_ref().and_then(|status| status.provider_id.clone()),
        }
    }

    fn spec(&self, request: &MachineRequest) -> MachineSpec {
        machine_spec(&request.spec, self.ownership(request))
    }
}

/// The machine that a request asks for. The API server has checked the ranges.
fn machine_spec(spec: &MachineRequestSpec, ownership: Ownership) -> MachineSpec {
    let number = |value: i32| u32::try_from(value).unwrap_or_default();
    MachineSpec {
        name: spec.machine_name.clone(),
        ownership,
        role: if spec.role == MachineRole::ControlPlane { Role::ControlPlane } else { Role::Worker },
        cpu: number(spec.cpu),
        memory_mb: number(spec.memory_mb),
        disk_gb: number(spec.disk_gb),
        extra_disks: spec
            .extra_disks
            .iter()
            .map(|disk| Disk { size_gb: number(disk.size_gb), storage_class: disk.storage_class.clone() })
            .collect(),
        image: spec.image.clone().filter(|image| !image.is_empty()),
        labels: spec.labels.clone(),
        user_data: spec.user_data.clone().map(BootData),
        network_data: spec.network_data.clone().map(BootData),
    }
}
