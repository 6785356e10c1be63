//! The journal of a run: an append-only file of events, one JSON object per line.
//!
//! A record is on disk before [`Journal::append`] returns. Each line ends with a checksum of what
//! stands before it, and lines are numbered, so a line that was changed, lost or doubled is noticed
//! and named. Only the end of the file may be torn, by a crash in the middle of a write: readers
//! ignore such an end and the next writer cuts it off.

use std::{
    fmt,
    fs::{File, OpenOptions, TryLockError},
    io::{self, Read, Seek, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use fs_err as fs;
use jiff::Timestamp;
use ring::digest;
use serde::{Deserialize, Serialize};

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
            _ => Vec::new(),
        }
    }
}

/// The process that writes a journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Its process id.
    pub pid: u32,
    /// Its machine.
    pub host: String,
    /// When it began.
    pub since: Timestamp,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pid {
            // The moment between taking the lock and signing it.
            0 => f.write_str("another process"),
            pid => write!(f, "process {pid} on `{}` since {}", self.host, self.since.strftime("%F %T UTC")),
        }
    }
}

/// Reads the complete records of a journal, also while another process writes it.
pub fn read(path: &Path) -> Result<Vec<Event>, JournalError> {
    let content = fs::read(path).map_err(|source| JournalError::Read { path: path.to_owned(), source })?;
    Ok(parse(path, &content)?.events)
}

/// The process that writes a journal now, if any.
pub fn holder(path: &Path) -> Option<Holder> {
    // Opened for reading: who only looks must not need to write.
    let file = File::open(path.with_extension("lock")).ok()?;
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => Some(signature(&file)),
        _ => None,
    }
}

/// Who signed the lock.
fn signature(file: &File) -> Holder {
    let nobody = Holder { pid: 0, host: String::new(), since: Timestamp::UNIX_EPOCH };
    io::read_to_string(file).ok().and_then(|text| serde_json::from_str(&text).ok()).unwrap_or(nobody)
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
        let Parsed { events, len } = parse(path, &content)?;
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

/// Locks the file beside `journal` and signs it; whoever comes second learns who holds it.
pub(crate) fn lock(journal: &Path) -> Result<File, JournalError> {
    let path = journal.with_extension("lock");
    let write = |source| JournalError::Write { path: path.clone(), source };
    let mut file = open_private(&path).map_err(write)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            return Err(JournalError::Held { path: journal.to_owned(), holder: signature(&file) });
        }
        Err(TryLockError::Error(source)) => return Err(write(source)),
    }
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let holder = Holder { pid: std::process::id(), host, since: Timestamp::now() };
    let sign = |file: &mut File| -> io::Result<()> {
        file.set_len(0)?;
        file.write_all(serde_json::to_string(&holder)?.as_bytes())
    };
    sign(&mut file).map_err(write)?;
    Ok(file)
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

struct Parsed {
    events: Vec<Event>,
    /// Length of the complete records.
    len: usize,
}

