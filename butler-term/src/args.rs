//! Argument groups of both programs.

use std::{ffi::OsString, path::PathBuf, time::Duration};

use clap::{Args, ValueEnum};

use crate::{complete, output::Format};

/// When to use colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Color {
    // No help of their own: it would spread over every page of help.
    #[default]
    Auto,
    Always,
    Never,
}

/// Flags every command has.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Global options")]
pub struct GlobalArgs {
    /// Say more: details with -v, library logs with -vv
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,

    /// Say nothing but warnings and errors
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,

    /// When to use colours; auto: on a terminal, unless NO_COLOR is set
    #[arg(long, global = true, value_name = "WHEN")]
    pub color: Option<Color>,

    /// Kubeconfig context to use
    #[arg(long, global = true, value_name = "NAME", add = complete::contexts())]
    pub context: Option<String>,

    /// How long one request may take, e.g. 30s or 2m
    #[arg(long, global = true, value_name = "DURATION", value_parser = butler_core::settings::keys::duration)]
    pub request_timeout: Option<Duration>,
}

impl GlobalArgs {
    /// The flags that were given and are settings too.
    pub fn settings(&self) -> Vec<(&'static str, String)> {
        let color =
            self.color.and_then(|color| Some(("color", color.to_possible_value()?.get_name().to_owned())));
        let timeout = self.request_timeout.map(|timeout| {
            let timeout = jiff::SignedDuration::try_from(timeout).unwrap_or(jiff::SignedDuration::MAX);
            ("request-timeout", format!("{timeout:#}"))
        });
        color.into_iter().chain(timeout).collect()
    }
}

/// Flags of commands that talk to the management cluster.
#[derive(Args, Clone, Debug, Default)]
pub struct ConnectArgs {
    /// Kubeconfig file to use instead of the login
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub kubeconfig: Option<PathBuf>,
}

/// The `-o` flag of commands that print data.
#[derive(Args, Clone, Debug, Default)]
pub struct OutputArgs {
    /// Output format: table, wide, json, yaml, name or jsonpath=TEMPLATE
    #[arg(short, long, value_name = "FORMAT", add = complete::formats())]
    pub output: Option<Format>,
}

/// The value of a flag in words that clap has not read, or has refused: `--flag value`, `--flag=value`,
/// `-f value`, `-fvalue`.
pub(crate) fn raw_value(words: &[OsString], long: &str, short: Option<char>) -> Option<String> {
    let mut words = words.iter().map_while(|word| word.to_str().filter(|word| *word != "--"));
    let short = short.map(|short| format!("-{short}"));
    let mut value = None;
    while let Some(word) = words.next() {
        if word == long || Some(word) == short.as_deref() {
            value = words.next().map(str::to_owned);
        } else if let Some(given) = word.strip_prefix(long).and_then(|rest| rest.strip_prefix('=')) {
            value = Some(given.to_owned());
        } else if let Some(given) = short.as_ref().and_then(|short| word.strip_prefix(short)) {
            value = Some(given.trim_start_matches('=').to_owned());
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_found_in_raw_words() {
        for (line, expected) in [
            ("get -o json", Some("json")),
            ("get -ojson", Some("json")),
            ("get --output json x", Some("json")),
            ("get --output=json", Some("json")),
            ("get -o yaml -o json", Some("json")),
            ("get -- -o json", None),
            ("get --outputs json", None),
            ("get -o", None),
        ] {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            assert_eq!(raw_value(&words, "--output", Some('o')).as_deref(), expected, "{line}");
        }
    }
}
