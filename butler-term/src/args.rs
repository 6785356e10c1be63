//! Argument groups of both programs.

use std::{path::PathBuf, time::Duration};

use clap::{Args, ValueEnum};

use crate::output::Format;

/// When to use colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal, unless NO_COLOR is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
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

    /// When to use colours
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub color: Color,

    /// Kubeconfig context to use
    #[arg(long, global = true, value_name = "NAME")]
    pub context: Option<String>,

    /// How long one request may take, e.g. 30s or 2m
    #[arg(long, global = true, value_name = "DURATION", value_parser = duration)]
    pub request_timeout: Option<Duration>,
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
    #[arg(short, long, value_name = "FORMAT")]
    pub output: Option<Format>,
}

impl OutputArgs {
    /// The chosen format, else a table.
    pub fn format(&self) -> Format {
        self.output.clone().unwrap_or_default()
    }
}

/// Reads a duration like `30s`, `2m` or `1h30m`.
pub fn duration(text: &str) -> Result<Duration, String> {
    let span: jiff::SignedDuration =
        text.parse().map_err(|_| "expected a duration such as 30s, 2m or 1h30m".to_owned())?;
    Duration::try_from(span).ok().filter(|d| !d.is_zero()).ok_or_else(|| "expected more than zero".to_owned())
}
