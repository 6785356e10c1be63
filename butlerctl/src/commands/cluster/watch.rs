//! `cluster watch`

use std::ops::ControlFlow;

use butler_core::{
    error::{Code, Diagnose},
    tenant::{
        self,
        watch::{Change, Notice, What},
    },
};
use butler_term::{
    CommandError, CommandResult,
    args::{ConnectArgs, OutputArgs},
    complete,
    output::{Format, one_line},
    run::Session,
    theme,
};
use clap::Args;
use jiff::{Timestamp, tz::TimeZone};
use serde::Serialize;

use super::{missing, scope::ScopeArgs};

/// Follow phases and conditions of tenant clusters as they change
///
/// Goes on across restarts of the API server, until the named cluster is deleted or Ctrl-C is pressed.
/// `-o json` prints one JSON object per change and line.
#[derive(Args, Debug)]
pub(crate) struct ClusterWatchArgs {
    /// Name of the cluster; all clusters of the namespace if left out
    #[arg(add = complete::clusters(), conflicts_with_all = ["all_namespaces", "selector", "environment"])]
    name: Option<String>,

    #[command(flatten)]
    scope: ScopeArgs,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    connect: ConnectArgs,
}

/// Runs the command.
pub(crate) fn run(args: &ClusterWatchArgs, session: &Session) -> CommandResult {
    let json = match session.format(&args.output) {
        Format::Table | Format::Wide => false,
        Format::Json => true,
        _ => {
            let message = "a watch has no end, so it prints lines: -o table or -o json";
            return Err(CommandError::new(Code::Usage, message));
        }
    };
    session.follow(async {
        let connection = session.connect(&args.connect).await?;
        let scope = args.scope.resolve(session, &connection).await?;
        if let (Some(name), Some(namespace)) = (&args.name, &scope.namespace)
            && let Err(error) = tenant::get(&connection.client, namespace, name).await
        {
            return Err(missing::explain(&connection, namespace, name, error).await);
        }
        let mut failed = None;
        let tell = |notice| match tell(args, session, json, notice) {
            Ok(flow) => flow,
            Err(error) => {
                failed = Some(error);
                ControlFlow::Break(())
            }
        };
        tenant::watch::follow(&connection.client, &scope, args.name.as_deref(), tell).await?;
        failed.map_or(Ok(()), Err)
    })
}

fn tell(
    args: &ClusterWatchArgs,
    session: &Session,
    json: bool,
    notice: Notice,
) -> CommandResult<ControlFlow<()>> {
    let ui = &session.ui;
    match notice {
        Notice::Change(change) => {
            let time = session.environment.now();
            let is_end = args.name.is_some() && change.what == What::Deleted;
            let text = if json {
                serde_json::to_string(&Timed { time, change }).map_err(|error| {
                    CommandError::new(Code::Internal, "cannot serialise the result").caused_by(&error)
                })?
            } else {
                line(time, &change, args.scope.all_namespaces)
            };
            ui.data(&(text + "\n"))?;
            if is_end {
                return Ok(ControlFlow::Break(()));
            }
        }
        Notice::Unreadable { namespace, name, field } => ui.warning(format_args!(
            "tenant cluster `{name}` in namespace `{namespace}` cannot be read: see its field `{field}`"
        )),
        Notice::Lost(error) => {
            ui.warning(format_args!("the connection is lost ({}); trying again", error.code()));
        }
        Notice::Back => ui.status(format_args!("the connection is back")),
    }
    Ok(ControlFlow::Continue(()))
}

#[derive(Serialize)]
struct Timed {
    time: Timestamp,
    #[serde(flatten)]
    change: Change,
}

fn line(time: Timestamp, change: &Change, with_namespace: bool) -> String {
    let clock = time.to_zoned(TimeZone::system()).strftime("%H:%M:%S");
    let namespace = if with_namespace { format!("{}/", change.namespace) } else { String::new() };
    let arrow = |from: &Option<String>| from.as_ref().map(|from| format!("{from} -> ")).unwrap_or_default();
    let what = match &change.what {
        What::Phase { from, to } => {
            let style = theme::phase(to);
            format!("phase {}{style}{to}{style:#}", arrow(from))
        }
        What::Condition { condition, from, to, reason, message } => {
            let because = match (reason.as_str(), one_line(message).as_ref()) {
                ("", "") => String::new(),
                (reason, "") => format!(" ({reason})"),
                (reason, message) => format!(" ({reason}: {message})"),
            };
            format!("condition {condition} {}{to}{because}", arrow(from))
        }
        What::Deleted => "deleted".to_owned(),
    };
    let dim = theme::DIM;
    format!("{dim}[{clock}]{dim:#} {namespace}{}: {what}", change.name)
}
