//! What can be wrong with settings. All problems of all layers are found in one pass.

use std::{
    error::Error,
    fmt, io,
    path::{Path, PathBuf},
};

use super::{HomeError, keys::KEYS, layers::Origin};
use crate::{
    error::{Code, Diagnose},
    nearest::nearest,
};

/// A position in a file, counted from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub path: PathBuf,
    /// The line.
    pub line: usize,
    /// The column, in characters.
    pub column: usize,
}

impl Place {
    /// The place of a byte of the text.
    pub(super) fn of(path: &Path, text: &str, byte: usize) -> Self {
        let before = text.get(..byte).unwrap_or(text);
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Self {
            path: path.to_owned(),
            line: before.matches('\n').count() + 1,
            column: before[start..].chars().count() + 1,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.path.display(), self.line, self.column)
    }
}

/// One thing that is wrong.
#[derive(Debug)]
#[non_exhaustive]
pub enum Problem {
    /// A file is there and cannot be read.
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A file is not TOML.
    Malformed {
        /// Where.
        at: Place,
        /// The parser's words.
        message: String,
    },
    /// No setting has this name.
    Unknown {
        /// Where it is named; nowhere if a person typed it.
        at: Option<Origin>,
        /// The name.
        key: String,
        /// A setting that was perhaps meant.
        similar: Option<&'static str>,
    },
    /// A value does not fit its setting.
    Invalid {
        /// Where it comes from; nowhere if a person typed it.
        at: Option<Origin>,
        /// The setting.
        key: &'static str,
        /// The value.
        value: String,
        /// What would fit.
        why: String,
    },
}

impl Problem {
    /// A name that a person typed and that is no setting.
    pub(super) fn unknown(key: &str) -> Self {
        let similar = nearest(key, KEYS.iter().map(|known| known.name));
        Self::Unknown { at: None, key: key.to_owned(), similar }
    }

    /// The same problem, found at a place.
    pub(super) fn found(mut self, origin: Origin) -> Self {
        if let Self::Unknown { at, .. } | Self::Invalid { at, .. } = &mut self {
            *at = Some(origin);
        }
        self
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Malformed { at: place, .. }
            | Self::Unknown { at: Some(Origin::File(place)), .. }
            | Self::Invalid { at: Some(Origin::File(place)), .. } => {
                Some(format!("correct line {} of {}", place.line, place.path.display()))
            }
            Self::Invalid { at: Some(Origin::Variable(name)), .. } => Some(format!("unset {name}")),
            Self::Invalid { at: None, .. } => Some("butleradm config --help".to_owned()),
            _ => None,
        }
    }

    fn code(&self) -> Code {
        match self {
            Self::Unreadable { .. } => Code::FileUnreadable,
            Self::Malformed { .. } => Code::SettingsMalformed,
            Self::Unknown { .. } => Code::SettingUnknown,
            Self::Invalid { .. } => Code::SettingInvalid,
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable { path, .. } => write!(f, "cannot read `{}`", path.display()),
            Self::Malformed { at, message } => write!(f, "{at}: {message}"),
            Self::Unknown { at, key, similar } => {
                at.iter().try_for_each(|at| write!(f, "{at}: "))?;
                write!(f, "`{key}` is not a setting")?;
                similar.iter().try_for_each(|known| write!(f, ", did you mean `{known}`?"))
            }
            Self::Invalid { at, key, value, why } => {
                at.iter().try_for_each(|at| write!(f, "{at}: "))?;
                write!(f, "`{key}` cannot be `{value}`: {why}")
            }
        }
    }
}

/// Why settings cannot be used or changed.
#[derive(Debug)]
#[non_exhaustive]
pub enum SettingsError {
    /// Some values are wrong; there is at least one.
    Problems(Vec<Problem>),
    /// The settings file cannot be written.
    Home(HomeError),
}

impl From<Problem> for SettingsError {
    fn from(problem: Problem) -> Self {
        Self::Problems(vec![problem])
    }
}

impl From<HomeError> for SettingsError {
    fn from(error: HomeError) -> Self {
        Self::Home(error)
    }
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Home(error) => error.fmt(f),
            Self::Problems(problems) => match problems.as_slice() {
                [problem] => problem.fmt(f),
                problems => write!(f, "the settings have {} problems", problems.len()),
            },
        }
    }
}

impl Error for SettingsError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Home(error) => error.source(),
            Self::Problems(problems) => problems.iter().find_map(|problem| match problem {
                Problem::Unreadable { source, .. } => Some(source as &dyn Error),
                _ => None,
            }),
        }
    }
}

impl Diagnose for SettingsError {
    fn code(&self) -> Code {
        match self {
            Self::Home(error) => error.code(),
            Self::Problems(problems) => problems.first().map_or(Code::Internal, Problem::code),
        }
    }

    fn problems(&self) -> Vec<String> {
        match self {
            Self::Problems(problems) if problems.len() > 1 => {
                problems.iter().map(Problem::to_string).collect()
            }
            _ => Vec::new(),
        }
    }

    fn hints(&self) -> Vec<String> {
        match self {
            Self::Home(error) => error.hints(),
            Self::Problems(problems) => {
                let mut hints: Vec<String> = problems.iter().filter_map(Problem::hint).collect();
                hints.dedup();
                hints
            }
        }
    }
}
