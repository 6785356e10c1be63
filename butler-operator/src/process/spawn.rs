//! What to start.

use std::{
    collections::BTreeMap, ffi::OsString, fs::Permissions, io, os::unix::fs::PermissionsExt, path::PathBuf,
    process::Stdio,
};

use fs_err::{self as fs, os::unix::fs::OpenOptionsExt};

/// Where a child's output goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Streams {
    /// Both streams to the end of this file, which only this user can read. There is no input.
    Log(PathBuf),
    /// Pipes, see [`Child::take_pipes`](super::Child::take_pipes).
    Piped,
}

/// A program with its arguments and its whole environment; made by [`Guard::command`](super::Guard::command).
#[derive(Clone, Debug)]
pub struct Spawn {
    pub(super) program: PathBuf,
    pub(super) args: Vec<OsString>,
    pub(super) env: BTreeMap<OsString, OsString>,
    pub(super) dir: Option<PathBuf>,
    pub(super) streams: Streams,
}

impl Spawn {
    /// Adds arguments.
    pub fn args<A: Into<OsString>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Sets variables of the child's environment.
    pub fn envs<N: Into<OsString>, V: Into<OsString>>(
        mut self,
        pairs: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        self.env.extend(pairs.into_iter().map(|(name, value)| (name.into(), value.into())));
        self
    }

    /// Takes every variable out of the child's environment, also the inherited ones.
    pub fn env_clear(mut self) -> Self {
        self.env.clear();
        self
    }

    /// Sets the working directory.
    pub fn current_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.dir = Some(dir.into());
        self
    }

    /// The name people know the program by.
    pub(super) fn name(&self) -> String {
        self.program.file_name().unwrap_or(self.program.as_os_str()).to_string_lossy().into_owned()
    }

    /// Opens the output: both streams, and where in the log this child begins.
    pub(super) fn open_streams(&self) -> io::Result<(Stdio, Stdio, u64)> {
        let Streams::Log(path) = &self.streams else {
            return Ok((Stdio::piped(), Stdio::piped(), 0));
        };
        let log = fs::OpenOptions::new().create(true).append(true).mode(0o600).open(path)?;
        log.set_permissions(Permissions::from_mode(0o600))?;
        let start = log.metadata()?.len();
        let (log, _) = log.into_parts();
        Ok((log.try_clone()?.into(), log.into(), start))
    }
}
