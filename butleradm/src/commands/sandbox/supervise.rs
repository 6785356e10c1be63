//! `sandbox supervise`: the process that owns a sandbox; started by `sandbox up`, not by people.

use std::io::Write;

use butler_operator::sandbox::{
    Place, Report, SandboxError,
    supervisor::{self, Options, wire::Notice},
};
use butler_term::{CommandResult, run::Session};
use clap::Args;
use tokio_util::sync::CancellationToken;

/// Own the processes of a sandbox
///
/// Reads an order from stdin and tells how far it is on stdout, one JSON object per line.
#[derive(Args, Debug)]
pub(crate) struct SuperviseArgs {}

/// Runs the command.
pub(crate) fn run(_args: &SuperviseArgs, place: &Place, session: &Session) -> CommandResult {
    let result = supervise(place, session);
    if let Err((report, _)) = &result {
        tell(&Notice::Failed(report.clone()));
    }
    result.map_err(|(_, error)| error)
}

fn supervise(place: &Place, session: &Session) -> Result<(), (Report, butler_term::CommandError)> {
    let failed = |error: SandboxError| (Report::of(&error), error.into());
    let system = |action: &str, source: std::io::Error| {
        failed(SandboxError::System { action: action.to_owned(), source })
    };
    // A session of its own: no terminal, and no signals that are meant for whoever started us. It fails
    // for the leader of a group, who has started us by hand.
    let _ = supervisor::leave_session();
    let stop = CancellationToken::new();
    let stopped = stop.clone();
    let input = std::io::BufReader::new(std::io::stdin());
    let order = supervisor::read_order(input, move || stopped.cancel())
        .map_err(|error| system("read the order of `sandbox up`", error))?;
    let program = std::env::current_exe().map_err(|error| system("tell where this program is", error))?;
    let options = Options {
        place: place.clone(),
        program,
        programs: order.programs,
        environment: session.environment.clone(),
    };
    let mut report = None;
    let outcome = session.serve(async |signal| {
        let signalled = stop.clone();
        let watch = tokio::spawn(async move {
            if signal.await.is_ok() {
                signalled.cancel();
            }
        });
        let result = supervisor::run(options, stop, |notice| tell(&notice)).await;
        watch.abort();
        result.map_err(|error| {
            report = Some(Report::of(&error));
            error.into()
        })
    });
    outcome.map_err(|error| {
        let code = error.code().to_string();
        let said = || Report { code, message: error.to_string(), causes: Vec::new(), hints: Vec::new() };
        (report.unwrap_or_else(said), error)
    })
}

/// Says it to whoever started us, if they still listen.
fn tell(notice: &Notice) {
    let mut stdout = std::io::stdout().lock();
    if let Ok(line) = serde_json::to_string(notice) {
        let _ = writeln!(stdout, "{line}").and_then(|()| stdout.flush());
    }
}
