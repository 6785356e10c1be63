//! The streams. Data goes to stdout and nothing else does; everything said to a person goes to
//! stderr. Colour is decided here, once, for each stream.

use std::{
    fmt,
    io::{self, BufWriter, IsTerminal, Write},
};

use anstream::{AutoStream, ColorChoice};
use butler_core::settings::{Environment, env};
use jiff::Timestamp;

use crate::{
    CommandError, CommandResult,
    args::{Color, GlobalArgs},
    output::{Format, Render, View, text},
    theme,
};

/// Where a program's words go.
#[derive(Debug)]
pub struct Ui {
    stdout: Stream,
    stderr: Stream,
    dumb: bool,
    quiet: bool,
    verbose: u8,
    now: Timestamp,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Stream {
    terminal: bool,
    color: ColorChoice,
}

impl Stream {
    /// Writes a line of talk.
    pub(crate) fn talk(self, message: fmt::Arguments<'_>) {
        let mut stderr = AutoStream::new(io::stderr().lock(), self.color);
        let _ = writeln!(stderr, "{message}");
    }
}

impl Color {
    /// Decides for one stream: the flag, else NO_COLOR and its like, else whether a terminal is there.
    pub(crate) fn is_on(self, environment: &Environment, terminal: bool) -> bool {
        let plain = environment.has(env::NO_COLOR)
            || environment.has(env::BUTLER_NO_COLOR)
            || environment.get(env::TERM) == Some("dumb");
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto => terminal && !plain,
        }
    }
}

impl Ui {
    /// Decides colours and widths from flags, environment and terminals.
    pub fn new(global: &GlobalArgs, environment: &Environment) -> Self {
        let stream = |terminal: bool| Stream {
            terminal,
            color: if global.color.unwrap_or_default().is_on(environment, terminal) {
                ColorChoice::AlwaysAnsi
            } else {
                ColorChoice::Never
            },
        };
        Self {
            stdout: stream(io::stdout().is_terminal()),
            stderr: stream(io::stderr().is_terminal()),
            dumb: environment.get(env::TERM) == Some("dumb"),
            quiet: global.quiet,
            verbose: global.verbose,
            now: environment.now(),
        }
    }

    /// The stream for data, buffered; flush it, or the tail is lost without an error.
    pub fn stdout(&self) -> impl Write + use<> {
        BufWriter::with_capacity(64 * 1024, AutoStream::new(io::stdout().lock(), self.stdout.color))
    }

