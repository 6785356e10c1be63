//! Downloads from the publishers. Nothing gets an execute bit before its SHA-256 equals the
//! published one.

use std::{
    fs::Permissions,
    io::{self, Read, Write},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::{
        OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use butler_core::error::Code;
use fs_err as fs;
use reqwest::{Client, Response, redirect};
use ring::digest;
use tempfile::{NamedTempFile, TempPath};

use super::table::{self, Part, Release};

/// A machine without a way out should get to the build quickly.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// A server that sends nothing for so long has gone away.
const READ_TIMEOUT: Duration = Duration::from_secs(30);
const MAX_REDIRECTS: usize = 5;

/// Why a program was not downloaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DownloadError {
    /// The publisher has no such file for this machine.
    #[error("it is not published for {} {}", table::os(), table::arch())]
    NotPublished,
    /// The setting `tools.download` is off.
    #[error("the setting `tools.download` is off")]
    NotAllowed,
    /// An earlier download found no way out; this one was not tried.
    #[error("there is no network")]
    Offline,
    /// TLS cannot be set up.
    #[error("cannot set up TLS")]
    Tls(#[source] reqwest::Error),
    /// No answer.
    #[error("no answer from `{url}`")]
    Unreachable {
        /// The address.
        url: String,
        /// The cause.
        #[source]
        source: reqwest::Error,
    },
    /// An answer that is not the file.
    #[error("`{url}` answered {status}")]
    Status {
        /// The address.
        url: String,
        /// The HTTP status.
        status: reqwest::StatusCode,
    },
    /// The answer ended early.
    #[error("`{url}` was cut off after {done} bytes")]
    CutOff {
        /// The address.
        url: String,
        /// What had arrived.
        done: u64,
        /// The cause.
        #[source]
        source: reqwest::Error,
    },
    /// The publisher's list has no checksum for the file.
    #[error("`{url}` has no checksum for `{file}`")]
    NoChecksum {
        /// The list.
        url: String,
        /// The file it should name.
        file: String,
    },
    /// The bytes are not those that were published.
    #[error("`{url}` has SHA-256 {actual}, and its publisher says {published}")]
    Mismatch {
        /// The address.
        url: String,
        /// What arrived.
        actual: String,
        /// What should have.
        published: String,
    },
    /// The archive does not hold the program.
    #[error("cannot take `{member}` out of `{url}`")]
    Archive {
        /// The address of the archive.
        url: String,
        /// The program inside.
        member: String,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The file cannot be stored.
    #[error("cannot write to `{}`", dir.display())]
    Write {
        /// Where it was to be stored.
        dir: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
}

impl DownloadError {
    pub(super) fn code(&self) -> Code {
        match self {
            Self::Mismatch { .. } => Code::ChecksumMismatch,
            Self::Write { .. } => Code::FileUnwritable,
            _ => Code::DownloadFailed,
        }
    }

    /// True when building instead would hide something a person must know: a file that was tampered
    /// with, or a disk that is full.
    pub(super) fn is_final(&self) -> bool {
        self.code() != Code::DownloadFailed
    }
}

/// The publishers' sites, or a mirror, and whether they can be reached.
#[derive(Debug, Default)]
pub(super) struct Downloads {
    forbidden: bool,
    mirror: Option<String>,
    client: OnceLock<Client>,
    offline: AtomicBool,
}

impl Downloads {
    /// Where to download from instead of the publishers' sites.
    pub(super) fn mirrored(self, url: String) -> Self {
        Self { mirror: Some(url), ..self }
    }

    /// Whether to download at all.
    pub(super) fn allowed(self, allowed: bool) -> Self {
        Self { forbidden: !allowed, ..self }
    }

    /// Downloads a program into `dir`, checked but not yet executable.
    pub(super) async fn fetch(
        &self,
        part: &Part,
        dir: &Path,
        progress: &(dyn Fn(u64, Option<u64>) + Send + Sync),
    ) -> Result<TempPath, DownloadError> {
        let Release { site, file, checksums, member, systems } = &part.release;
        if !systems.contains(&table::os()) {
            return Err(DownloadError::NotPublished);
        }
        if self.forbidden {
            return Err(DownloadError::NotAllowed);
        }
        if self.offline.load(Ordering::Relaxed) {
            return Err(DownloadError::Offline);
        }
        let site = self.mirror.as_deref().unwrap_or(site);
        let address = |pattern: &str| format!("{site}/{}", part.fill(pattern));
        let (url, sums) = (address(file), address(checksums));

        let published = self.checksum(&sums, url.rsplit('/').next().unwrap_or(&url)).await?;
        let write = |source| DownloadError::Write { dir: dir.to_owned(), source };
        let mut body = private_file(dir).map_err(write)?;
        let actual = self.body(&url, &mut body, dir, progress).await?;
        if actual != published {
            return Err(DownloadError::Mismatch { url, actual, published });
        }
        let Some(member) = member.map(|pattern| part.fill(pattern)) else { return Ok(body.into_temp_path()) };
        let mut program = private_file(dir).map_err(write)?;
        extract(body.path(), &member, program.as_file_mut()).map_err(|source| DownloadError::Archive {
            url,
            member,
            source,
        })?;
        Ok(program.into_temp_path())
    }

    /// The published SHA-256 of a file: alone in its list, or on the line that names the file.
    async fn checksum(&self, url: &str, file: &str) -> Result<String, DownloadError> {
        let cut_off = |source: reqwest::Error| DownloadError::CutOff {
            url: url.to_owned(),
            done: 0,
            source: source.without_url(),
        };
        let list = self.get(url).await?.text().await.map_err(cut_off)?;
        list.lines()
            .filter_map(|line| {
                let mut words = line.split_whitespace();
                let sum = words
                    .next()
                    .filter(|sum| sum.len() == 64 && sum.bytes().all(|b| b.is_ascii_hexdigit()))?;
                let of_file = words
                    .next()
                    .is_none_or(|name| name.trim_start_matches('*').rsplit('/').next() == Some(file));
                of_file.then(|| sum.to_ascii_lowercase())
            })
            .next()
            .ok_or_else(|| DownloadError::NoChecksum { url: url.to_owned(), file: file.to_owned() })
    }

    /// Streams a body to a file and returns its SHA-256.
    async fn body(
        &self,
        url: &str,
        file: &mut NamedTempFile,
        dir: &Path,
        progress: &(dyn Fn(u64, Option<u64>) + Send + Sync),
    ) -> Result<String, DownloadError> {
        let mut response = self.get(url).await?;
        let total = response.content_length();
        let mut hash = digest::Context::new(&digest::SHA256);
        let mut done = 0;
        loop {
            progress(done, total);
            let chunk = response.chunk().await.map_err(|source| DownloadError::CutOff {
                url: url.to_owned(),
                done,
                source: source.without_url(),
            })?;
            let Some(chunk) = chunk else { break };
            hash.update(&chunk);
            file.write_all(&chunk).map_err(|source| DownloadError::Write { dir: dir.to_owned(), source })?;
            done += chunk.len() as u64;
        }
        Ok(hash.finish().as_ref().iter().map(|byte| format!("{byte:02x}")).collect())
    }

    async fn get(&self, url: &str) -> Result<Response, DownloadError> {
        let response = self.client()?.get(url).send().await.map_err(|source| {
            if source.is_connect() || source.is_timeout() {
                self.offline.store(true, Ordering::Relaxed);
            }
            DownloadError::Unreachable { url: url.to_owned(), source: source.without_url() }
        })?;
        match response.status() {
            status if status.is_success() => Ok(response),
            status => Err(DownloadError::Status { url: url.to_owned(), status }),
        }
    }

    /// The client, made when the first download needs it: loading the system's certificates is slow.
    fn client(&self) -> Result<&Client, DownloadError> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        // Fails only when a provider is installed already, and then it is this one.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let policy = redirect::Policy::custom(|attempt| {
            let from = attempt.previous().last().map(reqwest::Url::scheme);
            if attempt.previous().len() > MAX_REDIRECTS {
                attempt.error("too many redirects")
            } else if from == Some("https") && attempt.url().scheme() != "https" {
                attempt.error("it redirects from https to an unprotected address")
            } else {
                attempt.follow()
            }
        });
        let client = Client::builder()
            .redirect(policy)
            .connect_timeout(CONNECT_TIMEOUT)
            .read_timeout(READ_TIMEOUT)
            .build()
            .map_err(DownloadError::Tls)?;
        Ok(self.client.get_or_init(|| client))
    }
}

/// A file that only this user can read and nobody can execute; it goes away unless it is kept.
fn private_file(dir: &Path) -> io::Result<NamedTempFile> {
    tempfile::Builder::new().prefix("download-").permissions(Permissions::from_mode(0o600)).tempfile_in(dir)
}

/// Copies one regular file out of an archive. Names inside decide nothing about where it goes.
fn extract(archive: &Path, member: &str, to: &mut impl Write) -> io::Result<()> {
    let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(fs::File::open(archive)?));
    for entry in archive.entries()? {
        let mut entry = entry?;
        if entry.header().entry_type().is_file() && entry.path()? == Path::new(member) {
            io::copy(&mut entry.by_ref(), to)?;
            return to.flush();
        }
    }
    Err(io::Error::new(io::ErrorKind::NotFound, "the archive has no such file"))
}
