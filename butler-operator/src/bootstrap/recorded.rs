//! A driver whose effects are written down: before each, so that it can be looked for; after it, so that
//! its id is known whatever happens to the objects that asked for it.

use std::sync::Arc;

use async_trait::async_trait;
use butler_core::bootstrap::run::steps;
use serde_json::json;

use crate::{
    driver::{
        Changes, Console, Deletion, Discover, Driver, DriverError, DriverResult, ErrorClass, Images,
        LoadBalancer, LoadBalancerKey, LoadBalancerSpec, LoadBalancers, Machine, MachineKey, MachineSpec,
        Power, registry::Connect,
    },
    ledger::Ledger,
};

/// Makes every driver that `connect` makes write down what it does.
pub(super) fn recorded(connect: Connect, ledger: Ledger) -> Connect {
    Arc::new(move |config, credentials| {
        let driver = connect(config, credentials)?;
        Ok(Arc::new(Recorded { driver, ledger: ledger.clone() }) as Arc<dyn Driver>)
    })
}

#[derive(Debug)]
struct Recorded {
    driver: Arc<dyn Driver>,
    ledger: Ledger,
}

impl From<butler_core::event::JournalError> for DriverError {
    /// What cannot be written down is not done.
    fn from(error: butler_core::event::JournalError) -> Self {
        let text = error.to_string();
        Self::new(ErrorClass::Invalid, "write down what is about to be done", text).because(error)
    }
}

#[async_trait]
impl Driver for Recorded {
    fn name(&self) -> &'static str {
        self.driver.name()
    }

    async fn create(&self, spec: &MachineSpec) -> DriverResult<Machine> {
        let intent = json!({
            "ownership": spec.ownership, "role": spec.role, "cpu": spec.cpu,
            "memoryMB": spec.memory_mb, "diskGB": spec.disk_gb, "image": spec.image,
        });
        let made = |machine: &Machine| json!({ "id": machine.id });
        self.ledger.effect(&steps::machine(&spec.name), intent, self.driver.create(spec), made).await
    }

    async fn get(&self, machine: &MachineKey) -> DriverResult<Machine> {
        self.driver.get(machine).await
    }

    async fn list(&self, owner: Option<&str>) -> DriverResult<Vec<Machine>> {
        self.driver.list(owner).await
    }

    async fn delete(&self, machine: &MachineKey) -> DriverResult<Deletion> {
        let intent = json!({ "ownership": machine.ownership, "id": machine.id });
        let step = steps::delete_machine(&machine.name);
        self.ledger.effect(&step, intent, self.driver.delete(machine), |_| json!({})).await
    }

    async fn power(&self, machine: &MachineKey, power: Power) -> DriverResult<()> {
        self.driver.power(machine, power).await
    }

    fn console(&self) -> Option<&dyn Console> {
        self.driver.console()
    }

    fn load_balancers(&self) -> Option<&dyn LoadBalancers> {
        self.driver.load_balancers().map(|_| self as &dyn LoadBalancers)
    }

    fn images(&self) -> Option<&dyn Images> {
        self.driver.images()
    }

    fn discover(&self) -> Option<&dyn Discover> {
        self.driver.discover()
    }

    fn changes(&self) -> Option<&dyn Changes> {
        self.driver.changes()
    }
}

impl Recorded {
    fn balancers(&self) -> DriverResult<&dyn LoadBalancers> {
        self.driver.load_balancers().ok_or_else(|| {
            DriverError::new(ErrorClass::Invalid, "make a load balancer", "this provider has none")
        })
    }
}

#[async_trait]
impl LoadBalancers for Recorded {
    async fn ensure(&self, spec: &LoadBalancerSpec) -> DriverResult<LoadBalancer> {
        let balancers = self.balancers()?;
        let intent = json!({ "ownership": spec.ownership, "port": spec.port, "targets": spec.targets.len() });
        let made = |balancer: &LoadBalancer| json!({ "id": balancer.id, "endpoint": balancer.endpoint });
        self.ledger.effect(&steps::load_balancer(&spec.name), intent, balancers.ensure(spec), made).await
    }

    async fn get(&self, key: &LoadBalancerKey) -> DriverResult<LoadBalancer> {
        self.balancers()?.get(key).await
    }

    async fn delete(&self, key: &LoadBalancerKey) -> DriverResult<Deletion> {
        let balancers = self.balancers()?;
        let intent = json!({ "ownership": key.ownership, "id": key.id });
        let step = steps::delete_load_balancer(&key.name);
        self.ledger.effect(&step, intent, balancers.delete(key), |_| json!({})).await
    }
}
