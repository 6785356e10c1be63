//! What `sweep` says.

use butler_core::api::API_VERSION;
use butler_operator::bootstrap::sweep::Candidate;
use butler_term::{
    output::{Cell, Render, Table, View, age},
    run::Session,
    theme,
};
use serde::Serialize;

/// What was found; also what `-o json` prints.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Report {
    api_version: &'static str,
    kind: &'static str,
    pub(super) items: Vec<Row>,
}

/// One object with a mark.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Row {
    pub(super) provider: String,
    #[serde(flatten)]
    pub(super) candidate: Candidate,
}

impl Default for Report {
    fn default() -> Self {
        Self { api_version: API_VERSION, kind: "SweepReport", items: Vec::new() }
    }
}

impl Report {
    /// Says how many there are and what became of them.
    pub(super) fn conclude(&self, delete: bool, session: &Session) {
        let count =
            |wanted: fn(&Candidate) -> bool| self.items.iter().filter(|row| wanted(&row.candidate)).count();
        let (orphans, removed) = (count(|one| one.orphan), count(|one| one.removed));
        match (orphans, removed) {
            (0, _) => session.ui.status(format_args!("no orphan among {} marked objects", self.items.len())),
            (orphans, 0) => {
                session.ui.status(format_args!("{orphans} orphans; nothing was removed"));
                if !delete {
                    session
                        .ui
                        .hint(format_args!("repeat with --config FILE or --provider NAME, and --delete"));
                }
            }
            (_, removed) => {
                session.ui.status(format_args!(
                    "{removed} orphans were removed; looked again: none of them is left"
                ));
            }
        }
    }
}

impl Render for Report {
    fn table(&self, view: &View) -> Table {
        let mut table = Table::new(["provider", "kind", "name", "run", "age", "verdict", "why"]);
        for Row { provider, candidate } in &self.items {
            let verdict = match (candidate.removed, candidate.orphan) {
                (true, _) => Cell::styled("removed", theme::DIM),
                (_, true) => Cell::styled("orphan", theme::WARNING),
                _ => Cell::styled("kept", theme::SUCCESS),
            };
            // An orphan is one for four reasons; anything else is not for those that speak against it.
            let said = candidate.checks.iter().filter(|check| check.orphan == candidate.orphan);
            let why: Vec<String> = said.map(|check| format!("{}: {}", check.witness, check.why)).collect();
            table.push([
                provider.clone().into(),
                candidate.kind.into(),
                candidate.name.clone().into(),
                candidate.run.clone().into(),
                age(candidate.created, view.now).into(),
                verdict,
                why.join("; ").into(),
            ]);
        }
        table
    }

    fn names(&self) -> Vec<String> {
        self.items.iter().map(|row| format!("{}/{}", row.candidate.kind, row.candidate.name)).collect()
    }
}
