//! The supervisor: one process that owns every part of a sandbox.
//!
//! [`run`] is that process. The others are for those outside: [`launch()`] starts one, [`ask()`] asks it,
//! [`halt()`] stops it and looks whether anything is left. Whatever it starts ends with it, also when it
//! is killed; what it keeps is on disk, so the next one goes on where it was.

mod ask;
mod control;
mod halt;
mod keeper;
mod launch;
mod lock;
mod management;
mod plane;
mod rotate;
pub mod wire;

use std::{path::PathBuf, time::Duration};

use butler_core::settings::Environment;
use jiff::Timestamp;
use tokio_util::sync::CancellationToken;

pub use ask::{State, Status, ask, log_files, manage, release};
pub use halt::{Halted, halt, remove};
pub use launch::{Launch, LaunchOptions, launch, read_order};
pub use lock::holder;
pub use management::ManagementCluster;

use self::{
    keeper::{Board, GRACE, Keeper, Part, Ready, Started, start},
    management::Management,
    wire::{Health, Notice, PartStatus},
};
use super::{
    Place, SandboxError,
    host::{Host, HostOptions, Network, NodeProgram, wire::StateBody},
    place::Composition,
    platform::{self, PlanePorts, Programs},
};
use crate::{
    parts,
    process::{Guard, LockFile, ProcessError, Streams},
};

/// How often the supervisor looks whether its directory is still there.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// How long the API server may take to end.
const API_SERVER_GRACE: Duration = Duration::from_secs(1);

/// What a supervisor needs to know.
#[derive(Clone, Debug)]
pub struct Options {
    /// The sandbox.
    pub place: Place,
    /// This program: machines and controllers are commands of it.
    pub program: PathBuf,
    /// The real programs.
    pub programs: Programs,
    /// What children inherit from.
    pub environment: Environment,
}

/// Everything that runs; what is not stopped is killed when this is dropped.
#[derive(Default)]
struct Running {
    etcd: Option<Keeper>,
    api_server: Option<Keeper>,
    others: Vec<Keeper>,
    host: Option<Host>,
}

/// Starts the platform, says so, and keeps it running until `stop`, or until its directory is gone.
/// Whatever the end, everything that was started is stopped.
pub async fn run(
    options: Options,
    stop: CancellationToken,
    notice: impl Fn(Notice),
) -> Result<(), SandboxError> {
    let lock = lock::take(&options.place)?;
    let mut running = Running::default();
    let outcome = tokio::select! {
        outcome = live(&options, &mut running, &notice, &lock) => outcome,
        () = stop.cancelled() => Ok(()),
    };
    running.stop().await;
    outcome
}

async fn live(
    options: &Options,
    running: &mut Running,
    notice: &impl Fn(Notice),
    lock: &LockFile,
) -> Result<(), SandboxError> {
    let place = &options.place;
    place.prepare()?;
    let phase = |phase: &str| notice(Notice::Phase { phase: phase.to_owned() });
    let composition = place.composition();
    phase(match composition {
        Composition::Platform => "Starting etcd and the API server",
        Composition::Machines => "Starting the host of machines",
    });
    let relies_on_network =
        has_entries(&place.machines()) || has_entries(&place.dir().join("load-balancers"));
    let network = Network::claim(&place.network(), relies_on_network)?;
    let (ports, _held, moved) = PlanePorts::choose(&place.ports(), &network)?;
    for moved in moved {
        let platform::Moved { wanted, holder, used } = moved;
        notice(Notice::Warning { message: format!("{wanted} is taken by {holder}; {used} is used instead") });
    }
    let guard = Guard::start(&options.environment)?;
    let board = Board::default();
    board.add(own_status(place));
    rotate::all(place);
    let workshop = Workshop { options, ports, guard, board };
    // The parts of the plane begin before the host does: they are what takes time.
    let plane = match composition {
        Composition::Platform => Some(plane::begin(&workshop).await?),
        Composition::Machines => None,
    };
    let host = Host::open(host_options(options), network.clone(), workshop.guard.clone()).await?;
    running.host = Some(host.clone());
    for node in host.nodes() {
        if let StateBody::Failed(why) = node.state {
            let message = format!("machine `{}` is damaged and stays off: {why}", node.name);
            notice(Notice::Warning { message });
        }
    }
    let _host_calls = Abort::of(tokio::spawn(host.serve(&place.host_socket())?));
    let ready = CancellationToken::new();
    let (wanted, wants) = tokio::sync::mpsc::channel(1);
    let shared = control::Shared {
        place: place.clone(),
        board: workshop.board.clone(),
        host,
        ready: ready.clone(),
        wanted,
    };
    let _control = Abort::of(tokio::spawn(control::serve(shared)?));
    if let Some(plane) = plane {
        plane.complete(&workshop, &network, running, phase).await?;
    }
    let mut management = Management { workshop, wants };
    management.resume(running, phase).await?;
    ready.cancel();
    notice(Notice::Ready);
    tokio::select! {
        () = watch(place, lock) => Ok(()),
        never = management.follow(running) => match never {},
    }
}

