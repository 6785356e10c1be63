//! Reading a kubeconfig, with errors that name the file and what is wrong in it.
//!
//! Parse errors are reported by position only; their text could quote a token.

use std::{
    fs, io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use kube::config::{Config, KubeConfigOptions, Kubeconfig, KubeconfigError as Unusable};

use super::error::plugin;
use crate::{
    error::{Code, Diagnose},
    nearest::nearest,
};

/// Why a kubeconfig is of no use.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KubeconfigError {
    /// Missing, a directory, or not readable.
    #[error("cannot read the kubeconfig `{file}`")]
    Unreadable {
        /// The file.
        file: String,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
    /// Nothing in it.
    #[error("the kubeconfig `{file}` is empty")]
    Empty {
        /// The file.
        file: String,
    },
    /// Not YAML, or not the YAML of a kubeconfig.
    #[error("the kubeconfig `{file}` is not valid{}", position(*line))]
    Malformed {
        /// The file.
        file: String,
        /// Line and column, counted from 1.
        line: Option<(u64, u64)>,
    },
    /// No context was asked for, and the file has no current one.
    #[error("the kubeconfig `{file}` has no current context")]
    NoContext {
        /// The file.
        file: String,
        /// The contexts it has.
        known: Vec<String>,
    },
    /// The context is not in the file.
    #[error("the kubeconfig `{file}` has no context `{context}`")]
    UnknownContext {
        /// The file.
        file: String,
        /// The context.
        context: String,
        /// The contexts it has.
        known: Vec<String>,
    },
    /// The context names something that is not in the file.
    #[error("context `{context}` in the kubeconfig `{file}` names the {what} `{name}`, which is not there")]
    Dangling {
        /// The file.
        file: String,
        /// The context.
        context: String,
        /// `cluster` or `user`.
        what: &'static str,
        /// The missing name.
        name: String,
    },
    /// A value in it cannot be used: an address, a certificate, a key.
    #[error("cannot use the kubeconfig `{file}`")]
    Unusable {
        /// The file.
        file: String,
        /// What is wrong.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The program that fetches the credentials failed.
    #[error("cannot get credentials with the plugin that the kubeconfig `{file}` names: {reason}")]
    Plugin {
        /// The file.
        file: String,
        /// What happened.
        reason: String,
    },
}

fn position(line: Option<(u64, u64)>) -> String {
    line.map(|(line, column)| format!(" at line {line}, column {column}")).unwrap_or_default()
}

impl Diagnose for KubeconfigError {
    fn code(&self) -> Code {
        match self {
            Self::Unreadable { .. } => Code::KubeconfigUnreadable,
            Self::UnknownContext { .. } => Code::ContextUnknown,
            Self::Plugin { .. } => Code::CredentialPluginFailed,
            _ => Code::KubeconfigMalformed,
        }
    }

    fn hints(&self) -> Vec<String> {
        let list = |known: &[String]| format!("contexts in it: {}", known.join(", "));
        match self {
            Self::NoContext { known, .. } if known.is_empty() => Vec::new(),
            Self::UnknownContext { known, .. } if known.is_empty() => Vec::new(),
            Self::NoContext { known, .. } => {
                vec![format!("pass --context {}", known[0]), list(known)]
            }
            Self::UnknownContext { known, context, .. } => {
                let guess = nearest(context, known.iter().map(String::as_str));
                let mut hints: Vec<String> =
                    guess.map(|name| format!("did you mean --context {name}")).into_iter().collect();
                hints.push(list(known));
                hints
            }
            _ => Vec::new(),
        }
    }
}

/// A kubeconfig that was parsed, and what to call it in messages.
pub(super) struct Document {
    file: String,
    content: Kubeconfig,
}

impl Document {
    /// Reads a file.
    pub(super) fn read(path: &Path) -> Result<Self, KubeconfigError> {
        let file = path.display().to_string();
        let text =
            fs::read(path).map_err(|source| KubeconfigError::Unreadable { file: file.clone(), source })?;
        if text.trim_ascii().is_empty() {
            return Err(KubeconfigError::Empty { file });
        }
        // Read again by kube, which resolves paths in it against the file's directory.
        Kubeconfig::read_from(path)
            .map_err(|error| unusable(file.clone(), error))
            .map(|content| Self { file, content })
    }

    /// Takes the text of one that lies elsewhere, under the name `file`.
    pub(super) fn parse(file: String, text: &str) -> Result<Self, KubeconfigError> {
        Kubeconfig::from_yaml(text)
            .map_err(|error| unusable(file.clone(), error))
            .map(|content| Self { file, content })
    }

    /// Settles on a context, checking that everything it names is there.
    pub(super) async fn select(self, context: Option<&str>) -> Result<Selected, KubeconfigError> {
        let Self { file, content } = self;
        let known = || content.contexts.iter().map(|context| context.name.clone()).collect();
        let Some(name) = context.or(content.current_context.as_deref()).filter(|name| !name.is_empty())
        else {
            return Err(KubeconfigError::NoContext { known: known(), file });
        };
        let context = name.to_owned();
        let Some(chosen) =
            content.contexts.iter().find(|known| known.name == context).and_then(|c| c.context.clone())
        else {
            return Err(KubeconfigError::UnknownContext { known: known(), context, file });
        };
        let dangling = |what, name: &str| KubeconfigError::Dangling {
            file: file.clone(),
            context: context.clone(),
            what,
            name: name.to_owned(),
        };
        let cluster = content.clusters.iter().find(|known| known.name == chosen.cluster);
        let Some(cluster) = cluster.and_then(|known| known.cluster.as_ref()) else {
            return Err(dangling("cluster", &chosen.cluster));
        };
        if let Some(user) = chosen.user.as_deref().filter(|user| !user.is_empty())
            && !content.auth_infos.iter().any(|known| known.name == user)
        {
            return Err(dangling("user", user));
        }
        let has_proxy = cluster.proxy_url.as_ref().is_some_and(|url| !url.is_empty());
        let choice = KubeConfigOptions { context: Some(context.clone()), ..Default::default() };
        let config = Config::from_custom_kubeconfig(content, &choice)
            .await
            .map_err(|error| unusable(file.clone(), error))?;
        Ok(Selected { file, context, config, has_proxy })
    }
}

/// What a context amounts to.
pub(super) struct Selected {
    pub(super) file: String,
    pub(super) context: String,
    pub(super) config: Config,
    /// True when the kubeconfig itself names a proxy.
    pub(super) has_proxy: bool,
}

fn unusable(file: String, error: Unusable) -> KubeconfigError {
    match error {
        Unusable::Parse(error) => {
            KubeconfigError::Malformed { file, line: error.location().map(|at| (at.line(), at.column())) }
        }
        Unusable::ReadConfig(source, _) => KubeconfigError::Unreadable { file, source },
        other => KubeconfigError::Unusable { file, source: other.into() },
    }
}

/// The error of building a client from it.
pub(super) fn unbuildable(file: String, error: kube::Error) -> KubeconfigError {
    match error {
        kube::Error::Auth(error) => KubeconfigError::Plugin { file, reason: plugin(&error) },
        other => KubeconfigError::Unusable { file, source: other.into() },
    }
}

/// A warning when other users can read a file that holds credentials.
pub(super) fn exposure(path: &Path) -> Option<String> {
    let mode = fs::metadata(path).ok()?.permissions().mode();
    let path = path.display();
    (mode & 0o044 != 0).then(|| {
        format!(
            "other users of this machine can read `{path}` ({}): chmod 600 {path}",
            Code::KubeconfigExposed
        )
    })
}

/// The first file of a list that exists.
pub(super) fn first_existing(paths: Vec<PathBuf>) -> Option<PathBuf> {
    paths.into_iter().find(|path| path.exists())
}
