//! Reading the table that the API server makes of tenant clusters: rows of cells, no objects.
//!
//! Rows become summaries while the answer is parsed; neither cells nor columns we do not use are kept.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor},
};

use super::summary::{Summary, Workers};

/// What a column of ours holds. The order is that of [`HEADINGS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Name,
    Namespace,
    Environment,
    Phase,
    Version,
    Ready,
    Desired,
    SpecWorkers,
    Endpoint,
    Provider,
    TenantNamespace,
    Created,
}

/// Names of columns in the definition of the kind.
const HEADINGS: [(&str, Field); 12] = [
    ("Name", Field::Name),
    ("Namespace", Field::Namespace),
    ("Environment", Field::Environment),
    ("Phase", Field::Phase),
    ("K8s Version", Field::Version),
    ("Ready Workers", Field::Ready),
    ("Desired Workers", Field::Desired),
    ("Spec Workers", Field::SpecWorkers),
    ("Endpoint", Field::Endpoint),
    ("Provider", Field::Provider),
    ("Tenant Namespace", Field::TenantNamespace),
    ("Created", Field::Created),
];

/// How the server prints a null in a column of text.
const NULL: &str = "<no value>";

/// Reads an answer. None when it is not a table with all our columns: the server's definitions are
/// older than this program.
pub(super) fn read(body: &[u8]) -> Result<Option<Vec<Summary>>, serde_json::Error> {
    serde_json::from_slice::<Table>(body).map(|table| table.rows)
}

struct Table {
    rows: Option<Vec<Summary>>,
}

impl<'de> Deserialize<'de> for Table {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(TableVisitor)
    }
}

struct TableVisitor;

impl<'de> Visitor<'de> for TableVisitor {
    type Value = Table;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Table, A::Error> {
        let mut columns: Option<Vec<Option<Field>>> = None;
        let mut rows = None;
        while let Some(key) = map.next_key::<Cow<'de, str>>()? {
            match key.as_ref() {
                "columnDefinitions" => columns = layout(&map.next_value::<Vec<Column>>()?),
                // The server writes the columns first; without them rows mean nothing.
                "rows" => match &columns {
                    Some(columns) => rows = map.next_value_seed(Rows(columns))?,
                    None => drop(map.next_value::<IgnoredAny>()?),
                },
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(Table { rows: columns.map(|_| rows.unwrap_or_default()) })
    }
}

#[derive(Deserialize)]
struct Column<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
}

/// Which field each column holds; none when one of ours is missing.
fn layout(columns: &[Column<'_>]) -> Option<Vec<Option<Field>>> {
    let field = |column: &Column<'_>| {
        HEADINGS.iter().find(|(heading, _)| *heading == column.name).map(|(_, field)| *field)
    };
    let layout: Vec<Option<Field>> = columns.iter().map(field).collect();
    HEADINGS.iter().all(|(_, field)| layout.contains(&Some(*field))).then_some(layout)
}

struct Rows<'a>(&'a [Option<Field>]);

impl<'de> DeserializeSeed<'de> for Rows<'_> {
    type Value = Option<Vec<Summary>>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_option(self)
    }
}

impl<'de> Visitor<'de> for Rows<'_> {
    type Value = Option<Vec<Summary>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("rows")
    }

    fn visit_none<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_some<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_seq(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut rows = Vec::new();
        while let Some(row) = seq.next_element_seed(Row(self.0))? {
            rows.push(row);
        }
        Ok(Some(rows))
    }
}

#[derive(Clone, Copy)]
struct Row<'a>(&'a [Option<Field>]);

impl<'de> DeserializeSeed<'de> for Row<'_> {
    type Value = Summary;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Summary, D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Row<'_> {
    type Value = Summary;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a row")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Summary, A::Error> {
        let mut row = None;
        while let Some(key) = map.next_key::<Cow<'de, str>>()? {
            if key == "cells" {
                row = Some(map.next_value_seed(Cells(self.0))?);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        row.ok_or_else(|| Error::missing_field("cells"))
    }
}

struct Cells<'a>(&'a [Option<Field>]);

impl<'de> DeserializeSeed<'de> for Cells<'_> {
    type Value = Summary;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Summary, D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Cells<'_> {
    type Value = Summary;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cells")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Summary, A::Error> {
        let mut row = Summary::default();
        let (mut ready, mut desired, mut spec) = (None, None, None);
        for field in self.0 {
            let Some(field) = field else {
                if seq.next_element::<IgnoredAny>()?.is_none() {
                    break;
                }
                continue;
            };
            let Some(cell) = seq.next_element::<Cell>()? else { break };
            match field {
                Field::Name => row.name = cell.text().unwrap_or_default(),
                Field::Namespace => row.namespace = cell.text().unwrap_or_default(),
                Field::Environment => row.environment = cell.text(),
                // The server prints an object or list in place of a phase as JSON.
                Field::Phase if cell.is_structured() => row.problem = Some("status.phase"),
                Field::Phase => row.phase = cell.text(),
                Field::Version => row.version = cell.text(),
                Field::Ready => ready = cell.number(),
                Field::Desired => desired = cell.number(),
                Field::SpecWorkers => spec = cell.number(),
                Field::Endpoint => row.endpoint = cell.text(),
                Field::Provider => row.provider = cell.text(),
                Field::TenantNamespace => row.tenant_namespace = cell.text(),
                Field::Created => row.created = cell.text().and_then(|text| text.parse().ok()),
            }
        }
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        row.workers = Workers::new(ready, desired, spec);
        row.require(spec);
        Ok(row)
    }
}

