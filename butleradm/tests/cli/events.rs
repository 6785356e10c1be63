//! The event stream as it is documented: the schema in the repository is that of the types, every event that
//! the types can make fits it, and what does not fit is refused.

use std::{fs, path::PathBuf};

use anyhow::{Context, Result, bail, ensure};
use butler_core::{
    event::{
        Change, Event, EventKind, Level, ObjectRef, ObjectStatus, Outcome, Progress, RunId, Stall,
        StatusSnapshot, Unit, schema,
    },
    settings::Environment,
};
use regex::Regex;
use serde_json::{Value, json};

fn docs() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs"))
}

fn outcomes() -> Vec<Outcome> {
    let failed = Outcome::Failed { code: "BTL-1603".into(), message: "busy".into() };
    vec![Outcome::Succeeded, failed, Outcome::Cancelled]
}

/// Every kind, and every value that a field with few values can have.
fn kinds() -> Vec<EventKind> {
    let object = |namespace: Option<&str>| ObjectRef {
        kind: "Team".into(),
        namespace: namespace.map(str::to_owned),
        name: "a".into(),
    };
    let status = |message: Option<&str>| ObjectStatus {
        reference: object(None),
        phase: "Ready".into(),
        message: message.map(str::to_owned),
    };
    let mut kinds = vec![
        EventKind::PhaseStarted { phase: "A".into() },
        EventKind::Snapshot(StatusSnapshot::default()),
        EventKind::Snapshot(StatusSnapshot {
            phase: Some("A".into()),
            objects: vec![status(None), status(Some("waits"))],
        }),
        EventKind::Stalled(Stall {
            code: "BTL-2031".into(),
            what: "machine `a` has no address".into(),
            evidence: vec!["it runs".into()],
            next: Vec::new(),
            seconds: 20,
        }),
        EventKind::Moving {},
        EventKind::Intent { step: "machine/a".into(), data: json!({"cpu": 2}) },
        EventKind::Result { step: "machine/a".into(), data: Value::Null },
    ];
    for outcome in outcomes() {
        kinds.push(EventKind::PhaseFinished { phase: "A".into(), result: outcome.clone() });
        kinds.push(EventKind::finished(outcome));
    }
    for (unit, total) in [(Unit::Bytes, Some(9)), (Unit::Items, None)] {
        kinds.push(EventKind::Progress(Progress { task: "t".into(), done: 1, total, unit }));
    }
    for change in [Change::Created, Change::Updated, Change::Adopted, Change::Deleted] {
        kinds.push(EventKind::Resource { reference: object(Some("ns")), change });
    }
    for level in [Level::Debug, Level::Info, Level::Warn, Level::Error] {
        kinds.push(EventKind::Log { level, target: "t".into(), message: "m".into() });
    }
    kinds
}

fn event(kind: EventKind) -> Result<Value> {
    let run_id = RunId::parse("20261114-101112-00ff00").context("not an id")?;
    let time = "2026-11-14T10:11:12.5Z".parse()?;
    Ok(serde_json::to_value(Event { version: 1, seq: 7, time, run_id, kind })?)
}

