//! The kit: real parts for tests, a hermetic environment for programs, and the means to watch both.
//!
//! - [`ControlPlane`]: etcd and kube-apiserver, shared by a test binary or private to a test
//! - [`Env`]: runs a program with its own home, clock and terminal; [`Output`] is what it said
//! - [`Pty`]: a program in a terminal, its screen as text
//! - [`Provider`]: a provider of machines in memory, whose faults are scripted
//! - [`http`]: a server that misbehaves on demand; [`pki`]: certificates, good and bad
//! - [`driver_suite`]: what every driver must do
//! - [`crash`]: programs with a journal, killed at every record and taken up again
//! - [`filters`]: the one list of what differs between two runs; [`golden`]: files that programs make
//!
//! Whatever the kit starts or writes is gone when the test process ends, also after SIGKILL.

mod control_plane;
pub mod crash;
pub mod driver_suite;
mod env;
pub mod filters;
pub mod golden;
pub mod host;
pub mod http;
mod invocation;
mod objects;
mod parts;
pub mod pki;
mod provider;
mod pty;

use std::{future::Future, sync::OnceLock, time::Duration};

use anyhow::{Context, Result};
use butler_core::settings::Environment;
use butler_operator::process::Guard;

pub use butler_operator::process::Signal;
pub use control_plane::{Builder, ControlPlane, Request};
pub use env::Env;
pub use invocation::{Invocation, Output, Running};
pub use objects::create;
pub use parts::{charts, part, parts};
pub use provider::{Call, Provider};
pub use pty::Pty;

/// Waits until `check` says yes, asking again and again; an error counts as "not yet". `what` completes
/// the sentence "waited in vain until …".
pub async fn eventually<F>(what: &str, limit: Duration, mut check: impl FnMut() -> F) -> Result<()>
where
    F: Future<Output = Result<bool>>,
{
    let mut last = None;
    let poll = async {
        loop {
            match check().await {
                Ok(true) => return,
                Ok(false) => last = None,
                Err(error) => last = Some(error),
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let in_time = tokio::time::timeout(limit, poll).await.is_ok();
    match last {
        _ if in_time => Ok(()),
        Some(error) => Err(error).with_context(|| format!("waited in vain until {what} ({limit:?})")),
        None => anyhow::bail!("waited in vain until {what} ({limit:?})"),
    }
}

/// The guard of this test process, started with its first child or directory.
fn guard() -> Result<&'static Guard> {
    static GUARD: OnceLock<Guard> = OnceLock::new();
    if let Some(guard) = GUARD.get() {
        return Ok(guard);
    }
    // Of two that start at once, one is not kept and ends by being dropped.
    let guard = Guard::start(&Environment::capture())?;
    Ok(GUARD.get_or_init(|| guard))
}
