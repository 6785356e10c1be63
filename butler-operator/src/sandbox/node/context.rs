//! One boot of a node: everything its parts share.

use std::{
    collections::BTreeMap,
    fmt,
    future::Future,
    io::Write,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use jiff::Timestamp;
use ring::rand::{SecureRandom, SystemRandom};
use tokio::{
    sync::{Notify, watch},
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;

use super::{
    clock::Clock,
    config::Config,
    cosi::Store,
    discovery::Member,
    disk::Disk,
    events::Events,
    kubernetes::Component,
    logs::Logs,
    services::{Services, State},
    status::{Stage, Status},
};
use crate::{
    process::Guard,
    sandbox::{
        faults::{Faults, Scripted},
        machine::{AgentMessage, MachineDir, MachineFile},
    },
    talos::proto::machine::sequence_event::Action,
};

/// How long parts may take to stop before they are cut off.
const STOP_LIMIT: Duration = Duration::from_secs(20);

/// What follows a boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum After {
    Reboot,
    Off,
}

/// Where a node's messages to its host go.
pub(super) struct Agent(Mutex<Box<dyn Write + Send>>);

impl Agent {
    pub(super) fn new(stream: Box<dyn Write + Send>) -> Self {
        Self(Mutex::new(stream))
    }

    pub(super) fn send(&self, message: &AgentMessage) {
        let Ok(mut line) = serde_json::to_vec(message) else { return };
        line.push(b'\n');
        let mut stream = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A host that is gone misses nothing.
        let _ = stream.write_all(&line).and_then(|()| stream.flush());
    }
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent").finish_non_exhaustive()
    }
}

/// What outlives a boot.
#[derive(Debug)]
pub(super) struct Machine {
    pub(super) dir: MachineDir,
    pub(super) file: MachineFile,
    pub(super) disk: Disk,
    pub(super) clock: Arc<Clock>,
    pub(super) logs: Arc<Logs>,
    pub(super) agent: Agent,
    pub(super) guard: Guard,
}

/// One boot.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) machine: Arc<Machine>,
    pub(super) boot_id: String,
    pub(super) booted: Timestamp,
    /// The version of Talos that runs.
    pub(super) version: String,
    /// What the node is known by in its cluster.
    pub(super) identity: String,
    pub(super) events: Arc<Events>,
    pub(super) services: Services,
    pub(super) store: Store,
    pub(super) status: watch::Sender<Status>,
    pub(super) config: watch::Sender<Option<Arc<Config>>>,
    /// A configuration that was tried out before this one and comes back.
    pub(super) trial: Mutex<Option<CancellationToken>>,
    pub(super) members: watch::Sender<Vec<Member>>,
    pub(super) components: watch::Sender<BTreeMap<&'static str, Component>>,
    pub(super) etcd: watch::Sender<super::etcd::Phase>,
    pub(super) etcd_order: Notify,
    /// Kubernetes says this node is ready.
    pub(super) node_ready: AtomicBool,
    /// Something that a status or resource depends on has changed.
    pub(super) changed: Arc<Notify>,
    /// Services that people stopped.
    pub(super) held: watch::Sender<std::collections::BTreeSet<String>>,
    /// Asks a service to begin anew.
    pub(super) restarts: watch::Sender<BTreeMap<String, u64>>,
    /// Ends services and children.
    pub(super) workload: CancellationToken,
    /// Ends the boot.
    pub(super) stop: CancellationToken,
    busy: AtomicBool,
    boot_over: AtomicBool,
    after: Mutex<Option<After>>,
    tasks: Mutex<JoinSet<()>>,
}

