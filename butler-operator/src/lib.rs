//! What acts on infrastructure.
//!
//! - [`driver`]: where machines come from
//! - [`parts`]: etcd, kube-apiserver, kubectl and the others: found, downloaded or built
//! - [`process`]: other programs as children that never outlive us
//! - [`talos`]: what makes a machine a node: configurations and the calls to it

pub mod driver;
pub mod parts;
pub mod process;
pub mod talos;
