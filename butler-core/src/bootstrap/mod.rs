//! From a configuration to a management cluster: what is wanted and what will be done, without doing
//! it. The operator crate acts on it.
//!
//! - [`config`]: the configuration file: read, checked, with every default filled in
//! - [`objects`]: the objects that a bootstrap begins with
//! - [`addons`]: what is installed into the new cluster, in which order, as data
//! - [`plan`]: what a run will do, and whether the world is still as it was when that was decided
//! - [`run`]: runs on disk, and what their journals say of them
//! - [`wizard`]: the questions whose answers are a configuration

pub mod addons;
pub mod config;
pub mod objects;
pub mod plan;
pub mod run;
pub mod wizard;
