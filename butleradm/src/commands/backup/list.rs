//! `backup list`

use std::path::PathBuf;

use butler_core::{api::API_VERSION, error::Diagnose};
use butler_operator::backup::{Header, list};
use butler_term::{
    CommandResult,
    args::OutputArgs,
    output::{Cell, Render, Table, View, age},
    run::Session,
};
use clap::{Args, ValueHint};
use serde::Serialize;

use super::{report::size, usual_dir};

/// List backups: of which cluster, how old, how large, and who opens them
///
/// Needs no identity. A file that is damaged or of something else is passed over with a warning.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  butleradm backup list
  butleradm backup ls --dir /mnt/backups -o wide
  butleradm backup list -o jsonpath='{.items[*].path}'")]
pub(super) struct ListArgs {
    /// Where to look [default: BUTLER_HOME/backups]
    #[arg(long, value_name = "DIRECTORY", value_hint = ValueHint::DirPath)]
    dir: Option<PathBuf>,

    #[command(flatten)]
    output: OutputArgs,
}

/// Runs the command.
pub(super) fn run(args: &ListArgs, session: &Session) -> CommandResult {
    let format = session.format(&args.output);
    let dir = match &args.dir {
        Some(dir) => dir.clone(),
        None => usual_dir(session)?,
    };
    let mut items = Vec::new();
    for found in list(&dir)? {
        match found.header {
            Ok(header) => items.push(Item { path: found.path, bytes: found.bytes, header }),
            Err(error) => session.ui.warning(format_args!("{error} ({})", error.code())),
        }
    }
    if items.is_empty() && format.is_for_people() {
        session.ui.status(format_args!("no backups in {}", dir.display()));
    }
    session.ui.render(&Listing { api_version: API_VERSION, kind: "BackupList", items }, &format)
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Listing {
    api_version: &'static str,
    kind: &'static str,
    items: Vec<Item>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Item {
    path: PathBuf,
    bytes: u64,
    #[serde(flatten)]
    header: Header,
}

impl Render for Listing {
    fn table(&self, view: &View) -> Table {
        let more = ["run", "version", "recipients"].into_iter().filter(|_| view.wide);
        let mut table = Table::new(["cluster", "age", "size", "kubernetes", "file"].into_iter().chain(more));
        for Item { path, bytes, header } in &self.items {
            let mut row: Vec<Cell> = vec![
                header.cluster.clone().into(),
                age(Some(header.created), view.now).into(),
                size(*bytes).into(),
                header.kubernetes.clone().into(),
                path.display().to_string().into(),
            ];
            if view.wide {
                row.push(header.run.to_string().into());
                row.push(header.version.clone().into());
                row.push(header.recipients.join(",").into());
            }
            table.push(row);
        }
        table
    }

    fn names(&self) -> Vec<String> {
        self.items.iter().map(|item| format!("backup/{}", item.path.display())).collect()
    }
}
