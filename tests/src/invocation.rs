//! Runs of a program: described, started, watched, judged.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    fmt,
    io::{Read, Write},
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::{ChildStdin, ExitStatus},
    sync::{Arc, Condvar, Mutex, PoisonError},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use butler_operator::process::{Child, Signal, Streams};
use serde_json::Value;

use crate::{Pty, filters, guard};

/// Longer than any program of ours takes on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A program with arguments and environment, not yet started.
#[must_use = "nothing runs before `run` or `spawn`"]
#[derive(Clone, Debug)]
pub struct Invocation {
    program: PathBuf,
    args: Vec<OsString>,
    vars: BTreeMap<OsString, OsString>,
    dir: PathBuf,
    stdin: Option<Vec<u8>>,
    timeout: Duration,
}

impl Invocation {
    pub(crate) fn new(program: &Path, vars: BTreeMap<&str, OsString>, dir: PathBuf) -> Self {
        Self {
            program: program.to_owned(),
            args: Vec::new(),
            vars: vars.into_iter().map(|(name, value)| (name.into(), value)).collect(),
            dir,
            stdin: None,
            timeout: TIMEOUT,
        }
    }

    /// The program.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Adds an argument.
    pub fn arg(self, arg: impl AsRef<OsStr>) -> Self {
        self.args([arg])
    }

    /// Adds arguments.
    pub fn args<A: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// Sets a variable.
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.vars.insert(name.as_ref().to_owned(), value.as_ref().to_owned());
        self
    }

    /// Unsets a variable.
    pub fn env_remove(mut self, name: impl AsRef<OsStr>) -> Self {
        self.vars.remove(name.as_ref());
        self
    }

    /// Gives the program this input; without it the input is empty.
    pub fn stdin(mut self, text: impl Into<Vec<u8>>) -> Self {
        self.stdin = Some(text.into());
        self
    }

    /// Sets the working directory.
    pub fn current_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.dir = dir.into();
        self
    }

    /// How long [`run`](Self::run) waits; one minute unless set.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Runs the program to its end. One that takes too long is killed, and that is an error.
    pub fn run(mut self) -> Result<Output> {
        let timeout = self.timeout;
        let input = self.stdin.take().unwrap_or_default();
        let mut running = self.spawn()?;
        running.close_input_after(input);
        running.wait(timeout)
    }

    /// Starts the program, to be watched while it runs.
    pub fn spawn(self) -> Result<Running> {
        let guard = guard()?;
        let command = format!("{} {}", self.program.display(), self.args.join(OsStr::new(" ")).display());
        let spawn = guard
            .command(&self.program, Streams::Piped)
            .env_clear()
            .envs(self.vars)
            .args(self.args)
            .current_dir(self.dir);
        let mut child = guard.spawn(&spawn)?;
        let pipes = child.take_pipes().context("a piped child has pipes")?;
        let mut running = Running {
            child,
            command,
            input: Some(pipes.stdin),
            stdout: Capture::of(pipes.stdout),
            stderr: Capture::of(pipes.stderr),
        };
        if let Some(input) = self.stdin {
            running.write(input)?;
        }
        Ok(running)
    }

    /// Starts the program in a terminal of this size.
    pub fn pty(mut self, columns: u16, rows: u16) -> Result<Pty> {
        self.vars.insert("TERM".into(), "xterm-256color".into());
        self.vars.remove(OsStr::new("COLUMNS"));
        Pty::start(&self.program, &self.args, &self.vars, &self.dir, (columns, rows))
    }
}

/// A program that runs; killed when this value is dropped.
#[derive(Debug)]
pub struct Running {
    child: Child,
    command: String,
    input: Option<ChildStdin>,
    stdout: Capture,
    stderr: Capture,
}

impl Running {
    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.pid()
    }

    /// Sends a signal to it and its children.
    pub fn signal(&self, signal: Signal) {
        self.child.signal(signal);
    }

    /// Writes to its input.
    pub fn write(&mut self, text: impl AsRef<[u8]>) -> Result<()> {
        let input = self.input.as_mut().context("the input is closed")?;
        Ok(input.write_all(text.as_ref())?)
    }

    /// The next line of its output.
    pub fn line(&mut self, limit: Duration) -> Result<String> {
        self.stdout.line(limit).with_context(|| self.so_far("no further line on stdout"))
    }

    /// The next line on stderr.
    pub fn stderr_line(&mut self, limit: Duration) -> Result<String> {
        self.stderr.line(limit).with_context(|| self.so_far("no further line on stderr"))
    }

    /// Reads its output up to the line that contains `text`.
    pub fn line_with(&mut self, text: &str, limit: Duration) -> Result<String> {
        let end = Instant::now() + limit;
        loop {
            let line = self.line(end.saturating_duration_since(Instant::now()));
            let line = line.with_context(|| format!("no line with {text:?}"))?;
            if line.contains(text) {
                return Ok(line);
            }
        }
    }

    /// Closes its input and waits for its end. One that takes too long is killed, and that is an error.
    pub fn wait(mut self, limit: Duration) -> Result<Output> {
        self.input = None;
        let Some(status) = self.child.wait_blocking(limit) else {
            self.child.signal(Signal::KILL);
            self.child.wait_blocking(TIMEOUT);
            bail!(self.so_far(&format!("still running after {limit:?}")));
        };
        Ok(Output {
            stdout: self.stdout.all(),
            stderr: self.stderr.all(),
            status,
            command: std::mem::take(&mut self.command),
        })
    }

    /// Feeds the input from a thread: a program may talk a lot before it reads.
    fn close_input_after(&mut self, text: Vec<u8>) {
        if let Some(mut input) = self.input.take() {
            // A program that does not want its input closes it.
            std::thread::spawn(move || input.write_all(&text));
        }
    }

    fn so_far(&self, problem: &str) -> String {
        format!(
            "{problem}: {}\n[stdout]\n{}\n[stderr]\n{}",
            self.command,
            self.stdout.so_far(),
            self.stderr.so_far()
        )
    }
}

