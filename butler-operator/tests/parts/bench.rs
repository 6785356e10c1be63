//! A machine of its own for each test: a home, a `PATH`, nothing else.

use std::{
    collections::BTreeMap,
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use butler_core::{
    event::{self, Event, EventKind, Reporter, RunId},
    settings::{Environment, Home},
};
use butler_operator::parts::{Installed, Part, PartError, Parts};
use tempfile::TempDir;

/// An address where nobody listens: port 1 is reserved and never given out.
const NOBODY: &str = "http://127.0.0.1:1";

pub(crate) struct Bench {
    dir: TempDir,
    vars: BTreeMap<&'static str, PathBuf>,
    mirror: String,
}

impl Bench {
    /// No network, and an empty directory on `PATH`.
    pub(crate) fn new() -> Self {
        let bench = Self { dir: TempDir::new().unwrap(), vars: BTreeMap::new(), mirror: NOBODY.into() };
        let path = bench.dir("path");
        bench.with("PATH", path)
    }

    pub(crate) fn with(mut self, name: &'static str, value: impl Into<PathBuf>) -> Self {
        self.vars.insert(name, value.into());
        self
    }

    pub(crate) fn mirror(mut self, url: String) -> Self {
        self.mirror = url;
        self
    }

    /// A directory by name, made when it is missing.
    pub(crate) fn dir(&self, name: &str) -> PathBuf {
        let dir = self.dir.path().join(name);
        fs::create_dir_all(&dir).unwrap();
        dir
    }

    pub(crate) fn tools(&self) -> PathBuf {
        self.dir.path().join("home/tools")
    }

    pub(crate) fn parts(&self) -> Parts {
        let home = Environment::of([("BUTLER_HOME", self.dir.path().join("home"))]);
        Parts::new(&Environment::of(self.vars.clone()), &Home::resolve(&home).unwrap())
            .from_mirror(&*self.mirror)
    }

    pub(crate) async fn install(&self, parts: &[&'static Part]) -> Result<Vec<Installed>, PartError> {
        self.parts().install(parts, &Reporter::null()).await
    }

    /// The same, with somebody who listens.
    pub(crate) async fn install_and_hear(
        &self,
        parts: &[&'static Part],
        mut hear: impl FnMut(&EventKind),
    ) -> Result<Vec<Installed>, PartError> {
        let mut consumer = |event: &Event| hear(&event.kind);
        let run_id = RunId::new(Environment::default().now());
        let job = async |reporter| self.parts().install(parts, &reporter).await;
        event::run(run_id, &mut [&mut consumer], job).await
    }

    /// Files below the home that could be executed.
    pub(crate) fn executables(&self) -> Vec<PathBuf> {
        files(&self.tools()).into_iter().filter(|(_, mode)| mode & 0o111 != 0).map(|(path, _)| path).collect()
    }

    /// Demands that a failed installation left nothing to execute and nothing unfinished.
    pub(crate) fn assert_clean(&self) {
        assert_eq!(self.executables(), Vec::<PathBuf>::new());
        let unfinished: Vec<_> = files(&self.tools())
            .into_iter()
            .filter(|(path, _)| path.to_string_lossy().contains(".work-"))
            .collect();
        assert_eq!(unfinished, []);
    }
}

fn files(dir: &Path) -> Vec<(PathBuf, u32)> {
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    let mut files = Vec::new();
    for entry in entries {
        let (path, meta) = entry.map(|entry| (entry.path(), entry.metadata().unwrap())).unwrap();
        if meta.is_dir() {
            files.extend(self::files(&path));
        } else {
            files.push((path, meta.permissions().mode()));
        }
    }
    files
}

/// A program that prints a version, and keeps count of how often it was asked.
pub(crate) fn program(version: &str) -> String {
    format!("#!/bin/sh\necho x >> \"$0.asked\"\necho v{version}\n")
}

/// Writes an executable script.
pub(crate) fn script(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
}

/// How often a [`program`] was asked.
pub(crate) fn asked(path: &Path) -> usize {
    fs::read_to_string(format!("{}.asked", path.display())).map_or(0, |text| text.lines().count())
}
