//! Which run is meant.

use std::path::PathBuf;

use butler_core::{
    bootstrap::run::{RunDir, RunFacts, RunState, Runs},
    error::Code,
    settings::Home,
};
use butler_term::{CommandError, CommandResult, complete, run::Session};
use clap::Args;

/// One run.
#[derive(Args, Clone, Debug)]
pub(super) struct RunArgs {
    /// Id of the run, the beginning of one, or the name of its cluster; the newest run if left out
    #[arg(value_name = "RUN", add = complete::runs())]
    run: Option<String>,
}

impl RunArgs {
    /// The file that is meant instead of a run: one that has a directory in its name, or an ending.
    pub(super) fn file(&self) -> Option<PathBuf> {
        let path = PathBuf::from(self.run.as_ref()?);
        (path.components().count() > 1 || path.extension().is_some()).then_some(path)
    }

    /// Finds the run and reads how far it is.
    pub(super) fn find(&self, session: &Session) -> CommandResult<(RunDir, RunState)> {
        let runs = Runs::new(&Home::resolve(&session.environment)?);
        Ok(match &self.run {
            Some(name) => runs.find(name)?,
            None => runs.newest()?,
        })
    }
}

/// Finds the run of a command that changes it.
pub(in crate::commands) fn choose(runs: &Runs, name: Option<&str>) -> CommandResult<(RunDir, RunState)> {
    Ok(match name {
        Some(name) => runs.find(name)?,
        None => runs.newest()?,
    })
}

/// What a run is; one whose journal ends before its first record cannot be worked on.
pub(in crate::commands) fn facts(dir: &RunDir, state: &RunState) -> CommandResult<RunFacts> {
    state.facts.clone().ok_or_else(|| {
        let message = format!("run `{}` ended before it began: its journal is empty", dir.id());
        CommandError::new(Code::RunNotResumable, message).hint(format!("rm -r {}", dir.path().display()))
    })
}
