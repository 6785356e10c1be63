//! The machines of a host: made, looked at, switched, removed.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
    sync::{Arc, Weak},
};

use jiff::Timestamp;
use tokio::task::JoinHandle;

use super::{
    Host, Refusal, Shared, State, catalogue, check_name, console,
    runner::{Job, Live, Runner, Told},
    store::{Loaded, Record, Witnessed},
    wire::{DiskBody, NodeStatus},
};
use crate::{
    driver::{ErrorClass, Machine, MachineSpec, MachineState, Ownership, Power},
    process::{Child, ProcessError, Streams, ports::Port},
    sandbox::machine::{MachineDir, MachineFile},
};

/// A machine in memory.
#[derive(Debug)]
pub(super) enum Entry {
    /// It can be used.
    Whole(Box<Whole>),
    /// Its files, or what they name, are not what the host wrote.
    Damaged { ownership: Option<Ownership>, problem: String },
}

#[derive(Debug)]
pub(super) struct Whole {
    pub(super) file: MachineFile,
    record: Record,
    runner: Runner,
    deleting: bool,
    _ports: Vec<Port>,
}

impl Entry {
    fn ownership(&self) -> Option<&Ownership> {
        match self {
            Self::Whole(whole) => Some(&whole.record.ownership),
            Self::Damaged { ownership, .. } => ownership.as_ref(),
        }
    }

    /// Ends its process; hands out the task that does it.
    pub(super) fn end(&mut self) -> Option<JoinHandle<()>> {
        match self {
            Self::Whole(whole) => whole.runner.end(),
            Self::Damaged { .. } => None,
        }
    }
}

impl Whole {
    fn state(&self, live: &Live) -> MachineState {
        match (self.deleting, self.record.on, live.address) {
            (true, _, _) => MachineState::Deleting,
            (_, false, _) => MachineState::Stopped,
            (_, true, Some(_)) => MachineState::Running,
            (_, true, None) => MachineState::Creating,
        }
    }

    fn machine(&self) -> Machine {
        let live = self.runner.live();
        Machine {
            id: self.file.id.clone(),
            name: self.file.name.clone(),
            ownership: self.record.ownership.clone(),
            state: self.state(&live),
            addresses: live.address.into_iter().collect(),
            mac: Some(self.file.mac.clone()),
            zone: Some(catalogue::ZONE.to_owned()),
            created: Some(self.record.created),
        }
    }
}

impl Host {
    /// Brings back the machines that are on disk.
    pub(super) fn restore(&self, loaded: BTreeMap<String, Loaded>) {
        let witnessed = self.shared.store.witnessed_machines();
        let mut state = self.state();
        let mut used = BTreeSet::new();
        for (name, loaded) in loaded {
            let entry = match loaded {
                Loaded::Whole(file, record) => self.adopt(&name, *file, record, &mut used),
                Loaded::Damaged { ownership, problem } => Entry::Damaged { ownership, problem },
            };
            if let Entry::Damaged { problem, .. } = &entry {
                tracing::warn!(machine = name, problem, "a machine is damaged and stays off");
            }
            if !witnessed.contains(&name) {
                // We were killed between making it and writing so.
                self.witness("created", "machine", &name, entry.ownership());
            }
            state.machines.insert(name, entry);
        }
    }

    fn adopt(&self, name: &str, file: MachineFile, record: Record, used: &mut BTreeSet<IpAddr>) -> Entry {
        let path = self.shared.store.machine(name).machine_file();
        let damaged = |what: String| Entry::Damaged {
            ownership: Some(record.ownership.clone()),
            problem: format!("`{}` cannot be used: {what}", path.display()),
        };
        let network = &self.shared.network;
        if !network.contains(file.address) {
            return damaged(format!("the address {} is not one of {network}", file.address));
        }
        if !used.insert(file.address) && !network.is_single() {
            return damaged(format!("another machine has the address {}", file.address));
        }
        match network.hold(file.address, &file.ports) {
            Ok(ports) => self.entry(file, record.clone(), ports),
            Err(problem) => damaged(problem),
        }
    }

    fn entry(&self, file: MachineFile, record: Record, ports: Vec<Port>) -> Entry {
        let runner = Runner::start(self.job(&file.name), record.on);
        Entry::Whole(Box::new(Whole { file, record, runner, deleting: false, _ports: ports }))
    }

