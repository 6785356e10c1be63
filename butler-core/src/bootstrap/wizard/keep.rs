//! What a wizard leaves in the Butler home: drafts, and secrets that were typed in.

use std::path::{Path, PathBuf};

use fs_err as fs;
use serde::{Deserialize, Serialize};

use super::Answers;
use crate::{
    error::{Code, Diagnose},
    redact::Secret,
    settings::{
        Home, HomeError,
        home::{make_private_dir, write_private},
    },
};

/// Answers to go on with, on disk. There is no secret in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Draft {
    /// The page it was left at.
    pub page: String,
    /// What was answered.
    pub answers: Answers,
    /// The configuration, if it was changed by hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edited: Option<String>,
}

/// The draft of a user. There is one: whoever begins anew is asked what becomes of the old one.
#[derive(Clone, Debug)]
pub struct Drafts {
    dir: PathBuf,
}

/// Why there is no draft.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DraftError {
    /// None was saved.
    #[error("no draft was saved in `{}`", dir.display())]
    None {
        /// Where one would be.
        dir: PathBuf,
    },
    /// It cannot be read.
    #[error("cannot read the draft `{}`", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        #[source]
        source: std::io::Error,
    },
    /// It is none.
    #[error("`{}` is no draft", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The parser's reason.
        #[source]
        source: serde_json::Error,
    },
}

impl Diagnose for DraftError {
    fn code(&self) -> Code {
        match self {
            Self::None { .. } => Code::DraftMissing,
            Self::Unreadable { .. } | Self::Damaged { .. } => Code::DraftUnreadable,
        }
    }

    fn hints(&self) -> Vec<String> {
        match self {
            Self::None { .. } => vec!["butleradm bootstrap".to_owned()],
            Self::Unreadable { path, .. } | Self::Damaged { path, .. } => {
                vec![format!("rm {}", path.display()), "butleradm bootstrap".to_owned()]
            }
        }
    }
}

impl Drafts {
    /// The drafts of this home; touches nothing.
    pub fn new(home: &Home) -> Self {
        Self { dir: home.dir().join("drafts") }
    }

    /// Keeps a draft, in place of an earlier one.
    pub fn save(&self, draft: &Draft) -> Result<PathBuf, HomeError> {
        make_private_dir(&self.dir)?;
        let path = self.path();
        let text = serde_json::to_string_pretty(draft).unwrap_or_default();
        write_private(&path, text.as_bytes())?;
        Ok(path)
    }

    /// Removes the draft. One that is not there is gone.
    pub fn remove(&self) {
        let _ = fs::remove_file(self.path());
    }

    /// The draft; an error when there is none.
    pub fn load(&self) -> Result<Draft, DraftError> {
        let path = self.path();
        let text = fs::read(&path).map_err(|source| match source.kind() {
            std::io::ErrorKind::NotFound => DraftError::None { dir: self.dir.clone() },
            _ => DraftError::Unreadable { path: path.clone(), source },
        })?;
        serde_json::from_slice(&text).map_err(|source| DraftError::Damaged { path, source })
    }

    fn path(&self) -> PathBuf {
        self.dir.join("bootstrap.json")
    }
}

/// Keeps a secret that was typed in, and answers with the place that the configuration names. A file that
/// another configuration may name is not written over.
pub fn keep_secret(home: &Home, answers: &Answers, key: &str, secret: &Secret) -> Result<PathBuf, HomeError> {
    let dir = home.dir().join("secrets");
    make_private_dir(&dir)?;
    let dir = std::path::absolute(&dir).unwrap_or(dir);
    let key = key.trim_start_matches("providerConfig.");
    let name = format!("{}-{}", file_name(&answers.text("cluster.name")), file_name(key));
    let mut path = dir.join(&name);
    let mut number = 1;
    while fs::read(&path).map_or(path.exists(), |there| there != secret.expose().as_bytes()) {
        number += 1;
        path = dir.join(format!("{name}-{number}"));
    }
    write_private(&path, secret.expose().as_bytes())?;
    Ok(path)
}

/// Where the configuration of a cluster goes unless somebody says otherwise: beside the other files of
/// the directory one is in.
pub fn config_file(directory: &Path, answers: &Answers) -> PathBuf {
    directory.join(format!("{}.yaml", file_name(&answers.text("cluster.name"))))
}

/// A text as the name of a file, whatever somebody typed.
fn file_name(text: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '-' };
    let name: String = text.chars().take(80).map(safe).collect();
    if name.is_empty() { "bootstrap".to_owned() } else { name }
}
