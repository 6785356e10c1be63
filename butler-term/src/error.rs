//! How a failure is shown: on a terminal as text, under `-o json` as one JSON object, always on
//! stderr, with the same content.

use std::{error::Error, fmt, io};

use butler_core::error::{Code, Diagnose, ErrorKind};

use crate::{
    output::{Format, text},
    theme,
    ui::Ui,
};

/// A failed command: what any error of ours looks like at the edge.
#[derive(Debug)]
pub struct CommandError {
    code: Code,
    kind: ErrorKind,
    message: String,
    causes: Vec<String>,
    hints: Vec<String>,
}

impl<E: Diagnose> From<E> for CommandError {
    fn from(error: E) -> Self {
        let mut details = error.problems();
        details.extend(causes(&error));
        Self {
            code: error.code(),
            kind: error.kind(),
            message: error.to_string(),
            causes: details,
            hints: error.hints(),
        }
    }
}

impl CommandError {
    /// A failure that has no error type of its own.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, kind: code.kind(), message: message.into(), causes: Vec::new(), hints: Vec::new() }
    }

    /// Adds what led to it.
    #[must_use]
    pub fn caused_by(mut self, cause: &dyn Error) -> Self {
        self.causes.push(cause.to_string());
        self.causes.extend(causes(cause));
        self
    }

    /// Adds a next step.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// A command line that clap refused: its first paragraph, and its tips as hints.
    pub(crate) fn usage(error: &clap::Error) -> Self {
        let text = error.render().to_string();
        let mut paragraphs = text.split("\n\n");
        let message = paragraphs.next().unwrap_or_default().trim_start_matches("error: ").trim_end();
        let tips = paragraphs.filter_map(|paragraph| paragraph.trim().strip_prefix("tip: "));
        tips.fold(Self::new(Code::Usage, message), Self::hint)
    }

    /// A failed write to standard output. A closed pipe is the reader's choice, not an error.
    pub fn output(error: &io::Error) -> Self {
        let mut failure = Self::new(Code::FileUnwritable, "cannot write to standard output").caused_by(error);
        if error.kind() == io::ErrorKind::BrokenPipe {
            failure.message.clear();
        }
        failure
    }

    /// The same, without words if somebody asked for the end; the exit status still tells.
    pub(crate) fn silent_when_interrupted(mut self) -> Self {
        if self.code == Code::Interrupted {
            self.message.clear();
        }
        self
    }

    /// The stable code.
    pub fn code(&self) -> Code {
        self.code
    }

    /// The class.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The exit status of the program.
    pub fn exit_code(&self) -> u8 {
        let is_closed_pipe = self.is_silent() && self.code == Code::FileUnwritable;
        if is_closed_pipe { 0 } else { self.kind.exit_code() }
    }

    fn is_silent(&self) -> bool {
        self.message.is_empty()
    }

    /// The advice to print: the concrete hints, else what the code's page says. Who said no wants none.
    fn advice(&self) -> Vec<&str> {
        match self.code {
            _ if !self.hints.is_empty() => self.hints.iter().map(String::as_str).collect(),
            Code::Declined => Vec::new(),
            code => code.page().next.to_vec(),
        }
    }

    /// Prints it in the form that goes with the chosen output format.
    pub fn print(&self, ui: &Ui, format: &Format) {
        if self.is_silent() {
            return;
        }
        if matches!(format, Format::Json) {
            let value = serde_json::json!({
                "apiVersion": "butler.butlerlabs.dev/v1alpha1",
                "kind": "Error",
                "code": self.code.to_string(),
                "class": self.kind,
                "message": self.message,
                "causes": self.causes,
                "hints": self.advice(),
            });
            ui.talk(format_args!("{value}"));
            return;
        }
        let error = theme::ERROR;
        // Messages and causes may carry a server's words.
        ui.talk(format_args!("{error}error[{}]{error:#}: {}", self.code, text::lines(&self.message)));
        for (number, cause) in self.causes.iter().enumerate() {
            ui.talk(format_args!("  {}: {}", number + 1, text::lines(cause)));
        }
        let advice = self.advice();
        if !advice.is_empty() {
            ui.talk(format_args!(""));
        }
        let label = theme::HINT;
        for hint in advice {
            ui.talk(format_args!("{label}hint{label:#}: {}", text::lines(hint)));
        }
    }
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        self.causes.iter().try_for_each(|cause| write!(f, ": {cause}"))?;
        write!(f, " ({})", self.code)
    }
}

/// The chain below an error, without repetitions: libraries often print their source in their own
/// message, and then name it again.
fn causes(error: &dyn Error) -> Vec<String> {
    let mut said = error.to_string();
    let mut causes = Vec::new();
    let mut next = error.source();
    while let Some(cause) = next {
        let text = cause.to_string();
        if !text.is_empty() && !said.contains(&text) {
            causes.push(text.clone());
            said = text;
        }
        next = cause.source();
    }
    causes
}
