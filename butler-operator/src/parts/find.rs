//! Where parts are looked for, in order, and why a place was passed over.

use std::{
    fmt,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use butler_core::settings::{Environment, env};
use fs_err as fs;
use semver::Version;
use serde::{Serialize, Serializer};

use super::{Parts, error::PartError, table::Part, version::VersionError};

/// A place to look for a part, in the order they are searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Source {
    /// The directory named on the command line.
    Flag,
    /// `BUTLER_TOOLS_DIR`.
    ToolsDir,
    /// The setting `tools.dir`, where `BUTLER_TOOLS_DIR` does not override it.
    Setting,
    /// `KUBEBUILDER_ASSETS`.
    KubebuilderAssets,
    /// A directory on `PATH`.
    Path,
    /// The cache under the Butler home.
    Cache,
}

impl Source {
    /// True for a place that somebody chose for Butler: a wrong version there is an error, not a
    /// reason to look further.
    pub fn is_explicit(self) -> bool {
        matches!(self, Self::Flag | Self::ToolsDir | Self::Setting)
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Flag => "--tools-dir",
            Self::ToolsDir => env::BUTLER_TOOLS_DIR,
            Self::Setting => "tools.dir",
            Self::KubebuilderAssets => env::KUBEBUILDER_ASSETS,
            Self::Path => env::PATH,
            Self::Cache => "cache",
        })
    }
}

impl Serialize for Source {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A part that can be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// What it is.
    pub part: &'static Part,
    /// The program.
    pub path: PathBuf,
    /// What it says its version is.
    pub version: Version,
    /// Where it was found.
    pub source: Source,
}

/// A place where the part is not, or not the right one.
#[derive(Debug)]
pub struct Passed {
    /// The kind of place.
    pub source: Source,
    /// The program that was looked for.
    pub path: PathBuf,
    /// Why it is not used.
    pub reason: Reason,
}

/// Why a program is not used.
#[derive(Debug)]
#[non_exhaustive]
pub enum Reason {
    /// There is no such file.
    Absent,
    /// It has another version.
    Version(Version),
    /// It does not say its version.
    NoVersion(VersionError),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent => f.write_str("not there"),
            Self::Version(version) => write!(f, "version {version}"),
            Self::NoVersion(error) => error.fmt(f),
        }
    }
}

/// What a search saw.
#[derive(Debug)]
pub struct Search {
    /// What was looked for.
    pub part: &'static Part,
    /// The program to use, if there is one.
    pub found: Option<Found>,
    /// The places before it, in order.
    pub passed: Vec<Passed>,
}

impl Search {
    /// The wrong program in an explicit place that ended the search, if that is how it ended.
    pub fn refused(&self) -> Option<&Passed> {
        self.passed.last().filter(|passed| passed.ends_search())
    }

    /// The program, or the error that says why there is none.
    pub fn into_found(mut self) -> Result<Found, PartError> {
        if let Some(found) = self.found {
            return Ok(found);
        }
        let (name, wanted) = (self.part.name, self.part.wanted());
        match self.passed.pop().filter(Passed::ends_search) {
            Some(Passed { path, reason: Reason::Version(found), .. }) => {
                Err(PartError::Version { path, found, wanted })
            }
            Some(Passed { path, reason: Reason::NoVersion(source), .. }) => {
                Err(PartError::NoVersion { path, wanted, source })
            }
            _ => Err(PartError::NotFound { name, wanted }),
        }
    }
}

impl Passed {
    fn ends_search(&self) -> bool {
        self.source.is_explicit() && !matches!(self.reason, Reason::Absent)
    }
}

impl Parts {
    /// Looks for a part everywhere; neither downloads nor builds.
    pub async fn search(&self, part: &'static Part) -> Search {
        let mut search = Search { part, found: None, passed: Vec::new() };
        for (source, path) in self.places(part) {
            match self.look(part, &path).await {
                Ok(version) => {
                    search.found = Some(Found { part, path, version, source });
                    break;
                }
                Err(reason) => search.passed.push(Passed { source, path, reason }),
            }
            if search.refused().is_some() {
                break;
            }
        }
        search
    }

    /// Finds a part that is there already; neither downloads nor builds.
    pub async fn find(&self, part: &'static Part) -> Result<Found, PartError> {
        self.search(part).await.into_found()
    }

    async fn look(&self, part: &Part, path: &Path) -> Result<Version, Reason> {
        if !path.exists() {
            return Err(Reason::Absent);
        }
        let version = self.versions.of(part, path).await.map_err(Reason::NoVersion)?;
        if part.fits(&version) { Ok(version) } else { Err(Reason::Version(version)) }
    }

    /// The candidates, in order. Of `PATH` only the directories that have such a program: the rest
    /// would be noise in a list of places.
    fn places(&self, part: &Part) -> Vec<(Source, PathBuf)> {
        let variable = self.environment.path(env::BUTLER_TOOLS_DIR);
        let setting = self.setting.clone().filter(|_| variable.is_none());
        let dirs = [
            (Source::Flag, self.dir.clone()),
            (Source::ToolsDir, variable),
            (Source::Setting, setting),
            (Source::KubebuilderAssets, self.environment.path(env::KUBEBUILDER_ASSETS)),
        ];
        let named = dirs.into_iter().filter_map(|(source, dir)| Some((source, dir?.join(part.name))));
        let on_path = programs(&self.environment, part.name);
        named
            .chain(on_path.map(|path| (Source::Path, path)))
            .map(|(source, path)| (source, std::path::absolute(&path).unwrap_or(path)))
            .chain([(Source::Cache, self.cached(part))])
            .collect()
    }
}

/// The programs of that name on `PATH`, in order.
pub(crate) fn programs(environment: &Environment, name: &str) -> impl Iterator<Item = PathBuf> {
    environment.paths(env::PATH).into_iter().map(move |dir| dir.join(name)).filter(|path| {
        fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
    })
}