/// What parts are made with.
struct Workshop<'a> {
    options: &'a Options,
    ports: PlanePorts,
    guard: Guard,
    board: Board,
}

impl Workshop<'_> {
    fn start(
        &self,
        name: &'static str,
        program: &PathBuf,
        args: Vec<String>,
        address: std::net::SocketAddr,
        ready: Ready,
    ) -> Result<Started, ProcessError> {
        let place = &self.options.place;
        let log = place.part_log(name);
        let spawn =
            self.guard.command(program, Streams::Log(log.clone())).args(args).current_dir(place.dir());
        // The API server holds nothing that could be lost, and likes to take its time.
        let grace = if name == "kube-apiserver" { API_SERVER_GRACE } else { GRACE };
        start(Part { name, spawn, address, ready, log, grace }, &self.guard, &self.board)
    }

    /// Starts our own controllers.
    fn serve(&self, kubeconfig: &std::path::Path, owner: Option<&str>) -> Result<Started, ProcessError> {
        let args = platform::serve(&self.ports, kubeconfig, owner);
        self.start("serve", &self.options.program, args, self.ports.serve, Ready::HttpReadyZ)
    }
}

/// Leaves the terminal and its signals to whoever started this process.
pub fn leave_session() -> std::io::Result<()> {
    rustix::process::setsid()?;
    Ok(())
}

/// Waits until the directory of the sandbox is taken away; keeps logs short meanwhile.
async fn watch(place: &Place, lock: &LockFile) {
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        if !lock.is_in_place() {
            tracing::warn!("the directory of the sandbox is gone");
            return;
        }
        rotate::all(place);
    }
}

impl Running {
    /// Stops machines and controllers first, then what they talk to.
    async fn stop(self) {
        let machines = async {
            if let Some(host) = self.host {
                host.close().await;
            }
        };
        let others = futures::future::join_all(self.others.into_iter().map(Keeper::stop));
        tokio::join!(machines, others);
        for keeper in [self.api_server, self.etcd].into_iter().flatten() {
            keeper.stop().await;
        }
    }
}

/// Ends a task with this value.
struct Abort(tokio::task::AbortHandle);

impl Abort {
    fn of<T>(task: tokio::task::JoinHandle<T>) -> Self {
        Self(task.abort_handle())
    }
}

impl Drop for Abort {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn host_options(options: &Options) -> HostOptions {
    HostOptions {
        sandbox: options.place.name().to_owned(),
        dir: options.place.dir().to_owned(),
        node: NodeProgram {
            program: options.program.clone(),
            args: ["sandbox", "node", "run"].map(Into::into).to_vec(),
        },
        parts: options.programs.0.clone(),
        talos_version: format!("v{}", parts::TALOSCTL.version),
    }
}

fn own_status(place: &Place) -> PartStatus {
    PartStatus {
        name: "supervisor".to_owned(),
        state: Health::Ready,
        pid: Some(std::process::id()),
        restarts: 0,
        last_exit: None,
        since: Some(Timestamp::now()),
        address: None,
        log: place.supervisor_log(),
    }
}

fn has_entries(dir: &std::path::Path) -> bool {
    fs_err::read_dir(dir).is_ok_and(|mut entries| entries.next().is_some())
}
