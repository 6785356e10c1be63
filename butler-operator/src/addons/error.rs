//! What keeps an addon from being installed.

use std::{path::PathBuf, time::Duration};

use butler_core::{
    cluster::{ApiError, crds::CrdsError},
    error::{Code, Diagnose, ErrorKind},
    settings::HomeError,
};

use crate::process::ProcessError;

/// Why an addon is not installed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AddonError {
    /// The cluster refused or did not answer.
    #[error(transparent)]
    Api(#[from] ApiError),
    /// Definitions are not served.
    #[error(transparent)]
    Definitions(#[from] CrdsError),
    /// helm cannot be run.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// A file of ours cannot be written.
    #[error(transparent)]
    File(#[from] HomeError),
    /// The chart or the manifests cannot be had.
    #[error("cannot get {what}")]
    Source {
        /// What was to be fetched, with its version and place.
        what: String,
        /// Whether it can work on another try.
        kind: ErrorKind,
        /// The reason.
        #[source]
        said: Words,
    },
    /// The server of a chart or manifest has no address.
    #[error("cannot get {what}: the name `{host}` cannot be resolved")]
    Unresolved {
        /// What was to be fetched.
        what: String,
        /// The name.
        host: String,
        /// The system's reason.
        #[source]
        source: std::io::Error,
    },
    /// helm failed.
    #[error("helm could not {doing} release `{release}` in namespace `{namespace}`")]
    Helm {
        /// What it was asked to do, in one word.
        doing: &'static str,
        /// The release.
        release: String,
        /// Its namespace.
        namespace: String,
        /// The class, as far as helm tells.
        kind: ErrorKind,
        /// helm's last words.
        #[source]
        said: Words,
    },
    /// Something was applied and is not there in time.
    #[error("{what} was not {wanted} within {}s", limit.as_secs())]
    Late {
        /// The object.
        what: String,
        /// What was waited for.
        wanted: &'static str,
        /// How long.
        limit: Duration,
    },
    /// Chart, manifests or objects are not what they must be.
    #[error("{what} cannot be used")]
    Invalid {
        /// What it is about.
        what: String,
        /// The reason.
        #[source]
        said: Words,
    },
    /// A step needs a value that the provider's credentials do not have.
    #[error("the credentials of the provider have no `{key}`")]
    Credential {
        /// The key.
        key: String,
    },
    /// A file of a mirror cannot be read.
    #[error("cannot read `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// Nodes and machines do not fit.
    #[error("{found} of {wanted} machines are nodes of the cluster")]
    Nodes {
        /// Machines whose node was found.
        found: usize,
        /// All machines.
        wanted: usize,
    },
}

/// Somebody else's words.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Words(pub(super) String);

impl Words {
    pub(super) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

impl AddonError {
    /// True when trying again may help without anybody changing anything: everything but wrong input,
    /// missing credentials and missing rights.
    pub fn is_retryable(&self) -> bool {
        let kind = self.kind();
        kind.is_retryable() || matches!(kind, ErrorKind::Failed | ErrorKind::NotFound)
    }
}

impl Diagnose for AddonError {
    fn code(&self) -> Code {
        match self {
            Self::Api(error) => error.code(),
            Self::Definitions(error) => error.code(),
            Self::Process(error) => error.code(),
            Self::File(error) => error.code(),
            Self::Source { kind: ErrorKind::Invalid, .. } => Code::AddonSourceMissing,
            Self::Source { .. } => Code::AddonSourceUnreachable,
            Self::Unresolved { .. } => Code::AddonSourceUnresolved,
            Self::Helm { kind: ErrorKind::Timeout, .. } | Self::Late { .. } | Self::Nodes { .. } => {
                Code::AddonLate
            }
            Self::Helm { .. } => Code::ReleaseFailed,
            Self::Invalid { .. } => Code::AddonInvalid,
            Self::Credential { .. } => Code::AddonCredential,
            Self::Read { .. } => Code::FileUnreadable,
        }
    }

    fn kind(&self) -> ErrorKind {
        match self {
            Self::Api(error) => error.kind(),
            Self::Definitions(error) => error.kind(),
            Self::Process(error) => error.kind(),
            Self::File(error) => error.kind(),
            Self::Source { kind, .. } | Self::Helm { kind, .. } => *kind,
            other => other.code().kind(),
        }
    }

    fn hints(&self) -> Vec<String> {
        match self {
            Self::Api(error) => error.hints(),
            Self::Definitions(error) => error.hints(),
            Self::Process(error) => error.hints(),
            Self::Helm { release, namespace, .. } => vec![
                format!("helm status {release} -n {namespace}"),
                format!("kubectl -n {namespace} get pods,events"),
            ],
            _ => Vec::new(),
        }
    }
}
