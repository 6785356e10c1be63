//! What the tests of controllers share.

use std::time::Duration;

use anyhow::{Context, Result};
use butler_core::{
    api::{LoadBalancerRequest, MachineRequest, all_crds, machine_request::MachineRequestStatus},
    cluster::crds,
};
use butler_operator::controller::{self, ControllerError, Election, Options, Timing};
use butler_tests::{ControlPlane, Provider, create, eventually};
use k8s_openapi::api::core::v1::Event;
use kube::{Api, Client, ResourceExt, api::ListParams};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// How long anything may take on a busy machine.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);
/// Whose machines the controllers of tests make.
pub(crate) const OWNER: &str = "platform-1";

pub(crate) async fn install(client: &Client) -> Result<()> {
    let names = crds::apply(client, false).await?;
    crds::established(client, &names, LIMIT).await?;
    assert_eq!(names.len(), all_crds().len());
    Ok(())
}

/// Pauses for tests that do not want to wait.
pub(crate) fn quick() -> Timing {
    Timing { pending: Duration::from_millis(100), steady: Duration::from_millis(300), ..Timing::default() }
}

pub(crate) fn options(provider: &Provider, timing: Timing) -> Options {
    Options {
        controllers: Vec::new(),
        metrics: None,
        election: None::<Election>,
        identity: controller::identity(),
        owner: Some(OWNER.to_owned()),
        connect: provider.connect(),
        timing,
        bootstrap: None,
    }
}

/// Controllers that run in this process; stopped with this value.
pub(crate) struct Controllers {
    stop: CancellationToken,
    task: Option<JoinHandle<Result<(), ControllerError>>>,
}

impl Controllers {
    pub(crate) fn start(client: &Client, options: Options) -> Self {
        let stop = CancellationToken::new();
        let task = tokio::spawn(controller::run(client.clone(), options, stop.clone()));
        Self { stop, task: Some(task) }
    }

    /// Stops and waits for the end.
    pub(crate) async fn stop(mut self) -> Result<()> {
        self.stop.cancel();
        let task = self.task.take().context("stopped once")?;
        Ok(tokio::time::timeout(LIMIT, task).await???)
    }
}

impl Drop for Controllers {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

/// One test: a plane of its own, so that no other controllers act on its objects.
pub(crate) struct World {
    pub(crate) plane: ControlPlane,
    pub(crate) client: Client,
    pub(crate) namespace: String,
    pub(crate) provider: Provider,
}

impl World {
    /// A plane, a namespace, a ProviderConfig `lab` and its Secret.
    pub(crate) async fn new(provider: Provider) -> Result<Self> {
        let plane = ControlPlane::builder().audit().start().await?;
        let client = plane.client().await?;
        install(&client).await?;
        let namespace = plane.namespace().await?;
        let world = Self { plane, client, namespace, provider };
        world.create(&secret()).await?;
        world.create(&config("lab")).await?;
        Ok(world)
    }

    pub(crate) fn run(&self, timing: Timing) -> Controllers {
        Controllers::start(&self.client, options(&self.provider, timing))
    }

    pub(crate) async fn create(&self, object: &Value) -> Result<()> {
        create(&self.client, Some(&self.namespace), object).await.map(drop)
    }

    pub(crate) fn machines(&self) -> Api<MachineRequest> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    pub(crate) fn balancers(&self) -> Api<LoadBalancerRequest> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    pub(crate) async fn status(&self, name: &str) -> Result<MachineRequestStatus> {
        Ok(self.machines().get(name).await?.status.unwrap_or_default())
    }

    /// Waits until the status of a machine is as `check` wants it.
    pub(crate) async fn until(
        &self,
        name: &str,
        what: &str,
        check: impl Fn(&MachineRequestStatus) -> bool,
    ) -> Result<MachineRequestStatus> {
        let waited = eventually(what, LIMIT, || async { Ok(check(&self.status(name).await?)) }).await;
        let status = self.status(name).await;
        waited.with_context(|| format!("{status:?}"))?;
        status
    }

    pub(crate) async fn phase(&self, name: &str, phase: &str) -> Result<MachineRequestStatus> {
        self.until(name, &format!("`{name}` is {phase}"), |status| {
            status.phase.as_ref().is_some_and(|found| found.as_str() == phase)
        })
        .await
    }

    pub(crate) async fn gone(&self, name: &str) -> Result<()> {
        let gone = || async { Ok(self.machines().get_opt(name).await?.is_none()) };
        eventually(&format!("`{name}` is gone"), LIMIT, gone).await
    }

    /// Reasons of the events about an object.
    pub(crate) async fn events(&self, name: &str) -> Result<Vec<String>> {
        let events: Api<Event> = Api::namespaced(self.client.clone(), &self.namespace);
        let found = events.list(&ListParams::default()).await?;
        let about = |event: &&Event| event.involved_object.name.as_deref() == Some(name);
        let mut found: Vec<&Event> = found.iter().filter(about).collect();
        found.sort_by_key(|event| event.event_time.clone());
        Ok(found.into_iter().filter_map(|event| event.reason.clone()).collect())
    }

    /// Waits until people were told this of an object.
    pub(crate) async fn told(&self, name: &str, reason: &str) -> Result<()> {
        let told = || async { Ok(self.events(name).await?.iter().any(|found| found == reason)) };
        eventually(&format!("`{name}` has the event {reason}"), LIMIT, told).await
    }
}

pub(crate) fn secret() -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "lab"}, "stringData": {"socket": "/x"}})
}

pub(crate) fn config(name: &str) -> Value {
    json!({
        "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "ProviderConfig", "metadata": {"name": name},
        "spec": {"provider": "sandbox", "credentialsRef": {"name": "lab"}},
    })
}

pub(crate) fn machine(name: &str) -> Value {
    json!({
        "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "MachineRequest", "metadata": {"name": name},
        "spec": {"machineName": name, "role": "worker", "providerRef": {"name": "lab"},
                 "cpu": 2, "memoryMB": 2048, "diskGB": 20},
    })
}

/// The condition of a type, as `status/reason`.
pub(crate) fn condition(status: &MachineRequestStatus, type_: &str) -> String {
    let found = status.conditions.iter().find(|condition| condition.type_ == type_);
    found.map(|condition| format!("{}/{}", condition.status, condition.reason)).unwrap_or_default()
}

/// Finalizers of a machine request.
pub(crate) async fn finalizers(world: &World, name: &str) -> Result<Vec<String>> {
    Ok(world.machines().get(name).await?.finalizers().to_vec())
}
