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
    #[arg(long, global = true, value_name = "WHEN")]
    pub color: Option<Color>,

    /// Kubeconfig context to use
    #[arg(long, global = true, value_name = "NAME")]
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
    #[arg(short, long, value_name = "FORMAT")]
    pub output: Option<Format>,
}
