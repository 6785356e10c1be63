//! What is wrong with a configuration: all of it, each with its place and, where there is one, a way out.

use std::{fmt, io, ops::Range, path::PathBuf};

use serde::Serialize;

use super::tree::Span;
use crate::error::{Code, Diagnose};

/// Most problems that are told at once.
const MOST: usize = 100;
/// Widest piece of a line that is shown.
const WIDEST: usize = 100;
/// Stands where a secret was.
const HIDDEN: &str = "(hidden)";

/// How bad a problem is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The configuration cannot be used.
    Error,
    /// It can be used, and perhaps means something else than its author thinks.
    Warning,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    /// How bad it is.
    pub severity: Severity,
    /// The key, such as `network.vip`; empty when the file as a whole is meant.
    pub path: String,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// What stands there. Never a secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// What is wrong.
    pub message: String,
    /// What to write instead, or to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<String>,
    /// The line of the file.
    #[serde(skip)]
    pub excerpt: Option<Excerpt>,
}

/// A line of the file with the place that is meant. Secrets in it are replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt {
    /// The line, or the part of it around the place.
    pub line: String,
    /// Characters of `line` before the place.
    pub before: usize,
    /// Characters of the place; at least one.
    pub width: usize,
}

impl Problem {
    /// True when the configuration cannot be used.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// The message with its place, as compilers write it: `file:line:column: message`.
    pub fn located(&self, file: &str) -> String {
        format!("{file}:{}:{}: {}", self.line, self.column, self.message)
    }
}

/// A problem whose place has not been looked up yet.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    severity: Severity,
    path: String,
    span: Span,
    message: String,
    suggestion: Option<String>,
    /// Found by the parser, so nobody knows which parts of the line are secret.
    syntax: bool,
}

impl Draft {
    pub(super) fn error(path: impl Into<String>, span: Span, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            path: path.into(),
            span,
            message: message.into(),
            suggestion: None,
            syntax: false,
        }
    }

    pub(super) fn warning(path: impl Into<String>, span: Span, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(path, span, message) }
    }

    pub(super) fn suggest(mut self, suggestion: impl Into<String>) -> Self {
        self.suggestion = Some(suggestion.into());
        self
    }

    pub(super) fn syntax(mut self) -> Self {
        self.syntax = true;
        self
    }

    pub(super) fn line(&self) -> usize {
        self.span.line
    }
}

/// Gathers problems, and what must not be shown with them.
#[derive(Debug)]
pub(super) struct Findings<'s> {
    source: &'s str,
    drafts: Vec<Draft>,
    hidden: Vec<Range<usize>>,
    /// From this line on nobody knows what is a secret, because the file could not be read.
    unsure_from: usize,
}

impl<'s> Findings<'s> {
    pub(super) fn new(source: &'s str) -> Self {
        Self { source, drafts: Vec::new(), hidden: Vec::new(), unsure_from: usize::MAX }
    }

    /// Shows no values from this line on.
    pub(super) fn unsure_from(&mut self, line: usize) {
        self.unsure_from = self.unsure_from.min(line);
    }

    pub(super) fn push(&mut self, draft: Draft) {
        self.drafts.push(draft);
    }

    /// Keeps a piece of the file out of everything that is shown.
    pub(super) fn hide(&mut self, span: Span) {
        self.hidden.push(span.start..span.end);
    }

    pub(super) fn has_errors(&self) -> bool {
        self.drafts.iter().any(|draft| draft.severity == Severity::Error)
    }

    /// The problems in the order of the file.
    pub(super) fn finish(mut self) -> Vec<Problem> {
        self.drafts.sort_by_key(|draft| (draft.span.line, draft.span.column, draft.severity));
        let masks = Masks::new(self.source, std::mem::take(&mut self.hidden));
        let mut drafts = std::mem::take(&mut self.drafts);
        for draft in &mut drafts {
            draft.syntax |= draft.span.line >= self.unsure_from;
        }
        if drafts.len() > MOST {
            // Errors first, or a flood of warnings would hide them.
            drafts.sort_by_key(|draft| draft.severity);
            let more = drafts.len() - MOST;
            drafts.truncate(MOST);
            drafts.sort_by_key(|draft| (draft.span.line, draft.span.column, draft.severity));
            let last = drafts.last().map_or(Span::START, |draft| draft.span);
            let has_errors = drafts.iter().any(|draft| draft.severity == Severity::Error);
            let message = format!("and {more} more");
            let mut rest = Draft::warning("", Span { end: last.start, ..last }, message);
            rest.severity = if has_errors { Severity::Error } else { Severity::Warning };
            drafts.push(rest);
        }
        drafts.into_iter().map(|draft| masks.problem(draft)).collect()
    }
}

/// The file with the pieces that must not be shown.
struct Masks<'s> {
    source: &'s str,
    hidden: Vec<Range<usize>>,
}

