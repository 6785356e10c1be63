//! What happens to one process, and exactly when.

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

use anyhow::{Context, Result, ensure};
use butler_operator::process::GuardedDir;

use crate::{Invocation, guard};

const SOURCE: &str = include_str!("preload.c");
/// Files that are written whenever something changes and that nothing depends on: how often they are written
/// differs from run to run, so it must not count.
const ASIDE: [&str; 3] = ["run.log", "live.next", "live.json"];

/// How a process is stopped or hindered. Everything is counted from 1, in this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// SIGKILL right after this record is on disk.
    After(usize),
    /// SIGKILL when half of this record is written: what it records has happened.
    Torn(usize),
    /// From this operation on, nothing below the home finds room.
    Full(usize),
    /// Only this operation finds no room.
    FullOnce(usize),
}

impl Fault {
    /// True when the process cannot survive it.
    pub fn kills(self) -> bool {
        matches!(self, Self::After(_) | Self::Torn(_))
    }

    fn word(self) -> String {
        match self {
            Self::After(n) => format!("after:{n}"),
            Self::Torn(n) => format!("torn:{n}"),
            Self::Full(n) => format!("full:{n}"),
            Self::FullOnce(n) => format!("full-once:{n}"),
        }
    }
}

/// Everything that happens to one process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Injection {
    /// How it is stopped or hindered.
    pub fault: Option<Fault>,
    /// Only files of this name are full.
    pub only: Option<&'static str>,
    /// Nothing is counted before the record that contains this text; it is the first.
    pub from: Option<String>,
    /// Seconds by which its wall clock is wrong, and after how many records that begins.
    pub clock: Option<(i64, usize)>,
    /// Where each operation that needs room is noted.
    pub log: Option<PathBuf>,
}

impl Injection {
    /// Nothing but this.
    pub fn of(fault: Fault) -> Self {
        Self { fault: Some(fault), ..Self::default() }
    }

    /// The same, counted from the record that contains this text.
    pub fn from(fault: Fault, text: impl Into<String>) -> Self {
        Self { from: Some(text.into()), ..Self::of(fault) }
    }

    /// A clock that is wrong from a record on.
    pub fn clock(seconds: i64, from: usize) -> Self {
        Self { clock: Some((seconds, from)), ..Self::default() }
    }

    /// Lets it happen to a program whose journals of this name, and other files, are below `home`. The
    /// children of the program notice nothing.
    pub fn on(&self, program: Invocation, home: &Path, journal: &str) -> Result<Invocation> {
        if *self == Self::default() {
            return Ok(program);
        }
        let path = std::fs::canonicalize(program.program())?;
        let mut program = program
            .env("LD_PRELOAD", library()?)
            .env("BUTLER_TEST_PROGRAM", path)
            .env("BUTLER_TEST_DIR", home)
            .env("BUTLER_TEST_RECORDS", journal)
            .env("BUTLER_TEST_ASIDE", ASIDE.map(|name| format!("{name}:")).concat());
        if let Some(fault) = self.fault {
            program = program.env("BUTLER_TEST_FAULT", fault.word());
        }
        if let Some(only) = self.only {
            program = program.env("BUTLER_TEST_MATCH", only);
        }
        if let Some(from) = &self.from {
            program = program.env("BUTLER_TEST_FROM", from);
        }
        if let Some((seconds, from)) = self.clock {
            program = program.env("BUTLER_TEST_CLOCK", seconds.to_string());
            program = program.env("BUTLER_TEST_CLOCK_AT", from.to_string());
        }
        if let Some(log) = &self.log {
            program = program.env("BUTLER_TEST_LOG", log);
        }
        Ok(program)
    }
}

/// An operation that needs room, as it was noted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Its number.
    pub number: usize,
    /// `write`, `sync`, `create` or `rename`; with `full-` before it when it was refused.
    pub what: String,
    /// The file.
    pub path: PathBuf,
}

impl Operation {
    /// Reads what [`Injection::log`] noted.
    pub fn read(log: &Path) -> Result<Vec<Self>> {
        let text = std::fs::read_to_string(log).with_context(|| log.display().to_string())?;
        let parse = |line: &str| {
            let mut words = line.splitn(3, ' ');
            let number = words.next()?.parse().ok()?;
            Some(Self { number, what: words.next()?.to_owned(), path: words.next()?.into() })
        };
        let operations: Option<Vec<Self>> = text.lines().map(parse).collect();
        operations.with_context(|| format!("not a log of operations:\n{text}"))
    }
}

/// The library, compiled once in this process and removed with it.
fn library() -> Result<&'static Path> {
    static LIBRARY: OnceLock<Result<(GuardedDir, PathBuf), String>> = OnceLock::new();
    let made = LIBRARY.get_or_init(|| compile().map_err(|error| format!("{error:#}")));
    match made {
        Ok((_, path)) => Ok(path),
        Err(error) => anyhow::bail!("cannot compile `preload.c`: {error}"),
    }
}

fn compile() -> Result<(GuardedDir, PathBuf)> {
    let dir = guard()?.make_dir(&std::env::temp_dir())?;
    let (source, path) = (dir.path().join("preload.c"), dir.path().join("preload.so"));
    std::fs::write(&source, SOURCE)?;
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC", "-O2", "-Wall", "-Wextra", "-Werror", "-o"]).arg(&path).arg(&source);
    let output = cc.arg("-ldl").output().context("a C compiler `cc` is needed")?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok((dir, path))
}
