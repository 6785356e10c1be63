//! `config list`: every setting with its value, and where that comes from.

use butler_core::settings::layers::{Entry, Origin};
use butler_term::{
    CommandResult,
    args::OutputArgs,
    output::{Render, Table, View},
    run::Session,
};
use clap::Args;
use serde::{Serialize, Serializer};
use serde_json::json;

/// List every setting and its value
///
/// The wide format also shows the default and the environment variable of each.
#[derive(Args, Debug)]
pub(super) struct ConfigListArgs {
    /// Show where each value comes from
    #[arg(long)]
    origin: bool,

    #[command(flatten)]
    output: OutputArgs,
}

/// Runs the command.
pub(super) fn run(args: &ConfigListArgs, session: &Session) -> CommandResult {
    let entries = session.settings()?.entries();
    let format = session.format(&args.output);
    session.ui.render(&Listing { entries, origin: args.origin }, &format)
}

struct Listing<'a> {
    entries: &'a [Entry],
    origin: bool,
}

impl Render for Listing<'_> {
    fn table(&self, view: &View) -> Table {
        let mut columns = vec!["key", "value"];
        columns.extend((self.origin || view.wide).then_some("origin"));
        columns.extend(["default", "variable"].into_iter().filter(|_| view.wide));
        let mut table = Table::new(columns);
        for entry in self.entries {
            let mut row = vec![entry.key.name.into(), entry.value.as_deref().unwrap_or("-").into()];
            row.extend((self.origin || view.wide).then(|| entry.origin.to_string().into()));
            if view.wide {
                row.extend([entry.key.default.unwrap_or("-").into(), entry.key.env.into()]);
            }
            table.push(row);
        }
        table
    }

    fn names(&self) -> Vec<String> {
        self.entries.iter().map(|entry| entry.key.name.to_owned()).collect()
    }
}

impl Serialize for Listing<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.entries.iter().map(|entry| {
            json!({
                "key": entry.key.name,
                "value": entry.value,
                "default": entry.key.default,
                "variable": entry.key.env,
                "origin": origin(&entry.origin),
            })
        }))
    }
}

fn origin(origin: &Origin) -> serde_json::Value {
    match origin {
        Origin::Default => json!({ "kind": "default" }),
        Origin::File(place) => {
            json!({ "kind": "file", "path": place.path, "line": place.line, "column": place.column })
        }
        Origin::Variable(name) => json!({ "kind": "environment", "variable": name }),
        Origin::Flag(name) => json!({ "kind": "flag", "flag": format!("--{name}") }),
    }
}
