//! Fills the cache: one process at a time per Go module, download first, build second, and a program
//! appears in its place only when it is whole and says the right version.

use std::{
    fs::{File, Permissions, TryLockError},
    io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use butler_core::{
    event::{EventKind, Level, Reporter, Unit},
    settings::{HomeError, home},
};
use fs_err as fs;
use serde::Serialize;

use super::{
    Parts,
    build::{BuildError, Go},
    download::DownloadError,
    error::PartError,
    find::{Found, Source},
    sources::Module,
    table::{self, Part},
    version::ask,
};

/// How often a lock held by another process is tried.
const LOCK_RETRY: Duration = Duration::from_millis(100);
/// A lock that is free again this soon is not worth a word.
const LOCK_PATIENCE: Duration = Duration::from_millis(500);

/// How a part came to be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Origin {
    /// It was there before.
    Present,
    /// It was downloaded.
    Downloaded,
    /// It was built with Go.
    Built,
}

/// The result for one part.
#[derive(Clone, Debug)]
pub struct Installed {
    /// The part, ready for use.
    pub found: Found,
    /// How it came to be there.
    pub origin: Origin,
}

impl Parts {
    /// Makes sure that these parts are there, and says where, in the given order. What is found is
    /// left alone; what is missing is downloaded, else built. Parts finished before a failure stay.
    pub async fn install(
        &self,
        parts: &[&'static Part],
        reporter: &Reporter,
    ) -> Result<Vec<Installed>, PartError> {
        let mut done: Vec<Installed> = Vec::new();
        for module in modules(parts) {
            let group: Vec<_> =
                parts.iter().copied().filter(|part| part.module.name == module.name).collect();
            let missing = self.missing(&group, &mut done, reporter).await?;
            if missing.is_empty() {
                continue;
            }
            home::make_private_dir(&self.tools)?;
            let _lock = self.lock(module, &missing, reporter).await?;
            // Whoever held the lock may have installed them.
            let missing = self.missing(&missing, &mut done, reporter).await?;
            if !missing.is_empty() {
                self.fill(module, &missing, &mut done, reporter).await?;
            }
        }
        let position = |installed: &Installed| parts.iter().position(|part| *part == installed.found.part);
        done.sort_by_key(position);
        Ok(done)
    }

    /// Those of the parts that are nowhere; the others are noted as present.
    async fn missing(
        &self,
        parts: &[&'static Part],
        done: &mut Vec<Installed>,
        reporter: &Reporter,
    ) -> Result<Vec<&'static Part>, PartError> {
        let mut missing = Vec::new();
        for part in parts {
            match self.find(part).await {
                Ok(found) => note(Installed { found, origin: Origin::Present }, done, reporter).await,
                Err(PartError::NotFound { .. }) => missing.push(*part),
                Err(error) => return Err(error),
            }
        }
        Ok(missing)
    }

    /// Downloads or builds parts of one module. The lock is held.
    async fn fill(
        &self,
        module: &Module,
        parts: &[&'static Part],
        done: &mut Vec<Installed>,
        reporter: &Reporter,
    ) -> Result<(), PartError> {
        let work = Work::fresh(self.tools.join(format!(".work-{}", module.name)))?;
        let mut to_build = Vec::new();
        let mut failure = None;
        for part in parts {
            let task = format!("downloading {part} {}", part.version);
            let beat = |done, total| reporter.progress(&task, done, total, Unit::Bytes);
            match self.downloads.fetch(part, &work.dir, &beat).await {
                Ok(file) => {
                    let found = self.put(part, &file).await?;
                    note(Installed { found, origin: Origin::Downloaded }, done, reporter).await;
                }
                Err(source) if source.is_final() => {
                    return Err(PartError::Download { name: part.name, source });
                }
                Err(error) => {
                    // What the person knows, or was told with an earlier part, is a detail.
                    let level = match error {
                        DownloadError::Offline | DownloadError::NotAllowed => Level::Debug,
                        _ => Level::Info,
                    };
                    say(reporter, level, format!("{part} is not downloaded: {error}")).await;
                    to_build.push(*part);
                    failure.get_or_insert((part.name, error));
                }
            }
        }
        let Some((name, download)) = failure else { return Ok(()) };
        let go = match Go::find(&self.environment, module).await {
            Ok(go) => go,
            Err(source) => return Err(PartError::NoGo { name, download, source }),
        };
        let failed = |source| PartError::Build { name: names(&to_build), source };
        let out = work.dir.join("bin");
        fs::create_dir(&out).map_err(|source| HomeError::Write { path: out.clone(), source })?;
        let log = self.tools.join(format!("build-{}.log", module.name));
        let phase = format!("Building {} with Go", list(&to_build));
        let usual = module.usual.as_secs().div_ceil(60);
        let beat = |packages| reporter.progress("packages compiled", packages, None, Unit::Items);
        let build = async {
            say(reporter, Level::Info, format!("about {usual} min on two cores with nothing cached")).await;
            go.build(module, &to_build, &work.dir, &out, &log, &beat).await.map_err(failed)
        };
        reporter.phase(&phase, build).await?;
        for part in &to_build {
            let found = self.put(part, &out.join(part.name)).await.map_err(|error| {
                failed(BuildError::Unusable { log: log.clone(), source: Box::new(error) })
            })?;
            note(Installed { found, origin: Origin::Built }, done, reporter).await;
        }
        Ok(())
    }

    /// Moves a finished program to its place, after it said the right version.
    async fn put(&self, part: &'static Part, file: &Path) -> Result<Found, PartError> {
        let path = self.cached(part);
        let unwritable = |source| HomeError::Write { path: path.clone(), source };
        fs::set_permissions(file, Permissions::from_mode(0o755)).map_err(unwritable)?;
        let wanted = part.wanted();
        let version = ask(part, file).await.map_err(|source| PartError::NoVersion {
            path: file.to_owned(),
            wanted: wanted.clone(),
            source,
        })?;
        if !part.fits(&version) {
            return Err(PartError::Version { path: file.to_owned(), found: version, wanted });
        }
        path.parent().map_or(Ok(()), home::make_private_dir)?;
        // On disk before it has its name: a power cut leaves no half of a program.
        File::open(file).and_then(|file| file.sync_all()).map_err(unwritable)?;
        fs::rename(file, &path).map_err(unwritable)?;
        self.versions.remember(&path, &version);
        Ok(Found { part, path, version, source: Source::Cache })
    }

    /// Takes the lock of a module: its parts are built together. The system releases it when this
    /// process ends, however it ends.
    async fn lock(
        &self,
        module: &Module,
        parts: &[&'static Part],
        reporter: &Reporter,
    ) -> Result<File, PartError> {
        let path = self.tools.join(format!(".lock-{}", module.name));
        let unwritable = |source: io::Error| HomeError::Write { path: path.clone(), source };
        let file = File::options().create(true).append(true).open(&path).map_err(unwritable)?;
        let (start, mut said) = (Instant::now(), false);
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::Error(error)) => return Err(unwritable(error).into()),
                Err(TryLockError::WouldBlock) => {}
            }
            if start.elapsed() >= LOCK_PATIENCE && !said {
                let message = format!("waiting for another process that installs {}", list(parts));
                say(reporter, Level::Info, message).await;
                said = true;
            }
            tokio::time::sleep(LOCK_RETRY).await;
        }
    }
}

