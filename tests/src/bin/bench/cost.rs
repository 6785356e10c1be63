//! What one command costs: the median wall time and the peak resident memory, as the program `measure`
//! sees them.

use std::{
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

use anyhow::{Context, Result, ensure};

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
    with_env(program, args, runs, &[])
}

/// The same, with variables.
pub(crate) fn with_env(program: &Path, args: &[&str], runs: usize, vars: &[(&str, &str)]) -> Result<Cost> {
    let measure = std::env::current_exe()?.with_file_name("measure");
    let output = Command::new(&measure)
        .arg(runs.to_string())
        .arg(program)
        .args(args)
        .envs(vars.iter().copied())
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot run {}", measure.display()))?;
    ensure!(output.status.success(), "{} {} failed", program.display(), args.join(" "));
    let text = String::from_utf8(output.stdout)?;
    let (wall, memory) = text.trim().split_once(' ').context("`measure` printed no numbers")?;
    Ok(Cost { wall: Duration::from_nanos(wall.parse()?), memory: memory.parse()? })
}
