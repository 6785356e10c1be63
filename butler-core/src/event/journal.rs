//! The journal of a run: an append-only file of events, one JSON object per line.
//!
//! A record is on disk before [`Journal::append`] returns. Each line ends with a checksum of what
//! stands before it, and lines are numbered, so a line that was changed, lost or doubled is noticed
//! and named. Only the end of the file may be torn, by a crash in the middle of a write: readers
//! ignore such an end and the next writer cuts it off.

mod lock;
pub mod repair;

use std::{
    fs::{File, OpenOptions},
    io::{self, Read, Seek, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use fs_err as fs;
use jiff::Timestamp;
use ring::digest;

pub(crate) use lock::lock;
pub use lock::{Holder, holder};

use super::{Event, EventKind, RunId, VERSION};
use crate::{
    error::{Code, Diagnose},
    settings::{HomeError, home::make_private_dir},
};

/// Stands between a record and its checksum.
const MARK: &str = r#","sum":""#;
/// Hexadecimal digits of a checksum.
const DIGITS: usize = 16;
/// Bytes a checksum adds: the mark, the digits, and `"}` in place of `}`.
const TRAILER: usize = MARK.len() + DIGITS + 2;

/// Why a journal cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// A line is not what was written there.
    #[error("line {line} of the journal `{}` is damaged: {why}", path.display())]
    Damaged {
        /// The journal.
        path: PathBuf,
        /// The first bad line, from 1.
        line: usize,
        /// What is wrong with it.
        why: String,
    },
    /// Another process writes to it.
    #[error("the journal `{}` is being written by {holder}", path.display())]
    Held {
        /// The journal.
        path: PathBuf,
        /// Who holds it.
        holder: Holder,
    },
    /// It belongs to another run.
    #[error("the journal `{}` belongs to run `{found}`, not `{wanted}`", path.display())]
    OtherRun {
        /// The journal.
        path: PathBuf,
        /// The run in the file.
        found: RunId,
        /// The run it was opened for.
        wanted: RunId,
    },
    /// It cannot be read.
    #[error("cannot read `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
    /// It cannot be written.
    #[error("cannot write `{}`", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
    /// Its directory or a file beside it cannot be written.
    #[error(transparent)]
    Home(#[from] HomeError),
}

impl Diagnose for JournalError {
    fn code(&self) -> Code {
        match self {
            Self::Damaged { .. } | Self::OtherRun { .. } => Code::JournalDamaged,
            Self::Held { .. } => Code::JournalHeld,
            Self::Read { .. } => Code::FileUnreadable,
            Self::Write { .. } => Code::FileUnwritable,
            Self::Home(error) => error.code(),
        }
    }

    fn hints(&self) -> Vec<String> {
        match self {
            Self::Held { holder, .. } if holder.pid != 0 => vec![format!("ps -fp {}", holder.pid)],
            Self::Damaged { path, .. } => named_by(path)
                .map(|run| format!("butleradm bootstrap repair {run} --dry-run"))
                .into_iter()
                .collect(),
            _ => Vec::new(),
        }
    }
}

/// The run whose directory a journal lies in.
fn named_by(path: &Path) -> Option<RunId> {
    RunId::parse(path.parent()?.file_name()?.to_str()?)
}

/// Reads the complete records of a journal, also while another process writes it.
pub fn read(path: &Path) -> Result<Vec<Event>, JournalError> {
    let content = fs::read(path).map_err(|source| JournalError::Read { path: path.to_owned(), source })?;
    Ok(parse(path, &content, 0)?.events)
}

/// A journal open for writing. No other process can write it meanwhile.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    run_id: RunId,
    seq: u64,
    tail: Tail<File>,
    /// Holds the lock; it is a file of its own, so that what it says is no part of the journal.
    _lock: File,
}

impl Journal {
    /// Opens or creates the journal of a run and returns what it holds. A torn end is cut off.
    pub fn open(path: &Path, run_id: RunId) -> Result<(Self, Vec<Event>), JournalError> {
        let write = |source| JournalError::Write { path: path.to_owned(), source };
        let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
        make_private_dir(dir)?;
        let lock = lock(path)?;
        let mut file = open_private(path).map_err(write)?;
        let mut content = Vec::new();
        file.read_to_end(&mut content)
            .map_err(|source| JournalError::Read { path: path.to_owned(), source })?;
        if content.is_empty() {
            // A file is durable only once its name is.
            File::open(dir).and_then(|dir| dir.sync_all()).map_err(write)?;
        }
        let Parsed { events, len } = parse(path, &content, 0)?;
        if let Some(event) = events.iter().find(|event| event.run_id != run_id) {
            return Err(JournalError::OtherRun {
                path: path.to_owned(),
                found: event.run_id.clone(),
                wanted: run_id,
            });
        }
        let mut tail = Tail { file, len: len as u64, torn: len < content.len() };
        tail.mend().map_err(write)?;
        let seq = events.len() as u64;
        Ok((Self { path: path.to_owned(), run_id, seq, tail, _lock: lock }, events))
    }

    /// Adds a record. When this returns, it is on disk; when it fails, the file is as it was.
    pub fn append(&mut self, kind: EventKind) -> Result<Event, JournalError> {
        let event = Event {
            version: VERSION,
            seq: self.seq + 1,
            time: Timestamp::now(),
            run_id: self.run_id.clone(),
            kind,
        };
        let write = |source| JournalError::Write { path: self.path.clone(), source };
        let line = encode(&event).map_err(|error| write(error.into()))?;
        self.tail.append(line.as_bytes()).map_err(write)?;
        self.seq += 1;
        Ok(event)
    }
}

fn open_private(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}

/// A file that is written only at its end. Apart from [`Journal`] so that tests can let it fail.
#[derive(Debug)]
struct Tail<F> {
    file: F,
    /// Length of the complete records.
    len: u64,
    /// There may be something behind them.
    torn: bool,
}

/// What the tail needs of a file.
trait Storage: Write + Seek {
    fn sync(&mut self) -> io::Result<()>;
    fn truncate(&mut self, len: u64) -> io::Result<()>;
}

impl Storage for File {
    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
    }

    fn truncate(&mut self, len: u64) -> io::Result<()> {
        self.set_len(len)
    }
}

