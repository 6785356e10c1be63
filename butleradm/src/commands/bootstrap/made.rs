//! What a run made, for the person.

use std::path::PathBuf;

use butler_core::{
    error::Code,
    event::RunId,
    settings::{env, home::write_private},
};
use butler_operator::bootstrap::Made;
use butler_term::{
    CommandError, CommandResult,
    args::OutputArgs,
    output::{Format, Render, Table, View},
    run::Session,
};
use kube::config::Kubeconfig;
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
        let Made { cluster, kubeconfig, talosconfig, console, .. } = &self.made;
        session.ui.status(format_args!("cluster `{cluster}` is ready"));
        if let Some(merged) = &self.merged {
            session.ui.status(format_args!("its context `{cluster}` is current in {}", merged.display()));
        }
        if let Some(console) = console {
            session.ui.status(format_args!("console: {console}"));
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

/// Adds the cluster to another kubeconfig. Nothing else in that file changes.
pub(super) fn merge(made: &Made, path: &str, session: &Session) -> CommandResult<PathBuf> {
    let path = match path.strip_prefix("~/").zip(session.environment.path(env::HOME)) {
        Some((rest, home)) => home.join(rest),
        None => PathBuf::from(path),
    };
    let unusable = |error: &dyn std::error::Error| {
        CommandError::new(Code::KubeconfigMalformed, format!("cannot merge into `{}`", path.display()))
            .caused_by(error)
    };
    let mut new = Kubeconfig::read_from(&made.kubeconfig).map_err(|error| unusable(&error))?;
    rename(&mut new, &made.cluster);
    let old = if path.exists() {
        Kubeconfig::read_from(&path).map_err(|error| unusable(&error))?
    } else {
        Kubeconfig::default()
    };
    let mut merged = old;
    merged.clusters.retain(|entry| entry.name != made.cluster);
    merged.auth_infos.retain(|entry| entry.name != made.cluster);
    merged.contexts.retain(|entry| entry.name != made.cluster);
    merged.clusters.append(&mut new.clusters);
    merged.auth_infos.append(&mut new.auth_infos);
    merged.contexts.append(&mut new.contexts);
    merged.current_context = Some(made.cluster.clone());
    let text = serde_saphyr::to_string(&merged).map_err(|error| unusable(&error))?;
    if let Some(dir) = path.parent() {
        std::fs::create_dir_all(dir).map_err(|error| unusable(&error))?;
    }
    write_private(&path, text.as_bytes())?;
    Ok(path)
}

/// Gives cluster, user and context of a kubeconfig with one of each the same name.
fn rename(kubeconfig: &mut Kubeconfig, name: &str) {
    kubeconfig.clusters.iter_mut().for_each(|entry| entry.name = name.to_owned());
    kubeconfig.auth_infos.iter_mut().for_each(|entry| entry.name = name.to_owned());
    for entry in &mut kubeconfig.contexts {
        entry.name = name.to_owned();
        if let Some(context) = &mut entry.context {
            context.cluster = name.to_owned();
            context.user = Some(name.to_owned());
        }
    }
}
