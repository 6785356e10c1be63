//! kubectl's JSONPath templates: text, `{.path}`, `{range .items[*]}…{end}`, `{"quoted text"}`.
//!
//! RFC 9535 libraries refuse this language, so [`parse`] reads it and [`eval`] walks the value. Where
//! kubectl's answer depends on the order of a Go map, ours is sorted; a template without any brace is
//! taken as one path, as `kubectl --sort-by` does.

mod eval;
mod parse;

use butler_core::error::{Code, Diagnose};
use serde_json::Value;

/// Why a template gives no text.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum JsonPathError {
    /// The template itself is wrong.
    #[error("cannot read the JSONPath template at character {position}: {reason}")]
    Syntax {
        /// Counted from 1.
        position: usize,
        /// What is wrong there.
        reason: String,
    },
    /// The template does not fit the data.
    #[error("cannot apply the JSONPath template: {reason}")]
    Data {
        /// What does not fit.
        reason: String,
    },
}

impl Diagnose for JsonPathError {
    fn code(&self) -> Code {
        Code::JsonPathInvalid
    }
}

/// A template that was read and can be applied to values.
#[derive(Clone, Debug, PartialEq)]
pub struct Template {
    parts: Vec<Part>,
}

impl Template {
    /// Reads a template.
    pub fn parse(text: &str) -> Result<Self, JsonPathError> {
        Ok(Self { parts: parse::template(text)? })
    }

    /// The text this template makes of a value.
    pub fn apply(&self, value: &Value) -> Result<String, JsonPathError> {
        let mut out = String::new();
        eval::parts(&self.parts, value, &mut out)?;
        Ok(out)
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Part {
    Text(String),
    /// `{…}`
    Path(Vec<Step>),
    /// `{range …}` up to its `{end}`.
    Range(Vec<Step>, Vec<Part>),
}

#[derive(Clone, Debug, PartialEq)]
enum Step {
    /// `.name`
    Field(String),
    /// `.*`
    Wildcard,
    /// `..`
    Descend,
    /// `[1]`, `[-1]`, `[*]`, `[0:2]`, `[::2]`
    Slice(Slice),
    /// `[0,2]`, `['a','b']`
    Union(Vec<Vec<Step>>),
    /// `[?(@.a)]`, `[?(@.a=="x")]`
    Filter(Vec<Step>, Option<(Operator, Vec<Step>)>),
    /// Quoted text, a number or a boolean: takes the place of what stood before it.
    Literal(Value),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Slice {
    Index(i64),
    Bounds { start: i64, end: Option<i64>, step: i64 },
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn apply(template: &str) -> Result<String, JsonPathError> {
        let value =
            json!({"kind": "List", "items": [{"pods": 12, "load": 1.5}, {"pods": 3}], "lists": [[], [1, 2]]});
        Template::parse(template)?.apply(&value)
    }

    // What kubectl does the same way is compared with it in `tests/term/jsonpath.rs`.
    #[rstest]
    #[case::a_path_without_braces(".kind", "List")]
    #[case::a_path_without_braces_and_dot("items[0].pods", "12")]
    #[case::double_quotes_around_a_key("{[\"kind\"]}", "List")]
    #[case::a_float_compared_with_an_integer("{.items[?(@.load>1)].pods}", "12")]
    #[case::an_empty_list_before_a_full_one("{.lists[*][*]}", "1 2")]
    fn more_is_accepted_than_kubectl_does(#[case] template: &str, #[case] expected: &str) {
        assert_eq!(apply(template).unwrap(), expected);
    }

    #[rstest]
    #[case("{.kind", 7)]
    #[case("{.items[0}", 10)]
    #[case("{.items[a]}", 9)]
    #[case("{.items[?(@.a==1]}", 17)]
    #[case("{\"open}", 8)]
    #[case("{end}", 2)]
    #[case("{range .items[*]}{.pods}", 2)]
    #[case("{unknown}", 2)]
    #[case("{.a}{&}", 6)]
    #[case("{.items[?(@.a=~'x')]}", 14)]
    #[case("{.items[::0]}", 9)]
    #[case("{....a}", 4)]
    fn errors_name_the_place(#[case] template: &str, #[case] expected: usize) {
        match apply(template) {
            Err(JsonPathError::Syntax { position, .. }) => assert_eq!(position, expected, "{template}"),
            other => panic!("{template}: {other:?}"),
        }
    }

    #[rstest]
    #[case("{.items[7]}", "index 7 is outside a list of 2")]
    #[case("{.items[0:5]}", "index 4 is outside a list of 2")]
    #[case("{.kind[0]}", "`[…]` needs a list, not a string")]
    #[case("{.kind[?(@.a)]}", "a filter needs a list, not a string")]
    #[case("{.items[?(@.pods=='x')]}", "cannot compare a number with a string")]
    fn data_that_does_not_fit_is_an_error(#[case] template: &str, #[case] expected: &str) {
        let reason = expected.to_owned();
        assert_eq!(apply(template), Err(JsonPathError::Data { reason }), "{template}");
    }

    #[test]
    fn hostile_templates_neither_panic_nor_overflow() {
        let deep = "{.a[?(@".repeat(20_000);
        let many = "{range .a[*]}".repeat(20_000);
        for template in
            [&deep, &many, "{", "}", "{}", "{[}", "{..}", "{'\\", "{.\\", "é{é}", "{range}", "{-}"]
        {
            let _ = Template::parse(template).map(|template| template.apply(&json!({"a": [1]})));
        }
    }
}
