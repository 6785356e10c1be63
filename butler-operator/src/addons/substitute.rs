//! Variables of published manifests, filled in after parsing: a value with quotes, line breaks or `$` in
//! it stays one value.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// Fills in `${NAME}`, `${NAME:=default}` and their shorter forms. Returns the names that have neither
/// value nor default.
pub(super) fn substitute(value: &mut Value, variables: &BTreeMap<String, Value>) -> BTreeSet<String> {
    let mut missing = BTreeSet::new();
    walk(value, variables, &mut missing);
    missing
}

fn walk(value: &mut Value, variables: &BTreeMap<String, Value>, missing: &mut BTreeSet<String>) {
    match value {
        Value::String(text) if text.contains("${") => {
            // A value that is the variable alone keeps the variable's type.
            if let Some((name, _, "")) = variable(text)
                && let Some(typed) = variables.get(name).filter(|value| !value.is_string())
            {
                *value = typed.clone();
                return;
            }
            *text = fill(text, variables, missing);
        }
        Value::Array(items) => items.iter_mut().for_each(|item| walk(item, variables, missing)),
        Value::Object(map) => map.values_mut().for_each(|value| walk(value, variables, missing)),
        _ => {}
    }
}

fn fill(text: &str, variables: &BTreeMap<String, Value>, missing: &mut BTreeSet<String>) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        filled.push_str(&rest[..start]);
        rest = &rest[start..];
        let Some((name, default, after)) = variable(rest) else {
            filled.push_str("${");
            rest = &rest[2..];
            continue;
        };
        match (variables.get(name), default) {
            (Some(Value::String(value)), _) => filled.push_str(value),
            (Some(value), _) => filled.push_str(&value.to_string()),
            (None, Some(default)) => filled.push_str(default),
            (None, None) => {
                missing.insert(name.to_owned());
            }
        }
        rest = after;
    }
    filled + rest
}

/// The variable that a text begins with: its name, its default, and what follows.
fn variable(text: &str) -> Option<(&str, Option<&str>, &str)> {
    let inside = text.strip_prefix("${")?;
    let (inside, after) = inside.split_once('}')?;
    let end = inside.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(inside.len());
    let (name, default) = inside.split_at(end);
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let default = match default {
        "" => None,
        text => Some([":=", ":-", "=", "-"].iter().find_map(|mark| text.strip_prefix(mark))?),
    };
    // Publishers quote an empty default as a shell would.
    Some((name, default.map(|text| text.trim_matches('"')), after))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn filled(mut value: Value, variables: Value) -> (Value, Vec<String>) {
        let variables = serde_json::from_value(variables).unwrap();
        let missing = substitute(&mut value, &variables);
        (value, missing.into_iter().collect())
    }

    #[test]
    fn values_and_defaults_stand_in_for_variables() {
        let given = json!({ "a": ["--v=${LEVEL:=2}", "${URL}/api", "${N}", "x${EMPTY=\"\"}y"], "b": "$$ ${} ${1} ${open" });
        let variables = json!({ "URL": "https://a", "N": 3 });
        let (value, missing) = filled(given, variables);
        assert_eq!(value["a"], json!(["--v=2", "https://a/api", 3, "xy"]));
        assert_eq!(value["b"], "$$ ${} ${1} ${open");
        assert!(missing.is_empty());
        let (_, missing) = filled(json!(["${B}", "${A} ${B}"]), json!({}));
        assert_eq!(missing, ["A", "B"]);
    }

    proptest! {
        #[test]
        fn a_value_is_never_read_again(text in ".*") {
            let (value, missing) = filled(json!("<${PASSWORD}>"), json!({ "PASSWORD": text }));
            prop_assert_eq!(value, json!(format!("<{text}>")));
            prop_assert!(missing.is_empty());
        }

        #[test]
        fn any_text_comes_back(text in "[${}:=A-Z a]*") {
            let _ = filled(json!(text), json!({}));
        }
    }
}
