//! `machine console`

use std::time::Duration;

use butler_core::error::Code;
use butler_term::{CommandError, CommandResult, run::Session};
use clap::Args;

use super::{WAITING, driver};

/// Time between two looks with --follow; consoles are not told, they are read.
const PAUSE: Duration = Duration::from_secs(1);

/// Print what a machine has written to its console
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  butleradm machine console worker-0 --tail 50
  butleradm machine console worker-0 -f")]
pub(crate) struct MachineConsoleArgs {
    #[command(flatten)]
    machine: driver::MachineAtProviderArgs,

    /// Only the last lines
    #[arg(long, value_name = "N")]
    tail: Option<usize>,

    /// Go on printing until Ctrl-C
    #[arg(short, long)]
    follow: bool,
}

/// Runs the command.
pub(crate) fn run(args: &MachineConsoleArgs, session: &Session) -> CommandResult {
    let work = async {
        let spinner = session.ui.spinner(WAITING);
        let (driver, key) = driver::find(&args.machine, session).await?;
        let Some(console) = driver.console() else {
            let message = format!("provider `{}` has no console logs", driver.name());
            return Err(CommandError::new(Code::ProviderInvalid, message));
        };
        // Who follows needs all of it to know what is new.
        let log = console.log(&key, args.tail.filter(|_| !args.follow)).await?;
        drop(spinner);
        if !args.follow {
            return session.ui.text(&log);
        }
        session.ui.text(last(&log, args.tail))?;
        let mut seen = log;
        loop {
            tokio::time::sleep(PAUSE).await;
            let log = console.log(&key, None).await?;
            session.ui.text(added(&seen, &log))?;
            seen = log;
        }
    };
    if args.follow { session.follow(work) } else { session.block_on(work) }
}

/// The last lines; all of them without a number.
fn last(log: &str, lines: Option<usize>) -> &str {
    let skipped = lines.map_or(0, |lines| log.lines().count().saturating_sub(lines));
    let start = log.split_inclusive('\n').take(skipped).map(str::len).sum();
    log.get(start..).unwrap_or_default()
}

/// What `new` has that `old` had not; all of it when the log was begun anew.
fn added<'a>(old: &str, new: &'a str) -> &'a str {
    new.strip_prefix(old).unwrap_or(new)
}

#[cfg(test)]
mod tests {
    use super::{added, last};

    #[test]
    fn the_last_lines_are_whole() {
        let log = "a\nb\nc\n";
        assert_eq!([Some(0), Some(2), Some(9), None].map(|lines| last(log, lines)), ["", "b\nc\n", log, log]);
        assert_eq!(last("a\nb", Some(1)), "b");
    }

    #[test]
    fn only_what_is_new_is_printed_unless_the_log_began_anew() {
        assert_eq!(added("a\n", "a\nb\n"), "b\n");
        assert_eq!(added("a\n", "a\n"), "");
        assert_eq!(added("a\nb\n", "c\n"), "c\n");
    }
}