/// A value in a row. The server writes null for what an object lacks or has in another type.
enum Cell<'a> {
    Number(i64),
    Text(Cow<'a, str>),
    Other,
}

impl Cell<'_> {
    fn text(self) -> Option<String> {
        match self {
            Self::Text(text) if !text.is_empty() && text != NULL => Some(text.into_owned()),
            _ => None,
        }
    }

    fn number(&self) -> Option<i64> {
        match self {
            Self::Number(number) => Some(*number),
            _ => None,
        }
    }

    fn is_structured(&self) -> bool {
        matches!(self, Self::Text(text) if text.starts_with(['{', '[']))
    }
}

impl<'de> Deserialize<'de> for Cell<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(CellVisitor)
    }
}

struct CellVisitor;

impl<'de> Visitor<'de> for CellVisitor {
    type Value = Cell<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a cell")
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Cell<'de>, E> {
        Ok(Cell::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Cell<'de>, E> {
        Ok(Cell::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Cell<'de>, E> {
        Ok(Cell::Number(number))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Cell<'de>, E> {
        Ok(i64::try_from(number).map_or(Cell::Other, Cell::Number))
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Cell<'de>, E> {
        Ok(Cell::Other)
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Cell<'de>, E> {
        Ok(Cell::Other)
    }

    fn visit_unit<E: Error>(self) -> Result<Cell<'de>, E> {
        Ok(Cell::Other)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Cell<'de>, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Cell::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Cell<'de>, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Cell::Other)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn table(columns: &[&str], rows: Vec<Vec<Value>>) -> Vec<u8> {
        let columns: Vec<Value> =
            columns.iter().map(|name| json!({"name": name, "type": "string"})).collect();
        let rows: Vec<Value> =
            rows.into_iter().map(|cells| json!({"cells": cells, "object": null})).collect();
        // Written by hand, because the order of keys counts.
        format!(
            r#"{{"kind":"Table","apiVersion":"meta.k8s.io/v1","columnDefinitions":{},"rows":{}}}"#,
            json!(columns),
            json!(rows)
        )
        .into_bytes()
    }

    const COLUMNS: [&str; 13] = [
        "Age",
        "Created",
        "Name",
        "Phase",
        "K8s Version",
        "Endpoint",
        "Namespace",
        "Environment",
        "Ready Workers",
        "Desired Workers",
        "Spec Workers",
        "Provider",
        "Tenant Namespace",
    ];

    #[test]
    fn a_row_becomes_a_summary() {
        let cells = json!([
            "5d",
            "2026-06-01T00:00:00Z",
            "dev",
            "Ready",
            "v1.34.1",
            null,
            "team-a",
            "prod",
            2,
            3,
            3,
            "harvester\n",
            "dev-1234"
        ]);
        let rows = read(&table(&COLUMNS, vec![cells.as_array().unwrap().clone()])).unwrap().unwrap();
        assert_eq!(
            rows,
            [Summary {
                name: "dev".to_owned(),
                namespace: "team-a".to_owned(),
                environment: Some("prod".to_owned()),
                phase: Some("Ready".to_owned()),
                version: Some("v1.34.1".to_owned()),
                workers: Workers { desired: 3, ready: 2 },
                endpoint: None,
                provider: Some("harvester\n".to_owned()),
                tenant_namespace: Some("dev-1234".to_owned()),
                created: Some("2026-06-01T00:00:00Z".parse().unwrap()),
                problem: None,
            }]
        );
    }

    #[test]
    fn older_definitions_and_plain_lists_are_told_apart_from_empty_tables() {
        assert_eq!(read(&table(&COLUMNS, Vec::new())).unwrap(), Some(Vec::new()));
        assert_eq!(read(&table(&COLUMNS[1..9], Vec::new())).unwrap(), None);
        assert_eq!(read(br#"{"kind":"TenantClusterList","items":[]}"#).unwrap(), None);
        let no_rows = String::from_utf8(table(&COLUMNS, Vec::new())).unwrap().replace("[]", "null");
        assert_eq!(read(no_rows.as_bytes()).unwrap(), Some(Vec::new()));
    }

    fn cell() -> impl Strategy<Value = Value> {
        prop_oneof![
            Just(Value::Null),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<bool>().prop_map(Value::from),
            (-1e9..1e9).prop_map(Value::from),
            any::<String>().prop_map(Value::from),
            Just(json!({"a": [1, {"b": "c"}]})),
            Just(json!(["x", 1])),
        ]
    }

    proptest! {
        /// Whatever the cells hold, every row is there, under its name, in its place.
        #[test]
        fn no_cell_hides_a_row(
            columns in Just(COLUMNS.to_vec()).prop_shuffle(),
            rows in prop::collection::vec((any::<String>(), prop::collection::vec(cell(), COLUMNS.len())), 0..8),
        ) {
            let at = columns.iter().position(|column| *column == "Name").unwrap();
            let names: Vec<String> = rows.iter().map(|(name, _)| name.clone()).collect();
            let rows = rows.into_iter().map(|(name, mut cells)| {
                cells[at] = Value::from(name);
                cells
            });
            let read = read(&table(&columns, rows.collect())).unwrap().unwrap();
            prop_assert_eq!(read.into_iter().map(|row| row.name).collect::<Vec<_>>(), names);
        }

        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = read(&bytes);
        }
    }
}
