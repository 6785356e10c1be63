//! The simulated kubelet, judged by a real control plane, kubectl and helm.

mod addons;
mod charts;
mod cluster;
mod commands;
mod helm;
mod nodes;
mod server;
mod sources;
mod trouble;
mod workloads;

use std::time::Duration;

/// Long enough for a busy machine.
const LIMIT: Duration = Duration::from_secs(90);
