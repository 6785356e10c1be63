//! The sandbox: a platform of real parts on one machine, on simulated machines.
//!
//! - [`machine`]: what the host and a node know of a machine: files and messages between the two
//! - [`node`]: the process that is a machine: a Talos node
//! - [`kubelet`]: a member of a real cluster whose containers are only told of
//! - [`faults`]: what may go wrong with a machine, on purpose
//! - [`host`]: the simulated hypervisor that owns the machines
//! - [`place`]: the directory of a sandbox
//! - [`platform`]: the management plane: identities, ports, flags, objects
//! - [`supervisor`]: one process that owns all others; started, asked and stopped from outside
//! - `stored`: what a sandbox that does not run has on disk
//! - [`socket`]: how host and supervisor are spoken to

mod error;
pub mod faults;
pub mod host;
pub mod kubelet;
pub mod machine;
pub mod node;
pub mod place;
pub mod platform;
pub mod socket;
mod stored;
pub mod supervisor;

pub use error::{DEFAULT_NAME, Report, SandboxError};
pub use place::{Composition, Place};
pub use stored::Stored;