impl Node {
    pub(super) fn new(machine: Arc<Machine>) -> Arc<Self> {
        let clock = machine.clock.clone();
        let events = Arc::new(Events::new(clock.clone()));
        let changed = Arc::new(Notify::new());
        machine.logs.clear();
        // Without a disk the node has no lasting identity, but it boots.
        let identity = machine.disk.identity().unwrap_or_else(|_| uuid());
        let mut meta = machine.disk.meta();
        if let Some(staged) = meta.staged.take() {
            meta.previous = meta.version.replace(staged);
            // If it cannot be written, the next boot tries again.
            let _ = machine.disk.write_meta(&meta);
        }
        Arc::new(Self {
            boot_id: uuid(),
            booted: clock.now(),
            version: meta.version.unwrap_or_else(|| machine.file.talos_version.clone()),
            identity,
            services: Services::new(clock.clone(), events.clone(), machine.logs.clone(), changed.clone()),
            store: Store::new(clock),
            events,
            status: watch::Sender::new(Status { stage: Stage::Booting, unmet: Vec::new() }),
            config: watch::Sender::new(None),
            trial: Mutex::default(),
            members: watch::Sender::new(Vec::new()),
            components: watch::Sender::new(BTreeMap::new()),
            etcd: watch::Sender::new(super::etcd::Phase::default()),
            etcd_order: Notify::new(),
            node_ready: AtomicBool::new(false),
            changed,
            held: watch::Sender::default(),
            restarts: watch::Sender::default(),
            workload: CancellationToken::new(),
            stop: CancellationToken::new(),
            busy: AtomicBool::new(false),
            boot_over: AtomicBool::new(false),
            after: Mutex::default(),
            tasks: Mutex::default(),
            machine,
        })
    }

    /// The faults as they are now; a file that cannot be understood has none.
    pub(super) fn faults(&self) -> Faults {
        Faults::read(&self.machine.dir.faults_file()).unwrap_or_else(|error| {
            self.machine.logs.talos(format_args!("faults are not used: {error}"));
            Faults::default()
        })
    }

    /// The configuration in use.
    pub(super) fn current(&self) -> Option<Arc<Config>> {
        self.config.borrow().clone()
    }

    pub(super) fn is_control_plane(&self) -> bool {
        self.current().is_some_and(|config| config.is_control_plane())
    }

    /// The name it has in its cluster.
    pub(super) fn hostname(&self) -> String {
        self.current()
            .and_then(|config| config.machine.node_name().map(str::to_owned))
            .unwrap_or_else(|| self.machine.file.name.clone())
    }

    /// `Talos (v1.11.5)`
    pub(super) fn os(&self) -> String {
        format!("Talos ({})", self.version)
    }

