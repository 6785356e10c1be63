//! The program as a person runs it; one module per command group.

mod backup;
mod bootstrap_config;
mod bootstrap_plan;
mod bootstrap_runs;
mod bootstrap_verbs;
mod config;
mod crds;
mod docs;
mod events;
mod machine;
mod platform;
mod serve;
mod support_bundle;
mod tools;
