//! The sandbox: a platform of real parts on one machine, on simulated machines.
//!
//! - [`machine`]: what the host and a node know of a machine: files and messages between the two
//! - [`node`]: the process that is a machine: a Talos node
//! - [`kubelet`]: what a node does for Kubernetes
//! - [`faults`]: what may go wrong with a machine, on purpose

pub mod faults;
pub mod kubelet;
pub mod machine;
pub mod node;
