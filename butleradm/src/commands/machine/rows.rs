//! Machine requests as a table, and as objects under `-o json|yaml|jsonpath`.

use butler_core::machine::Summary;
use butler_term::output::{Cell, Render, Table, View, age};
use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::Value;

/// The table: NAMESPACE only when there may be several.
pub(super) fn table(machines: &[Summary], all_namespaces: bool, view: &View) -> Table {
    let columns = [
        ("name", true),
        ("namespace", all_namespaces),
        ("role", true),
        ("phase", true),
        ("address", true),
        ("provider", true),
        ("cpu", view.wide),
        ("memory", view.wide),
        ("disk", view.wide),
        ("machine", view.wide),
        ("provider id", view.wide),
        ("age", true),
    ];
    let mut table = Table::new(columns.iter().filter(|(_, shown)| *shown).map(|(name, _)| *name));
    let or_dash = |text: &Option<String>| Cell::from(text.clone().unwrap_or_else(|| "-".to_owned()));
    let amount = |value: Option<i64>, unit: &str| {
        Cell::from(value.map_or_else(|| "-".to_owned(), |value| format!("{value}{unit}")))
    };
    for machine in machines {
        let cells: [Cell; 12] = [
            machine.name.clone().into(),
            machine.namespace.clone().into(),
            or_dash(&machine.role),
            Cell::phase(&machine.phase),
            or_dash(&machine.address),
            or_dash(&machine.provider),
            amount(machine.cpu, ""),
            amount(machine.memory_mb, "MB"),
            amount(machine.disk_gb, "GB"),
            or_dash(&machine.machine),
            or_dash(&machine.provider_id),
            age(machine.created, view.now).into(),
        ];
        table.push(cells.into_iter().zip(&columns).filter(|(_, (_, shown))| *shown).map(|(cell, _)| cell));
    }
    table
}

/// `machinerequest/<name>`
pub(super) fn name(machine: &Summary) -> String {
    format!("machinerequest/{}", machine.name)
}

/// Whole objects in a `List`, as kubectl prints them.
pub(super) struct Objects {
    pub(super) items: Vec<Value>,
    pub(super) all_namespaces: bool,
}

impl Serialize for Objects {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(3))?;
        map.serialize_entry("apiVersion", "v1")?;
        map.serialize_entry("kind", "List")?;
        map.serialize_entry("items", &self.items)?;
        map.end()
    }
}

impl Render for Objects {
    fn table(&self, view: &View) -> Table {
        let machines: Vec<Summary> = self.items.iter().map(Summary::of).collect();
        table(&machines, self.all_namespaces, view)
    }

    fn names(&self) -> Vec<String> {
        self.items.iter().map(|item| name(&Summary::of(item))).collect()
    }
}

/// One object.
#[derive(Serialize)]
#[serde(transparent)]
pub(super) struct Object(pub(super) Value);

impl Render for Object {
    fn table(&self, view: &View) -> Table {
        table(&[Summary::of(&self.0)], false, view)
    }

    fn names(&self) -> Vec<String> {
        vec![name(&Summary::of(&self.0))]
    }
}