    /// How the process of a machine is started. The job holds no host, which holds it.
    fn job(&self, name: &str) -> Job {
        let dir = self.shared.store.machine(name);
        let console = dir.console();
        let (shared, name) = (Arc::downgrade(&self.shared), name.to_owned());
        let (starts, starting) = (shared.clone(), name.clone());
        Job {
            start: Box::new(move || start(&starts, &starting, &dir)),
            told: Box::new(move |told| {
                if let Some(shared) = shared.upgrade() {
                    shared.told(&name, told);
                }
            }),
            console,
        }
    }

    /// Makes sure that a machine exists.
    pub fn create(&self, spec: &MachineSpec) -> Result<Machine, Refusal> {
        check_name(&spec.name)?;
        check_size(spec)?;
        let mut state = self.state();
        if state.closed {
            return Err(Refusal::new(ErrorClass::Transient, "the host is being stopped"));
        }
        match state.machines.get(&spec.name) {
            Some(Entry::Whole(whole)) if whole.record.ownership == spec.ownership => {
                if whole.deleting {
                    let message = format!("machine `{}` is being deleted", spec.name);
                    return Err(Refusal::new(ErrorClass::Transient, message));
                }
                return Ok(whole.machine());
            }
            Some(Entry::Damaged { ownership: Some(ownership), problem }) if *ownership == spec.ownership => {
                return Ok(damaged(self, &spec.name, ownership, problem));
            }
            Some(entry) => return Err(taken("machine", &spec.name, entry.ownership())),
            None => {}
        }
        let whole = self.make(spec, &state)?;
        let machine = whole.machine();
        state.machines.insert(spec.name.clone(), Entry::Whole(Box::new(whole)));
        drop(state);
        self.witness("created", "machine", &spec.name, Some(&spec.ownership));
        self.changed(&spec.ownership);
        Ok(machine)
    }

    fn make(&self, spec: &MachineSpec, state: &State) -> Result<Whole, Refusal> {
        let options = &self.shared.options;
        let builtin = catalogue::builtin_image(&options.talos_version);
        let image = spec.image.clone().unwrap_or_else(|| builtin.clone());
        if image != builtin && !state.images.contains_key(&image) {
            let message = format!("there is no image `{image}`; there is `{builtin}`");
            return Err(Refusal::new(ErrorClass::Invalid, message));
        }
        let used = state.machines.values().filter_map(|entry| match entry {
            Entry::Whole(whole) => Some(whole.file.address),
            // Its address may be what is damaged; if it is readable it is still taken.
            Entry::Damaged { .. } => None,
        });
        let used = used.chain(self.addresses_on_disk(state)).collect();
        let (address, ports, held) = self.shared.network.for_machine(&used)?;
        let version = catalogue::version_of(&image, &state.images);
        let file = MachineFile {
            id: self.id(&spec.name),
            name: spec.name.clone(),
            ownership: spec.ownership.clone(),
            role: spec.role,
            cpu: spec.cpu,
            memory_mb: spec.memory_mb,
            disk_gb: spec.disk_gb,
            address,
            ports,
            mac: mac(&options.sandbox, &spec.name),
            talos_version: version.unwrap_or_else(|| options.talos_version.clone()),
            parts: options.parts.clone(),
            discovery_dir: self.shared.store.discovery(),
        };
        let record = Record {
            ownership: spec.ownership.clone(),
            on: true,
            created: Timestamp::now(),
            image,
            labels: spec.labels.clone(),
            extra_disks: spec.extra_disks.iter().map(DiskBody::from).collect(),
        };
        self.shared.store.create(spec, &file, &record)?;
        let runner = Runner::start(self.job(&spec.name), true);
        Ok(Whole { file, record, runner, deleting: false, _ports: held })
    }

    /// Addresses in the files of damaged machines, as far as they can be read.
    fn addresses_on_disk(&self, state: &State) -> Vec<IpAddr> {
        let damaged = state.machines.iter().filter(|(_, entry)| matches!(entry, Entry::Damaged { .. }));
        damaged
            .filter_map(|(name, _)| {
                let path = self.shared.store.machine(name).machine_file();
                Some(MachineFile::read(&path).ok()?.address)
            })
            .collect()
    }

    fn id(&self, name: &str) -> String {
        format!("sandbox://{}/{name}", self.shared.options.sandbox)
    }

