//! The program as a person runs it; one module per command group.

mod bootstrap_runs;
mod config;
mod crds;
mod docs;
mod machine;
mod platform;
mod serve;
mod tools;
