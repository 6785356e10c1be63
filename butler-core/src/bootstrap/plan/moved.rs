//! What is not as it was when a plan was made.

use std::{collections::BTreeMap, fmt};

use serde::Serialize;
use serde_json::Value;

use super::Plan;

/// One thing that is not as it was.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Moved {
    /// Where in the plan.
    pub path: String,
    /// What it was; null when it was not there.
    pub then: Value,
    /// What it is; null when it is gone.
    pub now: Value,
}

impl fmt::Display for Moved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, then, now } = self;
        if let Some(words) = self.in_the_world() {
            return f.write_str(&words);
        }
        match (then, now) {
            (Value::Null, now) => write!(f, "{path} is new: {}", short(now)),
            (then, Value::Null) => write!(f, "{path} is gone: it was {}", short(then)),
            (then, now) => write!(f, "{path} was {} and is {}", short(then), short(now)),
        }
    }
}

impl Moved {
    /// What a person calls a fact of the world.
    fn in_the_world(&self) -> Option<String> {
        let fact = self.path.strip_prefix("world.")?;
        let (name, item) = match fact.split_once('[') {
            Some((name, item)) => (name, item.split_once(']')?.0),
            None => fact.split_once('.').unwrap_or((fact, "")),
        };
        let (then, now) = (&self.then, &self.now);
        let (is_new, is_gone) = (then.is_null(), now.is_null());
        let thing = match name {
            "machines" => "machine",
            _ => "load balancer",
        };
        Some(match name {
            "configSha256" => "the configuration was changed".to_owned(),
            "programVersion" => {
                format!("this program is version {}, and {} made the plan", plain(now), plain(then))
            }
            "secrets" => format!("the secret `{item}` has another value"),
            "vipAnswers" if *now == Value::Bool(true) => {
                "something answers at the address of the control plane now, and did not before".to_owned()
            }
            "vipAnswers" => "nothing answers at the address of the control plane any more".to_owned(),
            "temporaryCluster" if *now == Value::Bool(true) => {
                "a temporary cluster of that name exists now, and did not before".to_owned()
            }
            "temporaryCluster" => "the temporary cluster of that name is gone".to_owned(),
            "machines" | "loadBalancers" if fact.ends_with(".owner") => {
                format!("{thing} `{item}` at the provider is another one now{}", of(now))
            }
            "machines" | "loadBalancers" if is_new => {
                format!("{thing} `{item}` exists at the provider now{}", of(&now["owner"]))
            }
            "machines" | "loadBalancers" => format!("{thing} `{item}` is gone from the provider"),
            "runs" if is_new => {
                format!("run `{item}` makes this cluster now, and is {}", plain(&now["stage"]))
            }
            "runs" if is_gone => format!("run `{item}` does not hold this cluster any more"),
            "runs" => format!("run `{item}` was {} and is {}", plain(then), plain(now)),
            _ => return None,
        })
    }
}

fn of(owner: &Value) -> String {
    owner.as_str().map(|owner| format!(", of `{owner}`")).unwrap_or_default()
}

fn plain(value: &Value) -> &str {
    value.as_str().unwrap_or("unknown")
}

/// A value in a few words.
fn short(value: &Value) -> String {
    match value {
        Value::String(text) => format!("`{text}`"),
        Value::Object(fields) => {
            let words = fields.iter().filter(|(_, value)| !value.is_null());
            let words: Vec<String> = words.map(|(name, value)| format!("{name} {}", short(value))).collect();
            words.join(", ")
        }
        value => value.to_string(),
    }
}

impl Plan {
    /// What is not as this plan says, when `now` is the plan of the same configuration made now. How long
    /// things should take is no reason to refuse, nor is what one of the two did not look at.
    pub fn moved(&self, now: &Self) -> Vec<Moved> {
        let value = |plan: &Self| {
            let mut value = serde_json::to_value(plan).unwrap_or_default();
            if let Some(fields) = value.as_object_mut() {
                fields.remove("expected");
                fields.remove("notes");
            }
            if let Some(fields) = value["world"].as_object_mut() {
                fields.remove("unseen");
                fields.remove("secretsSalt");
            }
            value
        };
        let mut moved = Vec::new();
        compare("", &value(self), &value(now), &mut moved);
        let looked_at = |moved: &Moved| {
            let fact = moved.path.starts_with("world.") && !moved.path.contains('[');
            !fact || !(moved.then.is_null() || moved.now.is_null())
        };
        moved.retain(looked_at);
        // What a person did comes before what follows from it.
        moved.sort_by_key(|moved| moved.path != "world.configSha256");
        moved
    }
}

fn compare(path: &str, then: &Value, now: &Value, moved: &mut Vec<Moved>) {
    if then == now || path.ends_with(".expectedSeconds") {
        return;
    }
    match (then, now) {
        (Value::Object(before), Value::Object(after)) => {
            let names: BTreeMap<&String, ()> =
                before.keys().chain(after.keys()).map(|name| (name, ())).collect();
            for name in names.into_keys() {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                let field =
                    |object: &serde_json::Map<String, Value>| object.get(name).cloned().unwrap_or_default();
                compare(&path, &field(before), &field(after), moved);
            }
        }
        (Value::Array(before), Value::Array(after)) => {
            let (before, after) = (keyed(before), keyed(after));
            let mut same_order = before.iter().map(|(key, _)| key).eq(after.iter().map(|(key, _)| key));
            for (key, then) in &before {
                let now = after.iter().find(|(other, _)| other == key).map(|(_, value)| *value);
                same_order |= now.is_none();
                compare(&format!("{path}[{key}]"), then, now.unwrap_or(&Value::Null), moved);
            }
            for (key, now) in after.iter().filter(|(key, _)| !before.iter().any(|(other, _)| other == key)) {
                same_order = true;
                moved.push(Moved { path: format!("{path}[{key}]"), then: Value::Null, now: (*now).clone() });
            }
            if !same_order {
                let order = |items: &[(String, &Value)]| {
                    Value::from(items.iter().map(|(key, _)| key.clone()).collect::<Vec<_>>().join(", "))
                };
                moved.push(Moved {
                    path: format!("order of {path}"),
                    then: order(&before),
                    now: order(&after),
                });
            }
        }
        _ => moved.push(Moved { path: path.to_owned(), then: then.clone(), now: now.clone() }),
    }
}

/// The items of a list by what names them; those that nothing names by their place.
fn keyed(items: &[Value]) -> Vec<(String, &Value)> {
    let key = |(index, item): (usize, &Value)| {
        let text = |name: &str| item.get(name).and_then(Value::as_str);
        let words: Vec<&str> = match item {
            Value::String(word) => vec![word],
            _ => ["id", "place", "addon", "kind", "namespace", "name"].into_iter().filter_map(text).collect(),
        };
        if words.is_empty() { index.to_string() } else { words.join("/") }
    };
    items.iter().enumerate().map(|(index, item)| (key((index, item)), item)).collect()
}
