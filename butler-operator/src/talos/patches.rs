//! A person's changes to a machine configuration: the `configPatches` of a ClusterBootstrap.
//!
//! They are RFC 6902 operations on the main document, applied before it is written. Talos itself
//! refuses such patches on configurations of several documents, so it never sees one.

use butler_core::redact::Secret;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::document::{Document, DocumentError};

/// One change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Patch {
    pub op: Operation,
    /// A JSON pointer, such as `/machine/sysctls`.
    pub path: String,
    /// JSON text; may hold passwords.
    #[serde(default)]
    pub value: Secret,
}

/// What to do at the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Operation {
    Add,
    Remove,
    Replace,
}

impl Patch {
    /// Changes the document, or leaves it as it was and says why.
    pub fn apply(&self, document: &mut Value) -> Result<(), DocumentError> {
        let wrong = |problem| DocumentError::field(Document::Patch, &self.path, problem);
        let value = || {
            serde_json::from_str::<Value>(self.value.expose())
                .map_err(|_| wrong("has a value that is not JSON"))
        };
        let (parent, key) = self.path.rsplit_once('/').ok_or_else(|| wrong("does not begin with a slash"))?;
        let key = key.replace("~1", "/").replace("~0", "~");
        let parent = document.pointer_mut(parent).ok_or_else(|| wrong("has no parent to stand in"))?;
        match (parent, self.op) {
            (Value::Object(map), Operation::Add) => {
                map.insert(key, value()?);
            }
            (Value::Object(map), Operation::Replace) => {
                let place = map.get_mut(&key).ok_or_else(|| wrong("does not exist"))?;
                *place = value()?;
            }
            (Value::Object(map), Operation::Remove) => {
                map.remove(&key).ok_or_else(|| wrong("does not exist"))?;
            }
            (Value::Array(list), Operation::Add) if key == "-" => list.push(value()?),
            (Value::Array(list), operation) => {
                let index = key.parse::<usize>().map_err(|_| wrong("needs a number here"))?;
                let last =
                    if operation == Operation::Add { list.len() } else { list.len().saturating_sub(1) };
                if index > last || (list.is_empty() && operation != Operation::Add) {
                    return Err(wrong("is beyond the end of the list"));
                }
                match operation {
                    Operation::Add => list.insert(index, value()?),
                    Operation::Replace => list[index] = value()?,
                    Operation::Remove => {
                        list.remove(index);
                    }
                }
            }
            _ => return Err(wrong("stands in a value that has no parts")),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn patch(op: &str, path: &str, value: &str) -> Patch {
        serde_json::from_value(json!({ "op": op, "path": path, "value": value })).unwrap()
    }

    #[rstest]
    #[case("add", "/machine/time", r#"{"servers":["a"]}"#, json!({"machine": {"list": [1, 2], "a/b": 0, "time": {"servers": ["a"]}}}))]
    #[case("add", "/machine/list/-", "3", json!({"machine": {"list": [1, 2, 3], "a/b": 0}}))]
    #[case("add", "/machine/list/0", "0", json!({"machine": {"list": [0, 1, 2], "a/b": 0}}))]
    #[case("replace", "/machine/list/1", "9", json!({"machine": {"list": [1, 9], "a/b": 0}}))]
    #[case("remove", "/machine/list/0", "", json!({"machine": {"list": [2], "a/b": 0}}))]
    #[case("remove", "/machine/a~1b", "", json!({"machine": {"list": [1, 2]}}))]
    fn a_patch_does_what_the_rfc_says(
        #[case] op: &str,
        #[case] path: &str,
        #[case] value: &str,
        #[case] then: Value,
    ) {
        let mut document = json!({"machine": {"list": [1, 2], "a/b": 0}});
        patch(op, path, value).apply(&mut document).unwrap();
        assert_eq!(document, then);
    }

    #[rstest]
    #[case("add", "machine", "1", "does not begin with a slash")]
    #[case("add", "/none/x", "1", "has no parent to stand in")]
    #[case("add", "/list/9", "1", "is beyond the end of the list")]
    #[case("remove", "/list/2", "", "is beyond the end of the list")]
    #[case("replace", "/list/x", "1", "needs a number here")]
    #[case("replace", "/none", "1", "does not exist")]
    #[case("remove", "/none", "", "does not exist")]
    #[case("add", "/text/x", "1", "stands in a value that has no parts")]
    #[case("add", "/x", "{hunter2", "has a value that is not JSON")]
    fn a_patch_that_cannot_be_says_why(
        #[case] op: &str,
        #[case] path: &str,
        #[case] value: &str,
        #[case] why: &str,
    ) {
        let mut document = json!({"list": [1, 2], "text": "t"});
        let before = document.clone();
        let error = patch(op, path, value).apply(&mut document).unwrap_err();
        assert_eq!(error.to_string(), format!("the configuration patch is not usable: `{path}` {why}"));
        assert_eq!(document, before);
    }
}
