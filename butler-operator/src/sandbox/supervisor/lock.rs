//! One supervisor per sandbox: a lock on a file, which the system releases however its holder ends.

use std::{
    fs::{File, TryLockError},
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use fs_err as fs;

use crate::sandbox::{Place, SandboxError};

/// Somebody who only looks whether the lock is held holds it for a moment.
const PATIENCE: Duration = Duration::from_millis(500);

/// A lock that is held until this value is dropped.
#[derive(Debug)]
pub(super) struct Lock {
    path: PathBuf,
    file: File,
}

impl Lock {
    /// Takes the lock of a sandbox, and writes who has it.
    pub(super) fn take(place: &Place) -> Result<Self, SandboxError> {
        let path = place.lock();
        let failed = |source| SandboxError::System { action: format!("lock `{}`", path.display()), source };
        let file = open(&path).map_err(failed)?;
        let end = Instant::now() + PATIENCE;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::Error(error)) => return Err(failed(error)),
                Err(TryLockError::WouldBlock) if Instant::now() < end => {
                    std::thread::sleep(Duration::from_millis(20));
                }
                Err(TryLockError::WouldBlock) => {
                    let pid = read_pid(&path).unwrap_or_default();
                    return Err(SandboxError::Busy { name: place.name().to_owned(), pid });
                }
            }
        }
        let pid = std::process::id().to_string();
        file.set_len(0).and_then(|()| io::Write::write_all(&mut &file, pid.as_bytes())).map_err(failed)?;
        Ok(Self { path, file })
    }

    /// True while the file we hold is the one in the directory: without it nobody would find us.
    pub(super) fn is_in_place(&self) -> bool {
        let id = |meta: std::fs::Metadata| (meta.dev(), meta.ino());
        match (fs::metadata(&self.path), self.file.metadata()) {
            (Ok(there), Ok(ours)) => id(there) == id(ours),
            _ => false,
        }
    }
}

/// The process that holds the lock of a sandbox, if one does.
pub fn holder(place: &Place) -> Option<u32> {
    let path = place.lock();
    let file = fs::File::open(&path).ok()?.into_parts().0;
    match file.try_lock_shared() {
        Ok(()) => None,
        Err(_) => read_pid(&path),
    }
}

/// Opens a file to lock; never cuts it short, its holder's name is in it.
pub(super) fn open(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;

    File::options().create(true).truncate(false).read(true).write(true).mode(0o600).open(path)
}

fn read_pid(path: &Path) -> Option<u32> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}
