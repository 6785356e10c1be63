//! Which run is meant.

use butler_core::{
    bootstrap::run::{RunDir, RunState, Runs},
    settings::Home,
};
use butler_term::{CommandResult, complete, run::Session};
use clap::Args;

/// One run.
#[derive(Args, Clone, Debug)]
pub(super) struct RunArgs {
    /// Id of the run, the beginning of one, or the name of its cluster; the newest run if left out
    #[arg(value_name = "RUN", add = complete::runs())]
    run: Option<String>,
}

impl RunArgs {
    /// Finds the run and reads how far it is.
    pub(super) fn find(&self, session: &Session) -> CommandResult<(RunDir, RunState)> {
        let runs = Runs::new(&Home::resolve(&session.environment)?);
        Ok(match &self.run {
            Some(name) => runs.find(name)?,
            None => runs.newest()?,
        })
    }
}
