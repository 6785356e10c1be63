//! What `bootstrap destroy` says.

use butler_core::{
    api::API_VERSION,
    bootstrap::run::{RunDir, RunState},
};
use butler_operator::bootstrap::{Destroyed, Item, Survey};
use butler_term::{
    output::{Cell, Render, Table, View, age, counted},
    run::Session,
};
use serde::Serialize;

/// What is there of a run, and what was removed; also what `-o json` prints.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DestroyReport {
    api_version: &'static str,
    kind: &'static str,
    run_id: String,
    cluster: String,
    stage: &'static str,
    dry_run: bool,
    found: Survey,
    /// None when nothing was done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) removed: Option<Destroyed>,
}

impl DestroyReport {
    pub(super) fn new(dir: &RunDir, state: &RunState, cluster: &str, found: Survey, dry_run: bool) -> Self {
        Self {
            api_version: API_VERSION,
            kind: "BootstrapRemoval",
            run_id: dir.id().to_string(),
            cluster: cluster.to_owned(),
            stage: state.stage.as_str(),
            dry_run,
            found,
            removed: None,
        }
    }

    /// Says what goes.
    pub(super) fn announce(&self, session: &Session) {
        let Self { run_id, cluster, stage, found, .. } = self;
        session.ui.status(format_args!("run `{run_id}` of cluster `{cluster}` ({stage})"));
        for line in lines(found) {
            session.ui.status(format_args!("  {line}"));
        }
    }

    /// Says what became of it.
    pub(super) fn conclude(&self, session: &Session) {
        let Self { run_id, cluster, .. } = self;
        let Some(Destroyed { machines, load_balancers, looked, .. }) = &self.removed else {
            session.ui.status(format_args!("nothing was removed (dry run)"));
            return;
        };
        for place in looked {
            session.ui.status(format_args!("looked again: {place}: none"));
        }
        session.ui.status(format_args!(
            "cluster `{cluster}` is gone: {}, {}; nothing with the mark of run \
             `{run_id}` is left",
            counted(machines.len(), "machine"),
            counted(load_balancers.len(), "load balancer"),
        ));
    }
}

fn lines(found: &Survey) -> Vec<String> {
    let names = |items: &[Item]| items.iter().map(|item| item.name.as_str()).collect::<Vec<_>>().join(", ");
    let mut lines = Vec::new();
    if !found.machines.is_empty() {
        lines.push(format!("machines with their disks and addresses: {}", names(&found.machines)));
    }
    if !found.load_balancers.is_empty() {
        lines.push(format!("load balancers: {}", names(&found.load_balancers)));
    }
    lines.extend(found.temporary_cluster.then(|| "the temporary control plane".to_owned()));
    lines.extend(found.sandbox.as_ref().map(|name| format!("sandbox `{name}`")));
    lines.extend(found.files.iter().cloned());
    if !found.open.is_empty() {
        lines.push(format!("what may exist of: {}", found.open.join(", ")));
    }
    if lines.is_empty() {
        lines.push("nothing is there".to_owned());
    }
    lines
}

impl Render for DestroyReport {
    fn table(&self, view: &View) -> Table {
        let mut table = Table::new(["kind", "name", "id", "age"]);
        let machines = self.found.machines.iter().map(|item| ("machine", item));
        let balancers = self.found.load_balancers.iter().map(|item| ("load-balancer", item));
        for (kind, item) in machines.chain(balancers) {
            let id = item.id.clone().unwrap_or_else(|| "-".to_owned());
            table.push([
                Cell::from(kind),
                item.name.clone().into(),
                id.into(),
                age(item.created, view.now).into(),
            ]);
        }
        let temporary = self.found.temporary_cluster.then(|| ("temporary-cluster", self.cluster.clone()));
        let sandbox = self.found.sandbox.iter().map(|name| ("sandbox", name.clone()));
        let files = self.found.files.iter().map(|file| ("file", file.clone()));
        for (kind, name) in temporary.into_iter().chain(sandbox).chain(files) {
            table.push([Cell::from(kind), name.into(), "-".into(), "-".into()]);
        }
        table
    }

    fn names(&self) -> Vec<String> {
        vec![format!("run/{}", self.run_id)]
    }
}
