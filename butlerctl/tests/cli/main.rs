<<<<<<< HEAD
//! The program as a person runs it; one module per command group.

mod completion;
mod docs;
mod usage;
mod version;
=======
//! `butlerctl` as a person runs it, against a real API server, and against servers that misbehave.

mod bad_input;
mod cluster;
mod support;
mod unfit;
mod watch;
>>>>>>> main
