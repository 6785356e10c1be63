//! Simulated machines, judged by real talosctl and kubectl.

mod cluster;
mod faults;
mod input;
mod lab;
mod maintenance;
mod operations;
mod planes;
mod recovery;
