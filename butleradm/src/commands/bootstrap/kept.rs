//! The configuration of a run that is there: in its directory, in its journal, or in a file that a person
//! names.

use std::path::{Path, PathBuf};

use butler_core::{
    api::common::ProviderKind,
    bootstrap::{
        config::{self, Config, ConfigError, RuntimeKind, Source},
        run::{
            RunDir, RunError, RunFacts, RunState,
            compare::{Change, compare},
        },
    },
    error::Code,
    redact::Secret,
    settings::env,
};
use butler_operator::bootstrap::sha256;
use butler_term::{CommandError, CommandResult, run::Session};

use super::{
    rehearse::rehearsal,
    source::{ConfigArgs, Given},
};

/// The configuration of a run.
#[derive(Debug)]
pub(super) struct Kept {
    /// What is carried out.
    pub(super) config: Config,
    /// The file, when it is not the one that the run began with.
    pub(super) changed: Option<Changed>,
}

/// A file that is not the one that a run began with.
#[derive(Debug)]
pub(super) struct Changed {
    pub(super) given: Config,
    pub(super) text: Secret,
    pub(super) changes: Vec<Change>,
}

/// The configuration to go on with. One that was changed is refused, unless every change is safe and was
/// accepted.
pub(super) fn to_resume(
    dir: &RunDir,
    state: &RunState,
    facts: &RunFacts,
    file: Option<&PathBuf>,
    accept: bool,
    session: &Session,
) -> CommandResult<Kept> {
    let recorded = of_journal(dir, state, facts, session)?;
    let in_dir = of_directory(dir, facts, session);
    let (given, text) = match (file, in_dir) {
        (Some(file), _) => {
            let Given { text, loaded, .. } = load(file, facts, session)?;
            (loaded.config, text)
        }
        (None, Some(read)) => read?,
        (None, None) => {
            let given = recorded.ok_or_else(|| RunError::ConfigLost { run: dir.id().clone() })?;
            return Ok(Kept { config: effective(given, facts, &facts.runtime), changed: None });
        }
    };
    if sha256(&text) == facts.config_sha256 {
        return Ok(Kept { config: effective(given, facts, &facts.runtime), changed: None });
    }
    // A journal of an older version does not have it; then the directory's is what it began with.
    let old = match recorded {
        Some(old) => Some(old),
        None if file.is_some() => of_directory(dir, facts, session).transpose()?.map(|(old, _)| old),
        None => None,
    };
    let changes = old.map(|old| compare(&old, &given, state)).unwrap_or_default();
    if changes.iter().any(Change::is_unsafe) || !(changes.is_empty() || accept) {
        let (run, file) = (dir.id().clone(), file.cloned());
        return Err(RunError::ConfigChanged { run, changes, file }.into());
    }
    let moved = changes.iter().any(|change| change.path == "bootstrapCluster.runtime");
    let runtime = if moved { given.bootstrap_cluster.runtime.as_str() } else { &facts.runtime };
    let config = effective(given.clone(), facts, runtime);
    Ok(Kept { config, changed: Some(Changed { given, text, changes }) })
}

/// The configuration to remove with: what is at hand, newest word first.
pub(in crate::commands) fn to_remove(
    dir: &RunDir,
    state: &RunState,
    facts: &RunFacts,
    file: Option<&PathBuf>,
    session: &Session,
) -> CommandResult<Config> {
    let given = match (file, of_directory(dir, facts, session)) {
        (Some(file), _) => {
            let given = load(file, facts, session)?.loaded.config;
            if given.cluster.name != facts.cluster {
                let (file, name) = (file.display(), &given.cluster.name);
                let message = format!("`{file}` is of cluster `{name}`, and the run of `{}`", facts.cluster);
                return Err(CommandError::new(Code::Usage, message));
            }
            given
        }
        (None, Some(Ok((config, _)))) => config,
        // The journal says it too, but for secrets that stood in the file.
        (None, read) => match (of_journal(dir, state, facts, session)?, read) {
            (Some(config), _) => config,
            (None, Some(Err(error))) => return Err(error),
            (None, _) => return Err(RunError::ConfigLost { run: dir.id().clone() }.into()),
        },
    };
    Ok(effective(given, facts, &facts.runtime))
}

/// A file that a person names for a run.
fn load(file: &Path, facts: &RunFacts, session: &Session) -> CommandResult<Given> {
    let provider = ProviderKind::from(facts.provider.as_str());
    let args = ConfigArgs { config: Some(file.to_owned()) };
    Ok(args.load((!facts.rehearsal).then_some(&provider), session)?)
}

/// The configuration as the journal keeps it.
fn of_journal(
    dir: &RunDir,
    state: &RunState,
    facts: &RunFacts,
    session: &Session,
) -> CommandResult<Option<Config>> {
    let Some(given) = &state.given else { return Ok(None) };
    let name = dir.journal().display().to_string();
    Ok(Some(read(&name, &given.document.to_string(), facts, session)?))
}

/// The configuration in the run's directory, if there is one.
pub(super) fn of_directory(
    dir: &RunDir,
    facts: &RunFacts,
    session: &Session,
) -> Option<CommandResult<(Config, Secret)>> {
    let path = dir.config();
    let text = match std::fs::read_to_string(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
        Err(source) => return Some(Err(ConfigError::Unreadable { path, source }.into())),
        Ok(text) => text,
    };
    let config = read(&path.display().to_string(), &text, facts, session);
    Some(config.map(|config| (config, text.into())).map_err(Into::into))
}

/// Reads a configuration as the run that has these facts read it.
pub(in crate::commands) fn read(
    name: &str,
    text: &str,
    facts: &RunFacts,
    session: &Session,
) -> Result<Config, ConfigError> {
    let home = session.environment.path(env::HOME);
    let directory = facts.directory.as_path();
    let source = Source { name, text, directory, home: home.as_deref(), shared: None };
    let provider = ProviderKind::from(facts.provider.as_str());
    // Without facts the file must say it itself.
    let provider = (!facts.rehearsal && !facts.provider.is_empty()).then_some(&provider);
    Ok(config::read(&source, provider)?.config)
}

/// What is carried out of what a file says.
pub(in crate::commands) fn effective(mut config: Config, facts: &RunFacts, runtime: &str) -> Config {
    if facts.rehearsal {
        config = rehearsal(config);
    }
    config.bootstrap_cluster.runtime = match runtime {
        "process" => RuntimeKind::Process,
        _ => RuntimeKind::Kind,
    };
    config
}
