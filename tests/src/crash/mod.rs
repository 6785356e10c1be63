//! Crash tests: a program that keeps a journal is killed at an exact point, its surroundings are disturbed,
//! it is taken up again, and what comes of it is compared with an undisturbed run.
//!
//! - [`Scenario`]: what is tried: how to begin, go on, look, and undo; one [`Bench`] per case
//! - [`Injection`]: what happens to a process, at which record, write or time; `preload.c` does it from outside,
//!   so the program has no hook for it
//! - [`Case`]: one course of events; [`play()`] goes through it and checks everything
//! - [`Report`]: a row per case, as a table and as JSON
//! - [`Objects`]: the objects of a cluster without what differs between two runs
//! - [`leftovers`]: processes, ports and files that should be gone

mod case;
mod inject;
pub mod leftovers;
mod objects;
mod play;
mod report;
mod scenario;
mod secrets;

pub use case::{Case, Seed, destroy_points, sample};
pub use inject::{Fault, Injection, Operation};
pub use objects::{Objects, differences};
pub use play::{play, play_all, undisturbed};
pub use report::{Report, Row};
pub use scenario::{Bench, Disturbance, Reference, Scenario};
pub use secrets::Secrets;
