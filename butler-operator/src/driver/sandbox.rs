//! The sandbox as a provider: a client of its host's socket.

use std::path::PathBuf;

use async_trait::async_trait;
use futures::{
    FutureExt, StreamExt,
    stream::{self, BoxStream},
};
use http::{Method, StatusCode};
use serde::{Serialize, de::DeserializeOwned};

use super::{
    Changes, Console, Deletion, Discover, Driver, DriverError, DriverResult, ErrorClass, Find, Found, Image,
    ImageSpec, Images, LoadBalancer, LoadBalancerKey, LoadBalancerSpec, LoadBalancers, Machine, MachineKey,
    MachineSpec, Ownership, Power,
};
use crate::sandbox::{
    host::wire::{
        About, BalancerBody, BalancerSpecBody, ConsoleBody, DeletionBody, ErrorBody, FindBody, FoundBody,
        ImageBody, ImageSpecBody, KeyBody, MachineBody, MachineSpecBody, NodeStatus, Nothing,
    },
    socket::{CallError, Client, escape},
};

/// Machines of a sandbox on this machine.
#[derive(Clone, Debug)]
pub struct SandboxDriver {
    client: Client,
}

impl SandboxDriver {
    /// Of the host that listens at this socket; nothing is sent yet.
    pub fn new(socket: impl Into<PathBuf>) -> Self {
        Self { client: Client::new(socket) }
    }

    /// Every machine with what only a sandbox knows of it.
    pub async fn nodes(&self) -> DriverResult<Vec<NodeStatus>> {
        self.client.get("/v1/nodes").await.map_err(|error| failed("list machines", error))
    }

    async fn call<R: DeserializeOwned>(
        &self,
        action: &str,
        target: &str,
        body: &impl Serialize,
    ) -> DriverResult<R> {
        self.client.call(Method::POST, target, body).await.map_err(|error| failed(action, error))
    }
}

/// The error of a call; the class is the host's, or that of a host that cannot be reached.
fn failed(action: &str, error: CallError) -> DriverError {
    match error {
        CallError::Refused { status, retry_after, body } => {
            match serde_json::from_slice::<ErrorBody>(&body) {
                Ok(said) => DriverError::new(said.class.into(), action, said.message),
                Err(_) => {
                    let words = String::from_utf8_lossy(&body);
                    let said = format!("the answer is {status}: {}", words.trim());
                    match status {
                        StatusCode::TOO_MANY_REQUESTS => DriverError::throttled(action, said, retry_after),
                        StatusCode::REQUEST_TIMEOUT | StatusCode::GATEWAY_TIMEOUT => {
                            DriverError::late(action, said)
                        }
                        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                            DriverError::new(ErrorClass::Auth, action, said)
                        }
                        status if status.is_client_error() => {
                            DriverError::new(ErrorClass::Invalid, action, said)
                        }
                        _ => DriverError::new(ErrorClass::Transient, action, said),
                    }
                }
            }
        }
        error @ CallError::Late { .. } => DriverError::late(action, error.to_string()),
        CallError::Unreachable { path, source } if source.kind() == std::io::ErrorKind::PermissionDenied => {
            let said = format!("`{}` belongs to another user", path.display());
            DriverError::new(ErrorClass::Auth, action, said).because(source)
        }
        error @ CallError::Unreachable { .. } => {
            DriverError::new(ErrorClass::Transient, action, "the sandbox is not running").because(error)
        }
        error => DriverError::new(ErrorClass::Transient, action, "the connection was lost").because(error),
    }
}

#[async_trait]
impl Driver for SandboxDriver {
    fn name(&self) -> &'static str {
        "sandbox"
    }

    async fn create(&self, spec: &MachineSpec) -> DriverResult<Machine> {
        let action = format!("create machine `{}`", spec.name);
        let made: MachineBody = self.call(&action, "/v1/machines", &MachineSpecBody::from(spec)).await?;
        Ok(made.into())
    }

    async fn get(&self, machine: &MachineKey) -> DriverResult<Machine> {
        let action = format!("look at machine `{}`", machine.name);
        let target = format!("/v1/machines/{}/get", escape(&machine.name));
        let found: MachineBody = self.call(&action, &target, &KeyBody::from(machine)).await?;
        Ok(found.into())
    }

    async fn list(&self, owner: Option<&str>) -> DriverResult<Vec<Machine>> {
        let query = owner.map(|owner| format!("?owner={}", escape(owner))).unwrap_or_default();
        let list: Result<Vec<MachineBody>, _> = self.client.get(&format!("/v1/machines{query}")).await;
        let list = list.map_err(|error| failed("list machines", error))?;
        Ok(list.into_iter().map(Machine::from).collect())
    }

    async fn delete(&self, machine: &MachineKey) -> DriverResult<Deletion> {
        let action = format!("delete machine `{}`", machine.name);
        let target = format!("/v1/machines/{}/delete", escape(&machine.name));
        let deletion: DeletionBody = self.call(&action, &target, &KeyBody::from(machine)).await?;
        Ok(deletion.into())
    }

    async fn power(&self, machine: &MachineKey, power: Power) -> DriverResult<()> {
        let action = format!("switch machine `{}`", machine.name);
        let target = format!("/v1/machines/{}/power", escape(&machine.name));
        let body = KeyBody { power: Some(power.into()), ..KeyBody::from(machine) };
        let Nothing {} = self.call(&action, &target, &body).await?;
        Ok(())
    }

    fn console(&self) -> Option<&dyn Console> {
        Some(self)
    }

    fn load_balancers(&self) -> Option<&dyn LoadBalancers> {
        Some(self)
    }

    fn images(&self) -> Option<&dyn Images> {
        Some(self)
    }

    fn discover(&self) -> Option<&dyn Discover> {
        Some(self)
    }

    fn changes(&self) -> Option<&dyn Changes> {
        Some(self)
    }
}

