//! Live candidates for the shells: clusters, namespaces, contexts.
//!
//! The scripts that `completion` prints call the program again with `BUTLER_COMPLETE` set and the words
//! of the line behind `--`. A name is worth waiting for as long as a person does not notice: after
//! 200 ms, and on any failure, there are no candidates and no message.

use std::{ffi::OsString, path::PathBuf, process::ExitCode, sync::mpsc, thread, time::Duration};

use butler_core::{
    api::{ProviderConfig, names::namespaces},
    bootstrap::run::Runs,
    cluster::{ConnectOptions, connect, names},
    error::Code,
    machine,
    settings::{Environment, Home, Settings, Sources, env, keys::KEYS},
    tenant,
};
use clap::CommandFactory;
pub use clap_complete::engine::ArgValueCandidates;
use clap_complete::{CompleteEnv, engine::CompletionCandidate};

use crate::args::raw_value;

/// How long names may take: a shell waits 200 ms for us, and some of that goes into starting.
const DEADLINE: Duration = Duration::from_millis(180);
/// More names than this help nobody.
const MOST: u32 = 500;

/// Answers a shell that asks for candidates; none when this is a normal run.
pub(crate) fn answer<P: CommandFactory>(args: &[OsString], environment: &Environment) -> Option<ExitCode> {
    environment.get_os(env::BUTLER_COMPLETE)?;
    let engine = CompleteEnv::with_factory(P::command).var(env::BUTLER_COMPLETE);
    let directory = std::env::current_dir().ok();
    match engine.try_complete(args, directory.as_deref()) {
        Ok(true) => Some(ExitCode::SUCCESS),
        Ok(false) => None,
        // A shell would show the words in the middle of the line being typed.
        Err(_) => Some(ExitCode::FAILURE),
    }
}

/// Tenant clusters in the namespace that the line names.
pub fn clusters() -> ArgValueCandidates {
    live(|line| async move {
        let connection = connect(&line.options(), &line.environment).await.ok()?;
        let client = &connection.client;
        let namespace = match (line.value("--namespace", Some('n')), line.value("--team", None)) {
            (Some(namespace), _) => namespace,
            (None, Some(team)) => tenant::team_namespace(client, &team).await.ok()?,
            (None, None) => {
                let settings = Settings::resolve(&Sources::of(&line.environment)).ok()?;
                tenant::own_namespace(&settings, connection.active_team.as_deref())
            }
        };
        tenant::names(client, &namespace, MOST).await.ok()
    })
}

/// Namespaces of the cluster.
pub fn namespaces() -> ArgValueCandidates {
    live(|line| async move {
        let connection = connect(&line.options(), &line.environment).await.ok()?;
        names::namespaces(&connection.client, MOST).await.ok()
    })
}

/// Machine requests in the namespace that the line names.
pub fn machines() -> ArgValueCandidates {
    live(|line| async move {
        let connection = connect(&line.options(), &line.environment).await.ok()?;
        let namespace = line.value("--namespace", Some('n'));
        let namespace = namespace.as_deref().unwrap_or(namespaces::SYSTEM);
        machine::names(&connection.client, namespace, MOST).await.ok()
    })
}

/// Provider configurations, as `--provider` takes them.
pub fn providers() -> ArgValueCandidates {
    live(|line| async move {
        let connection = connect(&line.options(), &line.environment).await.ok()?;
        let namespace = line.value("--namespace", Some('n'));
        let namespace = namespace.as_deref().unwrap_or(namespaces::SYSTEM);
        names::of::<ProviderConfig>(&connection.client, namespace, MOST).await.ok()
    })
}

/// Runs of bootstraps: the clusters they make, and their ids, newest first.
pub fn runs() -> ArgValueCandidates {
    live(|line| async move {
        let runs = Runs::new(&Home::resolve(&line.environment).ok()?).list().ok()?;
        let mut clusters: Vec<String> =
            runs.iter().filter_map(|(_, state)| state.as_ref().ok()?.cluster.clone()).collect();
        clusters.sort();
        clusters.dedup();
        clusters.extend(runs.iter().rev().map(|(dir, _)| dir.id().to_string()));
        Some(clusters)
    })
}

/// Names that do not change, each with a word on it.
pub fn fixed(names: fn() -> Vec<(&'static str, String)>) -> ArgValueCandidates {
    ArgValueCandidates::new(move || {
        let candidate =
            |(name, help): (&'static str, String)| CompletionCandidate::new(name).help(Some(help.into()));
        names().into_iter().map(candidate).collect()
    })
}

/// Contexts of the kubeconfig.
pub fn contexts() -> ArgValueCandidates {
    live(|line| async move { Some(names::contexts(&line.options(), &line.environment)) })
}

/// Names of settings, with what they do.
pub fn settings() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        KEYS.iter().map(|key| CompletionCandidate::new(key.name).help(Some(key.doc.into()))).collect()
    })
}

/// Error codes, with their titles.
pub(crate) fn codes() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let candidate =
            |code: &Code| CompletionCandidate::new(code.to_string()).help(Some(code.page().title.into()));
        Code::ALL.iter().map(candidate).collect()
    })
}

/// Values of `-o`.
pub(crate) fn formats() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        ["table", "wide", "json", "yaml", "name", "jsonpath="].map(CompletionCandidate::new).into()
    })
}

/// The line being completed.
#[derive(Debug)]
pub struct Line {
    words: Vec<OsString>,
    /// The environment of the shell.
    pub environment: Environment,
}

impl Line {
    /// The value that the line has for a flag.
    pub fn value(&self, long: &str, short: Option<char>) -> Option<String> {
        raw_value(&self.words, long, short)
    }

    fn options(&self) -> ConnectOptions {
        ConnectOptions {
            kubeconfig: self.value("--kubeconfig", None).map(PathBuf::from),
            context: self.value("--context", None),
            request_timeout: DEADLINE,
        }
    }
}

/// Candidates from work that may block or hang. It has a thread of its own, so that even a credential
/// plugin that sleeps cannot hold the shell; the process ends under it.
pub fn live<F, W>(work: F) -> ArgValueCandidates
where
    F: Fn(Line) -> W + Clone + Send + Sync + 'static,
    W: Future<Output = Option<Vec<String>>>,
{
    ArgValueCandidates::new(move || {
        let (done, result) = mpsc::channel();
        let work = work.clone();
        thread::spawn(move || {
            let words = std::env::args_os().skip_while(|word| word != "--").skip(1).collect();
            let line = Line { words, environment: Environment::capture() };
            let _ = rustls::crypto::ring::default_provider().install_default();
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
            done.send(runtime.block_on(work(line))?).ok()
        });
        let names = result.recv_timeout(DEADLINE).unwrap_or_default();
        names.into_iter().map(CompletionCandidate::new).collect()
    })
}
