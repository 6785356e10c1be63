//! `tools list`: which programs are there, where, and what was passed over.

use butler_operator::parts::{self, Parts, Passed, Reason, Search};
use butler_term::{
    CommandResult,
    args::OutputArgs,
    output::{Cell, Render, Table, View},
    run::Session,
    theme,
};
use clap::Args;
use serde::Serialize;

/// List the programs Butler works with
///
/// Installs nothing. The wide format also shows where else it looked, and why that was not used.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  butleradm tools list
  butleradm tools list -o wide
  butleradm tools list -o jsonpath='{.items[?(@.state==\"missing\")].name}'")]
pub(crate) struct ListArgs {
    #[command(flatten)]
    output: OutputArgs,
}

/// Runs the command.
pub(crate) fn run(args: &ListArgs, parts: &Parts, session: &Session) -> CommandResult {
    let mut items = Vec::new();
    session.block_on(async {
        for part in parts::ALL {
            items.push(Tool::from(parts.search(part).await));
        }
        Ok(())
    })?;
    let list = ToolList { api_version: "butler.butlerlabs.dev/v1alpha1", kind: "ToolList", items };
    session.ui.render(&list, &session.format(&args.output))?;
    if list.items.iter().any(|tool| tool.state == State::Missing) {
        session.ui.hint(format_args!("butleradm tools install"));
    }
    Ok(())
}

/// What `-o json` prints.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolList {
    api_version: &'static str,
    kind: &'static str,
    items: Vec<Tool>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Tool {
    name: &'static str,
    state: State,
    /// Versions that Butler works with.
    wanted: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    /// Places that were searched before, in order.
    passed_over: Vec<PassedOver>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
enum State {
    /// It can be used.
    Ready,
    /// It is nowhere.
    Missing,
    /// An explicit place holds another version.
    Wrong,
}

#[derive(Debug, Serialize)]
struct PassedOver {
    source: String,
    path: String,
    reason: String,
}

impl From<&Passed> for PassedOver {
    fn from(passed: &Passed) -> Self {
        Self {
            source: passed.source.to_string(),
            path: passed.path.display().to_string(),
            reason: passed.reason.to_string(),
        }
    }
}

impl From<Search> for Tool {
    fn from(search: Search) -> Self {
        let mut tool = Self {
            name: search.part.name,
            state: State::Missing,
            wanted: search.part.wanted(),
            version: None,
            source: None,
            path: None,
            passed_over: search.passed.iter().map(PassedOver::from).collect(),
        };
        if let Some(found) = &search.found {
            tool.state = State::Ready;
            tool.version = Some(found.version.to_string());
            tool.source = Some(found.source.to_string());
            tool.path = Some(found.path.display().to_string());
        } else if let Some(wrong) = search.refused() {
            tool.state = State::Wrong;
            tool.version = match &wrong.reason {
                Reason::Version(version) => Some(version.to_string()),
                _ => None,
            };
            tool.source = Some(wrong.source.to_string());
            tool.path = Some(wrong.path.display().to_string());
        }
        tool
    }
}

impl Tool {
    fn version_cell(&self) -> Cell {
        match (self.state, &self.version) {
            (State::Ready, version) => version.clone().unwrap_or_default().into(),
            (State::Missing, _) => Cell::styled("missing", theme::WARNING),
            (State::Wrong, Some(version)) => {
                Cell::styled(format!("{version} (needs {})", self.wanted), theme::ERROR)
            }
            (State::Wrong, None) => Cell::styled(format!("unknown (needs {})", self.wanted), theme::ERROR),
        }
    }

    fn passed_cell(&self) -> String {
        let places = self
            .passed_over
            .iter()
            .map(|passed| format!("{} {}: {}", passed.source, passed.path, passed.reason));
        places.collect::<Vec<_>>().join("; ")
    }
}

impl Render for ToolList {
    fn table(&self, view: &View) -> Table {
        let columns = ["name", "version", "source", "path"];
        let more = ["wants", "passed over"];
        let mut table = Table::new(columns.into_iter().chain(more.into_iter().filter(|_| view.wide)));
        for tool in &self.items {
            let text = |value: &Option<String>| Cell::from(value.clone().unwrap_or_else(|| "-".to_owned()));
            let mut row = vec![tool.name.into(), tool.version_cell(), text(&tool.source), text(&tool.path)];
            if view.wide {
                row.extend([tool.wanted.clone().into(), tool.passed_cell().into()]);
            }
            table.push(row);
        }
        table
    }

    fn names(&self) -> Vec<String> {
        self.items.iter().map(|tool| format!("tool/{}", tool.name)).collect()
    }
}
