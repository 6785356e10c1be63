//! Conditions of an object as a table.

use jiff::Timestamp;
use serde_json::Value;

use super::{Cell, Table, age};
use crate::theme;

/// The conditions in `status.conditions`, by type.
pub fn conditions(object: &Value, now: Timestamp) -> Option<Table> {
    let conditions = object.pointer("/status/conditions").and_then(Value::as_array)?;
    let mut table = Table::new(["type", "status", "age", "reason", "message"]);
    let text = |condition: &Value, field: &str| {
        condition.get(field).and_then(Value::as_str).filter(|text| !text.is_empty()).unwrap_or("-").to_owned()
    };
    let mut conditions: Vec<&Value> = conditions.iter().collect();
    conditions.sort_by_key(|condition| text(condition, "type"));
    for condition in &conditions {
        let since = text(condition, "lastTransitionTime").parse().ok();
        table.push([
            text(condition, "type").into(),
            status(text(condition, "status")),
            age(since, now).into(),
            text(condition, "reason").into(),
            text(condition, "message").into(),
        ]);
    }
    (!conditions.is_empty()).then_some(table)
}

fn status(status: String) -> Cell {
    let style = match status.as_str() {
        "True" => theme::SUCCESS,
        "False" => theme::ERROR,
        _ => theme::DIM,
    };
    Cell::styled(status, style)
}
