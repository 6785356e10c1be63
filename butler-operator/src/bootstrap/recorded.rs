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

/// That a removal was asked for does not mean that it is over.
fn gone(deletion: &Deletion) -> serde_json::Value {
    json!({ "gone": *deletion == Deletion::Gone })
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
        self.ledger.effect(&step, intent, self.driver.delete(machine), gone).await
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

    async fn list(&self, owner: Option<&str>) -> DriverResult<Vec<LoadBalancer>> {
        self.balancers()?.list(owner).await
    }

    async fn delete(&self, key: &LoadBalancerKey) -> DriverResult<Deletion> {
        let balancers = self.balancers()?;
        let intent = json!({ "ownership": key.ownership, "id": key.id });
        let step = steps::delete_load_balancer(&key.name);
        self.ledger.effect(&step, intent, balancers.delete(key), gone).await
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use butler_core::{
        api::ProviderConfig,
        event::{EventKind, Journal, RunId, journal},
    };

    use super::*;
    use crate::driver::{BootData, MachineState, Ownership, Role, Target, registry::Credentials};

    /// Notes how the journal is at the moment of each effect; refuses what is named `bad`.
    #[derive(Debug)]
    struct Fake {
        journal: PathBuf,
        balancers: bool,
        /// The journal, as the last effect saw it.
        seen: std::sync::Mutex<Vec<String>>,
    }

    impl Fake {
        fn act(&self, name: &str) -> DriverResult<()> {
            *self.seen.lock().unwrap() = records(&self.journal);
            match name {
                "bad" => Err(DriverError::new(ErrorClass::Quota, "make it", "no room")),
                _ => Ok(()),
            }
        }
    }

    fn ownership() -> Ownership {
        Ownership::new("run-1", "n", "a")
    }

    #[async_trait]
    impl Driver for Fake {
        fn name(&self) -> &'static str {
            "fake"
        }

        async fn create(&self, spec: &MachineSpec) -> DriverResult<Machine> {
            self.act(&spec.name)?;
            Driver::get(self, &spec.key()).await
        }

        async fn get(&self, machine: &MachineKey) -> DriverResult<Machine> {
            Ok(Machine {
                id: "vm-1".into(),
                name: machine.name.clone(),
                ownership: machine.ownership.clone(),
                state: MachineState::Creating,
                addresses: Vec::new(),
                mac: None,
                zone: None,
                created: None,
            })
        }

        async fn list(&self, _: Option<&str>) -> DriverResult<Vec<Machine>> {
            Ok(Vec::new())
        }

        async fn delete(&self, machine: &MachineKey) -> DriverResult<Deletion> {
            self.act(&machine.name).map(|()| Deletion::Gone)
        }

        async fn power(&self, _: &MachineKey, _: Power) -> DriverResult<()> {
            Ok(())
        }

        fn load_balancers(&self) -> Option<&dyn LoadBalancers> {
            self.balancers.then_some(self)
        }
    }

    #[async_trait]
    impl LoadBalancers for Fake {
        async fn ensure(&self, spec: &LoadBalancerSpec) -> DriverResult<LoadBalancer> {
            self.act(&spec.name)?;
            LoadBalancers::get(self, &spec.key()).await
        }

        async fn get(&self, key: &LoadBalancerKey) -> DriverResult<LoadBalancer> {
            let (name, ownership) = (key.name.clone(), key.ownership.clone());
            let id = "lb-1".to_owned();
            Ok(LoadBalancer { id, name, ownership, endpoint: None, ready: false, targets: 1, created: None })
        }

        async fn list(&self, _: Option<&str>) -> DriverResult<Vec<LoadBalancer>> {
            Ok(Vec::new())
        }

        async fn delete(&self, key: &LoadBalancerKey) -> DriverResult<Deletion> {
            self.act(&key.name).map(|()| Deletion::Gone)
        }
    }

    /// Intents as `?step`, results as `!step=data`.
    fn records(path: &Path) -> Vec<String> {
        let record = |kind| match kind {
            EventKind::Intent { step, .. } => format!("?{step}"),
            EventKind::Result { step, data } => format!("!{step}={data}"),
            other => format!("{other:?}"),
        };
        journal::read(path).unwrap().into_iter().map(|event| record(event.kind)).collect()
    }

    struct Bench {
        _dir: tempfile::TempDir,
        path: PathBuf,
        fake: Arc<Fake>,
        driver: Arc<dyn Driver>,
    }

    /// The fake as controllers get it: through a recorded connection.
    fn bench(balancers: bool) -> Bench {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal.ndjson");
        let (journal, _) = Journal::open(&path, RunId::new(jiff::Timestamp::now())).unwrap();
        let fake = Arc::new(Fake { journal: path.clone(), balancers, seen: Default::default() });
        let inner = Arc::clone(&fake);
        let connect: Connect = Arc::new(move |_, _| Ok(inner.clone() as Arc<dyn Driver>));
        let config: ProviderConfig = serde_json::from_value(json!({
            "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "ProviderConfig",
            "metadata": { "name": "lab" }, "spec": { "provider": "sandbox" },
        }))
        .unwrap();
        let driver = recorded(connect, Ledger::new(journal))(&config, &Credentials::default()).unwrap();
        Bench { _dir: dir, path, fake, driver }
    }

    fn machine(name: &str) -> MachineSpec {
        MachineSpec {
            name: name.to_owned(),
            ownership: ownership(),
            role: Role::Worker,
            cpu: 2,
            memory_mb: 2048,
            disk_gb: 20,
            extra_disks: Vec::new(),
            image: None,
            labels: Default::default(),
            user_data: Some(BootData("token: hush-user".into())),
            network_data: Some(BootData("key: hush-network".into())),
        }
    }

    fn balancer(name: &str) -> LoadBalancerSpec {
        let target =
            Target { ip: Some([127, 0, 0, 1].into()), instance_id: None, instance_name: Some("a".into()) };
        LoadBalancerSpec {
            name: name.to_owned(),
            ownership: ownership(),
            port: 6443,
            health_check_port: 6443,
            targets: vec![target],
        }
    }

    #[tokio::test]
    async fn a_machine_is_announced_before_and_known_by_its_id_after() {
        let Bench { path, fake, driver, _dir } = bench(false);
        driver.create(&machine("a")).await.unwrap();
        assert_eq!(*fake.seen.lock().unwrap(), ["?machine/a"]);
        driver.delete(&machine("a").key()).await.unwrap();
        let made = r#"!machine/a={"id":"vm-1"}"#;
        assert_eq!(*fake.seen.lock().unwrap(), ["?machine/a", made, "?delete-machine/a"]);
        let gone = r#"!delete-machine/a={"gone":true}"#;
        assert_eq!(records(&path), ["?machine/a", made, "?delete-machine/a", gone]);
    }

    #[tokio::test]
    async fn a_load_balancer_is_announced_before_and_known_by_its_id_after() {
        let Bench { path, fake, driver, _dir } = bench(true);
        let balancers = driver.load_balancers().unwrap();
        balancers.ensure(&balancer("lb")).await.unwrap();
        assert_eq!(*fake.seen.lock().unwrap(), ["?load-balancer/lb"]);
        balancers.delete(&balancer("lb").key()).await.unwrap();
        let made = r#"!load-balancer/lb={"endpoint":null,"id":"lb-1"}"#;
        let announced = "?delete-load-balancer/lb";
        assert_eq!(*fake.seen.lock().unwrap(), ["?load-balancer/lb", made, announced]);
        let gone = r#"!delete-load-balancer/lb={"gone":true}"#;
        assert_eq!(records(&path), ["?load-balancer/lb", made, announced, gone]);
    }

    #[tokio::test]
    async fn what_failed_stays_announced_for_something_may_exist_of_it() {
        let Bench { path, driver, _dir, .. } = bench(true);
        let error = driver.create(&machine("bad")).await.unwrap_err();
        assert_eq!(error.class(), ErrorClass::Quota, "the provider's own error");
        let balancers = driver.load_balancers().unwrap();
        balancers.ensure(&balancer("bad")).await.unwrap_err();
        driver.delete(&machine("bad").key()).await.unwrap_err();
        assert_eq!(records(&path), ["?machine/bad", "?load-balancer/bad", "?delete-machine/bad"]);
    }

    #[tokio::test]
    async fn the_journal_says_whose_it_is_and_nothing_of_what_it_boots_with() {
        let Bench { path, driver, _dir, .. } = bench(false);
        driver.create(&machine("a")).await.unwrap();
        driver.create(&machine("bad")).await.unwrap_err();
        let text = fs_err::read_to_string(&path).unwrap();
        assert!(text.contains("run-1") && text.contains("n.a"), "{text}");
        assert!(!text.contains("hush"), "{text}");
    }

    #[tokio::test]
    async fn looking_is_not_written_down_and_there_are_no_load_balancers_where_there_were_none() {
        let Bench { path, driver, _dir, .. } = bench(false);
        driver.get(&machine("a").key()).await.unwrap();
        driver.list(None).await.unwrap();
        assert!(records(&path).is_empty());
        assert!(driver.load_balancers().is_none());
        assert_eq!(driver.name(), "fake");
    }
}
