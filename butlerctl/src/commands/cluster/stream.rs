//! `-o json` and `-o yaml` of any number of objects: written page by page, so that memory does not
//! grow with the list.

use std::io::{self, Write};

use butler_core::{cluster::pages::Pages, error::Code};
use butler_term::{
    CommandError, CommandResult, Ui,
    output::{Format, to_json, to_yaml},
};
use serde_json::Value;

use super::rows::without_managed_fields;

/// Writes the pages as one `List`.
pub(crate) async fn write(ui: &Ui, mut pages: Pages, format: &Format) -> CommandResult {
    let mut list = List { out: ui.stdout(), yaml: matches!(format, Format::Yaml), empty: true };
    let failed = |error: io::Error| CommandError::output(&error);
    list.begin().map_err(failed)?;
    while let Some(page) = pages.next().await? {
        for raw in page {
            let text = list.text(object(raw.get())?)?;
            list.item(&text).map_err(failed)?;
        }
    }
    list.end().map_err(failed)?;
    if pages.moved() {
        ui.warning(format_args!("clusters changed during the list; later ones are newer than earlier ones"));
    }
    Ok(())
}

/// One object of a page, as it is printed.
pub(crate) fn object(raw: &str) -> CommandResult<Value> {
    serde_json::from_str(raw).map(without_managed_fields).map_err(|error| {
        CommandError::new(Code::AnswerUnreadable, "cannot read an object of the list").caused_by(&error)
    })
}

struct List<W> {
    out: W,
    yaml: bool,
    empty: bool,
}

impl<W: Write> List<W> {
    fn begin(&mut self) -> io::Result<()> {
        let head = if self.yaml {
            "apiVersion: v1\nkind: List\nitems:"
        } else {
            "{\n  \"apiVersion\": \"v1\",\n  \"kind\": \"List\",\n  \"items\": ["
        };
        self.out.write_all(head.as_bytes())
    }

    fn text(&self, object: Value) -> CommandResult<String> {
        // A list of one is indented as an item of the list around it.
        if self.yaml { to_yaml(&[object]) } else { to_json(&object) }
    }

    fn item(&mut self, text: &str) -> io::Result<()> {
        let first = std::mem::replace(&mut self.empty, false);
        if self.yaml {
            let start = if first { "\n" } else { "" };
            return write!(self.out, "{start}{text}");
        }
        let start = if first { "\n    " } else { ",\n    " };
        // Strings in JSON hold no line breaks, so each one here begins a line.
        write!(self.out, "{start}{}", text.trim_end().replace('\n', "\n    "))
    }

    fn end(&mut self) -> io::Result<()> {
        let tail = match (self.yaml, self.empty) {
            (true, true) => " []\n",
            (true, false) => "",
            (false, true) => "]\n}\n",
            (false, false) => "\n  ]\n}\n",
        };
        self.out.write_all(tail.as_bytes())?;
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn written(yaml: bool, items: &[Value]) -> String {
        let mut list = List { out: Vec::new(), yaml, empty: true };
        list.begin().unwrap();
        for item in items {
            let text = list.text(item.clone()).unwrap();
            list.item(&text).unwrap();
        }
        list.end().unwrap();
        String::from_utf8(list.out).unwrap()
    }

    #[test]
    fn json_is_what_the_whole_list_would_print() {
        for items in
            [vec![], vec![json!({"a": {"b": [1, "x\ny"]}})], vec![json!({}), json!({"é": null}), json!([])]]
        {
            let whole = json!({"apiVersion": "v1", "kind": "List", "items": items});
            let text = written(false, &items);
            assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), whole);
            let lines: usize = to_json(&whole).unwrap().lines().count();
            assert_eq!(text.lines().count(), lines, "{text}");
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
