//! `machine list`

use butler_core::{api::names::namespaces, machine};
use butler_term::{
    CommandResult,
    args::{ConnectArgs, OutputArgs},
    complete,
    output::{Format, stream},
    run::Session,
};
use clap::Args;

use super::{WAITING, rows::Objects};

/// List machines
///
/// `-o json` and `-o yaml` print the requests themselves in a List, without managedFields.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  butleradm machine list
  butleradm machine list -A -o wide
  butleradm machine list -o jsonpath='{.items[*].status.ipAddress}'")]
pub(crate) struct MachineListArgs {
    /// Namespace to look in
    #[arg(short, long, value_name = "NAMESPACE", default_value = namespaces::SYSTEM, add = complete::namespaces())]
    namespace: String,

    /// Look in all namespaces
    #[arg(short = 'A', long, conflicts_with = "namespace")]
    all_namespaces: bool,

    /// Only requests with these labels, e.g. tier=gold,region!=eu
    #[arg(short = 'l', long, value_name = "LABELS")]
    selector: Option<String>,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    connect: ConnectArgs,
}

/// Runs the command.
pub(crate) fn run(args: &MachineListArgs, session: &Session) -> CommandResult {
    let format = session.format(&args.output);
    session.block_on(async {
        let connection = session.connect(&args.connect).await?;
        let namespace = (!args.all_namespaces).then_some(args.namespace.as_str());
        let mut pages = machine::objects(&connection.client, namespace, args.selector.as_deref());
        if matches!(format, Format::Json | Format::Yaml) {
            return stream::write(&session.ui, pages, &format).await;
        }
        let spinner = session.ui.spinner(WAITING);
        let mut items = Vec::new();
        while let Some(page) = pages.next().await? {
            for raw in page {
                items.push(stream::object(raw.get())?);
            }
        }
        drop(spinner);
        if items.is_empty() && format.is_for_people() {
            let place = namespace.map(|name| format!(" in namespace `{name}`")).unwrap_or_default();
            session.ui.status(format_args!("no machines{place}"));
        }
        session.ui.render(&Objects { items, all_namespaces: args.all_namespaces }, &format)
    })
}
