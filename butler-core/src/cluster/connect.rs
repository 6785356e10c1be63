//! Which cluster, and as whom.

use std::{path::PathBuf, time::Duration};

use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};

use crate::{
    error::{Code, Diagnose},
    settings::Environment,
};

/// What the person asked for on the command line and in settings.
#[derive(Clone, Debug)]
pub struct ConnectOptions {
    /// `--kubeconfig`
    pub kubeconfig: Option<PathBuf>,
    /// `--context`
    pub context: Option<String>,
    /// How long one request may take.
    pub request_timeout: Duration,
}

/// Where the identity came from.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Source {
    /// A kubeconfig file.
    File(PathBuf),
    /// The login of this user on this server.
    Login {
        /// The Butler server.
        server: String,
        /// Who signed in.
        email: String,
    },
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File(path) => write!(f, "kubeconfig {}", path.display()),
            Self::Login { server, email } => write!(f, "login {email} on {server}"),
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
    NoIdentity,
    /// The kubeconfig is not usable.
    #[error("cannot use the kubeconfig `{}`", path.display())]
    Kubeconfig {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl Diagnose for ConnectError {
    fn code(&self) -> Code {
        match self {
            Self::NoIdentity => Code::NoIdentity,
            Self::Kubeconfig { .. } => Code::KubeconfigMalformed,
        }
    }
}

/// Finds the cluster and builds a client; sends nothing yet.
pub async fn connect(
    options: &ConnectOptions,
    environment: &Environment,
) -> Result<Connection, ConnectError> {
    let path = options
        .kubeconfig
        .clone()
        .or_else(|| {
            environment.paths(crate::settings::env::KUBECONFIG).into_iter().find(|path| path.exists())
        })
        .ok_or(ConnectError::NoIdentity)?;
    let wrap = |source: Box<dyn std::error::Error + Send + Sync>| ConnectError::Kubeconfig {
        path: path.clone(),
        source,
    };
    let kubeconfig = Kubeconfig::read_from(&path).map_err(|e| wrap(e.into()))?;
    let choice = KubeConfigOptions { context: options.context.clone(), ..Default::default() };
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &choice).await.map_err(|e| wrap(e.into()))?;
    config.read_timeout = Some(options.request_timeout);
    let server = config.cluster_url.to_string();
    let client = Client::try_from(config).map_err(|e| wrap(e.into()))?;
    Ok(Connection {
        client,
        source: Source::File(path.clone()),
        server,
        active_team: None,
        warnings: Vec::new(),
    })
}
