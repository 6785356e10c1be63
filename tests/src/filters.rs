//! The one list of what differs between two runs of the same test.

use std::{borrow::Cow, sync::LazyLock};

use regex::Regex;

/// Pattern and what stands for it in a snapshot. Replacements that occur in tables keep the width.
pub const LIST: &[(&str, &str)] = &[
    // directories of the kit
    (r#"(?:/[^\s/`'"=:,]+)*/butler-\d+-[0-9a-f]+-\d+"#, "[TEMP]"),
    // the sign of life of a slow machine
    (r"(?m)^waiting (for the API server|for machine `\S+`|until machine `\S+` is gone)( \d+s)?\n", ""),
    // loopback addresses with a port
    (r"\b127\.\d+\.\d+\.\d+:\d{4,5}\b", "127.0.0.1:PORT"),
    (r"\blocalhost:\d{4,5}\b", "localhost:PORT"),
    // namespaces of tests
    (r"\btest-\d{4}\b", "test-NNNN"),
    // our version, and that of the parts
    (concat!(r"\bv?", env!("CARGO_PKG_VERSION"), r"\b"), "[VERSION]"),
    (r"\bv1\.34\.\d+\b", "v1.34.N"),
    // object identities
    (
        r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b",
        "00000000-0000-0000-0000-000000000000",
    ),
];

/// The version of Kubernetes alone, as on the [`LIST`].
pub fn kubernetes(text: &str) -> String {
    static COMPILED: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\bv1\.34\.\d+\b").ok());
    match COMPILED.as_ref() {
        Some(regex) => regex.replace_all(text, "v1.34.N").into_owned(),
        None => text.to_owned(),
    }
}

/// Replaces everything on the [`LIST`].
pub fn apply(text: &str) -> String {
    static COMPILED: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
        LIST.iter()
            .map(|(pattern, replacement)| {
                #[expect(clippy::expect_used, reason = "the patterns are constants")]
                let regex = Regex::new(pattern).expect("a valid pattern");
                (regex, *replacement)
            })
            .collect()
    });
    let mut text = Cow::Borrowed(text);
    for (regex, replacement) in COMPILED.iter() {
        text = Cow::Owned(regex.replace_all(&text, *replacement).into_owned());
    }
    text.into_owned()
}
