//! Which configuration a command works on.

use std::{
    io::{self, Read},
    path::{Path, PathBuf},
};

use butler_core::{
    api::common::ProviderKind,
    bootstrap::config::{self, ConfigError, ConfigFile, Loaded, Source},
    redact::Secret,
    settings::{Home, env},
};
use butler_term::run::Session;
use clap::Args;

/// Shown instead of a path.
const STDIN: &str = "<stdin>";

/// The configuration file.
#[derive(Args, Clone, Debug)]
pub(in crate::commands) struct ConfigArgs {
    /// Configuration file; `-` reads standard input [default: ./bootstrap.yaml, then bootstrap.yaml in the
    /// Butler home]
    #[arg(short, long, value_name = "FILE")]
    pub(in crate::commands) config: Option<PathBuf>,
}

impl ConfigArgs {
    /// The file that is meant.
    pub(in crate::commands) fn path(&self, session: &Session) -> Result<PathBuf, ConfigError> {
        match &self.config {
            Some(path) => Ok(path.clone()),
            None => config::search(Home::resolve(&session.environment).ok().as_ref()),
        }
    }

    /// Reads it. `provider` is the one that the command names, if it does.
    pub(in crate::commands) fn load(
        &self,
        provider: Option<&ProviderKind>,
        session: &Session,
    ) -> Result<Given, ConfigError> {
        let path = self.path(session)?;
        if path == Path::new("-") {
            return read_stdin(provider, session);
        }
        let ConfigFile { text, directory, loaded } = config::load(&path, provider, &session.environment)?;
        Ok(Given { name: path.display().to_string(), text, directory, loaded })
    }
}

/// A configuration that can be used.
#[derive(Debug)]
pub(in crate::commands) struct Given {
    /// What a person calls it.
    pub(in crate::commands) name: String,
    /// As it was written; may hold secrets.
    pub(in crate::commands) text: Secret,
    /// What paths in it are relative to.
    pub(in crate::commands) directory: PathBuf,
    /// As it was understood.
    pub(in crate::commands) loaded: Loaded,
}

fn read_stdin(provider: Option<&ProviderKind>, session: &Session) -> Result<Given, ConfigError> {
    let unreadable = |source| ConfigError::Unreadable { path: STDIN.into(), source };
    let mut text = String::new();
    // Enough to see that it is too large.
    io::stdin().lock().take(config::MAX_BYTES as u64 + 1).read_to_string(&mut text).map_err(unreadable)?;
    let directory = std::env::current_dir().map_err(unreadable)?;
    let home = session.environment.path(env::HOME);
    let source = Source {
        name: STDIN,
        text: &text,
        directory: &directory,
        home: home.as_deref(),
        // What comes through a pipe was not read from a file that others can read.
        shared: None,
    };
    let loaded = config::read(&source, provider)?;
    Ok(Given { name: STDIN.to_owned(), text: text.into(), directory, loaded })
}
