//! What a provider has, for somebody who is asked what to use of it. Only looks.

mod computer;

use std::sync::Arc;

use butler_core::{
    bootstrap::wizard::{Answers, Survey},
    settings::{Environment, Home},
};

use crate::{driver::DriverResult, parts::Parts};

/// What to look with.
#[derive(Clone, Debug)]
pub struct Surveyor {
    /// The Butler home.
    pub home: Home,
    /// The programs that a bootstrap on this computer needs.
    pub parts: Arc<Parts>,
    /// Where a container engine is looked for.
    pub environment: Environment,
}

impl Surveyor {
    /// Asks the provider that is answered. The first call shows whether address and credentials are right.
    pub async fn survey(&self, answers: &Answers) -> DriverResult<Survey> {
        match answers.provider().as_str() {
            "sandbox" => Ok(computer::sandbox(self).await),
            "local" => Ok(computer::local(self).await),
            provider => Ok(silent(provider)),
        }
    }
}

/// A provider that this version cannot ask.
fn silent(provider: &str) -> Survey {
    let words = format!("this version cannot ask {provider}; type what you know of it");
    Survey { facts: vec![("Not asked".to_owned(), words)], ..Survey::default() }
}
