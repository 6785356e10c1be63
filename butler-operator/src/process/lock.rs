//! One process per directory: a lock on a file, which the system releases however its holder ends.

use std::{
    fs::{File, TryLockError},
    io,
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use fs_err as fs;

/// Somebody who only looks whether the lock is held holds it for a moment.
const PATIENCE: Duration = Duration::from_millis(500);

/// A lock that is held until this value is dropped.
#[derive(Debug)]
pub struct LockFile {
    path: PathBuf,
    file: File,
}

/// Why a lock cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// A process has it.
    #[error("process {0} holds the lock")]
    Held(u32),
    /// The system refused.
    #[error("cannot lock `{}`", path.display())]
    System {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
}

impl LockFile {
    /// Takes the lock, and writes who has it.
    pub fn take(path: &Path) -> Result<Self, LockError> {
        let failed = |source| LockError::System { path: path.to_owned(), source };
        let file = Self::open(path).map_err(failed)?;
        let end = Instant::now() + PATIENCE;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::Error(error)) => return Err(failed(error)),
                Err(TryLockError::WouldBlock) if Instant::now() < end => {
                    std::thread::sleep(Duration::from_millis(20));
                }
                // 0 in the moment between taking the lock and signing it.
                Err(TryLockError::WouldBlock) => return Err(LockError::Held(read_pid(path).unwrap_or(0))),
            }
        }
        let pid = std::process::id().to_string();
        file.set_len(0).and_then(|()| io::Write::write_all(&mut &file, pid.as_bytes())).map_err(failed)?;
        Ok(Self { path: path.to_owned(), file })
    }

    /// Opens a file to lock; never cuts it short, its holder's name is in it.
    pub fn open(path: &Path) -> io::Result<File> {
        File::options().create(true).truncate(false).read(true).write(true).mode(0o600).open(path)
    }

    /// The process that holds the lock, if one does.
    pub fn holder(path: &Path) -> Option<u32> {
        let file = fs::File::open(path).ok()?.into_parts().0;
        match file.try_lock_shared() {
            Ok(()) => None,
            Err(_) => read_pid(path),
        }
    }

    /// True while the file we hold is the one in the directory: without it nobody would find us.
    pub fn is_in_place(&self) -> bool {
        let id = |meta: std::fs::Metadata| (meta.dev(), meta.ino());
        match (fs::metadata(&self.path), self.file.metadata()) {
            (Ok(there), Ok(ours)) => id(there) == id(ours),
            _ => false,
        }
    }
}

fn read_pid(path: &Path) -> Option<u32> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}
