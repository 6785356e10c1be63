//! Full screens of the real program in a real terminal: on a platform that comes and goes, and on runs.

mod platform;
mod run;
mod wizard;

use std::{path::Path, time::Duration};

use anyhow::Result;
use butler_tests::{Env, Invocation, Pty};

/// Longer than anything here takes on a busy machine.
const LIMIT: Duration = Duration::from_secs(240);

/// `butleradm …` as it is in a terminal.
fn adm(env: &Env, args: &[&str]) -> Invocation {
    env.command(env!("CARGO_BIN_EXE_butleradm")).args(args).env_remove("NO_COLOR").env_remove("BUTLER_CLOCK")
}

/// `butleradm tui` on this cluster.
fn tui(env: &Env, kubeconfig: &Path, more: &[&str], (columns, rows): (u16, u16)) -> Result<Pty> {
    let path = kubeconfig.display().to_string();
    adm(env, &[&["tui", "--kubeconfig", &path], more].concat()).pty(columns, rows)
}

/// Leaves by a key; the terminal is then as it was.
fn leave(mut pty: Pty, keys: &str) -> Result<()> {
    pty.send(keys)?;
    let status = pty.wait(LIMIT)?;
    anyhow::ensure!(status.success(), "{status:?}\n{}", pty.screen());
    anyhow::ensure!(pty.is_sane(), "the terminal is not as it was:\n{}", pty.screen());
    Ok(())
}