    /// The name that an id or a name means, if it is this owner's.
    fn resolve<'a>(
        &self,
        state: &'a mut State,
        name: &str,
        id: Option<&str>,
        ownership: &Ownership,
    ) -> Result<(&'a mut Entry, String), Refusal> {
        let prefix = self.id("");
        let name = id.map_or(Some(name), |id| id.strip_prefix(&prefix)).unwrap_or_default().to_owned();
        let entry = state.machines.get_mut(&name).filter(|entry| entry.ownership() == Some(ownership));
        entry.map(|entry| (entry, name.clone())).ok_or_else(|| Refusal::not_found("machine", &name))
    }

    /// Looks at a machine.
    pub fn get(&self, name: &str, id: Option<&str>, ownership: &Ownership) -> Result<Machine, Refusal> {
        let mut state = self.state();
        let (entry, name) = self.resolve(&mut state, name, id, ownership)?;
        Ok(match entry {
            Entry::Whole(whole) => whole.machine(),
            Entry::Damaged { problem, .. } => damaged(self, &name, ownership, problem),
        })
    }

    /// Every machine whose owner is known, or those of one owner.
    pub fn list(&self, owner: Option<&str>) -> Vec<Machine> {
        let state = self.state();
        let wanted = |ownership: &Ownership| owner.is_none_or(|owner| ownership.owner == owner);
        let machines = state.machines.iter().filter_map(|(name, entry)| {
            let ownership = entry.ownership().filter(|ownership| wanted(ownership))?;
            Some(match entry {
                Entry::Whole(whole) => whole.machine(),
                Entry::Damaged { problem, .. } => damaged(self, name, ownership, problem),
            })
        });
        machines.collect()
    }

    /// Removes a machine and everything of it. What is asked to end is waited for.
    pub async fn delete(&self, name: &str, id: Option<&str>, ownership: &Ownership) -> Result<(), Refusal> {
        let (name, task) = {
            let mut state = self.state();
            let Ok((entry, name)) = self.resolve(&mut state, name, id, ownership) else { return Ok(()) };
            if let Entry::Whole(whole) = entry {
                whole.deleting = true;
            }
            (name, entry.end())
        };
        self.changed(ownership);
        if let Some(task) = task {
            let _ = task.await;
        }
        let mut state = self.state();
        let same = |entry: &Entry| entry.ownership() == Some(ownership);
        if !state.machines.get(&name).is_some_and(same) {
            // Two of us waited, and the other one was quicker.
            return Ok(());
        }
        self.shared.store.remove(&name)?;
        state.machines.remove(&name);
        drop(state);
        self.witness("deleted", "machine", &name, Some(ownership));
        self.changed(ownership);
        Ok(())
    }

    /// Turns a machine's switch; waits until a machine that is switched off has stopped.
    pub async fn power(
        &self,
        name: &str,
        id: Option<&str>,
        ownership: &Ownership,
        power: Power,
    ) -> Result<(), Refusal> {
        let stopped = {
            let mut state = self.state();
            let (entry, name) = self.resolve(&mut state, name, id, ownership)?;
            let Entry::Whole(whole) = entry else {
                return Err(Refusal::new(ErrorClass::Invalid, format!("machine `{name}` is damaged")));
            };
            let record = Record { on: power != Power::Off, ..whole.record.clone() };
            if record != whole.record {
                self.shared.store.update(&name, &record)?;
                whole.record = record;
            }
            match power {
                Power::On => whole.runner.switch(true),
                Power::Reset => whole.runner.reset(),
                Power::Off => whole.runner.switch(false),
            }
            (power == Power::Off).then(|| whole.runner.stopped())
        };
        if let Some(stopped) = stopped {
            stopped.await;
        }
        self.changed(ownership);
        Ok(())
    }

    /// What a machine wrote to its console.
    pub fn console(
        &self,
        name: &str,
        id: Option<&str>,
        ownership: &Ownership,
        lines: Option<usize>,
    ) -> Result<String, Refusal> {
        let name = self.resolve(&mut self.state(), name, id, ownership)?.1;
        Ok(console::read(&self.shared.store.machine(&name).console(), lines)?)
    }

    /// Every machine, damaged ones too, with all that is known.
    pub fn nodes(&self) -> Vec<NodeStatus> {
        let state = self.state();
        state.machines.iter().map(|(name, entry)| status(name, entry)).collect()
    }

    pub(super) fn witness(&self, what: &str, kind: &str, name: &str, ownership: Option<&Ownership>) {
        let line = Witnessed {
            time: Timestamp::now(),
            what: what.to_owned(),
            kind: kind.to_owned(),
            name: name.to_owned(),
            ownership: ownership.cloned(),
        };
        if let Err(error) = self.shared.store.witness(&line) {
            tracing::warn!(%error, name, what, "the log of machines cannot be written");
        }
    }
}

