//! What a person answered so far. No secret is ever among it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    pages::{PAGES, PageId},
    question::{Ask, Question, Show},
};

/// The answers that were given, by the key of their question; whoever gave none is answered for by the
/// default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Answers(BTreeMap<String, String>);

impl Answers {
    /// Takes an answer. A default is kept too: it may change with other answers, and this one must not.
    /// What could be a secret is not taken: neither what is typed in for one, nor what is no name of an
    /// environment variable where one is asked for.
    pub fn give(&mut self, question: &Question, answer: &str) {
        let place = self.text(&format!("{}.from", question.key));
        let secret = question.ask == Ask::Secret
            && (place == "typed" || place == "env" && !answer.bytes().all(is_name_byte));
        if secret {
            self.0.remove(question.key);
        } else {
            self.0.insert(question.key.to_owned(), answer.trim().to_owned());
        }
    }

    /// Forgets an answer: the default counts again.
    pub fn forget(&mut self, key: &str) {
        self.0.remove(key);
    }

    /// The answer to a question: what was given, else the default; nothing when it is not to be answered.
    pub fn of(&self, question: &Question) -> String {
        match question.shown(self) {
            Show::Absent => String::new(),
            Show::Implied => question.default_answer(self),
            Show::Asked => match self.0.get(question.key) {
                Some(given) => given.clone(),
                None => question.default_answer(self),
            },
        }
    }

    /// The answer to the question with that key; empty when there is none.
    pub fn text(&self, key: &str) -> String {
        find(key).map(|question| self.of(question)).unwrap_or_default()
    }

    /// True when the answer is yes.
    pub fn says(&self, key: &str) -> bool {
        self.text(key) == "true"
    }

    /// The answer as a number; 0 when it is none.
    pub fn number(&self, key: &str) -> u64 {
        self.text(key).parse().unwrap_or_default()
    }

    /// The provider.
    pub fn provider(&self) -> String {
        self.text("provider")
    }

    /// True when the provider is one of these.
    pub fn on(&self, providers: &[&str]) -> bool {
        providers.contains(&self.provider().as_str())
    }

    /// True for a hypervisor.
    pub fn on_prem(&self) -> bool {
        self.on(&["harvester", "nutanix", "proxmox"])
    }

    /// True when it all happens on this computer.
    pub fn on_this_computer(&self) -> bool {
        self.on(&["sandbox", "local"])
    }

    /// True when one machine does everything.
    pub fn single_node(&self) -> bool {
        self.text("cluster.topology") == "single-node"
    }
}

/// The question with that key.
pub fn find(key: &str) -> Option<&'static Question> {
    PAGES.iter().flat_map(|page| page.questions).find(|question| question.key == key)
}

/// The questions whose answers decide what a provider can be asked, and as whom.
pub fn signing_in(answers: &Answers) -> impl Iterator<Item = &'static Question> + '_ {
    let first = PAGES.iter().filter(|page| page.id <= PageId::Credentials);
    first.flat_map(|page| page.asked(answers))
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}
