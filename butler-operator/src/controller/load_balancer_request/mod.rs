//! LoadBalancerRequest: asks the driver for a load balancer with these targets.

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
        LoadBalancerRequest,
        common::Time,
        load_balancer_request::{LoadBalancerRequestPhase, LoadBalancerRequestStatus},
        names::{finalizers::LOAD_BALANCER_REQUEST, managers},
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
use crate::driver::{ErrorClass, LoadBalancerKey, LoadBalancerSpec, LoadBalancers, Ownership, Target};
use decide::{Fact, Step, View, decide};

/// More steps than any path through the decisions has.
const MOST_STEPS: usize = 12;
/// The API server's port, which the definition of the kind fills in.
const PORT: u16 = 6443;

/// The controller.
#[derive(Debug)]
pub(super) struct LoadBalancerRequests {
    context: Arc<Context>,
    /// What providers were like at the last failure, by UID of the request.
    failures: Mutex<HashMap<String, Fingerprint>>,
}

#[async_trait]
impl Reconciler for LoadBalancerRequests {
    type Kind = LoadBalancerRequest;

    const NAME: &'static str = "load-balancer-request";

    fn new(context: Arc<Context>) -> Self {
        Self { context, failures: Mutex::default() }
    }

    async fn ready(&self) {
        self.context.providers.ready().await;
    }

    fn triggers(&self) -> Vec<BoxStream<'static, ObjectRef<Guarded<LoadBalancerRequest>>>> {
        let requests = self.context.sources.of();
        vec![self.context.providers.triggers(requests, |request| &request.spec.provider_config_ref)]
    }

    async fn reconcile(&self, request: &LoadBalancerRequest) -> Result<Next, ApiError> {
        let namespace = request.namespace().unwrap_or_default();
        let provided = self.context.providers.connect(&namespace, &request.spec.provider_config_ref).await?;
        let connected = provided.as_ref().ok();
        let balancers = connected.and_then(|connected| connected.driver.load_balancers());
        let mut fact = match (&provided, balancers) {
            (Err(obstacle), _) => Fact::NoDriver(obstacle.clone()),
            (Ok(_), None) => Fact::NoLoadBalancers,
            (Ok(_), Some(_)) => Fact::Driver,
        };
        let mut request = request.clone();
        for _ in 0..MOST_STEPS {
            let decision = decide(&self.view(&request, connected), fact);
            if !self.context.leadership.holds() {
                return Ok(Next::Retry("not-leader"));
            }
            let changed = self.write(&mut request, decision.status).await?;
            let is_last = decision.step == Step::RemoveFinalizer;
            if let Some(notice) = decision.notice.filter(|_| changed || is_last) {
                self.context.board.publish(&request, &notice).await;
            }
            fact = match (decision.step, balancers) {
                (Step::Done(next), _) => return Ok(next),
                (Step::AddFinalizer, _) => {
                    let mut all = request.finalizers().to_vec();
                    all.push(LOAD_BALANCER_REQUEST.to_owned());
                    request.metadata = self.writer().finalizers(&request, &all).await?.metadata;
                    Fact::Guarded
                }
                (Step::RemoveFinalizer, _) => {
                    let others = request.finalizers().iter().filter(|name| *name != LOAD_BALANCER_REQUEST);
                    let rest: Vec<String> = others.cloned().collect();
                    self.writer().finalizers(&request, &rest).await?;
                    return Ok(Next::Await);
                }
                (step, Some(balancers)) => self.call(step, &request, balancers, connected).await,
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

impl LoadBalancerRequests {
    fn view<'a>(&self, request: &'a LoadBalancerRequest, connected: Option<&Arc<Connected>>) -> View<'a> {
        let failed = request.metadata.uid.as_ref().and_then(|uid| lock(&self.failures).get(uid).cloned());
        View {
            request,
            provider_changed: failed.as_ref() != connected.map(|connected| &connected.fingerprint),
            timing: self.context.timing.told(connected.is_some_and(|connected| connected.tells)),
            now: self.context.now(),
        }
    }

    fn writer(&self) -> Writer<'_> {
        let Context { client, writes, .. } = &*self.context;
        Writer { client, writes, manager: managers::LOAD_BALANCER_REQUEST }
    }

    async fn write(
        &self,
        request: &mut LoadBalancerRequest,
        mut new: LoadBalancerRequestStatus,
    ) -> Result<bool, ApiError> {
        let old = request.status.clone().unwrap_or_default();
        // When it was written is not news in itself.
        new.last_updated.clone_from(&old.last_updated);
        if new == old {
            return Ok(false);
        }
        new.last_updated = Some(Time(self.context.now()));
        request.metadata = self.writer().status(request, &new).await?;
        tracing::info!(
            namespace = request.namespace(),
            load_balancer = request.name_any(),
            phase = new.phase.as_ref().map(LoadBalancerRequestPhase::as_str),
            reason = new.failure_reason,
            "status"
        );
        request.status = Some(new);
        Ok(true)
    }

    async fn call(
        &self,
        step: Step,
        request: &LoadBalancerRequest,
        balancers: &dyn LoadBalancers,
        connected: Option<&Arc<Connected>>,
    ) -> Fact {
        let mut key = self.key(request);
        match step {
            Step::Ensure(targets) => {
                let ensured = balancers.ensure(&self.spec(request, targets)).await.map_err(Failure::from);
                let uid = request.metadata.uid.clone().unwrap_or_default();
                match (&ensured, connected) {
                    (Err(_), Some(connected)) => {
                        lock(&self.failures).insert(uid, connected.fingerprint.clone())
                    }
                    _ => lock(&self.failures).remove(&uid),
                };
                Fact::Ensured(ensured)
            }
            Step::Delete => Fact::Deleted(balancers.delete(&key).await.map_err(Failure::from)),
            _ => {
                if request.metadata.deletion_timestamp.is_some() {
                    key.id = None;
                }
                Fact::Looked(match balancers.get(&key).await {
                    Ok(found) => Ok(Some(found)),
                    Err(error) if error.class() == ErrorClass::NotFound => Ok(None),
                    Err(error) => Err(Failure::from(error)),
                })
            }
        }
    }

    fn ownership(&self, request: &LoadBalancerRequest) -> Ownership {
        let namespace = request.namespace().unwrap_or_default();
        Ownership::new(&self.context.owner, &namespace, &request.name_any())
    }

    fn key(&self, request: &LoadBalancerRequest) -> LoadBalancerKey {
        LoadBalancerKey {
            name: request.spec.cluster_name.clone(),
            ownership: self.ownership(request),
            id: request.status.as_ref().and_then(|status| status.resource_id.clone()),
        }
    }

    fn spec(&self, request: &LoadBalancerRequest, targets: Vec<Target>) -> LoadBalancerSpec {
        let port = |value: Option<i32>| value.and_then(|value| u16::try_from(value).ok());
        let main = port(request.spec.port).unwrap_or(PORT);
        LoadBalancerSpec {
            name: request.spec.cluster_name.clone(),
            ownership: self.ownership(request),
            port: main,
            health_check_port: port(request.spec.health_check_port).unwrap_or(main),
            targets,
        }
    }
}
