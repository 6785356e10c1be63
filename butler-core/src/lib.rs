//! The domain of Butler, free of terminals and processes.
//!
//! - [`api`]: the kinds of the API as Rust types, and their definitions
//! - [`auth`]: the logins stored on this machine
//! - [`bootstrap`]: what a bootstrap is to make, and how
//! - [`cluster`]: finding a management cluster and talking to it
//! - [`error`]: classes, codes and hints every error of ours carries
//! - [`event`]: what a long job tells the world, and its journal
//! - [`live`]: what screens show of a management cluster, as it changes
//! - [`machine`]: reading, making and removing machine requests
//! - [`nearest`]: "did you mean"
//! - [`pki`]: certificate authorities and certificates
//! - [`redact`]: texts that no log may show
//! - [`platform`]: the health of a management cluster
//! - [`settings`]: where each setting comes from, and the user's files
//! - [`tenant`]: reading tenant clusters
//!
//! Nothing here prints or reads the environment outside [`settings`].
#![deny(missing_docs)]

pub mod api;
pub mod auth;
pub mod bootstrap;
pub mod cluster;
pub mod error;
pub mod event;
pub mod live;
pub mod machine;
pub mod nearest;
pub mod pki;
pub mod platform;
pub mod redact;
pub mod settings;
pub mod tenant;
