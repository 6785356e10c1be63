//! `bootstrap logs`

use std::time::Duration;

use butler_core::{
    bootstrap::run::{LogReader, Said},
    event::Level,
};
use butler_term::{CommandResult, output::one_line, run::Session, theme};
use clap::{Args, ValueEnum};
use jiff::tz::TimeZone;

use super::runs::RunArgs;

/// Pause between two looks at a run that is followed.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Show what was said in a run
///
/// Phases and messages of the journal, and the log of the controllers, in order of time. Following ends when
/// nobody works on the run any more.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  butleradm bootstrap logs
  butleradm bootstrap logs mgmt --follow
  butleradm bootstrap logs mgmt --level debug --tail 100")]
pub(super) struct LogsArgs {
    #[command(flatten)]
    run: RunArgs,

    /// Go on, and show what is added
    #[arg(short, long)]
    follow: bool,

    /// How many lines to begin with; all if left out
    #[arg(long, value_name = "N")]
    tail: Option<usize>,

    /// The least that a line must matter; debug also shows every effect and its result
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    level: LogLevel,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum LogLevel {
    // No help of their own: the words say it.
    Debug,
    Info,
    Warn,
    Error,
}

impl LogLevel {
    fn level(self) -> Level {
        match self {
            Self::Debug => Level::Debug,
            Self::Info => Level::Info,
            Self::Warn => Level::Warn,
            Self::Error => Level::Error,
        }
    }
}

/// Runs the command.
pub(super) fn run(args: &LogsArgs, session: &Session) -> CommandResult {
    let (dir, _) = args.run.find(session)?;
    let mut reader = LogReader::new(dir.clone());
    let level = args.level.level();
    // Asked before reading: what was written until the end is then read too.
    let mut held = dir.holder().is_some();
    let mut said = reader.more()?;
    said.retain(|said| said.level >= level);
    let skip = args.tail.map_or(0, |tail| said.len().saturating_sub(tail));
    show(session, &said[skip..])?;
    if !args.follow {
        return Ok(());
    }
    session.block_on(async {
        while held {
            tokio::time::sleep(LOOK_EVERY).await;
            held = dir.holder().is_some();
            let mut said = reader.more()?;
            said.retain(|said| said.level >= level);
            show(session, &said)?;
        }
        Ok(())
    })
}

fn show(session: &Session, said: &[Said]) -> CommandResult {
    let zone = TimeZone::system();
    let dim = theme::DIM;
    let mut text = String::new();
    for Said { time, level, text: words } in said {
        let (word, style) = match level {
            Level::Debug => ("debug", theme::DIM),
            Level::Info => ("info", theme::PLAIN),
            Level::Warn => ("warn", theme::WARNING),
            Level::Error => ("error", theme::ERROR),
        };
        let time = time.map_or_else(
            || " ".repeat("2006-01-02 15:04:05".len()),
            |time| time.to_zoned(zone.clone()).strftime("%F %T").to_string(),
        );
        text += &format!("{dim}{time}{dim:#} {style}{word:5}{style:#} {}\n", one_line(words));
    }
    if text.is_empty() { Ok(()) } else { session.ui.data(&text) }
}
