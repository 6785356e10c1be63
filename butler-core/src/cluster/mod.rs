//! Finding a management cluster and talking to it with our own verbs.
//!
//! [`connect()`] decides which cluster and as whom, and builds the client with a deadline on every
//! request; [`ApiError`] is what any failed call becomes; [`request`] and [`pages`] fetch what
//! kube's typed calls would make too large.

pub mod change;
mod connect;
pub mod crds;
mod deadline;
mod error;
mod kubeconfig;
pub mod names;
pub mod pages;
mod proxy;
pub mod request;
mod search;

pub use connect::{ConnectError, ConnectOptions, Connection, Source, connect, connect_service};
pub use error::ApiError;
pub use kube::Client;
pub use kubeconfig::KubeconfigError;
