//! `machine get`

use butler_core::{error::Code, machine};
use butler_term::{
    CommandError, CommandResult,
    args::{ConnectArgs, OutputArgs},
    output::{View, age, conditions, one_line, stream},
    run::Session,
    theme,
};
use clap::Args;
use serde_json::Value;

use super::{NameArgs, WAITING, missing, rows::Object};

/// Show one machine with its conditions
///
/// `-o json` and `-o yaml` print the request itself, without managedFields. Its user data may hold
/// keys.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  butleradm machine get cp-0
  butleradm machine get cp-0 -o jsonpath='{.status.ipAddress}'")]
pub(crate) struct MachineGetArgs {
    #[command(flatten)]
    name: NameArgs,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    connect: ConnectArgs,
}

/// Runs the command.
pub(crate) fn run(args: &MachineGetArgs, session: &Session) -> CommandResult {
    let format = session.format(&args.output);
    session.block_on(async {
        let connection = session.connect(&args.connect).await?;
        let spinner = session.ui.spinner(WAITING);
        let (namespace, name) = (&args.name.namespace.namespace, &args.name.name);
        let object = match machine::get(&connection.client, namespace, name).await {
            Ok(object) => object,
            Err(error) => return Err(missing(&connection, &args.name, error).await),
        };
        drop(spinner);
        let object = serde_json::to_value(&object).map_err(|error| {
            CommandError::new(Code::Internal, "cannot serialise the result").caused_by(&error)
        })?;
        let object = Object(stream::without_managed_fields(object));
        if format.is_for_people() {
            return session.ui.data(&page(&object.0, &session.ui.view(false)));
        }
        session.ui.render(&object, &format)
    })
}

/// The view for people.
fn page(object: &Value, view: &View) -> String {
    let text = |path: &str| {
        let text = object.pointer(path).and_then(Value::as_str).filter(|text| !text.is_empty());
        text.map(|text| one_line(text).into_owned())
    };
    let machine = machine::Summary::of(object);
    let style = theme::phase(&machine.phase);
    let addresses: Vec<&str> = object
        .pointer("/status/ipAddresses")
        .and_then(Value::as_array)
        .map(|all| all.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let amount =
        |value: Option<i64>, unit: &str| value.map_or("-".to_owned(), |value| format!("{value} {unit}"));
    let size = [
        amount(machine.cpu, "CPU"),
        amount(machine.memory_mb, "MB memory"),
        amount(machine.disk_gb, "GB disk"),
    ];
    let or = |text: Option<String>, other: &str| text.unwrap_or_else(|| other.to_owned());
    let mut lines = vec![
        ("Name", one_line(&machine.name).into_owned()),
        ("Namespace", machine.namespace.clone()),
        ("Machine", or(text("/spec/machineName"), "-")),
        ("Role", or(text("/spec/role"), "-")),
        ("Phase", format!("{style}{}{style:#}", one_line(&machine.phase))),
        ("Provider", or(machine.provider.clone(), "-")),
        ("Provider ID", or(text("/status/providerID"), "<pending>")),
        ("Address", if addresses.is_empty() { "<pending>".to_owned() } else { addresses.join(", ") }),
        ("MAC", or(text("/status/macAddress"), "-")),
        ("Size", size.join(", ")),
        ("Image", or(text("/spec/image"), "<default of the provider>")),
        ("Age", age(machine.created, view.now)),
    ];
    if let Some(data) = object.pointer("/spec/userData").and_then(Value::as_str) {
        // It usually holds keys.
        lines.push(("User data", format!("{} bytes", data.len())));
    }
    if let Some(reason) = text("/status/failureReason") {
        lines.push(("Failure", format!("{reason}: {}", or(text("/status/failureMessage"), "-"))));
    }
    let heading = theme::HEADING;
    let mut out = String::new();
    for (label, value) in lines {
        let label = format!("{label}:");
        out += &format!("{heading}{label:<13}{heading:#}{value}\n");
    }
    if let Some(table) = conditions(object, view.now) {
        out += &format!("\n{heading}Conditions{heading:#}\n{}", table.render(view.width));
    }
    out
}