    /// Writes data with our own colours in it to stdout, whole.
    pub fn data(&self, text: &str) -> CommandResult {
        let mut stdout = self.stdout();
        stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).map_err(|e| CommandError::output(&e))
    }

    /// Writes text to stdout, to the byte; only a terminal is kept from obeying what is in it.
    pub fn text(&self, text: &str) -> CommandResult {
        let text = if self.stdout.terminal { text::lines(text) } else { text.into() };
        let mut stdout = io::stdout().lock();
        stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).map_err(|e| CommandError::output(&e))
    }

    /// Writes a value to stdout in the chosen format.
    pub fn render<R: Render>(&self, value: &R, format: &Format) -> CommandResult {
        let text = format.write(value, &self.view(matches!(format, Format::Wide)))?;
        if format.is_for_people() { self.data(&text) } else { self.text(&text) }
    }

    /// How tables are to be laid out on stdout.
    pub fn view(&self, wide: bool) -> View {
        View { wide, now: self.now, width: self.width() }
    }

    /// Columns of the terminal on stdout; none when it is not a terminal, and then nothing is cut.
    pub fn width(&self) -> Option<usize> {
        self.stdout.terminal.then(|| indicatif::TermLike::width(&dialoguer::console::Term::stdout()).into())
    }

    /// True when stdout is a terminal on which text can be drawn over.
    pub fn redraws(&self) -> bool {
        self.stdout.terminal && !self.dumb
    }

    /// Draws over the terminal on stdout from its top, as far as it is high. Only colours are a matter of
    /// taste: where the cursor goes is not.
    pub fn redraw(&self, text: &str) -> CommandResult {
        let plain = self.stdout.color == ColorChoice::Never;
        let text = if plain { anstream::adapter::strip_str(text).to_string() } else { text.to_owned() };
        let height = dialoguer::console::Term::stdout().size().0.into();
        // Each line with what was right of it wiped, then what was below.
        let text = fit(&text, height).replace('\n', "\x1b[K\n");
        let mut stdout = io::stdout().lock();
        let drawn = write!(stdout, "\x1b[H{text}\x1b[J").and_then(|()| stdout.flush());
        drawn.map_err(|e| CommandError::output(&e))
    }

    /// Says what is going on. Silent under `--quiet`.
    pub fn status(&self, message: fmt::Arguments<'_>) {
        if !self.quiet {
            self.talk(message);
        }
    }

    /// Says what only `-v` wants to know.
    pub fn detail(&self, message: fmt::Arguments<'_>) {
        if self.verbose > 0 && !self.quiet {
            self.talk(message);
        }
    }

    /// Warns. Said under `--quiet` too: a warning nobody sees is none.
    pub fn warning(&self, message: fmt::Arguments<'_>) {
        let style = theme::WARNING;
        self.talk(format_args!("{style}warning{style:#}: {message}"));
    }

    /// Names a next step. Silent under `--quiet`.
    pub fn hint(&self, message: fmt::Arguments<'_>) {
        let style = theme::HINT;
        self.status(format_args!("{style}hint{style:#}: {message}"));
    }

    /// Writes a line to stderr. A closed stderr is not worth failing for.
    pub(crate) fn talk(&self, message: fmt::Arguments<'_>) {
        self.stderr.talk(message);
    }

    /// The stream for talk, for threads that outlive a borrow.
    pub(crate) fn stderr(&self) -> Stream {
        self.stderr
    }

    /// True when stderr is a terminal that can redraw a line.
    pub(crate) fn animates(&self) -> bool {
        self.stderr.terminal && !self.dumb
    }

    /// True when a person reads stdout.
    pub fn stdout_is_terminal(&self) -> bool {
        self.stdout.terminal
    }

    /// True when a person reads stderr, so that progress may be drawn.
    pub fn stderr_is_terminal(&self) -> bool {
        self.stderr.terminal
    }

    /// True when data may be coloured.
    pub(crate) fn stdout_has_color(&self) -> bool {
        self.stdout.color != ColorChoice::Never
    }

    /// True when talk may be coloured.
    pub(crate) fn stderr_has_color(&self) -> bool {
        self.stderr.color != ColorChoice::Never
    }

    /// True under `--quiet`.
    pub fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// How often `-v` was given.
    pub fn verbosity(&self) -> u8 {
        self.verbose
    }

    /// The present time, or the one tests fix.
    pub fn now(&self) -> Timestamp {
        self.now
    }
}

/// As many lines as stay on a screen while the next ones are drawn over them; says how many do not.
fn fit(text: &str, height: usize) -> String {
    let lines = text.lines().count();
    let room = height.saturating_sub(1);
    if lines <= room {
        return text.to_owned();
    }
    let shown = room.saturating_sub(1);
    let mut fitting: String = text.split_inclusive('\n').take(shown).collect();
    fitting += &format!("… {} more lines\n", lines - shown);
    fitting
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[test]
    fn what_is_longer_than_the_screen_is_counted() {
        let text = "a\nb\nc\nd\n";
        assert_eq!(fit(text, 5), text);
        assert_eq!(fit(text, 4), "a\nb\n… 2 more lines\n");
        assert_eq!(fit(text, 1), "… 4 more lines\n");
    }

    #[rstest]
    #[case(Color::Auto, &[], true, true)]
    #[case(Color::Auto, &[], false, false)]
    #[case(Color::Auto, &[("NO_COLOR", "")], true, false)]
    #[case(Color::Auto, &[("BUTLER_NO_COLOR", "1")], true, false)]
    #[case(Color::Auto, &[("TERM", "dumb")], true, false)]
    #[case(Color::Always, &[("NO_COLOR", "1")], false, true)]
    #[case(Color::Never, &[], true, false)]
    fn colours_follow_flag_environment_terminal(
        #[case] flag: Color,
        #[case] environment: &[(&str, &str)],
        #[case] terminal: bool,
        #[case] expected: bool,
    ) {
        let environment = Environment::of(environment.iter().copied());
        assert_eq!(flag.is_on(&environment, terminal), expected);
    }
}
