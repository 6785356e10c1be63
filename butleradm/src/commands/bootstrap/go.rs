//! What commands that work on a run share.

use std::time::Duration;

use butler_core::settings::keys::duration;
use butler_term::{CommandResult, args::OutputArgs, report::EventArgs, run::Session};
use clap::Args;

use super::merge;

/// How a run goes on.
#[derive(Args, Clone, Debug)]
pub(crate) struct GoArgs {
    /// Give up after this time, whatever the progress; the run can be resumed
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(super) timeout: Option<Duration>,

    /// Leave the temporary control plane behind
    #[arg(long)]
    pub(super) skip_cleanup: bool,

    /// Add the new cluster to this kubeconfig too, and make it current there
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "~/.kube/config")]
    pub(super) merge_kubeconfig: Option<String>,

    /// Watch it on a full screen; the run is a process of its own and goes on when the screen is left
    #[arg(long, conflicts_with_all = ["events", "output"])]
    pub(in crate::commands) tui: bool,

    #[command(flatten)]
    pub(super) events: EventArgs,

    #[command(flatten)]
    pub(in crate::commands) output: OutputArgs,
}

impl GoArgs {
    /// What would only be seen at the end of a run.
    pub(super) fn check(&self, session: &Session) -> CommandResult {
        session.format(&self.output).check()?;
        self.merge_kubeconfig.as_deref().map_or(Ok(()), |path| merge::check(path, session).map(drop))
    }
}