impl Shared {
    /// A machine changed by itself.
    fn told(&self, name: &str, told: Told) {
        let ownership = {
            let mut state = self.state();
            let Some(Entry::Whole(whole)) = state.machines.get_mut(name) else { return };
            if told == Told::SwitchedOff {
                whole.record.on = false;
                whole.runner.switch(false);
                if let Err(error) = self.store.update(name, &whole.record) {
                    tracing::warn!(%error, name, "a switch is not remembered");
                }
            }
            whole.record.ownership.clone()
        };
        self.changed(&ownership);
    }
}

/// Starts the process of a machine. Its file follows the host: programs may have moved since.
fn start(shared: &Weak<Shared>, name: &str, dir: &MachineDir) -> Result<Child, ProcessError> {
    let failed = |source| ProcessError::Start { program: name.to_owned(), source };
    let shared = shared.upgrade().ok_or_else(|| failed(std::io::Error::other("the host is gone")))?;
    let options = &shared.options;
    let path = dir.machine_file();
    let known = MachineFile::read(&path).map_err(failed)?;
    let discovery_dir = shared.store.discovery();
    let file = MachineFile { parts: options.parts.clone(), discovery_dir, ..known.clone() };
    if file != known {
        file.write(&path).map_err(|error| failed(std::io::Error::other(error)))?;
    }
    let spawn = shared
        .guard
        .command(&options.node.program, Streams::Piped)
        .args(options.node.args.iter().cloned())
        .args([dir.0.clone().into_os_string()])
        .current_dir(&dir.0);
    shared.guard.spawn(&spawn)
}

fn status(name: &str, entry: &Entry) -> NodeStatus {
    let mut status = NodeStatus {
        name: name.to_owned(),
        state: super::wire::StateBody::Stopped,
        ownership: entry.ownership().cloned(),
        role: None,
        address: None,
        ports: None,
        stage: None,
        pid: None,
        restarts: 0,
        last_exit: None,
        since: None,
    };
    match entry {
        Entry::Damaged { problem, .. } => status.state = MachineState::Failed(problem.clone()).into(),
        Entry::Whole(whole) => {
            let live = whole.runner.live();
            status.state = whole.state(&live).into();
            status.role = Some(whole.file.role);
            status.address = Some(whole.file.address);
            status.ports = Some(whole.file.ports);
            status.stage = live.stage;
            status.pid = live.pid;
            status.restarts = live.restarts;
            status.last_exit = live.last_exit;
            status.since = live.since;
        }
    }
    status
}

fn damaged(host: &Host, name: &str, ownership: &Ownership, problem: &str) -> Machine {
    Machine {
        id: host.id(name),
        name: name.to_owned(),
        ownership: ownership.clone(),
        state: MachineState::Failed(problem.to_owned()),
        addresses: Vec::new(),
        mac: None,
        zone: Some(catalogue::ZONE.to_owned()),
        created: None,
    }
}

/// The refusal of a name that somebody else has.
pub(super) fn taken(what: &str, name: &str, ownership: Option<&Ownership>) -> Refusal {
    let whose = ownership.map_or_else(
        || "an owner that cannot be read any more".to_owned(),
        |ownership| format!("`{}`, for `{}`", ownership.owner, ownership.object),
    );
    Refusal::new(ErrorClass::Conflict, format!("{what} `{name}` belongs to {whose}"))
}

fn check_size(spec: &MachineSpec) -> Result<(), Refusal> {
    if spec.cpu > 0 && spec.memory_mb > 0 && spec.disk_gb > 0 {
        return Ok(());
    }
    Err(Refusal::new(ErrorClass::Invalid, "a machine needs processors, memory and a disk"))
}

/// A locally administered hardware address that a name always has.
fn mac(sandbox: &str, name: &str) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, format!("{sandbox}/{name}").as_bytes());
    let rest: String = digest.as_ref().iter().take(5).map(|byte| format!(":{byte:02x}")).collect();
    format!("02{rest}")
}
