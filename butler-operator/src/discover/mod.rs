//! What a provider has, for somebody who is asked what to use of it. Only looks.
//!
//! One file per provider: it signs in with what was answered, and each kind of thing is asked for on its
//! own, so that one that cannot be had does not hide the others.

mod computer;
mod error;
mod harvester;
mod http;
mod nutanix;
mod proxmox;
#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use butler_core::{
    bootstrap::{
        config::SecretSource,
        wizard::{Answers, Found, Resource, Survey},
    },
    redact::Secret,
    settings::{Environment, Home, env},
};

pub use error::SurveyError;

use crate::{keyring::ProgramKeyring, parts::Parts};

/// What to look with.
#[derive(Clone, Debug)]
pub struct Surveyor {
    /// The Butler home.
    pub home: Home,
    /// The programs that a bootstrap on this computer needs.
    pub parts: Arc<Parts>,
    /// Where a container engine is looked for, and secrets.
    pub environment: Environment,
}

impl Surveyor {
    /// Asks the provider that is answered. The first call shows whether address and credentials are right;
    /// what fails after it is told beside what was found.
    pub async fn survey(&self, answers: &Answers) -> Result<Survey, SurveyError> {
        match answers.provider().as_str() {
            "sandbox" => Ok(computer::sandbox(self).await),
            "local" => Ok(computer::local(self).await),
            "harvester" => harvester::survey(self, answers).await,
            "nutanix" => nutanix::survey(self, answers).await,
            "proxmox" => proxmox::survey(self, answers).await,
            provider => Ok(silent(provider)),
        }
    }

    /// The secret that was answered, from where the answer says it is.
    fn secret(&self, answers: &Answers, key: &str) -> Result<Secret, SurveyError> {
        let place = answers.text(key);
        let source = match answers.text(&format!("{key}.from")).as_str() {
            "env" => SecretSource::Env(place),
            "keyring" => SecretSource::Keyring(place),
            _ => SecretSource::File(self.path(&place)),
        };
        Ok(source.resolve(&self.environment, &ProgramKeyring::new(&self.environment))?)
    }

    /// A path as a person writes it.
    fn path(&self, text: &str) -> PathBuf {
        match (text.strip_prefix("~/"), self.environment.path(env::HOME)) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => text.into(),
        }
    }
}

/// A provider that this version cannot ask.
fn silent(provider: &str) -> Survey {
    let words = format!("this version cannot ask {provider}; type what you know of it");
    Survey { facts: vec![("Not asked".to_owned(), words)], ..Survey::default() }
}

/// What was found, kind by kind, or why not.
type Finds = BTreeMap<Resource, Result<Vec<Found>, String>>;

fn finds<const N: usize>(kinds: [(Resource, Result<Vec<Found>, SurveyError>); N]) -> Finds {
    kinds.into_iter().map(|(kind, found)| (kind, found.map_err(|error| error.in_words()))).collect()
}

/// Something with an id and a name; a word more when there is one.
fn found(id: &str, name: &str, more: &str) -> Found {
    let label = if more.is_empty() { name.to_owned() } else { format!("{name} ({more})") };
    Found { id: id.to_owned(), label }
}
