//! Which cluster, and as whom.

use std::{fmt, path::PathBuf, time::Duration};

use base64::{Engine, prelude::BASE64_STANDARD};
use kube::{
    Client, Config,
    client::{ClientBuilder, retry::RetryPolicy},
};
use secrecy::ExposeSecret;
use tower::{buffer::BufferLayer, retry::RetryLayer};

use super::{
    deadline::DeadlineLayer,
    kubeconfig::{Document, KubeconfigError, Selected, exposure, unbuildable},
    proxy,
    search::{Found, search},
};
use crate::{
    auth::{CredentialsError, Login},
    error::{Code, Diagnose},
    settings::{Environment, env},
};

/// Groups a login acts in, as the role bindings of the platform expect them.
const LOGIN_GROUPS: [&str; 2] = ["butler-api-users", "system:authenticated"];

/// What the person asked for on the command line and in settings.
#[derive(Clone, Debug)]
pub struct ConnectOptions {
    /// `--kubeconfig`
    pub kubeconfig: Option<PathBuf>,
    /// `--context`
    pub context: Option<String>,
    /// How long one request may take, retries and body included.
    pub request_timeout: Duration,
}

/// Where the identity came from.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Source {
    /// A context of a kubeconfig file.
    File {
        /// The file.
        path: PathBuf,
        /// The context.
        context: String,
    },
    /// The login of this user on this server.
    Login {
        /// The Butler server.
        server: String,
        /// Who signed in.
        email: Option<String>,
    },
    /// The service account of the Pod this program runs in.
    ServiceAccount,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path, context } => write!(f, "kubeconfig {} (context {context})", path.display()),
            Self::Login { server, email: Some(email) } => write!(f, "login {email} on {server}"),
            Self::Login { server, email: None } => write!(f, "login on {server}"),
            Self::ServiceAccount => f.write_str("the service account of this Pod"),
        }
    }
}

