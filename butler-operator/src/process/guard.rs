//! The guard: a tiny shell that outlives this process just long enough to clean up after it.
//!
//! The kernel closes our end of the guard's pipe when we die, however we die; that end of file is the
//! only signal the guard needs. A child never runs unregistered: it waits for a go-ahead that is sent
//! after the guard has confirmed, and if we die in between its `read` fails and it ends by itself.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fmt,
    io::{self, BufRead, BufReader, Write},
    os::unix::{ffi::OsStrExt, process::CommandExt},
    path::{Path, PathBuf},
    process::{self, ChildStdin, ChildStdout, Command, Stdio},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    time::SystemTime,
};

use butler_core::settings::{Environment, env};

use super::{Child, ProcessError, Spawn, Streams};

const SHELL: &str = "/bin/sh";
const SCRIPT: &str = include_str!("guard.sh");
/// What a child inherits; everything else, secrets above all, stays here.
const INHERITED: [&str; 4] = [env::PATH, env::HOME, "TMPDIR", "LANG"];
/// `read` takes one byte at a time from a pipe, so what follows the go-ahead is the program's own input.
const WAIT_FOR_GO: &str = r#"read -r go && exec "$0" "$@""#;

/// Ends every child and removes every [`GuardedDir`] when this process is gone. Clones share one guard.
#[derive(Clone)]
pub struct Guard {
    shared: Arc<Shared>,
}

struct Shared {
    /// Locked for one order and its answer. `None` only while dropping.
    orders: Mutex<Option<(ChildStdin, BufReader<ChildStdout>)>>,
    shell: Mutex<process::Child>,
    inherited: BTreeMap<OsString, OsString>,
}

impl Guard {
    /// Starts the guard. Children will inherit `PATH`, `HOME`, `TMPDIR` and `LANG` from `environment`.
    pub fn start(environment: &Environment) -> Result<Self, ProcessError> {
        let mut shell = Command::new(SHELL)
            .args(["-c", SCRIPT])
            .env_clear()
            .env(env::PATH, "/usr/bin:/bin")
            .current_dir("/")
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(ProcessError::Guard)?;
        let orders = shell.stdin.take().zip(shell.stdout.take().map(BufReader::new));
        let inherited = INHERITED
            .into_iter()
            .filter_map(|name| Some((name.into(), environment.get_os(name)?.to_owned())))
            .collect();
        Ok(Self {
            shared: Arc::new(Shared { orders: Mutex::new(orders), shell: Mutex::new(shell), inherited }),
        })
    }

    /// Describes a program to [`spawn`](Self::spawn), with the inherited environment.
    pub fn command(&self, program: impl Into<PathBuf>, streams: Streams) -> Spawn {
        Spawn {
            program: program.into(),
            args: Vec::new(),
            env: self.shared.inherited.clone(),
            dir: None,
            streams,
        }
    }

    /// Starts a program in a process group of its own.
    pub fn spawn(&self, spawn: &Spawn) -> Result<Child, ProcessError> {
        let failed = |source| ProcessError::Start { program: spawn.name(), source };
        if spawn.program.components().count() > 1 {
            // The shell would say so only in the log.
            fs_err::metadata(&spawn.program).map_err(failed)?;
        }
        let (stdout, stderr, log_start) = spawn.open_streams().map_err(failed)?;
        let mut command = Command::new(SHELL);
        command
            .args(["-c", WAIT_FOR_GO])
            .arg(&spawn.program)
            .args(&spawn.args)
            .env_clear()
            .envs(&spawn.env)
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(stdout)
            .stderr(stderr);
        if let Some(dir) = &spawn.dir {
            command.current_dir(dir);
        }
        let mut process = command.spawn().map_err(failed)?;
        let mut input = process.stdin.take();
        if let Err(error) = self.order(b"+", process.id().to_string().as_bytes()) {
            drop(input);
            // It sees the end of its input and exits.
            let _ = process.wait();
            return Err(ProcessError::Guard(error));
        }
        let child = Child::watch(process, spawn, log_start, self.clone()).map_err(failed)?;
        if let Some(input) = &mut input {
            input.write_all(b"go\n").map_err(failed)?;
        }
        Ok(if spawn.streams == Streams::Piped { child.with_input(input) } else { child })
    }

    /// Makes a directory that only this user can enter, in `parent`.
    pub fn make_dir(&self, parent: &Path) -> Result<GuardedDir, ProcessError> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let count = NEXT.fetch_add(1, Ordering::Relaxed);
        // The time keeps apart processes of the same id, as containers that share `parent` have.
        let time = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos();
        let path = parent.join(format!("butler-{}-{time:x}-{count}", process::id()));
        self.order(b"m", path.as_os_str().as_bytes()).map_err(|source| {
            ProcessError::Guard(io::Error::new(
                source.kind(),
                format!("cannot make the directory `{}`", path.display()),
            ))
        })?;
        Ok(GuardedDir { path, guard: self.clone() })
    }

    /// Forgets a group whose processes are all gone.
    pub(super) fn forget(&self, group: u32) {
        // Without a guard there is nothing to forget.
        let _ = self.order(b"-", group.to_string().as_bytes());
    }

    /// Gives one order and waits until it is carried out.
    fn order(&self, verb: &[u8], what: &[u8]) -> io::Result<()> {
        if what.contains(&b'\n') {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a line break in a path"));
        }
        let mut orders = self.shared.orders.lock().unwrap_or_else(PoisonError::into_inner);
        let gone = || io::Error::new(io::ErrorKind::BrokenPipe, "the guard process is gone");
        let (input, output) = orders.as_mut().ok_or_else(gone)?;
        input.write_all(&[verb, what, b"\n"].concat()).map_err(|_| gone())?;
        let mut answer = String::new();
        output.read_line(&mut answer)?;
        match answer.trim_end() {
            "done" => Ok(()),
            "failed" => Err(io::Error::other("the guard process could not do it")),
            _ => Err(gone()),
        }
    }
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard").finish_non_exhaustive()
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // Closing the pipe is the order to clean up.
        self.orders.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        let _ = self.shell.get_mut().unwrap_or_else(PoisonError::into_inner).wait();
    }
}

/// A private directory that is removed with this value, or with this process.
#[derive(Debug)]
pub struct GuardedDir {
    path: PathBuf,
    guard: Guard,
}

impl GuardedDir {
    /// The directory.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for GuardedDir {
    fn drop(&mut self) {
        // What cannot be removed now is tried again when this process ends.
        let _ = self.guard.order(b"r", self.path.as_os_str().as_bytes());
    }
}
