//! `butlerctl` as a person runs it, against a real API server, and against servers that misbehave.

mod bad_input;
mod cluster;
mod completion;
mod docs;
mod identity;
mod support;
mod unfit;
mod usage;
mod version;
mod watch;
