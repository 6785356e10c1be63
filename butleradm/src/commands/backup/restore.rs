//! `backup restore`

use std::path::PathBuf;

use butler_core::{
    api::API_VERSION,
    bootstrap::{config::Config, objects, run::Runs},
    settings::Home,
};
use butler_operator::{
    backup::{
        Backup, BackupError, Identities,
        restore::{Before, before, restored, unpack},
    },
    bootstrap::{BootstrapError, RunOptions, begin_with, claim},
    controller::machine_names,
};
use butler_term::{
    CommandResult,
    output::{Render, Table, View},
    run::Session,
};
use clap::{Args, ValueHint};
use serde::Serialize;

use super::keys;
use crate::commands::bootstrap::{go::GoArgs, kept, run::go_on, screen, setup::Setup};

/// Make a management cluster again from its backup
///
/// A run as `bootstrap` makes it, with the configuration and the secrets of the old one: new machines, and etcd
/// begins from the snapshot instead of empty. So the cluster is the same: its objects, its authorities, its kubeconfig
/// as long as its address is the same. It has a journal from its beginning on and can be stopped, killed and taken up
/// with `bootstrap resume`. Refused while a cluster of that name is there; what the old one left at the provider goes
/// first, with `bootstrap destroy` or `sweep`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  butleradm backup restore FILE --identity backup.key --dry-run
  butleradm backup restore FILE --identity backup.key
  butleradm backup restore FILE -i backup.key --events ndjson")]
pub(super) struct RestoreArgs {
    /// The backup
    #[arg(value_hint = ValueHint::FilePath)]
    file: PathBuf,

    /// The identity that opens it; a file that only you can read
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    identity: PathBuf,

    /// Only say what would be done
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    pub(super) go: GoArgs,
}

/// Runs the command.
pub(super) fn run(args: &RestoreArgs, session: &Session) -> CommandResult {
    if args.go.tui && !args.dry_run {
        return screen::launch(session);
    }
    let identities = keys::identities(&args.identity, session)?;
    let backup = Backup::open(&args.file)?;
    let before = before(&backup, &identities)?;
    let name = format!("{} in the backup", before.facts.cluster);
    let given = kept::read(&name, before.config.expose(), &before.facts, session)?;
    let config = kept::effective(given.clone(), &before.facts, &before.facts.runtime);
    let runs = Runs::new(&Home::resolve(&session.environment)?);
    if args.dry_run {
        return show(args, &backup, &config, &runs, session);
    }
    start(args, (&backup, &identities), (config, &given), &before, &runs, session)
}

/// Begins the run and brings it to its end.
fn start(
    args: &RestoreArgs,
    (backup, identities): (&Backup, &Identities),
    (config, given): (Config, &Config),
    before: &Before,
    runs: &Runs,
    session: &Session,
) -> CommandResult {
    let setup = Setup::new(&config, session)?;
    let options = RunOptions {
        runs,
        config: &config,
        given,
        text: &before.config,
        directory: &before.facts.directory,
        rehearsal: before.facts.rehearsal,
        version: env!("CARGO_PKG_VERSION"),
        now: session.ui.now(),
        restored: Some(restored(backup)),
    };
    let started = begin_with::<BackupError>(&options, |dir| unpack(backup, identities, dir))?;
    let (id, cluster) = (started.dir.id().clone(), &config.cluster.name);
    let created = backup.header().created.strftime("%F %T UTC");
    session.ui.status(format_args!("run `{id}` makes cluster `{cluster}` again, as it was on {created}"));
    go_on(&setup, config.clone(), &started, &args.go, session)
}

/// Says what would be done.
fn show(
    args: &RestoreArgs,
    backup: &Backup,
    config: &Config,
    runs: &Runs,
    session: &Session,
) -> CommandResult {
    let format = session.format(&args.go.output);
    let cluster = config.cluster.name.clone();
    if let Some((run, stage)) = claim(runs, &cluster)? {
        return Err(BootstrapError::ClusterTaken { cluster, run, stage: stage.as_str() }.into());
    }
    let header = backup.header();
    let report = RestorePlan {
        api_version: API_VERSION,
        kind: "RestorePlan",
        cluster,
        provider: config.provider_kind().to_string(),
        created: header.created.to_string(),
        machines: machine_names(&objects::cluster_bootstrap(config)),
    };
    session.ui.render(&report, &format)?;
    if format.is_for_people() {
        session.ui.status(format_args!("the backup can be used; nothing was done (dry run)"));
    }
    Ok(())
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct RestorePlan {
    api_version: &'static str,
    kind: &'static str,
    cluster: String,
    provider: String,
    created: String,
    machines: Vec<String>,
}

impl Render for RestorePlan {
    fn table(&self, _: &View) -> Table {
        let mut table = Table::new(["what", "would be"]);
        table.push(["cluster".into(), format!("{}, as it was at {}", self.cluster, self.created).into()]);
        table
            .push(["machines".into(), format!("{} at `{}`", self.machines.join(", "), self.provider).into()]);
        table.push(["etcd".into(), "begun from the snapshot".into()]);
        table
    }

    fn names(&self) -> Vec<String> {
        vec![self.cluster.clone()]
    }
}