fn parse(path: &Path, content: &[u8]) -> Result<Parsed, JournalError> {
    let mut parsed = Parsed { events: Vec::new(), len: 0 };
    for line in content.split_inclusive(|byte| *byte == b'\n') {
        let number = parsed.events.len() + 1;
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
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn run_id() -> RunId {
        RunId("20261114-101112-00ff00".into())
    }

    fn intent(step: &str) -> EventKind {
        EventKind::Intent { step: step.into(), data: json!({ "note": "a\nb ,\"sum\":\" \u{1f600}" }) }
    }

    /// A journal of `records` records: its directory, its path and the events in it.
    fn written(records: usize) -> (tempfile::TempDir, PathBuf, Vec<Event>) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("runs/one/journal.ndjson");
        let (mut journal, found) = Journal::open(&path, run_id()).unwrap();
        assert!(found.is_empty());
        let events = (0..records).map(|n| journal.append(intent(&format!("vm/{n}"))).unwrap()).collect();
        (dir, path, events)
    }

    /// Where each line starts.
    fn starts(content: &[u8]) -> Vec<usize> {
        let ends = content.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
        std::iter::once(0).chain(ends).collect()
    }

    #[test]
    fn records_come_back_and_the_next_writer_goes_on() {
        let (_dir, path, mut events) = written(2);
        let (mut journal, found) = Journal::open(&path, run_id()).unwrap();
        assert_eq!(found, events);
        events.push(journal.append(EventKind::Result { step: "vm/0".into(), data: json!("id") }).unwrap());
        assert_eq!(read(&path).unwrap(), events);
        assert_eq!(events.iter().map(|event| event.seq).collect::<Vec<_>>(), [1, 2, 3]);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::metadata(path.parent().unwrap()).unwrap().permissions().mode() & 0o777, 0o700);
    }

    #[test]
    fn only_one_process_writes_and_the_other_learns_who() {
        let (_dir, path, _) = written(1);
        let held = Journal::open(&path, run_id()).unwrap();
        let error = Journal::open(&path, run_id()).unwrap_err();
        assert_eq!(error.code(), Code::JournalHeld);
        assert!(error.to_string().contains(&format!("process {} on", std::process::id())), "{error}");
        assert_eq!(read(&path).unwrap().len(), 1);
        drop(held);
        Journal::open(&path, run_id()).unwrap();
    }

    #[test]
    fn lines_that_are_lost_or_doubled_are_named() {
        let (_dir, path, _) = written(3);
        let content = fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = content.lines().collect();
        for (lines, bad) in [([lines[0], lines[2]].as_slice(), 2), (&[lines[0], lines[0], lines[1]], 2)] {
            fs::write(&path, lines.join("\n") + "\n").unwrap();
            let error = read(&path).unwrap_err();
            assert!(matches!(error, JournalError::Damaged { line, .. } if line == bad), "{error}");
        }
    }

    #[test]
    fn a_journal_of_another_run_is_refused() {
        let (_dir, path, _) = written(1);
        let error = Journal::open(&path, RunId("other".into())).unwrap_err();
        assert!(matches!(error, JournalError::OtherRun { .. }), "{error}");
    }

    /// Takes so many bytes, then has no space left.
    #[derive(Default)]
    struct SmallDisk {
        disk: io::Cursor<Vec<u8>>,
        space: usize,
    }

    impl Write for SmallDisk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let fits = bytes.len().min(self.space - self.disk.position() as usize);
            if fits == 0 { Err(io::ErrorKind::StorageFull.into()) } else { self.disk.write(&bytes[..fits]) }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Seek for SmallDisk {
        fn seek(&mut self, to: io::SeekFrom) -> io::Result<u64> {
            self.disk.seek(to)
        }
    }

    impl Storage for SmallDisk {
        fn sync(&mut self) -> io::Result<()> {
            Ok(())
        }

        fn truncate(&mut self, len: u64) -> io::Result<()> {
            self.disk.get_mut().truncate(len as usize);
            Ok(())
        }
    }

    proptest! {
        #[test]
        fn a_file_cut_anywhere_opens_to_its_complete_records(records in 0_usize..4, cut in any::<prop::sample::Index>()) {
            let (_dir, path, events) = written(records);
            let content = fs::read(&path).unwrap();
            let cut = cut.index(content.len() + 1);
            fs::write(&path, &content[..cut]).unwrap();
            let complete = starts(&content).into_iter().filter(|start| *start > 0 && *start <= cut).count();

            prop_assert_eq!(&read(&path).unwrap(), &events[..complete]);
            let (mut journal, found) = Journal::open(&path, run_id()).unwrap();
            prop_assert_eq!(&found, &events[..complete]);
            journal.append(intent("after")).unwrap();
            prop_assert_eq!(read(&path).unwrap().len(), complete + 1);
        }

        #[test]
        fn a_byte_changed_before_the_last_line_is_reported_with_its_line(
            at in any::<prop::sample::Index>(), flip in 1_u8..,
        ) {
            let (_dir, path, _) = written(3);
            let mut content = fs::read(&path).unwrap();
            let starts = starts(&content);
            let at = at.index(starts[2]);
            content[at] ^= flip;
            fs::write(&path, &content).unwrap();
            let bad = starts.iter().filter(|start| **start <= at).count();
            for error in [read(&path).unwrap_err(), Journal::open(&path, run_id()).map(|_| ()).unwrap_err()] {
                prop_assert!(matches!(error, JournalError::Damaged { line, .. } if line == bad), "{}", error);
            }
            prop_assert_eq!(fs::read(&path).unwrap(), content, "a damaged journal is left alone");
        }

        #[test]
        fn a_full_disk_leaves_the_complete_records(space in 0_usize..60) {
            let mut tail = Tail { file: SmallDisk { space, ..Default::default() }, len: 0, torn: false };
            let line = [b'x'; 20];
            let written = (0..5).map(|_| tail.append(&line)).filter(Result::is_ok).count();
            prop_assert_eq!(written, space / line.len());
            prop_assert_eq!(tail.file.disk.get_ref().len(), written * line.len());
            tail.file.space = 1000;
            tail.append(&line).unwrap();
            prop_assert_eq!(tail.file.disk.get_ref().len(), (written + 1) * line.len());
        }
    }
}
