//! Values that stand for secrets, filled in at the last moment.

use base64::{Engine, prelude::BASE64_STANDARD};
use butler_core::redact::Secret;
use serde_json::{Map, Value};

use super::AddonError;
use crate::driver::registry::Credentials;

/// Fills in references to credentials and remembers what was filled in, so that it can be taken out of
/// other people's words.
pub(super) struct Resolver<'a> {
    credentials: &'a Credentials,
    used: Vec<Secret>,
}

impl<'a> Resolver<'a> {
    pub(super) fn new(credentials: &'a Credentials) -> Self {
        Self { credentials, used: Vec::new() }
    }

    /// The value with every reference filled in.
    pub(super) fn resolve(&mut self, value: &Value) -> Result<Value, AddonError> {
        Ok(self.fill(value)?.unwrap_or(Value::Null))
    }

    /// None where an optional reference has no value.
    fn fill(&mut self, value: &Value) -> Result<Option<Value>, AddonError> {
        Ok(match value {
            Value::Object(map) => match self.reference(map)? {
                Some(found) => return Ok(found.map(|secret| Value::String(secret.expose().to_owned()))),
                None => {
                    let mut filled = Map::new();
                    for (key, value) in map {
                        if let Some(value) = self.fill(value)? {
                            filled.insert(key.clone(), value);
                        }
                    }
                    Some(Value::Object(filled))
                }
            },
            Value::Array(items) => {
                let mut filled = Vec::with_capacity(items.len());
                for item in items {
                    filled.extend(self.fill(item)?);
                }
                Some(Value::Array(filled))
            }
            other => Some(other.clone()),
        })
    }

    /// What a reference stands for; the outer none when the map is no reference.
    fn reference(&mut self, map: &Map<String, Value>) -> Result<Option<Option<Secret>>, AddonError> {
        let text = match (map.get("fromCredentials"), map.get("joined"), map.get("asJson")) {
            (Some(Value::String(key)), ..) => match self.credentials.get(key) {
                Some(secret) => secret.expose().to_owned(),
                None if map.get("optional") == Some(&Value::Bool(true)) => return Ok(Some(None)),
                None => return Err(AddonError::Credential { key: key.clone() }),
            },
            (None, Some(Value::Array(parts)), None) => {
                let mut text = String::new();
                for part in parts {
                    if let Some(Value::String(part)) = self.fill(part)? {
                        text.push_str(&part);
                    }
                }
                text
            }
            (None, None, Some(document)) => self.resolve(document)?.to_string(),
            _ => return Ok(None),
        };
        self.used.push(Secret::from(text.as_str()));
        let text = match map.get("encode").and_then(Value::as_str) {
            Some("base64") => BASE64_STANDARD.encode(text),
            _ => text,
        };
        let secret = Secret::from(text);
        self.used.push(secret.clone());
        Ok(Some(Some(secret)))
    }

    /// A text without the secrets that were filled in, whatever form they took.
    pub(super) fn redact(&self, text: &str) -> String {
        let mut text = text.to_owned();
        // Long ones first: a short one may be a part of a long one.
        let mut used: Vec<_> = self.used.iter().map(Secret::expose).filter(|used| used.len() > 2).collect();
        used.sort_by_key(|used| std::cmp::Reverse(used.len()));
        for secret in used {
            let quoted = Value::from(secret).to_string();
            let forms =
                [secret.to_owned(), quoted.trim_matches('"').to_owned(), BASE64_STANDARD.encode(secret)];
            for form in forms {
                text = text.replace(&form, "(hidden)");
            }
        }
        text
    }
}

/// Turns `stringData` of a Secret into `data`: the API server does so too, but forgets who owns it.
pub(super) fn settle(object: &mut Value) {
    if object["kind"] != "Secret" {
        return;
    }
    let Some(Value::Object(texts)) = object.as_object_mut().and_then(|map| map.remove("stringData")) else {
        return;
    };
    for (key, text) in texts {
        let encoded = BASE64_STANDARD.encode(text.as_str().unwrap_or_default());
        object["data"][key] = Value::String(encoded);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn references_become_values_wherever_they_stand() {
        let credentials: Credentials = [("key", "s3cret\"line\nbreak"), ("id", "me")].into_iter().collect();
        let mut resolver = Resolver::new(&credentials);
        let value = json!({
            "plain": [1, true, { "fromCredentials": "id" }],
            "gone": { "fromCredentials": "other", "optional": true },
            "file": { "asJson": { "secret": { "fromCredentials": "key" } } },
            "profile": { "joined": ["id = ", { "fromCredentials": "id" }, "\n"], "encode": "base64" },
        });
        let resolved = resolver.resolve(&value).unwrap();
        assert_eq!(resolved["plain"], json!([1, true, "me"]));
        assert!(resolved.get("gone").is_none());
        assert_eq!(resolved["file"], r#"{"secret":"s3cret\"line\nbreak"}"#);
        assert_eq!(resolved["profile"], BASE64_STANDARD.encode("id = me\n"));
        let error = resolver.resolve(&json!({ "fromCredentials": "other" })).unwrap_err();
        assert!(error.to_string().contains("`other`"));
    }

    #[test]
    fn what_was_filled_in_is_taken_out_of_other_peoples_words() {
        let credentials: Credentials = [("key", "pa\"ss\nword")].into_iter().collect();
        let mut resolver = Resolver::new(&credentials);
        resolver.resolve(&json!({ "a": { "fromCredentials": "key" } })).unwrap();
        let words =
            format!("bad pa\"ss\nword, {:?} and {}", "pa\"ss\nword", BASE64_STANDARD.encode("pa\"ss\nword"));
        let said = resolver.redact(&words);
        assert!(!said.contains("word"), "{said}");
        assert_eq!(said.matches("(hidden)").count(), 3, "{said}");
    }

    #[test]
    fn a_secret_is_applied_as_bytes() {
        let mut secret = json!({ "kind": "Secret", "stringData": { "a": "b" } });
        settle(&mut secret);
        assert_eq!(secret, json!({ "kind": "Secret", "data": { "a": "Yg==" } }));
    }
}
