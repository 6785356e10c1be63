//! Writes a backup: everything passes through once, encrypted before it reaches the disk.

use std::{
    io::{self, BufWriter, Write},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use age::stream::StreamWriter;
use butler_core::settings::home::make_private_dir;
use ring::digest::{Context, SHA256, digest};
use tar::{Builder, EntryType};

use super::{BackupError, Header, Recipients, contents};

/// What a backup became.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sealed {
    /// The file.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
}

/// Writes what `fill` says into a new file at `path`, encrypted to the recipients. Until everything is written
/// and on disk there is no file of that name; one that is there already is not touched.
pub async fn seal<F>(
    path: &Path,
    header: &Header,
    recipients: &Recipients,
    fill: F,
) -> Result<Sealed, BackupError>
where
    F: AsyncFnOnce(&mut Contents<'_>) -> Result<(), BackupError>,
{
    let failed = |source| BackupError::Write { path: path.to_owned(), source };
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    make_private_dir(dir)?;
    let file = tempfile::Builder::new()
        .prefix(".butler-")
        .permissions(std::fs::Permissions::from_mode(0o600))
        .tempfile_in(dir)
        .map_err(failed)?;
    let mut outer = Builder::new(file);
    let header = serde_json::to_vec_pretty(header).map_err(|error| failed(error.into()))?;
    append(&mut outer, contents::HEADER, &header).map_err(failed)?;
    let sum = {
        let mut place = entry(0);
        let entry = outer.append_writer(&mut place, contents::DATA).map_err(failed)?;
        let mut hashing = Hashing { inner: entry, context: Context::new(&SHA256) };
        let encrypt = age::Encryptor::with_recipients(recipients.each())
            .map_err(|error| failed(io::Error::other(error.to_string())))?;
        {
            // The format has blocks of its own, and writing them one by one is slow.
            let target: Box<dyn Write> = Box::new(BufWriter::with_capacity(1 << 20, &mut hashing));
            let stream = encrypt.wrap_output(target).map_err(failed)?;
            let mut inner = Contents { path, tar: Builder::new(stream), sums: String::new() };
            inner.add(contents::HEADER, &header)?;
            fill(&mut inner).await?;
            inner.finish()?;
        }
        hashing.inner.finish().map_err(failed)?;
        contents::hex(hashing.context.finish())
    };
    append(&mut outer, contents::DATA_SUM, format!("{sum}  {}\n", contents::DATA).as_bytes())
        .map_err(failed)?;
    let file = outer.into_inner().map_err(failed)?;
    file.as_file().sync_all().map_err(failed)?;
    let bytes = file.as_file().metadata().map_err(failed)?.len();
    file.persist_noclobber(path).map_err(|error| failed(error.error))?;
    // The name is durable only once the directory is.
    std::fs::File::open(dir).and_then(|dir| dir.sync_all()).map_err(failed)?;
    Ok(Sealed { path: path.to_owned(), bytes })
}

/// What is inside a backup that is being written.
pub struct Contents<'a> {
    path: &'a Path,
    tar: Builder<StreamWriter<Box<dyn Write + 'a>>>,
    sums: String,
}

impl std::fmt::Debug for Contents<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Contents").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Contents<'_> {
    /// Adds an entry.
    pub fn add(&mut self, name: &str, content: &[u8]) -> Result<(), BackupError> {
        self.sums += &format!("{}  {name}\n", contents::hex(digest(&SHA256, content)));
        append(&mut self.tar, name, content)
            .map_err(|source| BackupError::Write { path: self.path.to_owned(), source })
    }

    fn finish(mut self) -> Result<(), BackupError> {
        let failed = |source| BackupError::Write { path: self.path.to_owned(), source };
        append(&mut self.tar, contents::SUMS, self.sums.as_bytes()).map_err(failed)?;
        let mut target = self.tar.into_inner().and_then(StreamWriter::finish).map_err(failed)?;
        target.flush().map_err(failed)
    }
}

fn entry(size: u64) -> tar::Header {
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(EntryType::Regular);
    header.set_mode(0o600);
    header.set_size(size);
    header
}

fn append<W: Write>(tar: &mut Builder<W>, name: &str, content: &[u8]) -> io::Result<()> {
    tar.append_data(&mut entry(content.len() as u64), name, content)
}

/// Counts what it passes on.
struct Hashing<W> {
    inner: W,
    context: Context,
}

impl<W: Write> Write for Hashing<W> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let count = self.inner.write(buffer)?;
        self.context.update(&buffer[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
