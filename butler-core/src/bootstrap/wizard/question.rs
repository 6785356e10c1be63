//! What a question is.

use super::{Answers, Resource};
use crate::bootstrap::config::{FactKind, facts};

/// One question. Its key is that of the configuration which the answer stands at, or a word of the
/// wizard's own, which stands nowhere.
#[derive(Clone, Copy, Debug)]
pub struct Question {
    /// Where the answer goes.
    pub key: &'static str,
    /// What is asked for, in a word or two.
    pub label: &'static str,
    /// How it is answered.
    pub ask: Ask,
    note: &'static str,
    default: fn(&Answers) -> String,
    show: fn(&Answers) -> Show,
}

/// How a question is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// By a line of text.
    Text,
    /// By texts with commas between.
    List,
    /// By choosing: a value, and what it means.
    Choice(&'static [(&'static str, &'static str)]),
    /// By yes or no: `true` or `false`.
    Flag,
    /// By choosing what was found at the provider, or typing what was not.
    Found(Resource),
    /// By a secret, or where it is: the answer to the question before, whose key ends in `.from`.
    Secret,
}

/// Whether a question is put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Show {
    /// It is.
    Asked,
    /// It is not, and its default goes into the configuration.
    Implied,
    /// It is not, and nothing goes into the configuration.
    Absent,
}

impl Show {
    /// Asked when that holds, else absent.
    pub fn when(asked: bool) -> Self {
        if asked { Self::Asked } else { Self::Absent }
    }

    /// Asked when that holds, else implied.
    pub fn or_implied(asked: bool) -> Self {
        if asked { Self::Asked } else { Self::Implied }
    }
}

/// Where a secret comes from.
pub const FROM: &[(&str, &str)] = &[
    ("typed", "type it here; it is kept in a file of yours (0600), never in the configuration"),
    ("file", "a file that only you can read"),
    ("env", "an environment variable, also when the run begins"),
    ("keyring", "an entry of service `butler` in your keyring"),
];

/// Yes and no.
pub const YES_NO: &[(&str, &str)] = &[("true", "yes"), ("false", "no")];

pub(super) const fn question(key: &'static str, label: &'static str, ask: Ask) -> Question {
    Question { key, label, ask, note: "", default: usual, show: |_| Show::Asked }
}

pub(super) const fn text(key: &'static str, label: &'static str) -> Question {
    question(key, label, Ask::Text)
}

pub(super) const fn list(key: &'static str, label: &'static str) -> Question {
    question(key, label, Ask::List)
}

pub(super) const fn flag(key: &'static str, label: &'static str) -> Question {
    question(key, label, Ask::Flag)
}

pub(super) const fn found(key: &'static str, label: &'static str, what: Resource) -> Question {
    question(key, label, Ask::Found(what))
}

/// Where a secret comes from; `key` is that of the secret with `.from` behind it.
pub(super) const fn from(key: &'static str, label: &'static str) -> Question {
    question(key, label, Ask::Choice(FROM)).note("where the secret is")
}

pub(super) const fn secret(key: &'static str) -> Question {
    question(key, "  it is", Ask::Secret)
}

fn usual(_: &Answers) -> String {
    String::new()
}

impl Question {
    pub(super) const fn note(mut self, note: &'static str) -> Self {
        self.note = note;
        self
    }

    pub(super) const fn default(mut self, default: fn(&Answers) -> String) -> Self {
        self.default = default;
        self
    }

    pub(super) const fn show(mut self, show: fn(&Answers) -> Show) -> Self {
        self.show = show;
        self
    }

    /// What helps to answer: a word of the table, else what the configuration says of the key.
    pub fn note_text(&self) -> &'static str {
        if self.note.is_empty() { facts(self.key).map_or("", |facts| facts.doc) } else { self.note }
    }

    /// Whether it is put.
    pub fn shown(&self, answers: &Answers) -> Show {
        (self.show)(answers)
    }

    /// The answer of somebody who says nothing: the table's, else the configuration's, else the first
    /// that can be chosen.
    pub fn default_answer(&self, answers: &Answers) -> String {
        let own = (self.default)(answers);
        let may_be_none = matches!(self.ask, Ask::Choice([("", _), ..]));
        if !own.is_empty() || may_be_none {
            return own;
        }
        let known = facts(self.key).and_then(|facts| facts.default);
        known.unwrap_or_else(|| match self.ask {
            Ask::Choice([(first, _), ..]) => (*first).to_owned(),
            Ask::Flag => "false".to_owned(),
            _ => String::new(),
        })
    }

    /// What stands at its key in the configuration; none when it is a question of the wizard's own.
    pub fn kind(&self) -> Option<FactKind> {
        facts(self.key).map(|facts| facts.kind)
    }

    /// Whether a problem with the key at `path` is one of this answer.
    pub fn concerns(&self, path: &str) -> bool {
        let below = |outer: &str, inner: &str| {
            inner.strip_prefix(outer).is_some_and(|rest| rest.starts_with(['.', '[']))
        };
        self.key == path || below(self.key, path) || below(path, self.key)
    }
}
