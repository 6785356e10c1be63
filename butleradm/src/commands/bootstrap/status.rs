//! `bootstrap status`

use std::{collections::HashSet, time::Duration};

use butler_core::{bootstrap::run::Stage, error::Code};
use butler_term::{
    CommandError, CommandResult,
    args::OutputArgs,
    output::{Format, one_line},
    run::Session,
    theme,
};
use clap::Args;
use jiff::tz::TimeZone;

use super::{report::StatusReport, runs::RunArgs};

/// Pause between two looks at a run that is watched.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Show how far a run is
///
/// Stage, phases, machines, addons, effects of which nothing more is known, the last error, and the command
/// that goes on. Works while another process runs it. The exit status is 0 whatever became of the run.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  butleradm bootstrap status
  butleradm bootstrap status mgmt --watch
  butleradm bootstrap status mgmt --watch --tui
  butleradm bootstrap status mgmt -o jsonpath='{.stage}'")]
pub(super) struct StatusArgs {
    #[command(flatten)]
    run: RunArgs,

    /// Go on until nobody works on the run any more; off a terminal, print what changes
    #[arg(short, long)]
    watch: bool,

    /// Watch it on a full screen, with machines, addons and log; leaving it leaves the run going
    #[arg(long, requires = "watch", conflicts_with = "output")]
    pub(super) tui: bool,

    #[command(flatten)]
    output: OutputArgs,
}

/// Runs the command.
pub(super) fn run(args: &StatusArgs, session: &Session) -> CommandResult {
    let format = session.format(&args.output);
    let (dir, state) = args.run.find(session)?;
    if args.tui {
        return super::screen::watch(dir.id().clone(), session);
    }
    let mut report = StatusReport::of(&dir, state);
    if !args.watch {
        session.ui.render(&report, &format)?;
        hint(session, &report, &format);
        return Ok(());
    }
    let mut face = match format {
        Format::Json => Face::Json(None),
        Format::Table | Format::Wide if session.ui.redraws() => Face::Screen,
        Format::Table | Format::Wide => Face::Lines(HashSet::new()),
        _ => {
            let message = "a watch goes on, so it prints lines: -o table or -o json";
            return Err(CommandError::new(Code::Usage, message));
        }
    };
    session.follow(async {
        loop {
            face.show(session, &report, &format)?;
            if report.state.stage != Stage::Running {
                hint(session, &report, &format);
                return Ok(());
            }
            tokio::time::sleep(LOOK_EVERY).await;
            report = StatusReport::of(&dir, dir.state()?);
        }
    })
}

fn hint(session: &Session, report: &StatusReport, format: &Format) {
    if let (Some(next), true) = (&report.next, format.is_for_people()) {
        session.ui.hint(format_args!("{next}"));
    }
}

/// How a watch looks.
enum Face {
    /// Drawn anew each time.
    Screen,
    /// What was not said before.
    Lines(HashSet<String>),
    /// One object per change and line.
    Json(Option<String>),
}

impl Face {
    fn show(&mut self, session: &Session, report: &StatusReport, format: &Format) -> CommandResult {
        match self {
            Self::Screen => {
                let mut view = session.ui.view(matches!(format, Format::Wide));
                view.now = session.environment.now();
                let text = format.write(report, &view)?;
                session.ui.redraw(&text)
            }
            Self::Lines(said) => {
                let dim = theme::DIM;
                let clock = session.environment.now().to_zoned(TimeZone::system()).strftime("%H:%M:%S");
                for line in report.lines() {
                    if said.insert(line.clone()) {
                        let line = line.trim_start_matches('\0');
                        session.ui.data(&format!("{dim}[{clock}]{dim:#} {}\n", one_line(line)))?;
                    }
                }
                Ok(())
            }
            Self::Json(last) => {
                let text = serde_json::to_string(report).map_err(|error| {
                    CommandError::new(Code::Internal, "cannot serialise the result").caused_by(&error)
                })?;
                if last.as_ref() != Some(&text) {
                    session.ui.text(&format!("{text}\n"))?;
                    *last = Some(text);
                }
                Ok(())
            }
        }
    }
}
