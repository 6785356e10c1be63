//! Controllers on a real API server, with a provider in memory.

mod load_balancer;
mod machine;
mod runtime;
mod support;
