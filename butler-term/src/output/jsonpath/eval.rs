//! Applying a template to a value.

use std::cmp::Ordering;

use serde_json::Value;

use super::{JsonPathError, Operator, Part, Slice, Step};

type Found<'a> = Result<Vec<&'a Value>, JsonPathError>;

pub(super) fn parts(parts: &[Part], value: &Value, out: &mut String) -> Result<(), JsonPathError> {
    for part in parts {
        match part {
            Part::Text(text) => out.push_str(text),
            Part::Path(path) => {
                for (index, found) in steps(path, vec![value])?.into_iter().enumerate() {
                    if index > 0 {
                        out.push(' ');
                    }
                    out.push_str(&text(found));
                }
            }
            Part::Range(path, body) => {
                for item in steps(path, vec![value])? {
                    self::parts(body, item, out)?;
                }
            }
        }
    }
    Ok(())
}

fn steps<'a>(path: &'a [Step], input: Vec<&'a Value>) -> Found<'a> {
    path.iter().try_fold(input, |values, step| self::step(step, values))
}

fn step<'a>(step: &'a Step, input: Vec<&'a Value>) -> Found<'a> {
    match step {
        // A key that is missing gives nothing, as `kubectl get` does.
        Step::Field(name) => Ok(input.into_iter().filter_map(|value| value.get(name)).collect()),
        Step::Wildcard => Ok(input.into_iter().flat_map(children).collect()),
        Step::Descend => {
            let mut found = Vec::new();
            input.into_iter().for_each(|value| descend(value, &mut found));
            Ok(found)
        }
        Step::Slice(slice) => {
            let mut found = Vec::new();
            for value in input.into_iter().filter(|value| !value.is_null()) {
                found.extend(select(*slice, list(value, "`[…]`")?)?);
            }
            Ok(found)
        }
        Step::Union(choices) => {
            let mut found = Vec::new();
            for choice in choices {
                found.extend(steps(choice, input.clone())?);
            }
            Ok(found)
        }
        Step::Filter(left, right) => {
            let mut found = Vec::new();
            for value in input {
                for item in list(value, "a filter")? {
                    if passes(item, left, right.as_ref())? {
                        found.push(item);
                    }
                }
            }
            Ok(found)
        }
        Step::Literal(value) => Ok(vec![value]),
    }
}

fn children(value: &Value) -> Vec<&Value> {
    match value {
        Value::Array(items) => items.iter().collect(),
        Value::Object(map) => map.values().collect(),
        _ => Vec::new(),
    }
}

/// The value and all below it that has something in it, parents first.
fn descend<'a>(value: &'a Value, found: &mut Vec<&'a Value>) {
    let children = children(value);
    if !children.is_empty() || value.as_str().is_some_and(|text| !text.is_empty()) {
        found.push(value);
    }
    children.into_iter().for_each(|child| descend(child, found));
}

fn list<'a>(value: &'a Value, what: &str) -> Result<&'a [Value], JsonPathError> {
    match value {
        Value::Array(items) => Ok(items),
        other => Err(data(format!("{what} needs a list, not {}", kind(other)))),
    }
}

fn select(slice: Slice, items: &[Value]) -> Found<'_> {
    let length = items.len();
    // kubectl refuses what lies outside instead of cutting it off.
    let outside = |index: i64| data(format!("index {index} is outside a list of {length}"));
    let place = |index: i64| {
        let from_start = if index < 0 { index + i64::try_from(length).unwrap_or(i64::MAX) } else { index };
        usize::try_from(from_start).ok()
    };
    match slice {
        Slice::Index(index) => {
            let item = place(index).and_then(|place| items.get(place)).ok_or_else(|| outside(index))?;
            Ok(vec![item])
        }
        Slice::Bounds { start, end, step } => {
            let from = place(start).ok_or_else(|| outside(start))?;
            let to = match end {
                Some(end) => place(end).ok_or_else(|| outside(end))?,
                None => length,
            };
            if from == to {
                return Ok(Vec::new());
            }
            if from >= length {
                return Err(outside(start));
            }
            if to > length {
                return Err(outside(end.unwrap_or(0) - 1));
            }
            let chosen =
                items.get(from..to).ok_or_else(|| data("a slice ends before it starts".to_owned()))?;
            Ok(chosen.iter().step_by(usize::try_from(step).unwrap_or(1)).collect())
        }
    }
}

fn passes<'a>(
    item: &'a Value,
    left: &'a [Step],
    right: Option<&'a (Operator, Vec<Step>)>,
) -> Result<bool, JsonPathError> {
    let Some((operator, right)) = right else {
        // A path that does not fit the item is one that the item does not have.
        return Ok(steps(left, vec![item]).is_ok_and(|found| !found.is_empty()));
    };
    let (left, right) = (steps(left, vec![item])?, steps(right, vec![item])?);
    match (left.as_slice(), right.as_slice()) {
        ([], _) | (_, []) => Ok(false),
        ([left], [right]) => compare(left, *operator, right),
        _ => Err(data("a filter compares one value with one value".to_owned())),
    }
}

fn compare(left: &Value, operator: Operator, right: &Value) -> Result<bool, JsonPathError> {
    let unlike = || data(format!("cannot compare {} with {}", kind(left), kind(right)));
    let ordering = match (left, right) {
        (Value::String(left), Value::String(right)) => left.cmp(right),
        (Value::Bool(left), Value::Bool(right))
            if matches!(operator, Operator::Equal | Operator::NotEqual) =>
        {
            left.cmp(right)
        }
        (Value::Number(left), Value::Number(right)) => match (left.as_i64(), right.as_i64()) {
            (Some(left), Some(right)) => left.cmp(&right),
            _ => left.as_f64().partial_cmp(&right.as_f64()).ok_or_else(unlike)?,
        },
        _ => return Err(unlike()),
    };
    Ok(match operator {
        Operator::Equal => ordering == Ordering::Equal,
        Operator::NotEqual => ordering != Ordering::Equal,
        Operator::Less => ordering == Ordering::Less,
        Operator::LessOrEqual => ordering != Ordering::Greater,
        Operator::Greater => ordering == Ordering::Greater,
        Operator::GreaterOrEqual => ordering != Ordering::Less,
    })
}

/// A value as kubectl prints it: scalars bare, the rest as Go writes JSON, which escapes HTML.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() => float.to_string(),
            _ => number.to_string(),
        },
        Value::Null | Value::Bool(_) => value.to_string(),
        Value::Array(_) | Value::Object(_) => {
            value.to_string().replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
        }
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

fn data(reason: String) -> JsonPathError {
    JsonPathError::Data { reason }
}
