//! A provider of machines in memory: it does what it is told, fails when it is told, and remembers
//! every call.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use butler_operator::driver::{
    Changes, Deletion, Driver, DriverError, DriverResult, ErrorClass, LoadBalancer, LoadBalancerKey,
    LoadBalancerSpec, LoadBalancers, Machine, MachineKey, MachineSpec, MachineState, Ownership, Power,
    registry::Connect,
};
use futures::{StreamExt, stream::BoxStream};
use jiff::Timestamp;
use tokio::sync::mpsc;

/// A call that can fail and is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Call {
    /// `Driver::create`
    Create,
    /// `Driver::get`
    Get,
    /// `Driver::delete`
    Delete,
    /// `LoadBalancers::ensure`
    Ensure,
}

/// The provider. Clones are the same one.
#[derive(Clone, Debug, Default)]
pub struct Provider(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    machines: BTreeMap<String, Machine>,
    balancers: BTreeMap<String, LoadBalancer>,
    failing: HashMap<Call, (ErrorClass, String)>,
    calls: HashMap<Call, usize>,
    made: usize,
    tells: bool,
    without_balancers: bool,
    boots_slowly: bool,
    clings: bool,
    hangs: bool,
    readers: Vec<mpsc::UnboundedSender<Ownership>>,
}

impl Provider {
    /// One that tells its changes, as the sandbox does.
    pub fn that_tells() -> Self {
        let provider = Self::default();
        provider.state().tells = true;
        provider
    }

    /// One that has no load balancers.
    pub fn without_load_balancers() -> Self {
        let provider = Self::default();
        provider.state().without_balancers = true;
        provider
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What controllers get for every ProviderConfig.
    pub fn connect(&self) -> Connect {
        let provider = self.clone();
        Arc::new(move |_, _| Ok(Arc::new(provider.clone())))
    }

    /// From now on a call fails; with none it works again.
    pub fn fails(&self, call: Call, failure: Option<(ErrorClass, &str)>) {
        match failure {
            Some((class, words)) => self.state().failing.insert(call, (class, words.to_owned())),
            None => self.state().failing.remove(&call),
        };
    }

    /// New machines have no address until [`change`](Self::change) gives them one.
    pub fn boots_slowly(&self) {
        self.state().boots_slowly = true;
    }

    /// What is removed stays in state `Deleting` until [`remove`](Self::remove).
    pub fn clings(&self, clings: bool) {
        self.state().clings = clings;
    }

    /// Calls of `create` never end.
    pub fn hangs(&self, hangs: bool) {
        self.state().hangs = hangs;
    }

    /// How often a call was made.
    pub fn calls(&self, call: Call) -> usize {
        self.state().calls.get(&call).copied().unwrap_or_default()
    }

    /// How many machines were ever made.
    pub fn made(&self) -> usize {
        self.state().made
    }

    /// A machine.
    pub fn machine(&self, name: &str) -> Option<Machine> {
        self.state().machines.get(name).cloned()
    }

    /// A load balancer.
    pub fn load_balancer(&self, name: &str) -> Option<LoadBalancer> {
        self.state().balancers.get(name).cloned()
    }

    /// Puts a machine there, as another or an earlier run would have.
    pub fn put(&self, name: &str, ownership: Ownership) {
        self.state().make(name, ownership);
    }

    /// Changes a machine behind the controllers' back.
    pub fn change(&self, name: &str, change: impl FnOnce(&mut Machine)) {
        let mut state = self.state();
        if let Some(machine) = state.machines.get_mut(name) {
            change(machine);
            let ownership = machine.ownership.clone();
            state.tell(&ownership);
        }
    }

    /// Removes a machine behind the controllers' back.
    pub fn remove(&self, name: &str) {
        let mut state = self.state();
        if let Some(machine) = state.machines.remove(name) {
            state.tell(&machine.ownership);
        }
    }
}

impl State {
    fn call(&mut self, call: Call, action: String) -> DriverResult<()> {
        *self.calls.entry(call).or_default() += 1;
        match self.failing.get(&call) {
            Some((class, words)) => Err(DriverError::new(*class, action, words)),
            None => Ok(()),
        }
    }

    fn make(&mut self, name: &str, ownership: Ownership) -> Machine {
        self.made += 1;
        let number = u8::try_from(self.made % 250).unwrap_or_default();
        let machine = Machine {
            id: format!("vm-{}", self.made),
            name: name.to_owned(),
            ownership,
            state: if self.boots_slowly { MachineState::Creating } else { MachineState::Running },
            addresses: if self.boots_slowly { Vec::new() } else { vec![[127, 50, 0, number].into()] },
            mac: Some(format!("02:00:00:00:00:{number:02x}")),
            zone: None,
            created: Some(Timestamp::now()),
        };
        self.machines.insert(name.to_owned(), machine.clone());
        machine
    }

