//! The host: a simulated hypervisor.
//!
//! It owns machines the way a hypervisor does: each is a directory and a process, with an address, a
//! switch and a console; they outlive whoever asked for them. It is spoken to over a socket ([`wire`],
//! [`server`]) and knows nothing of clusters. What it keeps is in [`store`], what keeps a process
//! running in [`runner`].

mod balancer;
mod balancers;
mod calls;
mod catalogue;
pub(crate) mod console;
mod error;
mod machines;
mod network;
mod runner;
mod server;
mod store;
pub mod wire;

use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::broadcast;

pub use error::{HostError, Refusal};
pub use network::Network;
pub use store::Witnessed;

use self::{balancers::Balancer, machines::Entry, store::Store, wire::ImageSpecBody};
use crate::{
    driver::{ErrorClass, Find, Found, Ownership},
    process::Guard,
    sandbox::machine::NodeParts,
};

/// Changes that may wait for a slow reader before it has to look at everything.
const CHANGES: usize = 1024;

/// What a host needs to know.
#[derive(Clone, Debug)]
pub struct HostOptions {
    /// Name of the sandbox, part of its machines' ids.
    pub sandbox: String,
    /// The directory for everything it keeps.
    pub dir: PathBuf,
    /// The program that is a machine.
    pub node: NodeProgram,
    /// The real programs that control planes run.
    pub parts: NodeParts,
    /// The version of Talos that machines boot unless their image says otherwise.
    pub talos_version: String,
}

/// The program that is a machine; the machine's directory is its last argument.
#[derive(Clone, Debug)]
pub struct NodeProgram {
    /// The program.
    pub program: PathBuf,
    /// Arguments before the directory.
    pub args: Vec<OsString>,
}

/// A running host. Clones are the same host.
#[derive(Clone, Debug)]
pub struct Host {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    options: HostOptions,
    guard: Guard,
    store: Store,
    network: Network,
    state: Mutex<State>,
    changes: broadcast::Sender<Ownership>,
}

#[derive(Debug, Default)]
struct State {
    machines: BTreeMap<String, Entry>,
    balancers: BTreeMap<String, Balancer>,
    images: BTreeMap<String, ImageSpecBody>,
    closed: bool,
}

/// What a host that does not run has on disk: machines and load balancers by name, with their owners as far
/// as they can be read. Changes nothing.
pub fn at_rest(dir: &std::path::Path) -> [Vec<(String, Option<Ownership>)>; 2] {
    Store::at_rest(dir)
}

impl Host {
    /// Opens the directory, and starts the machines in it that are switched on. Needs a runtime.
    /// Their processes end with `guard`'s process.
    pub async fn open(options: HostOptions, network: Network, guard: Guard) -> Result<Self, HostError> {
        let store = Store::open(&options.dir)?;
        let unreadable = |source| HostError::Read { path: options.dir.clone(), source };
        let machines = store.load().map_err(unreadable)?;
        let balancers = store.load_balancers().map_err(unreadable)?;
        let images = store.images();
        let shared = Shared {
            guard,
            store,
            network,
            state: Mutex::new(State { images, ..State::default() }),
            changes: broadcast::channel(CHANGES).0,
            options,
        };
        let host = Self { shared: Arc::new(shared) };
        host.restore(machines);
        host.restore_balancers(balancers).await;
        Ok(host)
    }

    /// Stops every machine and load balancer; what is on disk stays, and so does each switch.
    pub async fn close(&self) {
        let tasks: Vec<_> = {
            let mut state = self.state();
            state.closed = true;
            state.balancers.clear();
            state.machines.values_mut().filter_map(Entry::end).collect()
        };
        for task in tasks {
            // It ends by being asked to, or was ended by somebody else.
            let _ = task.await;
        }
        // Others may have the addresses and ports now.
        self.state().machines.clear();
        self.shared.network.release();
    }

    /// The addresses of its machines.
    pub fn network(&self) -> &Network {
        &self.shared.network
    }

    /// Who answers.
    pub fn about(&self) -> wire::About {
        wire::About {
            sandbox: self.shared.options.sandbox.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            network: self.shared.network.to_string(),
        }
    }

    /// The ownership of each machine or load balancer that changes from now on.
    pub fn subscribe(&self) -> broadcast::Receiver<Ownership> {
        self.shared.changes.subscribe()
    }

    /// What there is of a kind; nothing here is below anything else.
    pub fn find(&self, kind: Find, parent: Option<&str>) -> Vec<Found> {
        if parent.is_some() {
            return Vec::new();
        }
        let images = &self.state().images;
        catalogue::find(kind, &self.shared.network, &self.shared.options.talos_version, images)
    }

    /// Makes an image known. The sandbox believes that it could be fetched.
    pub fn ensure_image(&self, spec: ImageSpecBody) -> Result<wire::ImageBody, Refusal> {
        let builtin = catalogue::builtin_image(&self.shared.options.talos_version);
        if spec.name.is_empty() || !(spec.url.starts_with("https://") || spec.url.starts_with("http://")) {
            let message = format!("`{}` is no address that an image can be fetched from", spec.url);
            return Err(Refusal::new(ErrorClass::Invalid, message));
        }
        let mut state = self.state();
        let id = spec.name.clone();
        match state.images.get(&id) {
            Some(known) if known.url == spec.url && known.sha256 == spec.sha256 => {}
            None if id != builtin => {
                let mut images = state.images.clone();
                images.insert(id.clone(), spec);
                self.shared.store.save_images(&images)?;
                state.images = images;
            }
            _ => {
                let message = format!("there is another image of the name `{id}`");
                return Err(Refusal::new(ErrorClass::Conflict, message));
            }
        }
        Ok(wire::ImageBody { id })
    }

    /// Forgets an image; machines that were made from it stay.
    pub fn delete_image(&self, name: &str) -> Result<(), Refusal> {
        let mut state = self.state();
        let mut images = state.images.clone();
        if images.remove(name).is_some() {
            self.shared.store.save_images(&images)?;
            state.images = images;
        }
        Ok(())
    }

    /// Answers calls at this socket until this future is dropped.
    pub fn serve(
        &self,
        socket: &std::path::Path,
    ) -> Result<impl Future<Output = ()> + Send + use<>, HostError> {
        server::serve(self.clone(), socket)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state()
    }

    fn changed(&self, ownership: &Ownership) {
        self.shared.changed(ownership);
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn changed(&self, ownership: &Ownership) {
        // Nobody may be listening.
        let _ = self.changes.send(ownership.clone());
    }
}

/// Names of machines and load balancers become parts of paths and host names.
fn check_name(name: &str) -> Result<(), Refusal> {
    if is_label(name) {
        return Ok(());
    }
    let message = format!("`{name}` is no name: up to 63 of a-z, 0-9 and -, neither first nor last");
    Err(Refusal::new(ErrorClass::Invalid, message))
}

/// True for a DNS label.
pub(crate) fn is_label(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=63).contains(&name.len())
        && name.bytes().all(allowed)
        && !name.starts_with('-')
        && !name.ends_with('-')
}
