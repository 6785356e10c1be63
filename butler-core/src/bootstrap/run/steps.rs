//! The names that effects have in a journal. They are the same in every run of the same plan, so that
//! an effect can be found again.

/// The first record: what the run is. Its data is a [`RunFacts`](super::state::RunFacts).
pub const RUN: &str = "run";
/// What the run is made from: a [`Given`](super::Given). Written when it begins, and again when a changed
/// configuration was accepted.
pub const CONFIG: &str = "config";
/// The journal was damaged and what could be saved of it was kept; see [`repair`](super::repair).
pub const REPAIRED: &str = "repaired";
/// A process takes the run up. Its data is a [`Session`](super::Session).
pub const SESSION: &str = "session";
/// The Talos secrets of the cluster.
pub const SECRETS: &str = "talos/secrets";
/// The temporary control plane.
pub const TEMPORARY: &str = "temporary-cluster";
/// The removal of the temporary control plane.
pub const REMOVE_TEMPORARY: &str = "remove-temporary-cluster";
/// The sandbox whose machines are used.
pub const SANDBOX: &str = "sandbox";
/// etcd of the new cluster.
pub const BOOTSTRAP: &str = "talos/bootstrap";
/// What the objects of a backup say of machines that are gone was taken back.
pub const SETTLE: &str = "recover/settle";
/// The files for the person.
pub const CREDENTIALS: &str = "credentials";
/// Objects that the new cluster takes over.
pub const PIVOT: &str = "pivot";
/// Everything that carries the run's mark was removed, and none was found after.
pub const DESTROYED: &str = "destroyed";

/// A machine. Its result is a [`Machine`](super::Machine).
pub fn machine(name: &str) -> String {
    format!("machine/{name}")
}

/// The end of a machine.
pub fn delete_machine(name: &str) -> String {
    format!("delete-machine/{name}")
}

/// A load balancer.
pub fn load_balancer(name: &str) -> String {
    format!("load-balancer/{name}")
}

/// The end of a load balancer.
pub fn delete_load_balancer(name: &str) -> String {
    format!("delete-load-balancer/{name}")
}

/// The configuration of a machine.
pub fn configure(machine: &str) -> String {
    format!("talos/configure/{machine}")
}

/// An addon.
pub fn addon(key: &str) -> String {
    format!("addon/{key}")
}
