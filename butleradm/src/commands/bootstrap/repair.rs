//! `bootstrap repair`

use std::path::PathBuf;

use butler_core::{
    bootstrap::run::{
        RunDir, RunError, RunFacts,
        repair::{Repair, compose, plan},
        steps,
    },
    event::{EventKind, Journal, journal::repair::salvage},
};
use butler_operator::bootstrap::sha256;
use butler_term::{
    CommandResult,
    args::OutputArgs,
    complete,
    output::{Render, Table, View, counted},
    run::Session,
};
use clap::{Args, ValueHint};
use serde::Serialize;

use super::{kept, run::runs, source::ConfigArgs};

/// Repair the journal of a run
///
/// For a journal that has a line which is not what was written there. Says what is lost and what is assumed
/// instead, and asks. The damaged file is kept beside the journal; every record that is as it was stays. What
/// the lost records were about is looked for at the provider, by the run's mark, when the run is taken up or
/// destroyed. A torn last line needs no repair.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  butleradm bootstrap repair 20260114-101112-00ff00 --dry-run
  butleradm bootstrap repair 20260114-101112-00ff00 --yes")]
pub(crate) struct RepairArgs {
    /// Id of the run, its beginning, or the name of the cluster
    #[arg(add = complete::runs())]
    run: String,

    /// The configuration, when neither directory nor journal has it any more
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    config: Option<PathBuf>,

    /// Do not ask
    #[arg(short, long)]
    yes: bool,

    /// Say what would be kept and assumed, but change nothing
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    output: OutputArgs,
}

impl RepairArgs {
    /// For a person who has decided.
    pub(super) fn unasked(run: String, config: Option<PathBuf>) -> Self {
        Self { run, config, yes: true, dry_run: false, output: OutputArgs { output: None } }
    }
}

/// Runs the command.
pub(crate) fn run(args: &RepairArgs, session: &Session) -> CommandResult {
    let format = session.format(&args.output);
    format.check()?;
    let dir = runs(session)?.1.locate(&args.run)?;
    let found = salvage(&dir.journal(), dir.id()).map_err(RunError::from)?;
    let repair = plan(&found);
    let ui = &session.ui;
    if found.is_whole() {
        ui.status(format_args!("the journal of run `{}` is whole; nothing to repair", dir.id()));
        return Ok(());
    }
    ui.status(format_args!("the journal `{}` is damaged:", dir.journal().display()));
    repair.damage.iter().for_each(|line| ui.status(format_args!("  {line}")));
    ui.status(format_args!("kept {}; it is assumed that:", counted(repair.kept, "record")));
    repair.assumed.iter().for_each(|line| ui.status(format_args!("  {line}")));
    let facts = if repair.needs_facts { Some(facts(&dir, &found.events, args, session)?) } else { None };
    let mut report = Report { run: dir.id().to_string(), repair, copy: None };
    if args.dry_run {
        ui.status(format_args!("nothing was changed (dry run)"));
    } else {
        if !args.yes {
            session.block_on(async { ui.confirm("Repair the journal?").await })?;
        }
        let now = session.ui.now();
        let copy = Journal::repair(&dir.journal(), dir.id(), now, |salvage, copy| {
            let times: Vec<_> = salvage.events.iter().map(|event| event.time).collect();
            let kept = copy.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            // Decided again: it is the file under the lock that counts.
            let repair = plan(&salvage);
            let kinds = compose(&repair, salvage.events, facts.as_ref(), &kept);
            let first = times.first().copied().unwrap_or(now);
            let mut times = times.into_iter();
            let made =
                |kind: &EventKind| matches!(kind, EventKind::Intent { step, .. } if step == steps::RUN);
            let mut timed = Vec::new();
            for kind in kinds {
                let time =
                    if repair.needs_facts && made(&kind) { first } else { times.next().unwrap_or(now) };
                timed.push((time, kind));
            }
            timed
        });
        report.copy = copy.map_err(RunError::from)?;
        if let Some(copy) = &report.copy {
            ui.status(format_args!("repaired; the damaged file is kept as `{}`", copy.display()));
        }
        ui.hint(format_args!("butleradm bootstrap status {}", dir.id()));
    }
    if args.output.output.is_some() { ui.render(&report, &format) } else { Ok(()) }
}

/// What the run is, from its configuration.
fn facts(
    dir: &RunDir,
    events: &[butler_core::event::Event],
    args: &RepairArgs,
    session: &Session,
) -> CommandResult<RunFacts> {
    let directory = std::env::current_dir().unwrap_or_default();
    let mut facts = RunFacts {
        cluster: String::new(),
        provider: String::new(),
        runtime: String::new(),
        config_sha256: String::new(),
        directory,
        rehearsal: false,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        restored: None,
    };
    let (config, text) = match (&args.config, kept::of_directory(dir, &facts, session)) {
        (Some(file), _) => {
            let given = ConfigArgs { config: Some(file.clone()) }.load(None, session)?;
            (given.loaded.config, given.text)
        }
        (None, Some(read)) => read?,
        (None, None) => return Err(RunError::ConfigLost { run: dir.id().clone() }.into()),
    };
    let told = |name: &str, key: &str| {
        events.iter().find_map(|event| match &event.kind {
            EventKind::Intent { step, data } if step == name => Some(data[key].as_str()?.to_owned()),
            _ => None,
        })
    };
    facts.cluster.clone_from(&config.cluster.name);
    facts.config_sha256 = sha256(&text);
    facts.runtime = told(steps::TEMPORARY, "runtime")
        .unwrap_or_else(|| config.bootstrap_cluster.runtime.as_str().to_owned());
    // A rehearsal has a sandbox of its own.
    facts.rehearsal =
        told(steps::SANDBOX, "name").as_deref() == Some(&format!("rehearsal-{}", facts.cluster));
    facts.provider = if facts.rehearsal { "sandbox".to_owned() } else { config.provider_kind().to_string() };
    Ok(facts)
}

/// What `-o json` prints.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    run: String,
    #[serde(flatten)]
    repair: Repair,
    /// Where the damaged file is kept; none when nothing was changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    copy: Option<PathBuf>,
}

impl Render for Report {
    fn table(&self, _: &View) -> Table {
        let mut table = Table::new(["run", "kept", "lost", "copy"]);
        let copy = self.copy.as_ref().map_or_else(|| "-".to_owned(), |copy| copy.display().to_string());
        let row = [self.run.clone(), self.repair.kept.to_string(), self.repair.lost.to_string(), copy];
        table.push(row.map(Into::into));
        table
    }

    fn names(&self) -> Vec<String> {
        vec![format!("run/{}", self.run)]
    }
}
