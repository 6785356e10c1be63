//! `measure RUNS PROGRAM [ARGS]`: runs a command and prints the median wall time in nanoseconds and the
//! peak resident memory in KiB.
//!
//! The kernel counts what a child's memory was before it became the program, which is that of the
//! process it was started from, and it reports the largest child only. So this is a small program of
//! its own, and it measures one command.

use std::{
    io::Write,
    process::{Command, ExitCode, Stdio},
    time::Instant,
};

use nix::sys::resource::{UsageWho, getrusage};

fn main() -> ExitCode {
    match measure() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "measure: {error}");
            ExitCode::FAILURE
        }
    }
}

fn measure() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [runs, program, args @ ..] = args.as_slice() else { return Err("which command?".into()) };
    let runs: usize = runs.parse()?;
    let mut walls = Vec::with_capacity(runs);
    for _ in 0..runs {
        let start = Instant::now();
        let status = Command::new(program)
            .args(args)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()?;
        walls.push(start.elapsed());
        if !status.success() {
            return Err(format!("{program} ended with {status}").into());
        }
    }
    walls.sort();
    let memory = getrusage(UsageWho::RUSAGE_CHILDREN)?.max_rss();
    writeln!(std::io::stdout(), "{} {memory}", walls[runs / 2].as_nanos())?;
    Ok(())
}
