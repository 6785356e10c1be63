//! `-o json` and `-o yaml` of any number of objects: written page by page, so that memory does not
//! grow with the list.

use butler_core::{cluster::pages::Pages, error::Code};
use serde_json::Value;

use super::{Format, to_json, to_yaml};
use crate::{CommandError, CommandResult, Ui};

/// What is shown when an answer takes a while.
const WAITING: &str = "waiting for the API server";

/// Writes the pages as one `List`.
pub async fn write(ui: &Ui, mut pages: Pages, format: &Format) -> CommandResult {
    let mut list = List { text: String::new(), yaml: *format == Format::Yaml, empty: true };
    let mut spinner = Some(ui.spinner(WAITING));
    list.begin();
    while let Some(page) = pages.next().await? {
        spinner.take();
        for raw in page {
            list.push(&object(raw.get())?)?;
        }
        ui.text(&std::mem::take(&mut list.text))?;
    }
    list.end();
    ui.text(&list.text)?;
    if pages.moved() {
        ui.warning(format_args!("objects changed during the list; later ones are newer than earlier ones"));
    }
    Ok(())
}

/// One object of a page, as it is printed.
pub fn object(raw: &str) -> CommandResult<Value> {
    serde_json::from_str(raw).map(without_managed_fields).map_err(|error| {
        CommandError::new(Code::AnswerUnreadable, "cannot read an object of the list").caused_by(&error)
    })
}

/// Removes what the server keeps for itself; kubectl hides it too.
pub fn without_managed_fields(mut object: Value) -> Value {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    object
}

/// The text of a list that is written bit by bit.
struct List {
    text: String,
    yaml: bool,
    empty: bool,
}

impl List {
    fn begin(&mut self) {
        self.text += if self.yaml {
            "apiVersion: v1\nkind: List\nitems:"
        } else {
            "{\n  \"apiVersion\": \"v1\",\n  \"kind\": \"List\",\n  \"items\": ["
        };
    }

    fn push(&mut self, object: &Value) -> CommandResult {
        let first = std::mem::replace(&mut self.empty, false);
        if self.yaml {
            self.text += if first { "\n" } else { "" };
            // A list of one is indented as an item of the list around it.
            self.text += &to_yaml(&[object])?;
        } else {
            self.text += if first { "\n    " } else { ",\n    " };
            // Strings in JSON hold no line breaks, so each one here begins a line.
            self.text += &to_json(object)?.trim_end().replace('\n', "\n    ");
        }
        Ok(())
    }

    fn end(&mut self) {
        self.text += match (self.yaml, self.empty) {
            (true, true) => " []\n",
            (true, false) => "",
            (false, true) => "]\n}\n",
            (false, false) => "\n  ]\n}\n",
        };
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn written(yaml: bool, items: &[Value]) -> String {
        let mut list = List { text: String::new(), yaml, empty: true };
        list.begin();
        items.iter().for_each(|item| list.push(item).unwrap());
        list.end();
        list.text
    }

    #[test]
    fn json_is_what_the_whole_list_would_print() {
        for items in
            [vec![], vec![json!({"a": {"b": [1, "x\ny"]}})], vec![json!({}), json!({"é": null}), json!([])]]
        {
            let whole = json!({"apiVersion": "v1", "kind": "List", "items": items});
            let text = written(false, &items);
            assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), whole);
            assert_eq!(text.lines().count(), to_json(&whole).unwrap().lines().count(), "{text}");
        }
    }

    #[test]
    fn yaml_reads_as_a_list() {
        let items =
            [json!({"metadata": {"name": "a"}, "spec": {"list": [1, {"x": "y"}]}}), json!({"b": "l1\nl2\n"})];
        insta::assert_snapshot!(written(true, &items), @r#"
        apiVersion: v1
        kind: List
        items:
        - metadata:
            name: a
          spec:
            list:
            - 1
            - x: "y"
        - b: |
            l1
            l2
        "#);
        insta::assert_snapshot!(written(true, &[]), @r"
        apiVersion: v1
        kind: List
        items: []
        ");
    }
}
