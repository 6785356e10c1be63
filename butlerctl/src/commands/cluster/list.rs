//! `cluster list`

use butler_core::{
    cluster::Connection,
    tenant::{self, Scope, Summary},
};
use butler_term::{
    CommandResult,
    args::{ConnectArgs, OutputArgs},
    output::{Format, stream},
    run::Session,
};
use clap::Args;
use serde_json::Value;

use super::{
    WAITING,
    rows::{self, Objects, SortBy},
    scope::ScopeArgs,
};

/// List tenant clusters
///
/// One request, however many clusters there are. `-o json` and `-o yaml` print the objects
/// themselves in a List, without managedFields.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  butlerctl cluster list -A\n  butlerctl cluster list --team web --sort-by age\n  butlerctl cluster list -l tier=gold -o jsonpath='{.items[*].metadata.name}'"
)]
pub(crate) struct ClusterListArgs {
    #[command(flatten)]
    scope: ScopeArgs,

    /// What to sort by
    #[arg(long, value_name = "COLUMN")]
    sort_by: Option<SortBy>,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    connect: ConnectArgs,
}

/// Runs the command.
pub(crate) fn run(args: &ClusterListArgs, session: &Session) -> CommandResult {
    let format = session.format(&args.output);
    session.block_on(async {
        let connection = session.connect(&args.connect).await?;
        let scope = args.scope.resolve(session, &connection).await?;
        match format {
            Format::Table | Format::Wide | Format::Name => rows(args, session, &connection, &scope).await,
            // Pages come by namespace and name already.
            Format::Json | Format::Yaml if args.sort_by.is_none() => {
                stream::write(&session.ui, tenant::objects(&connection.client, &scope), &format).await
            }
            _ => {
                let spinner = session.ui.spinner(WAITING);
                let objects = collect(args, &connection, &scope).await?;
                drop(spinner);
                session.ui.render(&objects, &format)
            }
        }
    })
}

async fn rows(
    args: &ClusterListArgs,
    session: &Session,
    connection: &Connection,
    scope: &Scope,
) -> CommandResult {
    let format = session.format(&args.output);
    let spinner = session.ui.spinner(WAITING);
    let mut clusters = tenant::list(&connection.client, scope).await?.clusters;
    drop(spinner);
    let sort = args.sort_by.unwrap_or_default();
    clusters.sort_by(|a, b| sort.compare(a, b));
    rows::warn(&session.ui, &clusters);
    if format == Format::Name {
        return session
            .ui
            .data(&clusters.iter().map(|cluster| rows::name(cluster) + "\n").collect::<String>());
    }
    if clusters.is_empty() {
        let place =
            scope.namespace.as_ref().map(|name| format!(" in namespace `{name}`")).unwrap_or_default();
        session.ui.status(format_args!("no tenant clusters{place}"));
    }
    let view = session.ui.view(format == Format::Wide);
    session.ui.data(&rows::table(&clusters, args.scope.all_namespaces, &view).render(view.width))
}

/// All objects at once, for what cannot be done page by page.
async fn collect(args: &ClusterListArgs, connection: &Connection, scope: &Scope) -> CommandResult<Objects> {
    let mut pages = tenant::objects(&connection.client, scope);
    let mut items: Vec<(Summary, Value)> = Vec::new();
    while let Some(page) = pages.next().await? {
        for raw in page {
            let object = stream::object(raw.get())?;
            items.push((Summary::of(&object), object));
        }
    }
    let sort = args.sort_by.unwrap_or_default();
    items.sort_by(|(a, _), (b, _)| sort.compare(a, b));
    let items = items.into_iter().map(|(_, object)| object).collect();
    Ok(Objects { items, all_namespaces: args.scope.all_namespaces })
}