/// A directory for what is not finished. Only the holder of the lock uses it, so leftovers of a
/// killed process are removed with it.
struct Work {
    dir: PathBuf,
}

impl Work {
    fn fresh(dir: PathBuf) -> Result<Self, HomeError> {
        match fs::remove_dir_all(&dir) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                Err(HomeError::Write { path: dir, source })
            }
            _ => home::make_private_dir(&dir).map(|()| Self { dir }),
        }
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        // If it stays, the next holder of the lock removes it.
        let _ = fs::remove_dir_all(&self.dir);
    }
}

async fn note(installed: Installed, done: &mut Vec<Installed>, reporter: &Reporter) {
    let Found { part, version, path, .. } = &installed.found;
    let (level, message) = match installed.origin {
        Origin::Present => (Level::Debug, format!("{part} {version} is there: {}", path.display())),
        Origin::Downloaded | Origin::Built => (Level::Info, format!("{part} {version} is installed")),
    };
    say(reporter, level, message).await;
    done.push(installed);
}

async fn say(reporter: &Reporter, level: Level, message: String) {
    reporter.emit(EventKind::Log { level, target: "tools".to_owned(), message }).await;
}

/// The modules of these parts, each once, in the order of the table.
fn modules(parts: &[&'static Part]) -> Vec<&'static Module> {
    let mut modules: Vec<&Module> =
        table::ALL.into_iter().filter(|part| parts.contains(part)).map(|part| part.module).collect();
    modules.dedup_by_key(|module| module.name);
    modules
}

/// For backticks around it.
fn names(parts: &[&'static Part]) -> String {
    parts.iter().map(|part| part.name).collect::<Vec<_>>().join("`, `")
}

fn list(parts: &[&'static Part]) -> String {
    parts.iter().map(|part| part.name).collect::<Vec<_>>().join(", ")
}
