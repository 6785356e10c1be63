//! `bootstrap list`

use butler_core::{
    api::API_VERSION,
    bootstrap::run::{RunDir, RunError, RunState, Runs, Stage},
    error::Diagnose,
    event::RunId,
    settings::Home,
};
use butler_term::{
    CommandResult,
    args::OutputArgs,
    output::{Cell, Render, Table, View, age},
    run::Session,
    theme,
};
use clap::Args;
use serde::Serialize;

use super::report::{duration, stage};

/// List the runs of bootstraps, oldest first
///
/// A run whose journal is damaged is listed too, and a warning says what is wrong with it. MACHINES counts
/// those that exist of those that were announced.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  butleradm bootstrap list
  butleradm bootstrap ls -o wide
  butleradm bootstrap list -o jsonpath='{.items[*].runId}'")]
pub(super) struct ListArgs {
    #[command(flatten)]
    output: OutputArgs,
}

/// Runs the command.
pub(super) fn run(args: &ListArgs, session: &Session) -> CommandResult {
    let format = session.format(&args.output);
    let runs = Runs::new(&Home::resolve(&session.environment)?).list()?;
    if runs.is_empty() && format.is_for_people() {
        session.ui.status(format_args!("no runs"));
    }
    for (dir, state) in &runs {
        if let Err(error) = state {
            session.ui.warning(format_args!("run {}: {error} ({})", dir.id(), error.code()));
        }
    }
    let items = runs.into_iter().map(Item::of).collect();
    session.ui.render(&Listing { api_version: API_VERSION, kind: "BootstrapRunList", items }, &format)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Listing {
    api_version: &'static str,
    kind: &'static str,
    items: Vec<Item>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Item {
    Read(Box<RunState>),
    #[serde(rename_all = "camelCase")]
    Damaged {
        run_id: RunId,
        stage: &'static str,
        code: String,
        message: String,
    },
}

impl Item {
    fn of((dir, state): (RunDir, Result<RunState, RunError>)) -> Self {
        match state {
            Ok(state) => Self::Read(Box::new(state)),
            Err(error) => Self::Damaged {
                run_id: dir.id().clone(),
                stage: "Damaged",
                code: error.code().to_string(),
                message: error.to_string(),
            },
        }
    }

    fn id(&self) -> &RunId {
        match self {
            Self::Read(state) => &state.run_id,
            Self::Damaged { run_id, .. } => run_id,
        }
    }
}

/// A dash for what is not known.
fn or_dash(text: Option<impl Into<String>>) -> Cell {
    text.map_or_else(|| "-".to_owned(), Into::into).into()
}

impl Render for Listing {
    fn table(&self, view: &View) -> Table {
        let columns = ["id", "cluster", "provider", "stage", "phase", "age", "duration", "machines"];
        let more = ["runtime", "started", "records"].into_iter().filter(|_| view.wide);
        let mut table = Table::new(columns.into_iter().chain(more));
        for item in &self.items {
            let id = item.id().to_string().into();
            let Item::Read(state) = item else {
                let stage = Cell::styled("Damaged", theme::ERROR);
                let dashes = (0..columns.len() - 4 + if view.wide { 3 } else { 0 }).map(|_| "-".into());
                table.push([id, "-".into(), "-".into(), stage].into_iter().chain(dashes));
                continue;
            };
            let facts = state.facts.as_ref();
            let mut row = vec![
                id,
                or_dash(state.cluster.clone()),
                or_dash(facts.map(|facts| facts.provider.clone())),
                stage(state.stage),
                or_dash(state.phase()),
                age(state.started, view.now).into(),
                or_dash(duration(state, view.now)),
                machines(state),
            ];
            if view.wide {
                row.push(or_dash(facts.map(|facts| facts.runtime.clone())));
                row.push(or_dash(state.started.map(|time| time.strftime("%F %T UTC").to_string())));
                row.push(state.records.to_string().into());
            }
            table.push(row);
        }
        table
    }

    fn names(&self) -> Vec<String> {
        self.items.iter().map(|item| format!("run/{}", item.id())).collect()
    }
}

fn machines(state: &RunState) -> Cell {
    let there = state.machines.values().filter(|machine| machine.id.is_some() && !machine.removed).count();
    match (state.stage, state.machines.len()) {
        (_, 0) => "-".into(),
        (Stage::Destroyed | Stage::NeverStarted, _) => there.to_string().into(),
        (_, announced) => format!("{there}/{announced}").into(),
    }
}
