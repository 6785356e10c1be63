//! Other programs as children: started with a log, awaited, stopped in order, and never left behind.
//!
//! - [`Guard`]: makes sure that children and private directories end with this process, even on SIGKILL
//! - [`Spawn`] and [`Child`]: what to start, and the handle of what runs; [`Finished`]: what came of it
//! - [`ports`]: port numbers that no two of our processes give to their children at once
//! - [`LockFile`]: one process per directory
//! - [`listeners`]: who listens where; [`usage`]: what processes cost; [`free_mib`]: what a disk has left

mod child;
mod error;
mod finish;
mod guard;
pub mod listeners;
mod lock;
pub mod ports;
mod spawn;
pub mod usage;

pub use child::{Child, Pipes};
pub use error::{LogTail, ProcessError};
pub use finish::Finished;
pub use guard::{Guard, GuardedDir};
pub use lock::{LockError, LockFile};
pub use rustix::process::Signal;
pub use spawn::{Spawn, Streams};

/// Space that is left for this user on the file system of `path`, in MiB, if the system says.
pub fn free_mib(path: &std::path::Path) -> Option<u64> {
    let system = rustix::fs::statvfs(path).ok()?;
    Some(system.f_bavail.saturating_mul(system.f_frsize) >> 20)
}

/// Tells a process to stop, as Ctrl-C would.
pub fn interrupt(pid: u32) -> std::io::Result<()> {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    let pid = pid.ok_or(std::io::ErrorKind::InvalidInput)?;
    Ok(rustix::process::kill_process(pid, Signal::INT)?)
}
