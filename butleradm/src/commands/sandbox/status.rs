//! `sandbox status`: every part and machine, what it does and what it costs.

use std::time::Duration;

use butler_operator::{
    process::usage::Snapshot,
    sandbox::{
        Place,
        supervisor::{State, ask},
    },
};
use butler_term::{CommandResult, args::OutputArgs, run::Session};
use clap::Args;

use super::{command, report::StatusReport};

/// Long enough to measure a share of a core.
const SAMPLE: Duration = Duration::from_millis(250);

/// Show the parts and machines of the sandbox
///
/// Memory and processor shares of a machine include the real programs it runs. The exit status is 0
/// also for a sandbox that is stopped.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  butleradm sandbox status
  butleradm sandbox status --watch
  butleradm sandbox status -o jsonpath='{.kubeconfig}'")]
pub(crate) struct StatusArgs {
    /// Go on, and show it again every two seconds
    #[arg(short, long)]
    watch: bool,

    #[command(flatten)]
    output: OutputArgs,
}

/// Runs the command.
pub(crate) fn run(args: &StatusArgs, place: &Place, session: &Session) -> CommandResult {
    let format = session.format(&args.output);
    let work = async {
        let mut earlier = Snapshot::take();
        tokio::time::sleep(SAMPLE).await;
        let redraws = args.watch && format.is_for_people() && session.ui.redraws();
        loop {
            let now = Snapshot::take();
            let report = StatusReport::of(place, &ask(place, &earlier).await?);
            if redraws {
                let view = session.ui.view(matches!(format, butler_term::output::Format::Wide));
                let text = format.write(&report, &view)?;
                session.ui.redraw(&text)?;
            } else {
                session.ui.render(&report, &format)?;
            }
            if !args.watch {
                if matches!(report.state, State::Absent | State::Stopped) {
                    session.ui.hint(format_args!("{}", command(place, "up")));
                }
                return Ok(());
            }
            earlier = now;
            tokio::time::sleep(Duration::from_secs(2)).await;
        }
    };
    if args.watch { session.follow(work) } else { session.block_on(work) }
}
