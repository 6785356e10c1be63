//! Talos Linux: what makes a machine configurable and what talks to it.
//!
//! - [`secrets`]: the bundle every configuration of a cluster is derived from
//! - [`config`]: machine configurations, made and read
//! - [`images`]: what machines pull, before there is a machine
//! - [`patches`]: changes a person asks for on top
//! - [`talosconfig`] and [`kubeconfig`]: how administrators get in
//! - [`client`]: calls to a node, in maintenance mode and after
//! - [`proto`]: the wire
//!
//! The same inputs always give the same configuration; only keys and tokens are random.

pub mod client;
pub mod config;
mod document;
mod error;
pub mod images;
pub mod kubeconfig;
pub mod patches;
pub mod proto;
pub mod secrets;
pub mod talosconfig;
pub mod tls;

pub use document::{Document, DocumentError};
pub use error::TalosError;

/// The port of the Talos API, in maintenance mode and after.
pub const API_PORT: u16 = 50_000;
