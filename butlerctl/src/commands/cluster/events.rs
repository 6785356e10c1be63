//! `cluster events`

use butler_core::tenant::{self, Event};
use butler_term::{
    CommandResult,
    args::{ConnectArgs, OutputArgs},
    complete,
    output::{Cell, Render, Table, View, age},
    run::Session,
    theme,
};
use clap::Args;
use serde::{Serialize, Serializer, ser::SerializeMap};

use super::{WAITING, missing, scope::NamespaceArgs};

/// Show what happened to a tenant cluster, newest first
#[derive(Args, Debug)]
pub(crate) struct ClusterEventsArgs {
    /// Name of the cluster
    #[arg(add = complete::clusters())]
    name: String,

    #[command(flatten)]
    namespace: NamespaceArgs,

    /// How many to show; 0 shows all
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: usize,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    connect: ConnectArgs,
}

/// Runs the command.
pub(crate) fn run(args: &ClusterEventsArgs, session: &Session) -> CommandResult {
    let format = session.format(&args.output);
    session.block_on(async {
        let connection = session.connect(&args.connect).await?;
        let namespace = args.namespace.resolve(session, &connection).await?;
        let spinner = session.ui.spinner(WAITING);
        let mut events = tenant::events(&connection.client, &namespace, &args.name).await?;
        if events.is_empty() {
            // Silence about a cluster that never was would mislead.
            if let Err(error) = tenant::get(&connection.client, &namespace, &args.name).await {
                return Err(missing::explain(&connection, &namespace, &args.name, error).await);
            }
            if format.is_for_people() {
                session.ui.status(format_args!("no events of tenant cluster `{}`", args.name));
            }
        }
        drop(spinner);
        if args.limit > 0 {
            events.truncate(args.limit);
        }
        session.ui.render(&Events(events), &format)
    })
}

struct Events(Vec<Event>);

impl Serialize for Events {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(3))?;
        map.serialize_entry("apiVersion", "v1")?;
        map.serialize_entry("kind", "List")?;
        map.serialize_entry("items", &self.0)?;
        map.end()
    }
}

impl Render for Events {
    fn table(&self, view: &View) -> Table {
        let mut table = Table::new(["type", "reason", "message", "age"]);
        for event in &self.0 {
            let kind = event.type_.clone().unwrap_or_else(|| "-".to_owned());
            let style = if kind == "Warning" { theme::WARNING } else { theme::PLAIN };
            table.push([
                Cell::styled(kind, style),
                event.reason.clone().unwrap_or_else(|| "-".to_owned()).into(),
                event.message.clone().unwrap_or_else(|| "-".to_owned()).into(),
                age(tenant::last_seen(event), view.now).into(),
            ]);
        }
        table
    }

    fn names(&self) -> Vec<String> {
        let name = |event: &Event| event.metadata.name.clone().unwrap_or_default();
        self.0.iter().map(|event| format!("event/{}", name(event))).collect()
    }
}
