//! What a command prints to stdout: the same value as a table, JSON, YAML or names.

mod table;

use std::str::FromStr;

use butler_core::error::Code;
use jiff::Timestamp;
use serde::Serialize;

use crate::{CommandError, CommandResult};

pub use table::{Cell, Table, age};

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

/// A value that can be printed. Its `Serialize` form is the contract of `-o json` and `-o yaml`.
pub trait Render: Serialize {
    /// The table for people.
    fn table(&self, view: &View) -> Table;

    /// What `-o name` prints, one per line, such as `tenantcluster/dev`.
    fn names(&self) -> Vec<String>;
}

impl Format {
    /// Turns a value into the text of this format, with a final newline unless it is empty.
    pub fn write<R: Render>(&self, value: &R, view: &View) -> CommandResult<String> {
        match self {
            Self::Table | Self::Wide => Ok(value.table(view).render(view.width)),
            Self::Json => to_json(value),
            Self::Yaml => to_yaml(value),
            Self::Name => Ok(value.names().into_iter().map(|name| name + "\n").collect()),
            Self::JsonPath(_) => Err(CommandError::new(Code::JsonPathInvalid, "not yet")),
        }
    }
}

/// Two-space JSON with a final newline.
pub fn to_json<T: Serialize>(value: &T) -> CommandResult<String> {
    let text = serde_json::to_string_pretty(value).map_err(|e| defect(&e))?;
    Ok(text + "\n")
}

/// One YAML document.
pub fn to_yaml<T: Serialize>(value: &T) -> CommandResult<String> {
    serde_saphyr::to_string(value).map_err(|e| defect(&e))
}

fn defect(error: &dyn std::error::Error) -> CommandError {
    CommandError::new(Code::Internal, "cannot serialise the result").caused_by(error)
}