#[async_trait]
impl Console for SandboxDriver {
    async fn log(&self, machine: &MachineKey, lines: Option<usize>) -> DriverResult<String> {
        let action = format!("read the console of machine `{}`", machine.name);
        let target = format!("/v1/machines/{}/console", escape(&machine.name));
        let body = KeyBody { lines, ..KeyBody::from(machine) };
        let console: ConsoleBody = self.call(&action, &target, &body).await?;
        Ok(console.text)
    }
}

#[async_trait]
impl LoadBalancers for SandboxDriver {
    async fn ensure(&self, spec: &LoadBalancerSpec) -> DriverResult<LoadBalancer> {
        let action = format!("make load balancer `{}`", spec.name);
        let made: BalancerBody =
            self.call(&action, "/v1/load-balancers", &BalancerSpecBody::from(spec)).await?;
        Ok(made.into())
    }

    async fn get(&self, load_balancer: &LoadBalancerKey) -> DriverResult<LoadBalancer> {
        let action = format!("look at load balancer `{}`", load_balancer.name);
        let target = format!("/v1/load-balancers/{}/get", escape(&load_balancer.name));
        let found: BalancerBody = self.call(&action, &target, &KeyBody::from(load_balancer)).await?;
        Ok(found.into())
    }

    async fn list(&self, owner: Option<&str>) -> DriverResult<Vec<LoadBalancer>> {
        let query = owner.map(|owner| format!("?owner={}", escape(owner))).unwrap_or_default();
        let list: Result<Vec<BalancerBody>, _> = self.client.get(&format!("/v1/load-balancers{query}")).await;
        let list = list.map_err(|error| failed("list load balancers", error))?;
        Ok(list.into_iter().map(LoadBalancer::from).collect())
    }

    async fn delete(&self, load_balancer: &LoadBalancerKey) -> DriverResult<Deletion> {
        let action = format!("delete load balancer `{}`", load_balancer.name);
        let target = format!("/v1/load-balancers/{}/delete", escape(&load_balancer.name));
        let deletion: DeletionBody = self.call(&action, &target, &KeyBody::from(load_balancer)).await?;
        Ok(deletion.into())
    }
}

#[async_trait]
impl Images for SandboxDriver {
    async fn ensure(&self, spec: &ImageSpec) -> DriverResult<Image> {
        let action = format!("bring image `{}`", spec.name);
        let image: ImageBody = self.call(&action, "/v1/images", &ImageSpecBody::from(spec)).await?;
        Ok(image.into())
    }

    async fn delete(&self, name: &str) -> DriverResult<Deletion> {
        let action = format!("delete image `{name}`");
        let target = format!("/v1/images/{}/delete", escape(name));
        let deletion: DeletionBody = self.call(&action, &target, &Nothing {}).await?;
        Ok(deletion.into())
    }
}

#[async_trait]
impl Discover for SandboxDriver {
    async fn probe(&self) -> DriverResult<Option<String>> {
        let about: Result<About, _> = self.client.get("/v1/about").await;
        about.map(|about| Some(about.version)).map_err(|error| failed("reach the sandbox", error))
    }

    async fn find(&self, kind: Find, parent: Option<&str>) -> DriverResult<Vec<Found>> {
        let kind = FindBody::from(kind).as_str();
        let query = parent.map(|parent| format!("?parent={}", escape(parent))).unwrap_or_default();
        let found: Result<Vec<FoundBody>, _> = self.client.get(&format!("/v1/find/{kind}{query}")).await;
        let found = found.map_err(|error| failed(&format!("find {kind}"), error))?;
        Ok(found.into_iter().map(Found::from).collect())
    }
}

impl Changes for SandboxDriver {
    fn subscribe(&self) -> BoxStream<'static, Ownership> {
        let client = self.client.clone();
        // A host that cannot be reached ends the stream at once; the reader comes back.
        let open =
            async move { client.follow("/v1/changes").await.unwrap_or_else(|_| stream::empty().boxed()) };
        open.flatten_stream().boxed()
    }
}
