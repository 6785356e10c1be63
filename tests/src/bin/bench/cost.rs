//! What one command costs: the median wall time and the peak resident memory.
//!
//! The kernel reports the largest child of a process, not of each child; so every command is
//! measured by a fresh copy of this program that has no other children.

use std::{
    ffi::OsStr,
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use nix::sys::resource::{UsageWho, getrusage};

/// First argument of the copy that measures.
pub(crate) const REEXEC: &str = "--measure";

/// The cost of a command.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    /// Median wall time.
    pub(crate) wall: Duration,
    /// Peak resident set in KiB.
    pub(crate) memory: u64,
}

/// Runs a command `runs` times; every run must succeed.
pub(crate) fn of(program: &Path, args: &[&str], runs: usize) -> Result<Cost> {
    let output = Command::new(std::env::current_exe()?)
        .arg(REEXEC)
        .arg(runs.to_string())
        .arg(program)
        .args(args)
        .stderr(Stdio::inherit())
        .output()?;
    ensure!(output.status.success(), "{} {} failed", program.display(), args.join(" "));
    let text = String::from_utf8(output.stdout)?;
    let (wall, memory) = text.trim().split_once(' ').context("the measuring copy printed no numbers")?;
    Ok(Cost { wall: Duration::from_nanos(wall.parse()?), memory: memory.parse()? })
}

/// The copy that measures: prints nanoseconds and KiB.
pub(crate) fn child(args: &[String]) -> Result<()> {
    let [runs, program, args @ ..] = args else { anyhow::bail!("the measuring copy needs a command") };
    let runs: usize = runs.parse()?;
    let mut walls = Vec::with_capacity(runs);
    for _ in 0..runs {
        let start = Instant::now();
        let status = Command::new(OsStr::new(program))
            .args(args)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()?;
        walls.push(start.elapsed());
        ensure!(status.success(), "{program} ended with {status}");
    }
    walls.sort();
    let memory = getrusage(UsageWho::RUSAGE_CHILDREN)?.max_rss();
    use std::io::Write;
    writeln!(std::io::stdout(), "{} {memory}", walls[runs / 2].as_nanos())?;
    Ok(())
}