    /// Runs something until the boot ends.
    pub(super) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        while tasks.try_join_next().is_some() {}
        tasks.spawn(task);
    }

    /// Takes the right to run a sequence; only one runs at a time.
    pub(super) fn begin_sequence(&self) -> Result<(), tonic::Status> {
        match self.busy.swap(true, Ordering::SeqCst) {
            false => Ok(()),
            true => Err(tonic::Status::failed_precondition("another sequence is running")),
        }
    }

    /// Ends the boot.
    pub(super) fn end(&self, after: After) {
        *self.after.lock().unwrap_or_else(PoisonError::into_inner) = Some(after);
        self.workload.cancel();
        self.stop.cancel();
    }

    /// Waits until the boot has ended and everything it ran has.
    pub(super) async fn ended(&self) -> After {
        self.stop.cancelled().await;
        self.workload.cancel();
        let mut tasks = std::mem::take(&mut *self.tasks.lock().unwrap_or_else(PoisonError::into_inner));
        let all = async { while tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(STOP_LIMIT, all).await.is_err() {
            self.machine.logs.talos("some services did not stop in time");
        }
        tasks.shutdown().await;
        self.after.lock().unwrap_or_else(PoisonError::into_inner).unwrap_or(After::Off)
    }

    /// Waits for children and services, not for servers.
    pub(super) async fn stop_workload(&self) {
        self.workload.cancel();
        let quiet = async {
            let mut components = self.components.subscribe();
            let mut etcd = self.etcd.subscribe();
            // A closed channel means that nobody runs any more.
            let _ = components.wait_for(|all| all.values().all(|component| component.pid.is_none())).await;
            let _ = etcd.wait_for(|phase| phase.pid.is_none()).await;
        };
        if tokio::time::timeout(STOP_LIMIT, quiet).await.is_err() {
            self.machine.logs.talos("some services did not stop in time");
        }
    }

    /// Goes to another stage.
    pub(super) fn enter(&self, stage: Stage, actor: &str) {
        let unmet = self.unmet(stage);
        self.publish(Status { stage, unmet }, actor);
    }

    /// Looks again at everything that the status and the resources depend on.
    pub(super) fn refresh(self: &Arc<Self>) {
        let stage = self.status.borrow().stage;
        if stage == Stage::Booting && self.current().is_some() && self.services_missing().is_empty() {
            if !self.boot_over.swap(true, Ordering::SeqCst) {
                self.events.sequence("boot", Action::Stop, "");
                self.machine.logs.talos("boot sequence: done");
            }
            self.enter(Stage::Running, "");
        } else {
            let unmet = self.unmet(stage);
            self.publish(Status { stage, unmet }, "");
        }
        self.store.replace(super::cosi::resources::all(self));
    }

    fn publish(&self, status: Status, actor: &str) {
        let mut stage_changed = false;
        let changed = self.status.send_if_modified(|old| {
            stage_changed = old.stage != status.stage;
            let changed = *old != status;
            *old = status.clone();
            changed
        });
        if changed {
            self.events.publish(&status.event(), actor);
        }
        if stage_changed {
            self.machine.logs.talos(format_args!("machine is {}", status.stage.word()));
            self.machine.agent.send(&AgentMessage::Stage { stage: status.stage.word().to_owned() });
        }
        if changed {
            self.changed.notify_one();
        }
    }

    fn unmet(&self, stage: Stage) -> Vec<(&'static str, String)> {
        let mut unmet = Vec::new();
        if !stage.waits() || self.current().is_none() {
            return unmet;
        }
        let missing = self.services_missing();
        if !missing.is_empty() {
            unmet.push(("services", missing.join(", ")));
        }
        let pods: Vec<_> = self
            .components
            .borrow()
            .iter()
            .filter(|(_, component)| !component.ready)
            .map(|(name, _)| format!("kube-system/{name}-{} not ready", self.hostname()))
            .collect();
        if !pods.is_empty() {
            unmet.push(("staticPods", pods.join(", ")));
        }
        if !self.node_ready.load(Ordering::Relaxed) {
            unmet.push(("nodeReady", format!("node \"{}\" status is not available yet", self.hostname())));
        }
        unmet
    }

    /// The services that a node needs and that are not up.
    fn services_missing(&self) -> Vec<String> {
        let mut needed = vec!["apid", "machined", "kubelet"];
        if self.is_control_plane() {
            needed.extend(["etcd", "trustd"]);
        }
        needed.retain(|id| !self.services.is_up(id));
        needed
            .into_iter()
            .map(|id| match self.services.state(id) {
                Some(State::Running) => format!("service \"{id}\" not healthy"),
                _ => format!("service \"{id}\" not running"),
            })
            .collect()
    }
}

/// Waits until a value is as wanted; for ever when nobody can change it any more.
pub(super) async fn until<T>(value: &mut watch::Receiver<T>, wanted: impl FnMut(&T) -> bool) {
    if value.wait_for(wanted).await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// A random UUID.
pub(super) fn uuid() -> String {
    let mut bytes = [0_u8; 16];
    // Without randomness nothing else works either.
    let _ = SystemRandom::new().fill(&mut bytes);
    format_uuid(bytes)
}

/// A UUID made of these bytes.
pub(super) fn format_uuid(mut bytes: [u8; 16]) -> String {
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}
