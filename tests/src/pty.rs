//! A program in a terminal.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    io::{Read, Write},
    num::NonZeroU16,
    path::Path,
    sync::{Arc, Condvar, Mutex, PoisonError},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use butler_operator::process::Signal;
use nix::sys::termios::LocalFlags;
use portable_pty::{CommandBuilder, ExitStatus, MasterPty, PtySize, native_pty_system};
use rustix::process::{Pid, kill_process_group};
use vt100::Parser;

/// A terminal with a program in it; the program is killed when this value is dropped. Should this
/// process die, the kernel hangs up the terminal and the program with it.
pub struct Pty {
    master: Box<dyn MasterPty + Send>,
    keyboard: Box<dyn Write + Send>,
    child: Box<dyn portable_pty::Child + Send + Sync>,
    group: Pid,
    terminal: Arc<(Mutex<Shown>, Condvar)>,
}

/// How long what an ended program wrote is waited for: its children may keep the terminal open.
const DRAIN: Duration = Duration::from_secs(5);

/// What was written to the terminal so far.
struct Shown {
    parser: Parser,
    /// Everybody has closed it, and everything was read.
    closed: bool,
}

impl Pty {
    pub(crate) fn start(
        program: &Path,
        args: &[OsString],
        vars: &BTreeMap<OsString, OsString>,
        dir: &Path,
        (columns, rows): (u16, u16),
    ) -> Result<Self> {
        let pair = native_pty_system().openpty(size(columns, rows))?;
        let mut command = CommandBuilder::new(program);
        command.args(args);
        command.cwd(dir);
        command.env_clear();
        vars.iter().for_each(|(name, value)| command.env(name, value));
        let child = pair.slave.spawn_command(command)?;
        // Ours would keep the terminal open after the program has ended.
        drop(pair.slave);
        let pid = child.process_id().and_then(|id| Pid::from_raw(id.try_into().ok()?));
        let (rows, columns) = cells(columns, rows)?;
        let terminal = Arc::new((
            Mutex::new(Shown { parser: Parser::new(rows, columns, 0), closed: false }),
            Condvar::new(),
        ));
        read_into(terminal.clone(), pair.master.try_clone_reader()?);
        Ok(Self {
            keyboard: pair.master.take_writer()?,
            master: pair.master,
            child,
            group: pid.context("the program has no process id")?,
            terminal,
        })
    }

    /// Types text; keys are their escape sequences, `"\r"` is Enter.
    pub fn send(&mut self, keys: &str) -> Result<()> {
        self.keyboard.write_all(keys.as_bytes())?;
        Ok(self.keyboard.flush()?)
    }

    /// What is on the screen, without trailing blanks.
    pub fn screen(&self) -> String {
        self.lock().parser.screen().contents()
    }

    /// Waits until the screen shows `text`.
    pub fn wait_for(&self, text: &str, limit: Duration) -> Result<()> {
        self.wait_until(&format!("{text:?} on the screen"), limit, |screen| screen.contains(text))
    }

    /// Waits until the screen is as wanted.
    pub fn wait_until(&self, what: &str, limit: Duration, wanted: impl Fn(&str) -> bool) -> Result<()> {
        let missing = |shown: &mut Shown| !wanted(&shown.parser.screen().contents());
        let (shown, waited) = self
            .terminal
            .1
            .wait_timeout_while(self.lock(), limit, missing)
            .unwrap_or_else(PoisonError::into_inner);
        if waited.timed_out() {
            bail!(
                "waited in vain for {what} ({limit:?}); the screen is\n{}",
                shown.parser.screen().contents()
            );
        }
        Ok(())
    }

    /// Changes the size; the program is told by SIGWINCH.
    pub fn resize(&self, columns: u16, rows: u16) -> Result<()> {
        let (height, width) = cells(columns, rows)?;
        self.lock().parser.set_size(height, width);
        self.master.resize(size(columns, rows))
    }

    /// Sends a signal to the program and its children.
    pub fn signal(&self, signal: Signal) -> Result<()> {
        Ok(kill_process_group(self.group, signal)?)
    }

    /// The id of the program, which is also that of its group.
    pub fn pid(&self) -> u32 {
        self.group.as_raw_nonzero().get().unsigned_abs()
    }

    /// True while a program shows a screen of its own instead of the scrolling one.
    pub fn has_own_screen(&self) -> bool {
        self.lock().parser.screen().alternate_screen()
    }

    /// True when the terminal is as a shell wants it: letters are echoed, lines are edited, the cursor is
    /// seen, and there is no screen of a program left.
    pub fn is_sane(&self) -> bool {
        let modes = self.master.get_termios().map(|termios| termios.local_flags);
        let cooked = LocalFlags::ECHO | LocalFlags::ICANON | LocalFlags::ISIG;
        let shown = self.lock();
        let screen = shown.parser.screen();
        modes.is_some_and(|modes| modes.contains(cooked))
            && !screen.alternate_screen()
            && !screen.hide_cursor()
            && !screen.bracketed_paste()
    }

    /// Waits until the program ends, and until its last words are on the screen.
    pub fn wait(&mut self, limit: Duration) -> Result<ExitStatus> {
        let end = Instant::now() + limit;
        loop {
            if let Some(status) = self.child.try_wait()? {
                let open = |shown: &mut Shown| !shown.closed;
                drop(self.terminal.1.wait_timeout_while(self.lock(), DRAIN, open));
                return Ok(status);
            }
            if Instant::now() > end {
                bail!("still running after {limit:?}; the screen is\n{}", self.screen());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Shown> {
        self.terminal.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Pty {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            // It is not reaped, so the id is still its own.
            let _ = kill_process_group(self.group, Signal::KILL);
            let _ = self.child.wait();
        }
    }
}

fn read_into(terminal: Arc<(Mutex<Shown>, Condvar)>, mut output: Box<dyn Read + Send>) {
    std::thread::spawn(move || {
        let tell = |change: &mut dyn FnMut(&mut Shown)| {
            change(&mut terminal.0.lock().unwrap_or_else(PoisonError::into_inner));
            terminal.1.notify_all();
        };
        let mut buffer = [0; 8192];
        // The read fails when the last program has closed the terminal.
        while let Ok(count @ 1..) = output.read(&mut buffer) {
            tell(&mut |shown| shown.parser.process(&buffer[..count]));
        }
        tell(&mut |shown| shown.closed = true);
    });
}

fn size(cols: u16, rows: u16) -> PtySize {
    PtySize { rows, cols, ..PtySize::default() }
}

fn cells(columns: u16, rows: u16) -> Result<(NonZeroU16, NonZeroU16)> {
    NonZeroU16::new(rows).zip(NonZeroU16::new(columns)).context("a terminal has at least one cell")
}
