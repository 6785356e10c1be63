//! What acts on infrastructure.
//!
//! - [`driver`]: where machines come from
//! - [`parts`]: etcd, kube-apiserver, kubectl and the others: found, downloaded or built

pub mod driver;
pub mod parts;
