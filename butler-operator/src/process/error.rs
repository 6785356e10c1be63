//! Why a program is not running as wanted.

use std::{
    io::{self, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
    process::ExitStatus,
    time::Duration,
};

use butler_core::error::{Code, Diagnose};
use fs_err as fs;

/// How much of a log is shown as the cause.
const TAIL_LINES: usize = 12;
const TAIL_BYTES: u64 = 8 * 1024;

/// Why a program could not be started or did not become ready.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProcessError {
    /// The guard, without which nothing is started, is not there.
    #[error("cannot watch over child processes")]
    Guard(#[source] io::Error),
    /// The system refused.
    #[error("cannot start `{program}`")]
    Start {
        /// The program.
        program: String,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
    /// It exited on its own.
    #[error("`{program}` ended before it was ready ({status})")]
    Ended {
        /// The program.
        program: String,
        /// How it ended.
        status: ExitStatus,
        /// What it said last.
        #[source]
        log: LogTail,
    },
    /// It runs, and is not ready.
    #[error("`{program}` was not ready within {} s", limit.as_secs())]
    NotReady {
        /// The program.
        program: String,
        /// How long it was given.
        limit: Duration,
        /// What it said last.
        #[source]
        log: LogTail,
    },
}

impl Diagnose for ProcessError {
    fn code(&self) -> Code {
        match self {
            Self::Guard(_) | Self::Start { .. } | Self::Ended { .. } => Code::ProcessFailed,
            Self::NotReady { .. } => Code::ProcessTimeout,
        }
    }

    fn hints(&self) -> Vec<String> {
        match self {
            Self::Ended { log: LogTail { path: Some(path), .. }, .. }
            | Self::NotReady { log: LogTail { path: Some(path), .. }, .. } => {
                vec![format!("less {}", path.display())]
            }
            _ => Vec::new(),
        }
    }
}

/// The last lines a program wrote to its log, as the cause of a failure.
#[derive(Debug)]
pub struct LogTail {
    /// The log, if the program has one.
    pub path: Option<PathBuf>,
    /// Its last lines; empty when nothing was written.
    pub lines: Vec<String>,
}

impl LogTail {
    /// Reads the end of a log, nothing before `start`: a log that is continued holds earlier runs.
    pub(crate) fn read(path: &Path, start: u64) -> Self {
        let lines = read_end(path, start).unwrap_or_default();
        Self { path: Some(path.to_owned()), lines }
    }
}

fn read_end(path: &Path, start: u64) -> io::Result<Vec<String>> {
    let mut file = fs::File::open(path)?;
    let end = file.seek(SeekFrom::End(0))?;
    let from = start.max(end.saturating_sub(TAIL_BYTES));
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<_> = text.lines().collect();
    Ok(lines[lines.len().saturating_sub(TAIL_LINES)..].iter().map(|line| (*line).to_owned()).collect())
}

impl std::fmt::Display for LogTail {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (&self.path, self.lines.as_slice()) {
            (None, _) => write!(f, "it keeps no log"),
            (Some(path), []) => write!(f, "its log `{}` is empty", path.display()),
            (Some(path), lines) => {
                write!(f, "its log `{}` ends with", path.display())?;
                lines.iter().try_for_each(|line| write!(f, "\n{line}"))
            }
        }
    }
}

impl std::error::Error for LogTail {}
