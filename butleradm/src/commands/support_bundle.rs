//! `support-bundle`

use std::path::PathBuf;

use butler_core::{
    api::API_VERSION,
    bootstrap::run::{RunDir, Runs},
    cluster::{ConnectOptions, connect},
    error::Diagnose,
    settings::Home,
};
use butler_operator::{
    parts::Parts,
    support::{self, Scene, Written},
};
use butler_term::{
    CommandResult,
    args::{ConnectArgs, OutputArgs},
    commands::version,
    complete,
    output::{Render, Table, View},
    report::{self, EventArgs},
    run::Session,
};
use clap::{Args, ValueHint};
use serde::Serialize;
use serde_json::{Value, json};

/// Runs that are taken when none is named.
const NEWEST: usize = 5;

/// Gather what somebody needs to help, without secrets
///
/// Versions, settings, the state of this computer, journals and logs of runs and sandboxes, Butler's objects and
/// events, the checks of `doctor`, services and kernel messages of nodes. Works when the cluster is dead or there is
/// none: index.json in the file names what could not be had, with the reason. Everything that is known to be secret on
/// this computer or in the cluster, and everything that looks like it, is taken out; look at it all the same before
/// you give it away.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  butleradm support-bundle
  butleradm support-bundle mgmt --out mgmt.tar.gz
  butleradm support-bundle -o jsonpath='{.missing[*].name}'")]
pub(crate) struct SupportBundleArgs {
    /// Name of the cluster, or id of a run [default: the newest runs, and the cluster that commands use]
    #[arg(add = complete::runs())]
    run: Option<String>,

    /// The file to write [default: support-TIME.tar.gz]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    out: Option<PathBuf>,

    #[command(flatten)]
    connect: ConnectArgs,

    #[command(flatten)]
    events: EventArgs,

    #[command(flatten)]
    output: OutputArgs,
}

/// Runs the command.
pub(crate) fn run(args: &SupportBundleArgs, session: &Session) -> CommandResult {
    let format = session.format(&args.output);
    format.check()?;
    let home = Home::resolve(&session.environment)?;
    let (runs, cluster) = meant(args, &home)?;
    let mut parts = Parts::new(&session.environment, &home);
    if let Ok(settings) = session.settings() {
        parts = parts.with_settings(settings);
    }
    let now = session.ui.now();
    let name = || PathBuf::from(format!("support-{}.tar.gz", now.strftime("%Y%m%d-%H%M%S")));
    let path = args.out.clone().unwrap_or_else(name);
    let options = options(args, &home, cluster.as_deref(), session);
    let written = session.block_on(async {
        let client = match connect(&options, &session.environment).await {
            Ok(connection) => Ok(connection.client),
            Err(error) => Err(format!("{error} ({})", error.code())),
        };
        let scene = Scene {
            home: &home,
            environment: &session.environment,
            runs,
            cluster,
            client,
            parts: &parts,
            version: json!({
                "program": "butleradm",
                "version": version::VERSION,
                "commit": option_env!("BUTLER_COMMIT"),
                "built": option_env!("BUTLER_BUILT"),
            }),
            settings: settings(session),
            now,
        };
        report::run(session, &args.events, async |reporter| support::write(&scene, &path, &reporter).await)
            .await
    })?;
    session.ui.status(format_args!("{} has {} files", written.path.display(), written.entries));
    for missing in &written.missing {
        session.ui.status(format_args!("  without {}: {}", missing.name, missing.reason));
    }
    session.ui.hint(format_args!(
        "tar -tzf {}, to see what is in it before you give it away",
        written.path.display()
    ));
    match &args.output.output {
        Some(_) => {
            session.ui.render(&Report { api_version: API_VERSION, kind: "SupportBundle", written }, &format)
        }
        None => Ok(()),
    }
}

/// The runs whose files are taken, and the cluster that is asked.
fn meant(args: &SupportBundleArgs, home: &Home) -> CommandResult<(Vec<RunDir>, Option<String>)> {
    let runs = Runs::new(home);
    let cluster_of = |dir: &RunDir| {
        let state = dir.state().ok().or_else(|| dir.salvaged());
        state.and_then(|state| state.cluster)
    };
    if let Some(name) = &args.run {
        let dir = runs.locate(name)?;
        let cluster = cluster_of(&dir);
        return Ok((vec![dir], cluster));
    }
    let ids = runs.ids()?;
    let newest: Vec<RunDir> = ids.iter().rev().take(NEWEST).map(|id| runs.dir(id)).collect();
    let cluster = newest.first().and_then(cluster_of);
    Ok((newest, cluster))
}

/// The way to the cluster: what is asked for by name, else what other commands use.
fn options(
    args: &SupportBundleArgs,
    home: &Home,
    cluster: Option<&str>,
    session: &Session,
) -> ConnectOptions {
    let own =
        cluster.map(|cluster| home.dir().join(format!("{cluster}-kubeconfig"))).filter(|path| path.exists());
    let own = own.filter(|_| args.run.is_some());
    ConnectOptions {
        kubeconfig: args.connect.kubeconfig.clone().or(own),
        context: session.global.context.clone(),
        request_timeout: session
            .settings()
            .map_or(std::time::Duration::from_secs(10), |all| all.request_timeout),
    }
}

fn settings(session: &Session) -> Value {
    match session.settings() {
        Ok(settings) => settings
            .entries()
            .iter()
            .map(|entry| json!({ "setting": entry.key.name, "is": entry.value, "origin": entry.origin.to_string() }))
            .collect(),
        Err(error) => json!({ "unusable": error.to_string() }),
    }
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    api_version: &'static str,
    kind: &'static str,
    #[serde(flatten)]
    written: Written,
}

impl Render for Report {
    fn table(&self, _: &View) -> Table {
        let mut table = Table::new(["file", "files", "missing"]);
        let Written { path, entries, missing, .. } = &self.written;
        table.push(
            [path.display().to_string(), entries.to_string(), missing.len().to_string()].map(Into::into),
        );
        table
    }

    fn names(&self) -> Vec<String> {
        vec![self.written.path.display().to_string()]
    }
}