impl<F: Storage> Tail<F> {
    fn append(&mut self, line: &[u8]) -> io::Result<()> {
        self.mend()?;
        self.torn = true;
        let written = self
            .file
            .seek(io::SeekFrom::Start(self.len))
            .and_then(|_| self.file.write_all(line))
            .and_then(|()| self.file.sync());
        if let Err(error) = written {
            // If this fails too, the next append or the next process does it.
            let _ = self.mend();
            return Err(error);
        }
        self.len += line.len() as u64;
        self.torn = false;
        Ok(())
    }

    /// Cuts off what stands behind the complete records.
    fn mend(&mut self) -> io::Result<()> {
        if self.torn {
            self.file.truncate(self.len)?;
            self.file.sync()?;
            self.torn = false;
        }
        Ok(())
    }
}

/// What was read of a journal.
pub(super) struct Parsed {
    pub(super) events: Vec<Event>,
    /// Length of the complete records.
    pub(super) len: usize,
}

/// Reads records; `before` of them stand in front of these.
pub(super) fn parse(path: &Path, content: &[u8], before: usize) -> Result<Parsed, JournalError> {
    let mut parsed = Parsed { events: Vec::new(), len: 0 };
    for line in content.split_inclusive(|byte| *byte == b'\n') {
        let number = before + parsed.events.len() + 1;
        let damaged = |why| JournalError::Damaged { path: path.to_owned(), line: number, why };
        match decode(line, number as u64) {
            Ok(event) => parsed.events.push(event),
            // A torn write is the beginning of one record. If a whole record stands in it, the end of
            // that record was damaged, and more than the last write is at stake.
            Err(_) if parsed.len + line.len() == content.len() && !holds_record(line) => break,
            Err(why) => return Err(damaged(why)),
        }
        parsed.len += line.len();
    }
    Ok(parsed)
}

fn encode(event: &Event) -> serde_json::Result<String> {
    let record = serde_json::to_string(event)?;
    let body = record.strip_suffix('}').unwrap_or(&record);
    Ok(format!("{body}{MARK}{}\"}}\n", checksum(body.as_bytes())))
}

fn decode(line: &[u8], seq: u64) -> Result<Event, String> {
    let line = line.strip_suffix(b"\n").ok_or("it has no end")?;
    let body = verified(line).ok_or("its checksum does not fit")?;
    let record = [body, b"}"].concat();
    let event: Event = serde_json::from_slice(&record).map_err(|error| format!("it is no event: {error}"))?;
    if event.seq != seq {
        return Err(format!("it has the number {} and should have {seq}", event.seq));
    }
    Ok(event)
}

/// The record without its checksum, if that is right.
fn verified(line: &[u8]) -> Option<&[u8]> {
    let (body, trailer) = line.split_at_checked(line.len().checked_sub(TRAILER)?)?;
    (trailer == format!("{MARK}{}\"}}", checksum(body)).as_bytes()).then_some(body)
}

/// True when a complete record stands at the beginning of a line that has more.
fn holds_record(line: &[u8]) -> bool {
    line.windows(MARK.len())
        .enumerate()
        .filter(|(_, window)| *window == MARK.as_bytes())
        .map(|(at, _)| at + TRAILER)
        .filter(|end| *end < line.len())
        .any(|end| verified(&line[..end]).is_some())
}

fn checksum(body: &[u8]) -> String {
    let digest = digest::digest(&digest::SHA256, body);
    digest.as_ref()[..DIGITS / 2].iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests;
