//! A hermetic environment: nothing of the person who runs the tests reaches the program.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::{Path, PathBuf},
};

use anyhow::Result;
use butler_core::settings::home::make_private_dir;
use butler_operator::process::GuardedDir;

use crate::{Invocation, guard};

/// Directories, clock, width and locale for the programs of one test; removed with this value.
#[derive(Debug)]
pub struct Env {
    dir: GuardedDir,
}

impl Env {
    /// What `BUTLER_CLOCK` says.
    pub const CLOCK: &'static str = "2030-01-01T12:00:00Z";

    /// Makes fresh directories.
    pub fn new() -> Result<Self> {
        let env = Self { dir: guard()?.make_dir(&std::env::temp_dir())? };
        for dir in [env.home(), env.temp_dir(), env.work_dir()] {
            make_private_dir(&dir)?;
        }
        Ok(env)
    }

    /// `HOME`
    pub fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    /// `BUTLER_HOME`; not created, as on a new machine.
    pub fn butler_home(&self) -> PathBuf {
        self.dir.path().join("butler")
    }

    /// `TMPDIR`
    pub fn temp_dir(&self) -> PathBuf {
        self.dir.path().join("tmp")
    }

    /// Where programs run unless a test says otherwise; for files a test writes.
    pub fn work_dir(&self) -> PathBuf {
        self.dir.path().join("work")
    }

    /// Describes the run of a program.
    pub fn command(&self, program: impl AsRef<Path>) -> Invocation {
        let vars: BTreeMap<&str, OsString> = BTreeMap::from([
            ("BUTLER_CLOCK", Self::CLOCK.into()),
            ("BUTLER_HOME", self.butler_home().into()),
            ("BUTLER_SYSTEM_CONFIG", self.dir.path().join("etc/config.toml").into()),
            ("COLUMNS", "120".into()),
            ("HOME", self.home().into()),
            ("LANG", "C.UTF-8".into()),
            ("LC_ALL", "C.UTF-8".into()),
            ("NO_COLOR", "1".into()),
            ("PATH", "/usr/bin:/bin".into()),
            ("TERM", "dumb".into()),
            ("TMPDIR", self.temp_dir().into()),
            ("TZ", "UTC".into()),
        ]);
        Invocation::new(program.as_ref(), vars, self.work_dir())
    }
}
