//! The sandbox: a platform of real parts on one machine, on simulated machines.
//!
//! - [`machine`]: what the host and a node know of a machine: files and messages between the two
//! - [`node`]: the process that is a machine: a Talos node
//! - [`faults`]: what may go wrong with a machine, on purpose
//! - [`kubelet`]: a member of a real cluster whose containers are only told of

pub mod faults;
pub mod kubelet;
pub mod machine;
pub mod node;
