//! From a configuration to a management cluster: what is wanted and what will be done, without doing
//! it. The operator crate acts on it.
//!
//! - [`config`]: the configuration file: read, checked, with every default filled in
//! - [`objects`]: the objects that a bootstrap begins with
//! - [`addons`]: what is installed into the new cluster, in which order, as data

pub mod addons;
pub mod config;
pub mod objects;
