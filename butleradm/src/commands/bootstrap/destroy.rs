//! `bootstrap destroy`

use butler_core::{bootstrap::run::Verb, error::Code};
use butler_operator::bootstrap::{self, take_up};
use butler_term::{
    CommandError, CommandResult, complete,
    report::{self, EventArgs},
    run::Session,
};
use clap::Args;

use super::{
    run::{journal, runs},
    setup::{Setup, reread},
};

/// Remove everything that a run made
///
/// Machines, load balancers, the temporary control plane, saved credentials; in the sandbox also the
/// sandbox that was made for the run. Then looks at the provider for anything that still carries the run's
/// mark. Says what goes and asks for the name of the cluster. Can be repeated.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  butleradm bootstrap destroy mgmt --dry-run
  butleradm bootstrap destroy mgmt
  butleradm bootstrap destroy 20260114-101112-00ff00 --yes mgmt")]
pub(crate) struct DestroyArgs {
    /// Id of the run, its beginning, or the name of the cluster
    #[arg(add = complete::runs())]
    run: String,

    /// Do not ask; must be the name of the cluster
    #[arg(short, long, value_name = "CLUSTER")]
    yes: Option<String>,

    /// Say what would be removed, but remove nothing
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    events: EventArgs,
}

/// Runs the command.
pub(crate) fn run(args: &DestroyArgs, session: &Session) -> CommandResult {
    let (_, runs) = runs(session)?;
    let (dir, state) = super::runs::choose(&runs, Some(&args.run))?;
    let facts = super::runs::facts(&dir, &state)?;
    let cluster = &facts.cluster;
    let alive = state.machines.iter().filter(|(_, machine)| !machine.removed).map(|(name, _)| name.as_str());
    let alive: Vec<&str> = alive.collect();
    session.ui.status(format_args!(
        "run `{}` of cluster `{cluster}` ({}): {}",
        dir.id(),
        state.stage.as_str(),
        if alive.is_empty() {
            "no machine is known".to_owned()
        } else {
            format!("machines {}", alive.join(", "))
        },
    ));
    if args.dry_run {
        session.ui.status(format_args!("nothing was removed (dry run)"));
        return Ok(());
    }
    match &args.yes {
        Some(yes) if yes == cluster => {}
        Some(yes) => {
            let message = format!("nothing was done: --yes names `{yes}`, and the cluster is `{cluster}`");
            return Err(CommandError::new(Code::Usage, message));
        }
        None => session.block_on(async { session.ui.confirm_name("destroy cluster", cluster).await })?,
    }
    remove(dir, &args.events, session)
}

/// Removes what a run made.
pub(super) fn remove(
    dir: butler_core::bootstrap::run::RunDir,
    events: &EventArgs,
    session: &Session,
) -> CommandResult {
    let (_, runs) = runs(session)?;
    let state = dir.state()?;
    let facts = super::runs::facts(&dir, &state)?;
    let config = reread(&dir, &facts, session)?;
    let setup = Setup::new(&config, session)?;
    let started = take_up(&runs, dir, Verb::Destroy)?;
    let id = started.dir.id().clone();
    let runtime = setup.runtime(&config, &started.dir)?;
    let mut journal = journal(started.ledger.clone());
    let job = report::run_as(session, events, id.clone(), &mut journal, async |reporter| {
        let (dir, past, ledger) = (&started.dir, &started.past, &started.ledger);
        let all = bootstrap::destroy(&config, dir, past, &setup.machines, &*runtime, ledger, &reporter);
        all.await
    });
    let destroyed = session.block_on(job)?;
    session.ui.status(format_args!(
        "cluster `{}` is gone: {} machines, {} load balancers; nothing with the mark of run `{id}` is left",
        facts.cluster,
        destroyed.machines.len(),
        destroyed.load_balancers.len(),
    ));
    Ok(())
}
