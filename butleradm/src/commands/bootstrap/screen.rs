//! Runs on a full screen.

use butler_core::{
    bootstrap::run::{LiveWriter, RunDir, Stage},
    error::Code,
    event::{Event, Outcome, RunId},
};
use butler_term::{
    CommandError, CommandResult,
    args::ConnectArgs,
    dashboard::{Closed, Opening, Start, open},
    run::{Session, log_to},
};

use super::run::{explain, runs};

/// Lets others see a run while it goes on: its log, and what changes too quickly for its journal.
pub(super) fn visible(mut journal: impl FnMut(&Event), dir: &RunDir) -> impl FnMut(&Event) {
    log_to(&dir.log());
    let mut live = LiveWriter::new(dir);
    move |event| {
        journal(event);
        live.event(event);
    }
}

/// Begins what this command line says as a process of its own, and shows it.
pub(in crate::commands) fn launch(session: &Session) -> CommandResult {
    let given = std::env::args_os().skip(1).filter(|arg| arg != "--tui");
    let args: Option<Vec<String>> = given.map(|arg| arg.into_string().ok()).collect();
    let args = args.ok_or_else(|| CommandError::new(Code::Usage, "an argument is not UTF-8"))?;
    if args.windows(2).any(|pair| matches!(pair[0].as_str(), "-c" | "--config") && pair[1] == "-")
        || args.iter().any(|arg| matches!(arg.as_str(), "--config=-" | "-c-" | "-c=-"))
    {
        let message = "a full screen reads keys from standard input, so the configuration must be a file";
        return Err(CommandError::new(Code::Usage, message));
    }
    let connect = ConnectArgs::default();
    let opening = Opening { start: Start::Launch(args), connect: &connect, read_only: false, scout: None };
    closed(open(opening, session)?, session)
}

/// How what was on the screen ended is how the command ends.
pub(super) fn closed(closed: Closed, session: &Session) -> CommandResult {
    if let Some(word) = closed.word {
        session.ui.status(format_args!("{word}"));
    }
    if let Some(fault) = closed.trouble {
        let code = fault.code.parse().unwrap_or(Code::BootstrapFailed);
        let error = CommandError::new(code, fault.message);
        return Err(fault.hints.into_iter().fold(error, CommandError::hint));
    }
    match closed.run {
        Some((id, true)) => {
            goes_on(&id, session);
            Ok(())
        }
        Some((id, false)) => outcome(&id, session),
        None => Ok(()),
    }
}

/// How a run that was on the screen ended is how the command ends.
fn outcome(id: &RunId, session: &Session) -> CommandResult {
    let (_, runs) = runs(session)?;
    let state = runs.dir(id).state()?;
    let cluster = state.cluster.clone().unwrap_or_default();
    match (state.stage, state.outcome) {
        (_, Some(Outcome::Failed { code, message })) => {
            let code = code.parse().unwrap_or(Code::BootstrapFailed);
            Err(CommandError::new(code, message).hint(format!("butleradm bootstrap resume {id}")))
        }
        (Stage::Stopped | Stage::Interrupted, _) => {
            Err(explain(CommandError::new(Code::Interrupted, "interrupted"), id))
        }
        (stage, _) => {
            session.ui.status(format_args!("run `{id}` of cluster `{cluster}`: {}", stage.as_str()));
            Ok(())
        }
    }
}

/// Shows a run that somebody works on, or did.
pub(super) fn watch(id: RunId, session: &Session) -> CommandResult {
    let connect = ConnectArgs::default();
    let opening = Opening { start: Start::Run(id), connect: &connect, read_only: false, scout: None };
    let closed = open(opening, session)?;
    if let Some((id, true)) = closed.run {
        goes_on(&id, session);
    }
    Ok(())
}

/// Shows a run of the past.
pub(super) fn replay(id: RunId, events: Vec<Event>, speed: Option<f64>, session: &Session) -> CommandResult {
    let (connect, start) = (ConnectArgs::default(), Start::Replay { id, events, speed });
    open(Opening { start, connect: &connect, read_only: true, scout: None }, session).map(drop)
}

fn goes_on(id: &RunId, session: &Session) {
    session.ui.status(format_args!("run `{id}` goes on without this screen"));
    session.ui.hint(format_args!("butleradm bootstrap status {id} --watch --tui"));
    session.ui.hint(format_args!("butleradm bootstrap abort {id}"));
}
