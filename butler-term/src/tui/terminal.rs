//! Takes the terminal and gives it back: at the end, before a program that needs it, on a signal, in a
//! panic.

use std::{
    io::{self, BufWriter, IsTerminal, Stdout, Write},
    sync::{Mutex, MutexGuard, PoisonError},
};

use butler_core::{
    error::Code,
    settings::{Environment, env},
};
use crossterm::{
    cursor::{MoveTo, Show},
    event::{DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture},
    execute, queue,
    terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode},
};
use ratatui::{
    Terminal,
    backend::{Backend, CrosstermBackend},
    layout::{Position, Rect},
};

use crate::{CommandError, CommandResult};

/// True while the terminal is ours. Whoever writes a frame holds it: a panic elsewhere gives the terminal back
/// between two frames, and none comes after it.
static HELD: Mutex<bool> = Mutex::new(false);

fn held() -> MutexGuard<'static, bool> {
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where frames go while the terminal is ours; nowhere when it is not.
#[derive(Debug)]
pub struct Gate(Stdout);

impl Write for Gate {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if *held() { self.0.write(bytes) } else { Ok(bytes.len()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        if *held() { self.0.flush() } else { Ok(()) }
    }
}

/// Something frames are drawn on, which can be given away for a while.
pub trait Screen {
    /// What draws.
    type Backend: Backend;

    /// The terminal.
    fn terminal(&mut self) -> &mut Terminal<Self::Backend>;

    /// Gives it to others.
    fn leave(&mut self) -> io::Result<()>;

    /// Takes it, and draws everything anew with the next frame.
    fn enter(&mut self) -> io::Result<()>;
}

/// The terminal of this process.
pub struct Owned {
    terminal: Terminal<CrosstermBackend<BufWriter<Gate>>>,
    mouse: bool,
}

impl Owned {
    /// Takes the terminal.
    pub fn take(environment: &Environment, mouse: bool) -> CommandResult<Self> {
        let dumb = environment.get(env::TERM).is_none_or(|term| term == "dumb");
        if !io::stdin().is_terminal() || !io::stdout().is_terminal() || dumb {
            let message = "a full screen needs a terminal for input and output that can move its cursor";
            return Err(CommandError::new(Code::NeedsScreen, message));
        }
        let failed = |error: io::Error| {
            CommandError::new(Code::NeedsScreen, "cannot take the terminal").caused_by(&error)
        };
        let terminal =
            Terminal::new(CrosstermBackend::new(BufWriter::new(Gate(io::stdout())))).map_err(failed)?;
        let mut owned = Self { terminal, mouse };
        owned.enter().map_err(failed)?;
        Ok(owned)
    }
}

impl Screen for Owned {
    type Backend = CrosstermBackend<BufWriter<Gate>>;

    fn terminal(&mut self) -> &mut Terminal<Self::Backend> {
        &mut self.terminal
    }

    fn leave(&mut self) -> io::Result<()> {
        restore();
        Ok(())
    }

    fn enter(&mut self) -> io::Result<()> {
        // Also after a stop that nobody announced: the shell may have changed the modes.
        if std::mem::replace(&mut *held(), true) {
            disable_raw_mode()?;
        }
        enable_raw_mode()?;
        let mut out = io::stdout();
        queue!(out, EnterAlternateScreen, EnableBracketedPaste)?;
        if self.mouse {
            queue!(out, EnableMouseCapture)?;
        }
        out.flush()?;
        // Not `clear`: that asks the terminal where its cursor is, and some never answer.
        let size = self.terminal.size()?;
        self.terminal.resize(Rect::from((Position::ORIGIN, size)))
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        restore();
    }
}

/// Gives the terminal back if it is ours; does nothing otherwise. Safe to call from a panic.
pub fn restore() {
    let mut held = held();
    if !std::mem::take(&mut *held) {
        return;
    }
    // A terminal that is gone needs nothing. The cursor goes to the last line first: terminals without a
    // second screen would else print over the picture.
    let mut out = io::stdout();
    let _ = execute!(
        out,
        DisableMouseCapture,
        DisableBracketedPaste,
        MoveTo(0, u16::MAX - 1),
        LeaveAlternateScreen,
        Show
    );
    let _ = disable_raw_mode();
}