impl<'s> Masks<'s> {
    fn new(source: &'s str, mut hidden: Vec<Range<usize>>) -> Self {
        hidden.sort_by_key(|range| range.start);
        let mut merged: Vec<Range<usize>> = Vec::with_capacity(hidden.len());
        for range in hidden {
            match merged.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                _ => merged.push(range),
            }
        }
        Self { source, hidden: merged }
    }

    fn problem(&self, draft: Draft) -> Problem {
        let span = draft.span;
        Problem {
            severity: draft.severity,
            path: draft.path,
            line: span.line,
            column: span.column,
            text: if draft.syntax { None } else { self.text(span) },
            message: draft.message,
            suggestion: draft.suggestion,
            excerpt: self.excerpt(span, draft.syntax),
        }
    }

    /// The first hidden piece that ends after this byte.
    fn mask_at(&self, byte: usize) -> Option<&Range<usize>> {
        self.hidden.get(self.hidden.partition_point(|range| range.end <= byte))
    }

    fn text(&self, span: Span) -> Option<String> {
        let shown = self.mask_at(span.start).is_none_or(|range| range.start >= span.end);
        let text = self.source.get(span.start..span.end).filter(|text| shown && !text.is_empty())?;
        let line = text.lines().next().unwrap_or_default().trim_end();
        (!line.is_empty()).then(|| super::tree::brief(line))
    }

    fn excerpt(&self, span: Span, syntax: bool) -> Option<Excerpt> {
        let start = self.source.get(..span.start)?.rfind('\n').map_or(0, |newline| newline + 1);
        let rest = self.source.get(start..)?;
        let line = rest.lines().next().unwrap_or_default();
        let mut end = start + line.len();
        let mut cut = false;
        if syntax && let Some(colon) = line.find(": ").or_else(|| line.ends_with(':').then(|| line.len() - 1))
        {
            // Nobody knows what the value is, and it may be a secret.
            cut = start + colon + 1 < end;
            end = start + colon + 1;
        } else if syntax && line.contains(|c: char| !matches!(c, ' ' | '\t' | '[' | ']' | '{' | '}')) {
            return None;
        }
        let (mut shown, mut before, mut width) = (String::new(), 0, 0);
        let (mut byte, mut count) = (start, 0);
        while byte < end {
            let mask = self.mask_at(byte).filter(|range| range.contains(&byte));
            if byte <= span.start {
                before = count;
            }
            let (piece, next) = match mask {
                Some(range) => (HIDDEN.to_owned(), range.end.min(end)),
                None => {
                    let Some(character) = self.source[byte..].chars().next() else { break };
                    let visible = match character {
                        '\t' => '→',
                        character if character.is_control() => '�',
                        character => character,
                    };
                    (visible.to_string(), byte + character.len_utf8())
                }
            };
            let length = piece.chars().count();
            if byte < span.end && next > span.start {
                width += length;
            }
            shown += &piece;
            count += length;
            byte = next;
        }
        if byte <= span.start {
            before = count;
        }
        if cut {
            shown += " …";
        }
        if shown.trim().is_empty() {
            return None;
        }
        Some(window(&shown, before, width.max(1)))
    }
}

/// The part of a long line around the place.
fn window(line: &str, before: usize, width: usize) -> Excerpt {
    let length = line.chars().count();
    if length <= WIDEST {
        return Excerpt { line: line.to_owned(), before, width };
    }
    let from = before.saturating_sub(WIDEST / 2);
    let piece: String = line.chars().skip(from).take(WIDEST).collect();
    let lead = if from > 0 { "…" } else { "" };
    let tail = if from + WIDEST < length { "…" } else { "" };
    let before = before - from + lead.chars().count();
    Excerpt {
        line: format!("{lead}{piece}{tail}"),
        before,
        width: width.min(WIDEST + 1 - before.min(WIDEST)),
    }
}

/// Why there is no configuration.
#[derive(Debug)]
#[non_exhaustive]
pub enum ConfigError {
    /// The file cannot be read.
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// No file was named and there is none where one is looked for.
    NotFound {
        /// Where it was looked for.
        searched: Vec<PathBuf>,
    },
    /// The file can be read and is wrong. At least one of the problems is an error.
    Problems {
        /// The file, as it is to be shown.
        file: String,
        /// Errors and warnings in the order of the file.
        problems: Vec<Problem>,
    },
}

impl ConfigError {
    fn errors(&self) -> impl Iterator<Item = (&str, &Problem)> {
        let (file, problems) = match self {
            Self::Problems { file, problems } => (file.as_str(), problems.as_slice()),
            _ => ("", [].as_slice()),
        };
        problems.iter().filter(|problem| problem.is_error()).map(move |problem| (file, problem))
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable { path, .. } => {
                write!(f, "cannot read the bootstrap configuration `{}`", path.display())
            }
            Self::NotFound { .. } => f.write_str("there is no bootstrap configuration"),
            Self::Problems { file, .. } => match self.errors().count() {
                1 => write!(f, "the bootstrap configuration `{file}` has an error"),
                count => write!(f, "the bootstrap configuration `{file}` has {count} errors"),
            },
        }
    }
}

impl std::error::Error for ConfigError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Unreadable { source, .. } => Some(source),
            Self::NotFound { .. } | Self::Problems { .. } => None,
        }
    }
}

impl Diagnose for ConfigError {
    fn code(&self) -> Code {
        match self {
            Self::Unreadable { .. } => Code::BootstrapConfigUnreadable,
            Self::NotFound { .. } => Code::BootstrapConfigMissing,
            Self::Problems { .. } => Code::BootstrapConfigInvalid,
        }
    }

    fn problems(&self) -> Vec<String> {
        match self {
            Self::NotFound { searched } => {
                searched.iter().map(|path| format!("`{}` does not exist", path.display())).collect()
            }
            _ => self.errors().map(|(file, problem)| problem.located(file)).collect(),
        }
    }

    fn hints(&self) -> Vec<String> {
        let mut hints: Vec<String> = Vec::new();
        for (_, problem) in self.errors() {
            if let Some(suggestion) = &problem.suggestion {
                hints.push(format!("line {}: {suggestion}", problem.line));
            }
        }
        hints.truncate(10);
        hints
    }
}
