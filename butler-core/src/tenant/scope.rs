//! Which tenant clusters are meant.

use kube::{
    Client, Resource,
    api::{Api, ApiResource, DynamicObject},
};

use crate::{
    api::Team,
    cluster::ApiError,
    settings::{Settings, layers::Origin},
};

/// A namespace or all of them, narrowed by labels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    /// None: all namespaces.
    pub namespace: Option<String>,
    /// A label selector in the API's syntax.
    pub selector: Option<String>,
}

impl Scope {
    /// The collection on the wire.
    pub(super) fn url(&self) -> String {
        DynamicObject::url_path(&super::resource(), self.namespace.as_deref())
    }

    /// Completes "cannot …".
    pub(crate) fn action(&self, verb: &str) -> String {
        match &self.namespace {
            Some(namespace) => format!("{verb} tenant clusters in namespace `{namespace}`"),
            None => format!("{verb} tenant clusters in all namespaces"),
        }
    }
}

/// The namespace of a team: what its status says, else the one its name leads to.
pub async fn team_namespace(client: &Client, team: &str) -> Result<String, ApiError> {
    let teams = ApiResource::erase::<Team>(&());
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &teams);
    let found = api.get(team).await.map_err(|error| ApiError::new(format!("get team `{team}`"), error))?;
    let namespace = found.data.pointer("/status/namespace").and_then(|value| value.as_str());
    Ok(namespace.filter(|name| !name.is_empty()).map_or_else(|| default_namespace(team), str::to_owned))
}

/// The namespace for somebody who names none: the setting if somebody made it, else that of the login's
/// team, else the default of the setting.
pub fn own_namespace(settings: &Settings, active_team: Option<&str>) -> String {
    let is_default = settings.entry("namespace").is_ok_and(|entry| entry.origin == Origin::Default);
    let own = active_team.filter(|_| is_default).map(default_namespace);
    own.unwrap_or_else(|| settings.namespace.clone())
}

/// The namespace a team has until its status names another.
fn default_namespace(team: &str) -> String {
    format!("team-{team}")
}
