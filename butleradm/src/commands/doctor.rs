//! `doctor`: what keeps the platform from working.

use std::fmt;

use butler_core::{
    api,
    error::Code,
    platform::{
        Level, Survey,
        doctor::{self, Check},
    },
};
use butler_term::{
    CommandError, CommandResult,
    args::{ConnectArgs, OutputArgs},
    output::{Cell, Format, Render, Table, View},
    run::Session,
    theme,
};
use clap::Args;
use serde::Serialize;

/// Check the management cluster and say what to do about each problem
///
/// Ends with status 1 when a check fails; warnings do not count as failures.
#[derive(Args, Debug)]
pub(crate) struct DoctorArgs {
    #[command(flatten)]
    connect: ConnectArgs,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DoctorReport {
    api_version: &'static str,
    kind: &'static str,
    server: String,
    checks: Vec<Check>,
}

/// Runs the command.
pub(crate) fn run(args: &DoctorArgs, session: &Session) -> CommandResult {
    let report = session.block_on(async {
        let connection = session.connect(&args.connect).await?;
        let _waiting = session.ui.spinner("checking the management cluster");
        let survey = Survey::take(&connection.client).await;
        Ok(DoctorReport {
            api_version: api::API_VERSION,
            kind: "DoctorReport",
            server: connection.server,
            checks: doctor::checks(&survey, api::KINDS),
        })
    })?;
    match session.format(&args.output) {
        Format::Table | Format::Wide => session.ui.data(&report.to_string())?,
        format => session.ui.render(&report, &format)?,
    }
    let failed = report.checks.iter().filter(|check| check.level == Level::Fail).count();
    if failed == 0 {
        return Ok(());
    }
    let error =
        CommandError::new(Code::CheckFailed, format!("{failed} of {} checks failed", report.checks.len()));
    let first =
        report.checks.iter().find(|check| check.level == Level::Fail).and_then(|check| check.next.clone());
    Err(first.into_iter().fold(error, CommandError::hint))
}

/// One line per check, the next command below those that need one: it is there to be copied whole.
impl fmt::Display for DoctorReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.checks.iter().map(|check| check.name.len()).max().unwrap_or_default();
        let dim = theme::DIM;
        for check in &self.checks {
            let (word, style) = level(check.level);
            writeln!(f, "{style}{word}{style:#}  {:width$}  {}", check.name, check.detail)?;
            if let Some(next) = &check.next {
                writeln!(f, "      {dim}→{dim:#} {next}")?;
            }
        }
        Ok(())
    }
}

impl Render for DoctorReport {
    fn table(&self, _: &View) -> Table {
        let mut table = Table::new(["result", "check", "detail"]);
        for check in &self.checks {
            let (word, style) = level(check.level);
            table.push([Cell::styled(word, style), check.name.as_str().into(), check.detail.as_str().into()]);
        }
        table
    }

    fn names(&self) -> Vec<String> {
        self.checks.iter().map(|check| check.name.clone()).collect()
    }
}

/// The word and colour of a level.
pub(super) fn level(level: Level) -> (&'static str, anstyle::Style) {
    match level {
        Level::Pass => ("PASS", theme::SUCCESS),
        Level::Warn => ("WARN", theme::WARNING),
        Level::Fail => ("FAIL", theme::ERROR),
        Level::Skip => ("SKIP", theme::DIM),
    }
}
