//! What a command prints to stdout: the same value as a table, JSON, YAML, names or a template.

mod conditions;
pub mod jsonpath;
pub mod stream;
mod table;
pub(crate) mod text;

use std::str::FromStr;

use butler_core::error::Code;
use jiff::Timestamp;
use serde::Serialize;

use crate::{CommandError, CommandResult};

pub use conditions::conditions;
pub use table::{Cell, Table, age};
pub use text::{counted, one_line};

/// The value of `-o`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// Columns for people.
    #[default]
    Table,
    /// More columns.
    Wide,
    /// Indented JSON.
    Json,
    /// YAML.
    Yaml,
    /// `kind/name`, one per line.
    Name,
    /// A kubectl JSONPath template.
    JsonPath(String),
}

impl FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(template) = text.strip_prefix("jsonpath=") {
            return Ok(Self::JsonPath(template.to_owned()));
        }
        match text.to_ascii_lowercase().as_str() {
            "table" | "" => Ok(Self::Table),
            "wide" => Ok(Self::Wide),
            "json" => Ok(Self::Json),
            "yaml" => Ok(Self::Yaml),
            "name" => Ok(Self::Name),
            _ => Err("expected table, wide, json, yaml, name or jsonpath=TEMPLATE".to_owned()),
        }
    }
}

/// How a table is laid out.
#[derive(Clone, Copy, Debug)]
pub struct View {
    /// Show the columns that are usually hidden.
    pub wide: bool,
    /// The time ages are counted from.
    pub now: Timestamp,
    /// Cut lines at this width; none: never.
    pub width: Option<usize>,
}

/// A value that can be printed. Its `Serialize` form is the contract of `-o json` and `-o yaml`; for
/// people it has a table, or a text of its own where columns do not fit.
pub trait Render: Serialize {
    /// The table for people.
    fn table(&self, _: &View) -> Table {
        Table::default()
    }

    /// What people read, if it is not a table.
    fn text(&self, view: &View) -> String {
        self.table(view).render(view.width)
    }

    /// What `-o name` prints, one per line, such as `tenantcluster/dev`.
    fn names(&self) -> Vec<String>;
}

impl Format {
    /// True for the forms that people read, with colours and cut to the terminal.
    pub fn is_for_people(&self) -> bool {
        matches!(self, Self::Table | Self::Wide)
    }

    /// Fails when a template cannot be read, before any work is done for it.
    pub fn check(&self) -> CommandResult {
        if let Self::JsonPath(template) = self {
            jsonpath::Template::parse(template)?;
        }
        Ok(())
    }

    /// Turns a value into the text of this format. A template says itself where lines end; all other
    /// formats end with a line break unless they are empty.
    pub fn write<R: Render>(&self, value: &R, view: &View) -> CommandResult<String> {
        match self {
            Self::Table | Self::Wide => Ok(value.text(view)),
            Self::Json => to_json(value),
            Self::Yaml => to_yaml(value),
            Self::Name => Ok(value.names().into_iter().map(|name| name + "\n").collect()),
            Self::JsonPath(template) => {
                let template = jsonpath::Template::parse(template)?;
                Ok(template.apply(&serde_json::to_value(value).map_err(|e| defect(&e))?)?)
            }
        }
    }
}

/// Two-space JSON with a final newline.
pub fn to_json<T: Serialize>(value: &T) -> CommandResult<String> {
    let text = serde_json::to_string_pretty(value).map_err(|e| defect(&e))?;
    Ok(text + "\n")
}

/// One YAML document, its keys in the order of JSON output.
pub fn to_yaml<T: Serialize>(value: &T) -> CommandResult<String> {
    serde_saphyr::to_string(value).map_err(|e| defect(&e))
}

fn defect(error: &dyn std::error::Error) -> CommandError {
    CommandError::new(Code::Internal, "cannot serialise the result").caused_by(error)
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn formats_are_read_in_any_case() {
        for (text, expected) in [
            ("", Format::Table),
            ("TABLE", Format::Table),
            ("Wide", Format::Wide),
            ("json", Format::Json),
            ("YAML", Format::Yaml),
            ("name", Format::Name),
            ("jsonpath={.a}", Format::JsonPath("{.a}".to_owned())),
        ] {
            assert_eq!(text.parse(), Ok(expected), "{text}");
        }
        assert!("xml".parse::<Format>().is_err());
        assert!(Format::JsonPath("{".to_owned()).check().is_err());
    }

    #[test]
    fn yaml_reads_back_as_the_same_value() {
        let value = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "a", "labels": {"on": "yes", "n": "0123", "t": "2026-01-01", "e": ""}},
            "data": {"text": "line 1\nline 2\n", "colour": "\u{1b}[31mred", "null": "null", "float": "1e3",
                     "colon": "a: b", "hash": "#x", "star": "*a", "space": " x ", "wide": "日本", "tab": "a\tb",
                     "long": "word ".repeat(40)},
            "empty": {"list": [], "map": {}, "null": null}, "numbers": [1, -2, 1.5, true],
        });
        let yaml = to_yaml(&value).unwrap();
        assert!(!yaml.contains('\u{1b}'), "{yaml}");
        assert_eq!(serde_saphyr::from_str::<Value>(&yaml).unwrap(), value, "{yaml}");
        assert_snapshot!(to_yaml(&value["metadata"]).unwrap(), @r#"
        labels:
          e: ""
          "n": "0123"
          "on": "yes"
          t: "2026-01-01"
        name: a
        "#);
    }
}
