//! Runs `kind` and the program of the container engine, and brings back what they said.

use std::{collections::BTreeMap, ffi::OsString, path::PathBuf, process::ExitStatus, time::Duration};

use butler_core::settings::{Environment, env};

use crate::{
    process::{Guard, Streams},
    runtime::RuntimeError,
};

/// What those programs inherit; everything else, secrets above all, stays here.
const INHERITED: [&str; 21] = [
    env::PATH,
    env::HOME,
    env::HTTPS_PROXY,
    env::NO_PROXY,
    "ALL_PROXY",
    "CONTAINER_HOST",
    "DOCKER_CERT_PATH",
    "DOCKER_CONFIG",
    "DOCKER_CONTEXT",
    "DOCKER_HOST",
    "DOCKER_TLS_VERIFY",
    "HTTP_PROXY",
    "KIND_EXPERIMENTAL_DOCKER_NETWORK",
    "LANG",
    "SSH_AUTH_SOCK",
    "TMPDIR",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
    "http_proxy",
    "https_proxy",
];
/// How many lines of a failed command are shown.
const SHOWN: usize = 12;

/// How long a program may take to end that was told to.
const GRACE: Duration = Duration::from_secs(5);

/// A program with the environment it is run in. It ends with this process, whatever ends that: half of a
/// `kind create` that goes on by itself would undo what the next one makes.
#[derive(Clone, Debug)]
pub(super) struct Program {
    pub(super) path: PathBuf,
    env: BTreeMap<OsString, OsString>,
    guard: Guard,
}

/// What a program said that ended well.
#[derive(Clone, Debug, Default)]
pub(super) struct Answer {
    pub(super) stdout: Vec<u8>,
}

impl Answer {
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }
}

impl Program {
    pub(super) fn new(path: PathBuf, environment: &Environment, guard: &Guard) -> Self {
        let env = INHERITED
            .into_iter()
            .filter_map(|name| Some((name.into(), environment.get_os(name)?.to_owned())))
            .collect();
        Self { path, env, guard: guard.clone() }
    }

    pub(super) fn with_env(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.env.insert(name.into(), value.into());
        self
    }

    /// Runs it to its end. Dropping the future ends the program.
    pub(super) async fn run(&self, args: &[&str], limit: Duration) -> Result<Answer, RuntimeError> {
        self.feed(args, b"", limit).await
    }

    /// Runs it with something to read.
    pub(super) async fn feed(
        &self,
        args: &[&str],
        input: &[u8],
        limit: Duration,
    ) -> Result<Answer, RuntimeError> {
        let (status, stdout, stderr) = self.output(args, input, limit).await?;
        if status.success() {
            return Ok(Answer { stdout });
        }
        let said = String::from_utf8_lossy(&stderr);
        let lines: Vec<&str> = said.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
        let said = lines[lines.len().saturating_sub(SHOWN)..].join("\n");
        Err(RuntimeError::Command { command: self.command(args), status: status.to_string(), said })
    }

    /// Runs it and takes its output however it ends.
    pub(super) async fn output(
        &self,
        args: &[&str],
        input: &[u8],
        limit: Duration,
    ) -> Result<(ExitStatus, Vec<u8>, Vec<u8>), RuntimeError> {
        let spawn = self
            .guard
            .command(&self.path, Streams::Piped)
            .env_clear()
            .envs(self.env.clone())
            .args(args.iter().copied());
        let done = self.guard.finish(&spawn, input.to_vec(), limit, GRACE).await?;
        if done.late {
            return Err(RuntimeError::CommandTimeout { command: self.command(args), limit });
        }
        Ok((done.status, done.stdout, done.stderr))
    }

    /// The command as a person would type it.
    fn command(&self, args: &[&str]) -> String {
        let name = self.path.file_name().unwrap_or(self.path.as_os_str()).to_string_lossy();
        [name.as_ref()].into_iter().chain(args.iter().copied()).collect::<Vec<_>>().join(" ")
    }
}
