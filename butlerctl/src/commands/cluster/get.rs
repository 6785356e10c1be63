//! `cluster get`

use butler_core::{
    error::{Code, Diagnose},
    tenant::{self, Summary},
};
use butler_term::{
    CommandError, CommandResult,
    args::{ConnectArgs, OutputArgs},
    complete,
    output::{Format, Render, Table, View, age, conditions, one_line, stream},
    run::Session,
    theme,
};
use clap::Args;
use serde::Serialize;
use serde_json::Value;

use super::{WAITING, missing, rows, scope::NamespaceArgs};

/// Show one tenant cluster with its conditions and addons
///
/// `-o json` and `-o yaml` print the object itself, without managedFields.
#[derive(Args, Debug)]
pub(crate) struct ClusterGetArgs {
    /// Name of the cluster
    #[arg(add = complete::clusters())]
    name: String,

    #[command(flatten)]
    namespace: NamespaceArgs,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    connect: ConnectArgs,
}

/// Runs the command.
pub(crate) fn run(args: &ClusterGetArgs, session: &Session) -> CommandResult {
    let format = session.format(&args.output);
    session.block_on(async {
        let connection = session.connect(&args.connect).await?;
        let namespace = args.namespace.resolve(session, &connection).await?;
        let spinner = session.ui.spinner(WAITING);
        let object = match tenant::get(&connection.client, &namespace, &args.name).await {
            Ok(object) => object,
            Err(error) => return Err(missing::explain(&connection, &namespace, &args.name, error).await),
        };
        let object = serde_json::to_value(&object).map_err(|error| {
            CommandError::new(Code::Internal, "cannot serialise the result").caused_by(&error)
        })?;
        let object = Object(stream::without_managed_fields(object));
        if !format.is_for_people() {
            drop(spinner);
            return session.ui.render(&object, &format);
        }
        let mut summary = Summary::of(&object.0);
        rows::warn(&session.ui, std::slice::from_ref(&summary));
        if let Err(error) = tenant::refine(&connection.client, &mut summary).await {
            session.ui.detail(format_args!("{error} ({}); showing the cluster's own status", error.code()));
        }
        drop(spinner);
        let view = session.ui.view(format == Format::Wide);
        session.ui.data(&page(&summary, &object.0, &view))
    })
}

/// The view for people.
fn page(cluster: &Summary, object: &Value, view: &View) -> String {
    let or = |text: &Option<String>, other| one_line(text.as_deref().unwrap_or(other)).into_owned();
    let phase = theme::phase(cluster.phase());
    let phase = format!("{phase}{}{phase:#}", one_line(cluster.phase()));
    let mut lines = vec![
        ("Name", cluster.name.clone()),
        ("Namespace", cluster.namespace.clone()),
        ("Phase", phase),
        ("K8s Version", or(&cluster.version, "-")),
        ("Workers", format!("{} Ready", cluster.workers)),
        ("Endpoint", or(&cluster.endpoint, "<pending>")),
        ("Tenant Namespace", or(&cluster.tenant_namespace, "<pending>")),
        ("Provider Config", or(&cluster.provider, "<default>")),
        ("Age", age(cluster.created, view.now)),
    ];
    if let Some(environment) = &cluster.environment {
        lines.insert(2, ("Environment", environment.clone()));
    }
    let heading = theme::HEADING;
    let mut out = String::new();
    for (label, value) in lines {
        let label = format!("{label}:");
        out += &format!("{heading}{label:<18}{heading:#}{value}\n");
    }
    let mut section = |title: &str, table: Option<Table>| {
        if let Some(table) = table {
            out += &format!("\n{heading}{title}{heading:#}\n{}", table.render(view.width));
        }
    };
    section("Conditions", conditions(object, view.now));
    section("Addons", addons(object));
    out
}

fn addons(object: &Value) -> Option<Table> {
    let addons = object.pointer("/status/observedState/addons").and_then(Value::as_array)?;
    let text =
        |addon: &Value, field: &str| addon.get(field).and_then(Value::as_str).unwrap_or("-").to_owned();
    let mut table = Table::new(["name", "version", "status", "managed by"]);
    for addon in addons {
        table.push(["name", "version", "status", "managedBy"].map(|field| text(addon, field).into()));
    }
    (!addons.is_empty()).then_some(table)
}

#[derive(Serialize)]
#[serde(transparent)]
struct Object(Value);

impl Render for Object {
    fn table(&self, view: &View) -> Table {
        rows::table(&[Summary::of(&self.0)], false, view)
    }

    fn names(&self) -> Vec<String> {
        vec![rows::name(&Summary::of(&self.0))]
    }
}
