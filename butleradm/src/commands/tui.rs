//! `tui`

use butler_term::{
    CommandResult,
    args::ConnectArgs,
    dashboard::{Opening, Start, open},
    run::Session,
};
use clap::Args;

use super::bootstrap;

/// See the platform on a full screen, and work on it
///
/// Tabs for bootstrap runs of this machine (`c` there asks for a new management cluster, question by question), an overview of the management cluster, and its tenant clusters;
/// everything is live. It opens at once and connects by itself, as often as needed. `?` shows every key, `:`
/// finds every action by name. Keys, colours and mouse are settings: `tui.keys`, `tui.theme`, `tui.mouse`. What
/// libraries log goes to `tui.log` in the Butler home.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  butleradm tui
  butleradm tui --read-only
  butleradm tui --kubeconfig ~/.butler/mgmt-kubeconfig")]
pub(crate) struct TuiArgs {
    /// Only look: keys that change something are not there
    #[arg(long)]
    read_only: bool,

    #[command(flatten)]
    connect: ConnectArgs,
}

/// Runs the command.
pub(crate) fn run(args: &TuiArgs, session: &Session) -> CommandResult {
    // Without a home there are neither runs nor questions, and the rest is there all the same.
    let scout = bootstrap::scout(session).ok();
    let opening =
        Opening { start: Start::Overview, connect: &args.connect, read_only: args.read_only, scout };
    open(opening, session).map(drop)
}
