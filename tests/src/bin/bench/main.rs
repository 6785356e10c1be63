//! `make bench`: what the programs and the sandbox cost beside `kubectl`, `curl`, `git` and bare parts,
//! measured in one run on one machine and printed as ratios with the goals beside them.
//!
//! One file per subject; each returns rows. `bench NAME` runs one subject only.

mod bootstrap;
mod cost;
mod fleet;
mod lists;
mod sandbox;
mod screen;
mod start;
mod table;

use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};

/// A subject: its name, and what measures it.
type Subject = (&'static str, fn(&Programs) -> Result<table::Results>);

const SUBJECTS: &[Subject] = &[
    ("start", start::measure),
    ("lists", lists::measure),
    ("sandbox", sandbox::measure),
    ("bootstrap", bootstrap::measure),
    ("fleet", fleet::measure),
    ("screen", screen::measure),
];

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let chosen: Vec<&Subject> =
        SUBJECTS.iter().filter(|(name, _)| args.is_empty() || args.iter().any(|arg| arg == name)).collect();
    if chosen.is_empty() {
        let names: Vec<&str> = SUBJECTS.iter().map(|(name, _)| *name).collect();
        bail!("no such subject; there are: {}", names.join(", "));
    }
    let programs = Programs::find()?;
    let mut results = table::Results::default();
    for (_, measure) in chosen {
        results.extend(measure(&programs)?);
    }
    table::print(&results)
}

/// The programs under measurement.
struct Programs {
    butleradm: PathBuf,
    butlerctl: PathBuf,
    kubectl: PathBuf,
}

impl Programs {
    fn find() -> Result<Self> {
        // …/debug/bench → …/release
        let this = std::env::current_exe()?;
        let release = this.ancestors().nth(2).context("no target directory")?.join("release");
        let program = |name: &str| {
            let path = release.join(name);
            ensure!(path.exists(), "{} is missing: run `make release`", path.display());
            Ok(path)
        };
        Ok(Self {
            butleradm: program("butleradm")?,
            butlerctl: program("butlerctl")?,
            kubectl: butler_tests::part("kubectl")?,
        })
    }
}
