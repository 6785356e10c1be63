//! The backups in a directory.

use std::path::{Path, PathBuf};

use super::{Backup, BackupError, EXTENSION, Header};

/// A file that has the name of a backup, and what it says it is.
#[derive(Debug)]
pub struct Listed {
    /// The file.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// Its header, or why it cannot be used.
    pub header: Result<Header, BackupError>,
}

/// Every backup of a directory by name, so that those of a cluster stand together, oldest first. A directory that
/// is not there has none.
pub fn list(dir: &Path) -> Result<Vec<Listed>, BackupError> {
    let entries = match std::fs::read_dir(dir) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(|source| BackupError::Read { path: dir.to_owned(), source })?,
    };
    let named = |path: &PathBuf| {
        path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.ends_with(EXTENSION))
    };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(named).collect();
    paths.sort();
    let listed = |path: PathBuf| Listed {
        bytes: path.metadata().map_or(0, |meta| meta.len()),
        header: Backup::open(&path).map(|backup| backup.header().clone()),
        path,
    };
    Ok(paths.into_iter().map(listed).collect())
}
