//! Other programs as children: started with a log, awaited, stopped in order, and never left behind.
//!
//! - [`Guard`]: makes sure that children and private directories end with this process, even on SIGKILL
//! - [`Spawn`] and [`Child`]: what to start, and the handle of what runs
//! - [`ports`]: port numbers that no two of our processes give to their children at once
//! - [`listeners`]: who listens where; [`usage`]: what processes cost

mod child;
mod error;
mod guard;
pub mod listeners;
pub mod ports;
mod spawn;
pub mod usage;

pub use child::{Child, Pipes};
pub use error::{LogTail, ProcessError};
pub use guard::{Guard, GuardedDir};
pub use rustix::process::Signal;
pub use spawn::{Spawn, Streams};