/// A client and what is known of its identity.
#[derive(Clone)]
pub struct Connection {
    /// The Kubernetes client.
    pub client: Client,
    /// Where the identity came from.
    pub source: Source,
    /// Address of the API server.
    pub server: String,
    /// Team chosen with `context use`, if the identity is a login.
    pub active_team: Option<String>,
    /// Things to tell the person, such as a kubeconfig that others can read.
    pub warnings: Vec<String>,
}

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// Nothing was found in any place.
    #[error("no cluster and no login was found")]
    NoIdentity {
        /// Kubeconfigs of sandboxes on this machine. Nobody becomes their administrator unasked.
        sandboxes: Vec<PathBuf>,
    },
    /// `KUBECONFIG` names only files that do not exist.
    #[error("KUBECONFIG names no file that exists: {}", join(listed))]
    ListedMissing {
        /// What it names.
        listed: Vec<PathBuf>,
    },
    /// The active server has no login.
    #[error("there is no login for the active server `{server}`")]
    LoginMissing {
        /// The server.
        server: String,
    },
    /// The login's token has ended.
    #[error("the login of `{who}` on `{server}` has expired")]
    LoginExpired {
        /// Who signed in.
        who: String,
        /// The server.
        server: String,
    },
    /// The login holds no kubeconfig that can be decoded.
    #[error("the login on `{server}` holds no usable kubeconfig")]
    LoginUnusable {
        /// The server.
        server: String,
    },
    /// The Pod's service account cannot be read.
    #[error("cannot use the service account of this Pod")]
    ServiceAccount(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The logins cannot be read.
    #[error(transparent)]
    Credentials(#[from] CredentialsError),
    /// The kubeconfig is of no use.
    #[error(transparent)]
    Kubeconfig(#[from] KubeconfigError),
}

fn join(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| format!("`{}`", path.display())).collect::<Vec<_>>().join(", ")
}

impl Diagnose for ConnectError {
    fn code(&self) -> Code {
        match self {
            Self::NoIdentity { .. } => Code::NoIdentity,
            Self::ListedMissing { .. } => Code::KubeconfigUnreadable,
            Self::LoginMissing { .. } | Self::LoginExpired { .. } => Code::LoginExpired,
            Self::LoginUnusable { .. } => Code::CredentialsMalformed,
            Self::ServiceAccount(_) => Code::ServiceAccountUnusable,
            Self::Credentials(error) => error.code(),
            Self::Kubeconfig(error) => error.code(),
        }
    }

    fn hints(&self) -> Vec<String> {
        match self {
            Self::NoIdentity { sandboxes } if !sandboxes.is_empty() => {
                let sandboxes = sandboxes.iter().map(|path| format!("export KUBECONFIG={}", path.display()));
                sandboxes.chain(["pass --kubeconfig FILE".to_owned()]).collect()
            }
            Self::LoginMissing { server }
            | Self::LoginExpired { server, .. }
            | Self::LoginUnusable { server } => vec![
                format!("sign in again to {server}"),
                "pass --kubeconfig FILE to use another identity on purpose".to_owned(),
            ],
            Self::Credentials(error) => error.hints(),
            Self::Kubeconfig(error) => error.hints(),
            _ => Vec::new(),
        }
    }
}

/// Finds the cluster and builds a client; sends nothing yet.
pub async fn connect(
    options: &ConnectOptions,
    environment: &Environment,
) -> Result<Connection, ConnectError> {
    match search(options, environment)? {
        Found::File(path) => {
            let selected = Document::read(&path)?.select(options.context.as_deref()).await?;
            let source = Source::File { path: path.clone(), context: selected.context.clone() };
            let warnings = exposure(&path).into_iter().collect();
            build(selected, source, None, warnings, options, environment)
        }
        Found::Login { server, login, store } => {
            let selected = document_of(&login, &server)?.select(None).await?;
            let warnings = exposure(&store).into_iter().collect();
            let source = Source::Login { server, email: login.email() };
            build(selected, source, login.active_team(), warnings, options, environment)
        }
    }
}

/// As [`connect`], for a program that nobody sits at: in a Pod, and with no kubeconfig named, it is the
/// Pod's service account.
pub async fn connect_service(
    options: &ConnectOptions,
    environment: &Environment,
) -> Result<Connection, ConnectError> {
    let is_named = options.kubeconfig.is_some()
        || options.context.is_some()
        || environment.get_os(env::KUBECONFIG).is_some();
    if is_named || environment.get_os(env::KUBERNETES_SERVICE_HOST).is_none() {
        return connect(options, environment).await;
    }
    let config = Config::incluster().map_err(|error| ConnectError::ServiceAccount(error.into()))?;
    let server = config.cluster_url.to_string().trim_end_matches('/').to_owned();
    let client = client(config, options.request_timeout, &server)
        .map_err(|error| ConnectError::ServiceAccount(error.into()))?;
    let source = Source::ServiceAccount;
    Ok(Connection { client, source, server, active_team: None, warnings: Vec::new() })
}

fn document_of(login: &Login, server: &str) -> Result<Document, ConnectError> {
    let unusable = || ConnectError::LoginUnusable { server: server.to_owned() };
    let encoded = login.kubeconfig.as_ref().ok_or_else(unusable)?;
    let bytes = BASE64_STANDARD.decode(encoded.expose_secret()).map_err(|_| unusable())?;
    let text = String::from_utf8(bytes).map_err(|_| unusable())?;
    if text.trim().is_empty() {
        return Err(unusable());
    }
    Ok(Document::parse(format!("login on {server}"), &text)?)
}

fn build(
    selected: Selected,
    source: Source,
    active_team: Option<String>,
    warnings: Vec<String>,
    options: &ConnectOptions,
    environment: &Environment,
) -> Result<Connection, ConnectError> {
    let Selected { file, mut config, has_proxy, .. } = selected;
    if !has_proxy {
        // kube matches NO_PROXY against the proxy itself instead of the server.
        config.proxy_url = proxy::from_environment(&config.cluster_url, environment);
    }
    // The scoped token only carries the request; rules and audit see the person.
    if let Source::Login { email: Some(email), .. } = &source {
        config.auth_info.impersonate = Some(email.clone());
        config.auth_info.impersonate_groups = Some(LOGIN_GROUPS.map(str::to_owned).to_vec());
    }
    let server = config.cluster_url.to_string().trim_end_matches('/').to_owned();
    let client =
        client(config, options.request_timeout, &server).map_err(|error| unbuildable(file, error))?;
    Ok(Connection { client, source, server, active_team, warnings })
}

/// A client whose requests end within `limit`. The retries that kube makes by itself go on for
/// minutes; these three take some seconds, so that a server that stays busy is reported as busy.
fn client(mut config: Config, limit: Duration, server: &str) -> Result<Client, kube::Error> {
    config.connect_timeout = Some(limit);
    config.default_retry = false;
    Ok(ClientBuilder::try_from(config)?
        // A retry clones the service below it.
        .with_layer(&BufferLayer::new(64))
        .with_layer(&RetryLayer::new(RetryPolicy::default()))
        .with_layer(&DeadlineLayer { server: server.into(), limit })
        .build())
}

#[cfg(test)]
mod tests;