    fn tell(&mut self, ownership: &Ownership) {
        self.readers.retain(|reader| reader.send(ownership.clone()).is_ok());
    }
}

fn absent(what: String) -> DriverError {
    DriverError::new(ErrorClass::NotFound, what, "there is none")
}

#[async_trait]
impl Driver for Provider {
    fn name(&self) -> &'static str {
        "memory"
    }

    async fn create(&self, spec: &MachineSpec) -> DriverResult<Machine> {
        let action = format!("create machine `{}`", spec.name);
        self.state().call(Call::Create, action.clone())?;
        if self.state().hangs {
            std::future::pending::<()>().await;
        }
        let mut state = self.state();
        match state.machines.get(&spec.name) {
            Some(found) if found.ownership == spec.ownership => Ok(found.clone()),
            Some(_) => Err(DriverError::new(ErrorClass::Conflict, action, "the name is taken")),
            None => Ok(state.make(&spec.name, spec.ownership.clone())),
        }
    }

    async fn get(&self, key: &MachineKey) -> DriverResult<Machine> {
        let mut state = self.state();
        let action = format!("get machine `{}`", key.name);
        state.call(Call::Get, action.clone())?;
        let found = state.machines.get(&key.name).filter(|found| found.ownership == key.ownership);
        found.cloned().ok_or_else(|| absent(action))
    }

    async fn list(&self, owner: Option<&str>) -> DriverResult<Vec<Machine>> {
        let all = self.state().machines.values().cloned().collect::<Vec<_>>();
        Ok(all.into_iter().filter(|one| owner.is_none_or(|owner| one.ownership.owner == owner)).collect())
    }

    async fn delete(&self, key: &MachineKey) -> DriverResult<Deletion> {
        let mut state = self.state();
        state.call(Call::Delete, format!("delete machine `{}`", key.name))?;
        let clings = state.clings;
        match state.machines.get_mut(&key.name) {
            Some(machine) if machine.ownership == key.ownership && clings => {
                machine.state = MachineState::Deleting;
                Ok(Deletion::Pending)
            }
            Some(machine) if machine.ownership == key.ownership => {
                state.machines.remove(&key.name);
                Ok(Deletion::Gone)
            }
            _ => Ok(Deletion::Gone),
        }
    }

    async fn power(&self, key: &MachineKey, power: Power) -> DriverResult<()> {
        Driver::get(self, key).await?;
        let on = power != Power::Off;
        self.change(&key.name, |machine| {
            machine.state = if on { MachineState::Running } else { MachineState::Stopped };
        });
        Ok(())
    }

    fn load_balancers(&self) -> Option<&dyn LoadBalancers> {
        (!self.state().without_balancers).then_some(self as _)
    }

    fn changes(&self) -> Option<&dyn Changes> {
        self.state().tells.then_some(self as _)
    }
}

#[async_trait]
impl LoadBalancers for Provider {
    async fn ensure(&self, spec: &LoadBalancerSpec) -> DriverResult<LoadBalancer> {
        let mut state = self.state();
        let action = format!("create load balancer `{}`", spec.name);
        state.call(Call::Ensure, action.clone())?;
        let found = state.balancers.get(&spec.name);
        if found.is_some_and(|found| found.ownership != spec.ownership) {
            return Err(DriverError::new(ErrorClass::Conflict, action, "the name is taken"));
        }
        let made = LoadBalancer {
            id: format!("lb-{}", spec.name),
            name: spec.name.clone(),
            ownership: spec.ownership.clone(),
            endpoint: Some(format!("127.60.0.1:{}", spec.port)),
            ready: true,
            targets: spec.targets.len(),
            created: Some(Timestamp::now()),
        };
        state.balancers.insert(spec.name.clone(), made.clone());
        Ok(made)
    }

    async fn get(&self, key: &LoadBalancerKey) -> DriverResult<LoadBalancer> {
        let found = self.load_balancer(&key.name).filter(|found| found.ownership == key.ownership);
        found.ok_or_else(|| absent(format!("get load balancer `{}`", key.name)))
    }

    async fn list(&self, owner: Option<&str>) -> DriverResult<Vec<LoadBalancer>> {
        let all = self.state().balancers.values().cloned().collect::<Vec<_>>();
        Ok(all.into_iter().filter(|one| owner.is_none_or(|owner| one.ownership.owner == owner)).collect())
    }

    async fn delete(&self, key: &LoadBalancerKey) -> DriverResult<Deletion> {
        let mut state = self.state();
        if state.balancers.get(&key.name).is_some_and(|found| found.ownership == key.ownership) {
            state.balancers.remove(&key.name);
        }
        Ok(Deletion::Gone)
    }
}

impl Changes for Provider {
    fn subscribe(&self) -> BoxStream<'static, Ownership> {
        let (reader, mut told) = mpsc::unbounded_channel();
        self.state().readers.push(reader);
        futures::stream::poll_fn(move |context| told.poll_recv(context)).boxed()
    }
}
