//! The sandbox: a platform of real parts on one machine, on simulated machines.
//!
//! - [`machine`]: what the host and a node know of a machine: files and messages between the two
//! - [`faults`]: what may go wrong with a machine, on purpose
//! - [`host`]: the simulated hypervisor that owns the machines
//! - [`socket`]: how host and supervisor are spoken to

pub mod faults;
pub mod host;
pub mod machine;
pub mod socket;