/// What a program said and how it ended. Displayed, it shows all of it with the [`filters`] applied.
#[must_use = "look at what the program said"]
#[derive(Clone, Debug)]
pub struct Output {
    /// Its output, as it came.
    pub stdout: String,
    /// What it said beside its output.
    pub stderr: String,
    /// How it ended.
    pub status: ExitStatus,
    command: String,
}

impl Output {
    /// Demands that it ended well.
    pub fn success(self) -> Result<Self> {
        self.failed_with(0)
    }

    /// Demands this exit code.
    pub fn failed_with(self, code: impl Into<i32>) -> Result<Self> {
        let code = code.into();
        if self.status.code() == Some(code) {
            return Ok(self);
        }
        bail!("expected exit {code}: {}\n{self}", self.command)
    }

    /// Its output as JSON.
    pub fn json(&self) -> Result<Value> {
        serde_json::from_str(&self.stdout).with_context(|| format!("not JSON: {}\n{self}", self.command))
    }
}

impl fmt::Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.status.code(), self.status.signal()) {
            (Some(code), _) => writeln!(f, "exit {code}")?,
            (None, signal) => writeln!(f, "signal {}", signal.unwrap_or_default())?,
        }
        for (name, text) in [("stdout", &self.stdout), ("stderr", &self.stderr)] {
            let text = filters::apply(text);
            if !text.is_empty() {
                write!(f, "[{name}]\n{text}")?;
                if !text.ends_with('\n') {
                    writeln!(f, "[no line break]")?;
                }
            }
        }
        Ok(())
    }
}

/// One stream of a program, read by a thread as it comes.
#[derive(Clone, Debug, Default)]
struct Capture {
    shared: Arc<(Mutex<Captured>, Condvar)>,
    /// Start of the next line.
    next: usize,
}

#[derive(Debug, Default)]
struct Captured {
    bytes: Vec<u8>,
    ended: bool,
}

impl Capture {
    fn of(mut stream: impl Read + Send + 'static) -> Self {
        let capture = Self::default();
        let shared = capture.shared.clone();
        std::thread::spawn(move || {
            let mut buffer = [0; 8192];
            loop {
                let count = stream.read(&mut buffer).unwrap_or(0);
                let mut captured = shared.0.lock().unwrap_or_else(PoisonError::into_inner);
                captured.bytes.extend_from_slice(&buffer[..count]);
                captured.ended = count == 0;
                shared.1.notify_all();
                if captured.ended {
                    break;
                }
            }
        });
        capture
    }

    fn line(&mut self, limit: Duration) -> Result<String> {
        let (captured, changed) = &*self.shared;
        let next = self.next;
        let captured = captured.lock().unwrap_or_else(PoisonError::into_inner);
        let (captured, _) = changed
            .wait_timeout_while(captured, limit, |captured| {
                !captured.ended && !captured.bytes[next..].contains(&b'\n')
            })
            .unwrap_or_else(PoisonError::into_inner);
        let rest = &captured.bytes[next..];
        let length = match rest.iter().position(|byte| *byte == b'\n') {
            Some(length) => length,
            None if captured.ended && !rest.is_empty() => rest.len(),
            None if captured.ended => bail!("the stream has ended"),
            None => bail!("nothing within {limit:?}"),
        };
        let line = String::from_utf8_lossy(&rest[..length]).into_owned();
        self.next = (next + length + 1).min(captured.bytes.len());
        Ok(line)
    }

    /// Everything, to the end of the stream. The program and its group are gone, so the end is near.
    fn all(&self) -> String {
        let (captured, changed) = &*self.shared;
        let captured = captured.lock().unwrap_or_else(PoisonError::into_inner);
        let (captured, _) = changed
            .wait_timeout_while(captured, TIMEOUT, |captured| !captured.ended)
            .unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&captured.bytes).into_owned()
    }

    fn so_far(&self) -> String {
        let captured = self.shared.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&captured.bytes).into_owned()
    }
}
