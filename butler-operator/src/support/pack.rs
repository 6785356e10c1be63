//! The file: everything that goes into it passes the scrubber here, and nowhere else.

use std::{
    io::{self, Write},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use butler_core::settings::home::make_private_dir;
use flate2::{Compression, write::GzEncoder};
use serde_json::{Value, json};
use tar::{Builder, EntryType};
use tempfile::NamedTempFile;

use super::{Missing, Written, scrub::Scrubber};

/// As much of a text as is taken; of longer ones the end, where the trouble is.
pub(super) const LARGEST: u64 = 2 << 20;

/// A bundle that is being written.
pub(super) struct Pack {
    path: PathBuf,
    tar: Builder<GzEncoder<NamedTempFile>>,
    scrubber: Scrubber,
    index: Vec<Value>,
    missing: Vec<Missing>,
    /// The first entry that could not be written.
    failed: Option<io::Error>,
}

impl Pack {
    pub(super) fn new(path: &Path, scrubber: Scrubber) -> io::Result<Self> {
        let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
        make_private_dir(dir).map_err(io::Error::other)?;
        let file = tempfile::Builder::new()
            .prefix(".butler-")
            .permissions(std::fs::Permissions::from_mode(0o600))
            .tempfile_in(dir)?;
        let tar = Builder::new(GzEncoder::new(file, Compression::default()));
        let (index, missing, failed) = (Vec::new(), Vec::new(), None);
        Ok(Self { path: path.to_owned(), tar, scrubber, index, missing, failed })
    }

    /// Adds a text, or notes why there is none.
    pub(super) fn text(&mut self, name: &str, text: Result<String, String>) {
        match text {
            Ok(text) => {
                let clean = self.scrubber.text(&text);
                self.add(name, clean.as_bytes());
            }
            Err(reason) => self.miss(name, &reason),
        }
    }

    /// Adds a document, or notes why there is none.
    pub(super) fn json(&mut self, name: &str, value: Result<Value, String>) {
        match value {
            Ok(value) => {
                let clean = self.scrubber.value(&value);
                self.add(name, &serde_json::to_vec_pretty(&clean).unwrap_or_default());
            }
            Err(reason) => self.miss(name, &reason),
        }
    }

    /// Adds documents that stand line by line in a file; what is no document is a text.
    pub(super) fn lines(&mut self, name: &str, text: Result<String, String>) {
        let text = match text {
            Ok(text) => text,
            Err(reason) => return self.miss(name, &reason),
        };
        let mut out = String::with_capacity(text.len());
        for line in text.lines() {
            match serde_json::from_str::<Value>(line) {
                Ok(value) => out += &self.scrubber.value(&value).to_string(),
                Err(_) => out += &self.scrubber.text(line),
            }
            out.push('\n');
        }
        self.add(name, out.as_bytes());
    }

    /// Adds the end of a file.
    pub(super) fn file(&mut self, name: &str, path: &Path) {
        match tail(path) {
            Ok(text) => self.text(name, Ok(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => self.miss(name, &error.to_string()),
        }
    }

    /// Notes that something could not be had.
    pub(super) fn miss(&mut self, name: &str, reason: &str) {
        let reason = self.scrubber.text(reason);
        self.missing.push(Missing { name: name.to_owned(), reason });
    }

    fn add(&mut self, name: &str, content: &[u8]) {
        // Names of objects and runs are names of files here.
        let name = self.scrubber.text(name);
        if let Err(error) = self.append(&name, content) {
            self.failed.get_or_insert(error);
        }
        self.index.push(json!({ "name": name, "bytes": content.len() }));
    }

    fn append(&mut self, name: &str, content: &[u8]) -> io::Result<()> {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(EntryType::Regular);
        header.set_mode(0o600);
        header.set_size(content.len() as u64);
        self.tar.append_data(&mut header, name, content)
    }

    /// Writes the index and gives the file its name.
    pub(super) fn finish(mut self) -> io::Result<Written> {
        let index = json!({ "files": self.index, "missing": self.missing });
        self.append("index.json", &serde_json::to_vec_pretty(&index).unwrap_or_default())?;
        if let Some(error) = self.failed {
            return Err(error);
        }
        let mut file = self.tar.into_inner()?.finish()?;
        file.flush()?;
        file.as_file().sync_all()?;
        let bytes = file.as_file().metadata()?.len();
        file.persist_noclobber(&self.path).map_err(|error| error.error)?;
        Ok(Written { path: self.path, bytes, entries: self.index.len() + 1, missing: self.missing })
    }
}

/// The end of a file, from the beginning of a line on.
pub(super) fn tail(path: &Path) -> io::Result<String> {
    use std::io::{Read, Seek, SeekFrom};
    let mut file = std::fs::File::open(path)?;
    let length = file.metadata()?.len();
    let cut = length.saturating_sub(LARGEST);
    file.seek(SeekFrom::Start(cut))?;
    let mut bytes = Vec::new();
    file.take(LARGEST).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Ok(match text.split_once('\n').filter(|_| cut > 0) {
        Some((_, rest)) => format!("[{cut} bytes before this are left out]\n{rest}"),
        None => text,
    })
}