/// What is wrong with a value. Knows the keywords that our schema has and fails on any other, so that no
/// part of it is passed over.
fn check(root: &Value, schema: &Value, value: &Value, at: &str) -> Result<()> {
    let Some(rules) = schema.as_object() else {
        ensure!(schema == &json!(true), "{at}: nothing fits `{schema}`");
        return Ok(());
    };
    for (keyword, rule) in rules {
        match keyword.as_str() {
            "$schema" | "title" | "description" | "$defs" | "default" => {}
            "$ref" => {
                let path = rule.as_str().and_then(|path| path.strip_prefix('#')).context("a foreign $ref")?;
                check(root, root.pointer(path).context("a $ref to nothing")?, value, at)?;
            }
            "type" => {
                let is = |name: &Value| match name.as_str() {
                    Some("object") => value.is_object(),
                    Some("array") => value.is_array(),
                    Some("string") => value.is_string(),
                    Some("integer") => value.is_u64() || value.is_i64(),
                    Some("null") => value.is_null(),
                    _ => false,
                };
                let fits = rule.as_array().map_or_else(|| is(rule), |names| names.iter().any(is));
                ensure!(fits, "{at}: {value} is not {rule}");
            }
            "const" => ensure!(value == rule, "{at}: {value} is not {rule}"),
            "enum" => {
                let known = rule.as_array().context("enum")?;
                ensure!(known.contains(value), "{at}: {value} is not one of {rule}");
            }
            "format" => match rule.as_str() {
                Some("date-time") => {
                    value.as_str().unwrap_or_default().parse::<jiff::Timestamp>()?;
                }
                Some("uint32" | "uint64") => ensure!(value.is_u64() || value.is_null(), "{at}: {value}"),
                other => bail!("{at}: the format {other:?} is not known here"),
            },
            "minimum" => ensure!(value.as_f64() >= rule.as_f64() || value.is_null(), "{at}: {value}"),
            "pattern" => {
                let pattern = Regex::new(rule.as_str().context("pattern")?)?;
                ensure!(pattern.is_match(value.as_str().unwrap_or_default()), "{at}: {value}");
            }
            "required" => {
                for name in rule.as_array().context("required")? {
                    ensure!(value.get(name.as_str().unwrap_or_default()).is_some(), "{at}: no {name}");
                }
            }
            "properties" => {
                for (name, rule) in rule.as_object().context("properties")? {
                    if let Some(value) = value.get(name) {
                        check(root, rule, value, &format!("{at}.{name}"))?;
                    }
                }
            }
            "items" => {
                for item in value.as_array().into_iter().flatten() {
                    check(root, rule, item, &format!("{at}[]"))?;
                }
            }
            "oneOf" | "anyOf" => {
                let rules = rule.as_array().context("a list of schemas")?;
                let found: Vec<_> = rules.iter().map(|rule| check(root, rule, value, at)).collect();
                let fitting = found.iter().filter(|found| found.is_ok()).count();
                let good = if keyword == "oneOf" { fitting == 1 } else { fitting > 0 };
                ensure!(good, "{at}: {value} fits {fitting} of {}: {found:?}", rules.len());
            }
            other => bail!("{at}: the keyword {other} is not known here"),
        }
    }
    Ok(())
}

fn committed() -> Result<Value> {
    Ok(serde_json::from_str(&fs::read_to_string(docs().join("events.schema.json"))?)?)
}

#[test]
fn the_committed_schema_is_that_of_the_types() -> Result<()> {
    let path = docs().join("events.schema.json");
    let made = serde_json::to_string_pretty(&schema::schema())? + "\n";
    if Environment::capture().has("BUTLER_UPDATE_DOCS") {
        fs::write(&path, &made)?;
    }
    ensure!(fs::read_to_string(&path)? == made, "run `make docs` and commit {}", path.display());
    Ok(())
}

#[test]
fn every_event_fits_the_schema() -> Result<()> {
    let schema = committed()?;
    for kind in kinds() {
        let event = event(kind)?;
        check(&schema, &schema, &event, "event").with_context(|| event.to_string())?;
    }
    Ok(())
}

#[test]
fn what_is_no_event_does_not_fit_the_schema() -> Result<()> {
    let schema = committed()?;
    let good = event(EventKind::Log { level: Level::Info, target: "t".into(), message: "m".into() })?;
    check(&schema, &schema, &good, "event")?;
    for (field, value) in [
        ("kind", json!("Weather")),
        ("level", json!("loud")),
        ("message", Value::Null),
        ("seq", json!("1")),
        ("seq", json!(-1)),
        ("time", json!("yesterday")),
        ("runId", json!("../../etc")),
        ("version", json!(null)),
    ] {
        let mut bad = good.clone();
        bad[field] = value;
        ensure!(check(&schema, &schema, &bad, "event").is_err(), "accepted: {bad}");
        if let Some(fields) = bad.as_object_mut() {
            fields.remove(field);
        }
        ensure!(check(&schema, &schema, &bad, "event").is_err(), "accepted without {field}: {bad}");
    }
    Ok(())
}

#[test]
fn the_page_tells_of_every_kind_and_field() -> Result<()> {
    let page = fs::read_to_string(docs().join("events.md"))?;
    for kind in kinds() {
        let event = event(kind)?;
        let kind = event["kind"].as_str().context("no kind")?;
        let row = page.lines().find(|line| line.starts_with(&format!("| `{kind}` |")));
        let row = row.with_context(|| format!("no row for {kind}"))?;
        for field in event.as_object().into_iter().flatten().map(|(name, _)| name) {
            let common = page.lines().any(|line| line.starts_with(&format!("| `{field}` |")));
            ensure!(common || row.contains(&format!("`{field}`")), "{kind}: no word on `{field}`");
        }
    }
    Ok(())
}
