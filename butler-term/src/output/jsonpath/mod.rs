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
    /// `{range …}` up to its `{end}`, or to the end of the template.
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
        let value = json!({
            "kind": "List",
            "items": [
                {"kind": "None", "metadata": {"name": "127.0.0.1",
                    "labels": {"kubernetes.io/hostname": "host1", "env": "a<b"}},
                 "status": {"capacity": {"cpu": "4"}, "ready": true, "load": 1.5, "pods": 12, "gone": null}},
                {"kind": "None", "metadata": {"name": "127.0.0.2"},
                 "status": {"capacity": {"cpu": "8"}, "ready": false, "pods": 3, "tags": ["x", "y", "z"]}}
            ],
            "users": [
                {"name": "myself", "user": {}},
                {"name": "e2e", "user": {"username": "admin", "password": "secret"}}
            ]
        });
        Template::parse(template)?.apply(&value)
    }

    #[rstest]
    // The table of kubectl's documentation.
    #[case("kind is {.kind}", "kind is List")]
    #[case("{['kind']}", "List")]
    #[case("{..name}", "127.0.0.1 127.0.0.2 myself e2e")]
    #[case("{.items[*].metadata.name}", "127.0.0.1 127.0.0.2")]
    #[case("{.users[0].name}", "myself")]
    #[case(
        "{.items[*]['metadata.name', 'status.capacity']}",
        r#"127.0.0.1 127.0.0.2 {"cpu":"4"} {"cpu":"8"}"#
    )]
    #[case(r#"{.users[?(@.name=="e2e")].user.password}"#, "secret")]
    #[case(
        "{range .items[*]}[{.metadata.name}, {.status.capacity}] {end}",
        r#"[127.0.0.1, {"cpu":"4"}] [127.0.0.2, {"cpu":"8"}] "#
    )]
    #[case(r#"{range .items[*]}{.metadata.name}{'\t'}{end}"#, "127.0.0.1\t127.0.0.2\t")]
    #[case(r"{.items[*].metadata.labels.kubernetes\.io/hostname}", "host1")]
    // Roots, relaxed forms, text.
    #[case("{$.kind}{@.kind}", "ListList")]
    #[case("{ .kind }", "List")]
    #[case(".kind", "List")]
    #[case("kind", "List")]
    #[case("a {\"b\"} {'c'}\\n", "a b c\\n")]
    #[case(r#"{"tab\tquote\"\u00e9\x41\101"}"#, "tab\tquote\"éAA")]
    // Indexes and slices.
    #[case("{.items[-1].metadata.name}", "127.0.0.2")]
    #[case("{.items[1].status.tags[0:2]}", "x y")]
    #[case("{.items[1].status.tags[-2:]}", "y z")]
    #[case("{.items[1].status.tags[::2]}", "x z")]
    #[case("{.items[1].status.tags[0,2]}", "x z")]
    #[case("{.items[1].status.tags[1:1]}", "")]
    #[case("{.items[*].status.tags[*]}", "x y z")]
    // Kinds of values.
    #[case("{.items[0].status.ready} {.items[0].status.load} {.items[0].status.pods}", "true 1.5 12")]
    #[case("{.items[1].status.tags}", r#"["x","y","z"]"#)]
    #[case("{.items[0].metadata.labels}", r#"{"env":"a\u003cb","kubernetes.io/hostname":"host1"}"#)]
    #[case("{.items[0].status.capacity.*}", "4")]
    #[case("{.missing.key}|{.items[0].nope}", "|")]
    #[case("{range .missing[*]}{.x}{end}.", ".")]
    // Filters.
    #[case("{.items[?(@.status.pods>5)].metadata.name}", "127.0.0.1")]
    #[case("{.items[?(@.status.pods <= 3)].metadata.name}", "127.0.0.2")]
    #[case("{.items[?(@.status.ready==true)].metadata.name}", "127.0.0.1")]
    #[case("{.items[?(@.metadata.name!='127.0.0.1')].metadata.name}", "127.0.0.2")]
    #[case("{.items[?(@.status.tags)].metadata.name}", "127.0.0.2")]
    #[case("{.items[?(@.metadata.labels.kubernetes\\.io/hostname=='host1')].kind}", "None")]
    #[case("{.users[?(@.name=='a)]')].name}", "")]
    // Ranges.
    #[case(
        "{range .items[*]}{.metadata.name}:{range .status.tags[*]}{@},{end};{end}",
        "127.0.0.1:;127.0.0.2:x,y,z,;"
    )]
    #[case("{range .items[*]}{.metadata.name} ", "127.0.0.1 127.0.0.2 ")]
    fn templates_give_what_kubectl_prints(#[case] template: &str, #[case] expected: &str) {
        assert_eq!(apply(template).unwrap(), expected, "{template}");
    }

    #[rstest]
    #[case("{.kind", 7)]
    #[case("{.items[0}", 10)]
    #[case("{.items[a]}", 9)]
    #[case("{.items[?(@.a==1]}", 17)]
    #[case("{\"open}", 8)]
    #[case("{end}", 2)]
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
    #[case("{.items[?(@.status.pods=='x')]}", "cannot compare a number with a string")]
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
