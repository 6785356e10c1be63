//! Flags that say which clusters are meant.

use butler_core::{
    api::names::labels::ENVIRONMENT,
    cluster::Connection,
    tenant::{self, Scope},
};
use butler_term::{CommandResult, complete, run::Session};
use clap::Args;

/// The namespace of one cluster.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct NamespaceArgs {
    /// Namespace to look in [default: that of the active team, else butler-tenants]
    #[arg(short, long, value_name = "NAMESPACE", add = complete::namespaces())]
    pub(crate) namespace: Option<String>,

    /// Look in the namespace of this team
    #[arg(long, value_name = "TEAM", conflicts_with = "namespace")]
    pub(crate) team: Option<String>,
}

impl NamespaceArgs {
    /// The first of: `-n`, `--team`, the setting if somebody made it, the login's team, the default.
    pub(crate) async fn resolve(&self, session: &Session, connection: &Connection) -> CommandResult<String> {
        if let Some(namespace) = &self.namespace {
            return Ok(namespace.clone());
        }
        if let Some(team) = &self.team {
            return Ok(tenant::team_namespace(&connection.client, team).await?);
        }
        Ok(tenant::own_namespace(session.settings()?, connection.active_team.as_deref()))
    }
}

/// One namespace or all, narrowed by labels.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ScopeArgs {
    #[command(flatten)]
    pub(crate) namespace: NamespaceArgs,

    /// Look in all namespaces
    #[arg(short = 'A', long, conflicts_with_all = ["namespace", "team"])]
    pub(crate) all_namespaces: bool,

    /// Only clusters with these labels, e.g. tier=gold,region!=eu
    #[arg(short = 'l', long, value_name = "LABELS")]
    selector: Option<String>,

    /// Only clusters of this environment
    #[arg(long, value_name = "NAME")]
    environment: Option<String>,
}

impl ScopeArgs {
    /// What the API is asked for.
    pub(crate) async fn resolve(&self, session: &Session, connection: &Connection) -> CommandResult<Scope> {
        let namespace = match self.all_namespaces {
            true => None,
            false => Some(self.namespace.resolve(session, connection).await?),
        };
        let environment = self.environment.as_ref().map(|name| format!("{ENVIRONMENT}={name}"));
        let labels: Vec<String> = self.selector.iter().cloned().chain(environment).collect();
        Ok(Scope { namespace, selector: (!labels.is_empty()).then(|| labels.join(",")) })
    }
}
