//! What a run made, for the person.

use std::path::PathBuf;

use butler_core::event::RunId;
use butler_operator::bootstrap::Made;
use butler_term::{
    CommandResult,
    args::OutputArgs,
    output::{Format, Render, Table, View},
    run::Session,
};
use serde::Serialize;

/// What `bootstrap` prints at the end.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct MadeReport {
    pub(super) run: RunId,
    #[serde(flatten)]
    pub(super) made: Made,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) merged: Option<PathBuf>,
}

impl MadeReport {
    /// Words on stderr, and on stdout what was asked for.
    pub(super) fn show(&self, format: &Format, output: &OutputArgs, session: &Session) -> CommandResult {
        let Made { cluster, kubeconfig, talosconfig, console, console_commands, .. } = &self.made;
        session.ui.status(format_args!("cluster `{cluster}` is ready"));
        if let Some(merged) = &self.merged {
            session.ui.status(format_args!("its context `{cluster}` is current in {}", merged.display()));
        }
        if let Some(console) = console {
            session.ui.status(format_args!("console: {console}"));
        }
        if !console_commands.is_empty() {
            let commands: String = console_commands.iter().map(|command| format!("\n  {command}")).collect();
            session.ui.status(format_args!(
                "sign in to the console as `admin`; the way and the password:{commands}"
            ));
        }
        let mut next = format!("  export KUBECONFIG={}\n", kubeconfig.display());
        if let Some(talosconfig) = talosconfig {
            next += &format!("  export TALOSCONFIG={}\n", talosconfig.display());
        }
        // A cluster without Talos has no machines of ours either.
        let look = if talosconfig.is_some() { "butleradm machine list" } else { "kubectl get pods -A" };
        session.ui.status(format_args!("try next:\n{next}  kubectl get nodes\n  {look}"));
        if output.output.is_some() {
            session.ui.render(self, format)?;
        }
        Ok(())
    }
}

impl Render for MadeReport {
    fn table(&self, _: &View) -> Table {
        let mut table = Table::new(["cluster", "endpoint", "kubeconfig", "run"]);
        let Made { cluster, endpoint, kubeconfig, .. } = &self.made;
        let row = [cluster.clone(), endpoint.clone(), kubeconfig.display().to_string(), self.run.to_string()];
        table.push(row.map(Into::into));
        table
    }

    fn names(&self) -> Vec<String> {
        vec![self.made.cluster.clone()]
    }
}
