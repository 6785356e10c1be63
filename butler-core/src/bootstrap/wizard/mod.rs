//! The questions whose answers are a configuration: as data, so that a full screen and a line of text ask
//! the same and come to the same.
//!
//! - [`pages`]: the one table of pages and questions, with what hides them and what they default to
//! - [`question`]: what a question is
//! - [`answers`]: what was answered
//! - [`mod@document`]: the configuration that answers come to, always the same bytes
//! - [`sizes`], [`map`]: what answers come to, in sums and as a picture
//! - [`survey`]: what a provider told of itself
//! - [`keep`]: drafts and secrets on disk
//!
//! What is wrong with an answer is what [`config::read`] says of the document. Nothing
//! here asks, draws, or talks to a provider.

pub mod answers;
pub mod document;
pub mod keep;
pub mod map;
pub mod pages;
pub mod question;
pub mod sizes;
pub mod survey;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

pub use answers::Answers;
pub use document::document;
pub use pages::{PAGES, Page, PageId};
pub use question::{Ask, Question, Show};
pub use survey::{Amount, Found, Resource, Survey};

use super::config::{self, ConfigError, FactKind, Loaded, Problem, Source, facts};
use keep::Draft;

/// Where one is in the questions, and what was answered.
#[derive(Clone, Debug)]
pub struct Wizard {
    answers: Answers,
    at: PageId,
    /// The document as it was changed by hand.
    edited: Option<String>,
    /// What relative paths in the document start from.
    directory: PathBuf,
    /// What `~` stands for.
    home: Option<PathBuf>,
}

impl Wizard {
    /// Begins at the first page, or where a draft was left.
    pub fn new(draft: Option<Draft>, directory: PathBuf, home: Option<PathBuf>) -> Self {
        let Draft { page, answers, edited } = draft.unwrap_or_default();
        let at =
            PAGES.iter().find(|known| known.id.as_str() == page).map_or(PageId::Provider, |page| page.id);
        // A plan is made anew.
        let at = at.min(PageId::Review);
        Self { answers, at, edited, directory, home }
    }

    /// What was answered.
    pub fn answers(&self) -> &Answers {
        &self.answers
    }

    /// The page one is at.
    pub fn page(&self) -> &'static Page {
        PAGES.iter().find(|page| page.id == self.at).unwrap_or(&PAGES[0])
    }

    /// The pages that there are.
    pub fn pages(&self) -> impl Iterator<Item = &'static Page> + '_ {
        PAGES.iter().filter(|page| page.applies(&self.answers))
    }

    /// The questions of this page.
    pub fn questions(&self) -> Vec<&'static Question> {
        self.page().asked(&self.answers).collect()
    }

    /// Takes an answer. What was changed by hand is made anew, if the answer is another one.
    pub fn answer(&mut self, question: &Question, answer: &str) {
        if self.answers.of(question) == answer.trim() {
            return;
        }
        self.edited = None;
        self.answers.give(question, answer);
    }

    /// A secret was kept in this file.
    pub fn kept(&mut self, question: &Question, path: &Path) {
        if let Some(from) = answers::find(&format!("{}.from", question.key)) {
            self.answer(from, "file");
            self.answer(question, &path.display().to_string());
        }
    }

    /// To the next page, unless an answer of this one cannot be used; then these are the reasons.
    pub fn forward(&mut self) -> Result<(), Vec<Problem>> {
        let wrong: Vec<Problem> = self
            .problems()
            .into_iter()
            .filter(|problem| problem.is_error() && self.is_here(problem))
            .collect();
        if !wrong.is_empty() {
            return Err(wrong);
        }
        let after = self.pages().find(|page| page.id > self.at);
        self.at = after.map_or(self.at, |page| page.id);
        Ok(())
    }

    /// To the page before; false at the first. Nothing is forgotten.
    pub fn back(&mut self) -> bool {
        let before = self.pages().filter(|page| page.id < self.at).last().map(|page| page.id);
        self.at = before.unwrap_or(self.at);
        before.is_some()
    }

    /// To a page.
    pub fn go(&mut self, page: PageId) {
        self.at = page;
    }

    /// The configuration.
    pub fn document(&self) -> String {
        self.edited.clone().unwrap_or_else(|| document(&self.answers))
    }

    /// Takes a configuration that was changed by hand.
    pub fn edit(&mut self, text: String) {
        self.edited = (text != document(&self.answers)).then_some(text);
    }

    /// True when the configuration is not what the answers say.
    pub fn is_edited(&self) -> bool {
        self.edited.is_some()
    }

    /// Forgets what was changed by hand.
    pub fn unedit(&mut self) {
        self.edited = None;
    }

    /// The configuration as `bootstrap validate` reads it.
    pub fn read(&self) -> Result<Loaded, ConfigError> {
        let text = self.document();
        let source = Source {
            name: "the configuration",
            text: &text,
            directory: &self.directory,
            home: self.home.as_deref(),
            // It is written for this user alone.
            shared: None,
        };
        config::read(&source, None)
    }

    /// What is wrong with the configuration so far.
    pub fn problems(&self) -> Vec<Problem> {
        match self.read() {
            Ok(loaded) => loaded.warnings,
            Err(ConfigError::Problems { problems, .. }) => problems,
            Err(_) => Vec::new(),
        }
    }

    /// The question that a problem is about: the first that there is.
    pub fn about(&self, problem: &Problem) -> Option<(PageId, &'static Question)> {
        let asked = |page: &'static Page| {
            let id = page.id;
            page.asked(&self.answers).map(move |question| (id, question))
        };
        let exact = self.pages().flat_map(asked).find(|(_, question)| question.key == problem.path);
        exact.or_else(|| self.pages().flat_map(asked).find(|(_, question)| question.concerns(&problem.path)))
    }

    /// Whether a problem is one of this page; on the last ones, every problem is.
    pub fn is_here(&self, problem: &Problem) -> bool {
        match self.at {
            PageId::Review | PageId::Plan => true,
            at => self.about(problem).is_some_and(|(page, _)| page == at),
        }
    }

    /// What is saved for another day. A secret that somebody wrote into the configuration by hand is not.
    pub fn draft(&self) -> Draft {
        let plain = |loaded: &Loaded| {
            let secret = |path: &str| facts(path).is_some_and(|facts| facts.kind == FactKind::Secret);
            loaded.secrets.iter().any(|used| used.source.is_plain() && secret(&used.path))
        };
        let edited = self.edited.clone().filter(|_| self.read().is_ok_and(|loaded| !plain(&loaded)));
        Draft { page: self.at.as_str().to_owned(), answers: self.answers.clone(), edited }
    }

    /// Where the configuration is saved.
    pub fn file(&self) -> PathBuf {
        keep::config_file(&self.directory, &self.answers)
    }
}
