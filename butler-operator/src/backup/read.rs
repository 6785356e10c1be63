//! Reads a backup. Whether the file is whole can be told without a key; what is in it, only with one.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, BufReader, Read, Seek, SeekFrom, Take},
    path::{Path, PathBuf},
};

use age::{DecryptError, Decryptor};
use ring::digest::{Context, SHA256};
use tar::Archive;

use super::{BackupError, Header, Identities, contents};

/// The header is a page of text.
const LARGEST_HEADER: u64 = 1 << 20;
/// What is read of a file at once.
const STEP: usize = 1 << 20;

/// A backup that was opened: its header was read, and it is as long as it says.
#[derive(Debug)]
pub struct Backup {
    path: PathBuf,
    header: Header,
    /// Where the encrypted part begins and how long it is.
    data: (u64, u64),
    sum: String,
    bytes: u64,
}

impl Backup {
    /// Opens a file and reads its header.
    pub fn open(path: &Path) -> Result<Self, BackupError> {
        let unreadable = |source| BackupError::Read { path: path.to_owned(), source };
        let unknown = |why: &str| BackupError::Unknown { path: path.to_owned(), why: why.to_owned() };
        let file = File::open(path).map_err(unreadable)?;
        let meta = file.metadata().map_err(unreadable)?;
        if !meta.is_file() {
            return Err(unknown("it is no file"));
        }
        let bytes = meta.len();
        let cut = |wanted: u64| BackupError::Truncated { path: path.to_owned(), found: bytes, wanted };
        let mut archive = Archive::new(BufReader::new(file));
        let mut entries = archive.entries_with_seek().map_err(unreadable)?;
        let header = {
            // Anything may be a file that somebody takes for a backup.
            let first =
                entries.next().and_then(Result::ok).ok_or_else(|| unknown("it is not of that kind"))?;
            if first.path_bytes() != contents::HEADER.as_bytes() {
                return Err(unknown("it begins with something else"));
            }
            let mut text = Vec::new();
            first.take(LARGEST_HEADER).read_to_end(&mut text).map_err(unreadable)?;
            Header::read(&text).map_err(|why| BackupError::Unknown { path: path.to_owned(), why })?
        };
        // From here on it is a backup, so what is missing was lost.
        let data = {
            let entry = entries.next().and_then(Result::ok).ok_or_else(|| cut(bytes + 1))?;
            if entry.path_bytes() != contents::DATA.as_bytes() {
                return Err(BackupError::damaged(path, contents::DATA, "its name is another one"));
            }
            (entry.raw_file_position(), entry.size())
        };
        let end = data.0.saturating_add(data.1);
        if end >= bytes {
            return Err(cut(end));
        }
        let sum = {
            let mut entry = entries.next().and_then(Result::ok).ok_or_else(|| cut(end + 1))?;
            if entry.path_bytes() != contents::DATA_SUM.as_bytes() {
                return Err(BackupError::damaged(path, contents::DATA_SUM, "its name is another one"));
            }
            let mut text = String::new();
            entry.by_ref().take(LARGEST_HEADER).read_to_string(&mut text).map_err(|_| cut(end + 1))?;
            text.split(' ').next().unwrap_or_default().to_owned()
        };
        Ok(Self { path: path.to_owned(), header, data, sum, bytes })
    }

    /// What it is of.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its size.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Demands that the encrypted part is what was written. Needs no key.
    pub fn check(&self) -> Result<(), BackupError> {
        let mut data = self.encrypted()?;
        let mut context = Context::new(&SHA256);
        let mut step = vec![0; STEP];
        loop {
            match data.read(&mut step) {
                Ok(0) => break,
                Ok(count) => context.update(&step[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => return Err(BackupError::Read { path: self.path.clone(), source }),
            }
        }
        if contents::hex(context.finish()) == self.sum {
            return Ok(());
        }
        Err(self.damaged(contents::DATA, "its checksum does not fit"))
    }

    /// Reads every entry, in order, and hands each to `visit`. Afterwards every checksum was seen to fit; until
    /// then what was handed out may be anything.
    pub fn each(
        &self,
        identities: &Identities,
        mut visit: impl FnMut(&str, &mut dyn Read) -> Result<(), BackupError>,
    ) -> Result<usize, BackupError> {
        let mut archive = Archive::new(BufReader::with_capacity(STEP, self.decrypted(identities)?));
        let broken = |part: &str, error: &io::Error| self.damaged(part, &error.to_string());
        let mut found = BTreeMap::new();
        let mut sums = None;
        for entry in archive.entries().map_err(|error| broken(contents::DATA, &error))? {
            let entry = entry.map_err(|error| broken(contents::DATA, &error))?;
            let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
            if name == contents::SUMS {
                let mut text = String::new();
                entry
                    .take(LARGEST_HEADER * 64)
                    .read_to_string(&mut text)
                    .map_err(|error| broken(&name, &error))?;
                sums = Some(text);
                break;
            }
            let mut body = Summed { inner: entry, context: Context::new(&SHA256) };
            visit(&name, &mut body)?;
            io::copy(&mut body, &mut io::sink()).map_err(|error| broken(&name, &error))?;
            found.insert(name, contents::hex(body.context.finish()));
        }
        let sums = sums.ok_or_else(|| self.damaged(contents::SUMS, "it is missing"))?;
        let wanted: BTreeMap<&str, &str> =
            sums.lines().filter_map(|line| line.split_once("  ")).map(|(sum, name)| (name, sum)).collect();
        for (name, sum) in &wanted {
            match found.get(*name) {
                Some(found) if found == sum => {}
                Some(_) => return Err(self.damaged(name, "its checksum does not fit")),
                None => return Err(self.damaged(name, "it is missing")),
            }
        }
        match found.keys().find(|name| !wanted.contains_key(name.as_str())) {
            Some(extra) => Err(self.damaged(extra, "it has no checksum")),
            None => Ok(found.len()),
        }
    }

    pub(super) fn damaged(&self, part: &str, why: &str) -> BackupError {
        BackupError::damaged(&self.path, part, why)
    }

    fn encrypted(&self) -> Result<Take<File>, BackupError> {
        let open = || {
            let mut file = File::open(&self.path)?;
            file.seek(SeekFrom::Start(self.data.0))?;
            Ok(file.take(self.data.1))
        };
        open().map_err(|source| BackupError::Read { path: self.path.clone(), source })
    }

    fn decrypted(&self, identities: &Identities) -> Result<impl Read + use<>, BackupError> {
        let failed = |error| match error {
            DecryptError::NoMatchingKeys => BackupError::Locked {
                path: self.path.clone(),
                identity: identities.file().to_owned(),
                recipients: self.header.recipients.clone(),
            },
            error => self.damaged(contents::DATA, &error.to_string()),
        };
        let data = BufReader::with_capacity(STEP, self.encrypted()?);
        let decryptor = Decryptor::new_buffered(data).map_err(failed)?;
        decryptor.decrypt(identities.each()).map_err(failed)
    }
}

/// Counts what is read of it.
struct Summed<R> {
    inner: R,
    context: Context,
}

impl<R: Read> Read for Summed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.context.update(&buffer[..count]);
        Ok(count)
    }
}

#[cfg(test)]
mod tests;
