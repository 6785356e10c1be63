//! One writer per journal: a lock that the system releases however its holder ends. What is written in the
//! file is only a name for people; nobody is kept out by it, so neither the signature of a dead process nor
//! a process id that was given out again is in the way.

use std::{
    fmt,
    fs::{File, TryLockError},
    io::{self, Write},
    path::Path,
    time::{Duration, Instant},
};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{JournalError, open_private};

/// Somebody who only looks whether the lock is held holds it for a moment.
const PATIENCE: Duration = Duration::from_millis(500);
const PAUSE: Duration = Duration::from_millis(10);

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

impl Holder {
    /// True when it runs on this machine, so that its process id means something here.
    pub fn is_here(&self) -> bool {
        self.host == this_host()
    }
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

/// The process that writes a journal now, if any.
pub fn holder(path: &Path) -> Option<Holder> {
    // Opened for reading: who only looks must not need to write.
    let file = File::open(path.with_extension("lock")).ok()?;
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => Some(signature(&file)),
        _ => None,
    }
}

/// The name of this machine, as it stands in locks.
fn this_host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Who signed the lock.
fn signature(file: &File) -> Holder {
    let nobody = Holder { pid: 0, host: String::new(), since: Timestamp::UNIX_EPOCH };
    io::read_to_string(file).ok().and_then(|text| serde_json::from_str(&text).ok()).unwrap_or(nobody)
}

/// Locks the file beside `journal` and signs it; whoever comes second learns who holds it.
pub(crate) fn lock(journal: &Path) -> Result<File, JournalError> {
    let path = journal.with_extension("lock");
    let write = |source| JournalError::Write { path: path.clone(), source };
    let mut file = open_private(&path).map_err(write)?;
    let end = Instant::now() + PATIENCE;
    loop {
        match file.try_lock() {
            Ok(()) => break,
            Err(TryLockError::WouldBlock) if Instant::now() < end => std::thread::sleep(PAUSE),
            Err(TryLockError::WouldBlock) => {
                return Err(JournalError::Held { path: journal.to_owned(), holder: signature(&file) });
            }
            Err(TryLockError::Error(source)) => return Err(write(source)),
        }
    }
    let holder = Holder { pid: std::process::id(), host: this_host(), since: Timestamp::now() };
    let sign = |file: &mut File| -> io::Result<()> {
        file.set_len(0)?;
        file.write_all(serde_json::to_string(&holder)?.as_bytes())
    };
    sign(&mut file).map_err(write)?;
    Ok(file)
}
