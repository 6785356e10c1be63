//! `version`: this program, and the cluster if one answers.

use std::time::Duration;

use butler_core::cluster::ApiError;
use clap::{Args, CommandFactory};
use serde::Serialize;

use crate::{
    CommandError, CommandResult,
    args::{ConnectArgs, OutputArgs},
    output::{Render, View},
    run::Session,
    theme,
};

/// Version of this build.
pub const VERSION: &str = concat!("v", env!("CARGO_PKG_VERSION"));

/// Nobody waits longer for a server's version; the rest of the answer is here already.
const PATIENCE: Duration = Duration::from_secs(2);

/// Print the version of this program and of the cluster
///
/// A cluster that does not answer within two seconds is a note, not a failure.
#[derive(Args, Debug)]
pub struct VersionArgs {
    /// Ask nobody: print the version of this program only
    #[arg(long)]
    client: bool,

    #[command(flatten)]
    connect: ConnectArgs,

    #[command(flatten)]
    output: OutputArgs,
}

/// What `-o json` and `-o yaml` print.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Version {
    api_version: &'static str,
    kind: &'static str,
    client: Client,
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<Server>,
}

#[derive(Serialize)]
struct Client {
    /// Name of the program.
    program: String,
    /// Its version, such as `v0.6.0`.
    version: &'static str,
    /// The commit it was built from, `none` for a build outside the release process.
    commit: &'static str,
    /// When it was built, `unknown` for such a build.
    built: &'static str,
}

#[derive(Serialize)]
struct Server {
    /// Version of Kubernetes, such as `v1.34.4`.
    kubernetes: String,
    /// Where the API server is.
    address: String,
    /// Where the identity came from.
    identity: String,
}

/// Runs the command.
pub fn run<P: CommandFactory>(args: &VersionArgs, session: &Session) -> CommandResult {
    let client = Client {
        program: P::command().get_name().to_owned(),
        version: VERSION,
        commit: option_env!("BUTLER_COMMIT").unwrap_or("none"),
        built: option_env!("BUTLER_BUILT").unwrap_or("unknown"),
    };
    let server = if args.client { None } else { ask(args, session)? };
    let (api_version, kind) = ("butler.butlerlabs.dev/v1alpha1", "Version");
    let version = Version { api_version, kind, client, server };
    session.ui.render(&version, &session.format(&args.output))
}

/// The server, or a note on stderr why there is none.
fn ask(args: &VersionArgs, session: &Session) -> CommandResult<Option<Server>> {
    let patience = session.global.request_timeout.unwrap_or(PATIENCE).min(PATIENCE);
    let answer = session.block_on(async {
        let asking = async {
            let connection = session.connect(&args.connect).await?;
            let info = connection.client.apiserver_version().await;
            let info = info.map_err(|error| ApiError::new("ask the API server for its version", error))?;
            Ok(Server {
                kubernetes: info.git_version,
                address: connection.server,
                identity: connection.source.to_string(),
            })
        };
        Ok(tokio::time::timeout(patience, asking).await)
    })?;
    Ok(match answer {
        Ok(Ok(server)) => Some(server),
        Ok(Err(error)) => note(session, &error),
        Err(_) => {
            session
                .ui
                .status(format_args!("note: the API server did not answer within {}s", patience.as_secs()));
            None
        }
    })
}

fn note(session: &Session, error: &CommandError) -> Option<Server> {
    session.ui.status(format_args!("note: no server version: {error}"));
    None
}

impl Render for Version {
    fn text(&self, _: &View) -> String {
        let (heading, client) = (theme::HEADING, &self.client);
        let mut out = format!(
            "{heading}{}{heading:#} {}\n  commit: {}\n  built: {}\n",
            client.program, client.version, client.commit, client.built
        );
        if let Some(server) = &self.server {
            out += &format!(
                "{heading}kubernetes{heading:#} {}\n  server: {}\n  identity: {}\n",
                server.kubernetes, server.address, server.identity
            );
        }
        out
    }

    fn names(&self) -> Vec<String> {
        vec![format!("{}/{}", self.client.program, self.client.version)]
    }
}
