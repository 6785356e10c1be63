//! `backup create`

use std::path::PathBuf;

use butler_core::{
    bootstrap::config::ProviderSettings,
    cluster::{ConnectOptions, connect},
};
use butler_operator::{
    backup::{self, Subject, file_name},
    sandbox::Place,
};
use butler_term::{
    CommandResult,
    args::OutputArgs,
    complete,
    report::{self, EventArgs},
    run::Session,
};
use clap::{Args, ValueHint};

use super::{
    keys::RecipientArgs,
    report::{CreatedReport, size},
    usual_dir,
};
use crate::commands::bootstrap::{kept, run::runs, runs as chosen};

/// Write a backup of a management cluster
///
/// Takes a snapshot of etcd through the Talos API and reads Butler's objects; nothing about the cluster changes, and
/// nothing is written in the clear. The cluster must answer. The file gets its name when it is complete.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  butleradm backup create mgmt --recipient age1…
  butleradm backup create --recipients-file team.txt --out /mnt/backups/mgmt.butler-backup
  butleradm backup create mgmt -r age1… -o jsonpath='{.path}'")]
pub(super) struct CreateArgs {
    /// Name of the cluster, or id of the run that made it [default: the newest run]
    #[arg(add = complete::runs())]
    cluster: Option<String>,

    #[command(flatten)]
    recipients: RecipientArgs,

    /// The file to write [default: BUTLER_HOME/backups/CLUSTER-TIME.butler-backup]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    out: Option<PathBuf>,

    #[command(flatten)]
    events: EventArgs,

    #[command(flatten)]
    output: OutputArgs,
}

/// Runs the command.
pub(super) fn run(args: &CreateArgs, session: &Session) -> CommandResult {
    let format = session.format(&args.output);
    format.check()?;
    let recipients = args.recipients.read()?;
    let (home, all) = runs(session)?;
    let (dir, state) = chosen::choose(&all, args.cluster.as_deref())?;
    let facts = chosen::facts(&dir, &state)?;
    let config = kept::to_remove(&dir, &state, &facts, None, session)?;
    let place = match &config.provider {
        ProviderSettings::Sandbox(sandbox) => {
            Some(Place::new(&home, sandbox.name.as_deref().unwrap_or(&facts.cluster)))
        }
        _ => None,
    };
    let now = session.ui.now();
    let subject = Subject {
        home: &home,
        dir: &dir,
        state: &state,
        facts: &facts,
        place,
        provider: &config.provider,
        version: env!("CARGO_PKG_VERSION"),
        now,
    };
    subject.check()?;
    let path = match &args.out {
        Some(path) => path.clone(),
        None => usual_dir(session)?.join(file_name(&facts.cluster, now)),
    };
    let options = ConnectOptions {
        kubeconfig: Some(subject.kubeconfig()),
        context: None,
        request_timeout: session.settings()?.request_timeout,
    };
    let created = session.block_on(async {
        // Not the cluster that a person works with, but the one that is named.
        let connection = connect(&options, &session.environment).await?;
        let job = async |reporter| {
            backup::create(&subject, &connection.client, &recipients, &path, &reporter).await
        };
        report::run(session, &args.events, job).await
    })?;
    let said = format!(
        "backup of cluster `{}`: {} ({}, {} of them etcd, {} objects)",
        facts.cluster,
        created.path.display(),
        size(created.bytes),
        size(created.snapshot_bytes),
        created.objects
    );
    session.ui.status(format_args!("{said}"));
    let next = format!("butleradm backup verify {} --identity FILE", created.path.display());
    session.ui.hint(format_args!("{next}"));
    match &args.output.output {
        Some(_) => session.ui.render(&CreatedReport::from(created), &format),
        None => Ok(()),
    }
}
