//! `bootstrap destroy`

use std::{collections::BTreeMap, path::PathBuf};

use butler_core::{
    bootstrap::{
        config::Config,
        run::{RunDir, RunError, RunState, Runs, Verb},
    },
    error::Code,
    event::RunId,
};
use butler_operator::bootstrap::{self, RunOptions, Started, Traces, take_over, take_up};
use butler_term::{
    CommandError, CommandResult,
    args::OutputArgs,
    complete,
    report::{self, EventArgs},
    run::Session,
};
use clap::{Args, ValueHint};

use super::{
    destroy_report::DestroyReport,
    kept,
    run::{journal, runs},
    setup::Setup,
    source::{ConfigArgs, Given},
};

/// Remove everything that a run made
///
/// Machines with their disks and addresses, load balancers, the temporary control plane, saved credentials and
/// the run's secrets; in the sandbox also the sandbox that was made for the run. Then looks at the provider for
/// anything that still carries the run's mark. The journal stays. Says what goes and asks for the name of the
/// cluster. Can be repeated, and goes on after it was interrupted. A run whose directory is lost is removed by
/// its mark: give its whole id, which `butleradm sweep` lists, and the configuration.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  butleradm bootstrap destroy mgmt --dry-run
  butleradm bootstrap destroy mgmt
  butleradm bootstrap destroy 20260114-101112-00ff00 --yes mgmt -o json
  butleradm bootstrap destroy 20260114-101112-00ff00 --config bootstrap.yaml --yes mgmt")]
pub(crate) struct DestroyArgs {
    /// Id of the run, its beginning, or the name of the cluster
    #[arg(add = complete::runs())]
    run: String,

    /// The configuration, when the run's directory does not have it any more
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    config: Option<PathBuf>,

    /// Do not ask; must be the name of the cluster
    #[arg(short, long, value_name = "CLUSTER")]
    yes: Option<String>,

    /// Say what would be removed, but remove nothing
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    events: EventArgs,

    #[command(flatten)]
    output: OutputArgs,
}

/// Runs the command.
pub(crate) fn run(args: &DestroyArgs, session: &Session) -> CommandResult {
    let format = session.format(&args.output);
    format.check()?;
    let (_, runs) = runs(session)?;
    let job = match runs.find(&args.run) {
        Ok((dir, state)) if state.facts.is_some() => Job::known(dir, state, args.config.as_ref(), session)?,
        Ok((dir, state)) => Job::by_mark(dir, state, args.config.clone(), session)?,
        Err(error @ RunError::Unknown { .. }) => {
            let id = RunId::parse(&args.run).filter(|_| args.config.is_some()).ok_or_else(|| {
                CommandError::from(error).hint("butleradm sweep, for what runs of other computers left")
            })?;
            let state = RunState::of(&id, &[], None);
            Job::by_mark(runs.dir(&id), state, args.config.clone(), session)?
        }
        Err(error) => return Err(error.into()),
    };
    let survey = session.block_on(async { Ok(job.traces(&runs).survey().await?) })?;
    let mut report = DestroyReport::new(&job.dir, &job.state, &job.config.cluster.name, survey, args.dry_run);
    report.announce(session);
    if !args.dry_run {
        let cluster = &job.config.cluster.name;
        match &args.yes {
            Some(yes) if yes == cluster => {}
            Some(yes) => {
                let message =
                    format!("nothing was done: --yes names `{yes}`, and the cluster is `{cluster}`");
                return Err(CommandError::new(Code::Usage, message));
            }
            None => session.block_on(async { session.ui.confirm_name("destroy cluster", cluster).await })?,
        }
        report.removed = Some(job.carry_out(&runs, &args.events, session)?);
    }
    report.conclude(session);
    if args.output.output.is_some() { session.ui.render(&report, &format) } else { Ok(()) }
}

/// Removes what a run made, without a question.
pub(super) fn remove_run(
    dir: &RunDir,
    state: &RunState,
    events: &EventArgs,
    session: &Session,
) -> CommandResult<bootstrap::Destroyed> {
    let (_, runs) = runs(session)?;
    Job::known(dir.clone(), state.clone(), None, session)?.carry_out(&runs, events, session)
}

/// A run that is to be removed.
struct Job<'a> {
    dir: RunDir,
    state: RunState,
    config: Config,
    setup: Setup<'a>,
    /// False when the provider was asked before and its credentials are gone.
    ask: bool,
    /// What a run is taken over with that has no journal.
    given: Option<Given>,
}

impl<'a> Job<'a> {
    fn known(
        dir: RunDir,
        state: RunState,
        file: Option<&PathBuf>,
        session: &'a Session,
    ) -> CommandResult<Self> {
        let facts = super::runs::facts(&dir, &state)?;
        let config = kept::to_remove(&dir, &state, &facts, file, session)?;
        let (setup, ask) = match Setup::new(&config, session) {
            // Secrets go last: everything else was seen to be gone.
            Err(_) if state.seen_gone && file.is_none() => (Setup::with(BTreeMap::new(), session)?, false),
            setup => (setup?, true),
        };
        Ok(Self { dir, state, config, setup, ask, given: None })
    }

    /// A run of which only the mark is known.
    fn by_mark(
        dir: RunDir,
        state: RunState,
        file: Option<PathBuf>,
        session: &'a Session,
    ) -> CommandResult<Self> {
        let file = file.unwrap_or_else(|| dir.config());
        if !file.exists() {
            return Err(RunError::ConfigLost { run: dir.id().clone() }.into());
        }
        let given = ConfigArgs { config: Some(file) }.load(None, session)?;
        let config = given.loaded.config.clone();
        let setup = Setup::new(&config, session)?;
        Ok(Self { dir, state, config, setup, ask: true, given: Some(given) })
    }

    fn traces<'b>(&'b self, runs: &'b Runs) -> Traces<'b> {
        let Self { dir, state, config, setup, .. } = self;
        Traces { config, dir, state, machines: &setup.machines, runs }
    }

    fn start(&self, runs: &Runs, session: &Session) -> CommandResult<Started> {
        let Some(given) = &self.given else { return Ok(take_up(runs, self.dir.clone(), Verb::Destroy)?) };
        let options = RunOptions {
            runs,
            config: &self.config,
            given: &self.config,
            text: &given.text,
            directory: &given.directory,
            rehearsal: false,
            version: env!("CARGO_PKG_VERSION"),
            now: session.ui.now(),
            restored: None,
        };
        Ok(take_over(&options, self.dir.id())?)
    }

    fn carry_out(
        &self,
        runs: &Runs,
        events: &EventArgs,
        session: &Session,
    ) -> CommandResult<bootstrap::Destroyed> {
        let started = self.start(runs, session)?;
        let id = started.dir.id().clone();
        let runtime = self.setup.runtime(&self.config, &started.dir)?;
        let mut journal = journal(started.ledger.clone());
        let job = report::run_as(session, events, id, &mut journal, async |reporter| {
            bootstrap::destroy(self.traces(runs), self.ask, &*runtime, &started.ledger, &reporter).await
        });
        let destroyed = session.block_on(job)?;
        started.ledger.check()?;
        Ok(destroyed)
    }
}
