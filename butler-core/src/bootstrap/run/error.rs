//! What keeps a run from being found or read.

use std::path::PathBuf;

use crate::{
    error::{Code, Diagnose},
    event::{JournalError, journal::Holder},
    nearest::nearest,
};

/// Why a run cannot be found or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// There is none at all.
    #[error("there is no run yet")]
    None,
    /// No run has this id or made this cluster.
    #[error("no run is named `{name}`, and none made a cluster of that name")]
    Unknown {
        /// What was asked for.
        name: String,
        /// The clusters that there are runs of.
        known: Vec<String>,
    },
    /// Several runs begin with it.
    #[error("`{name}` is the beginning of several runs: {}", ids.join(", "))]
    Ambiguous {
        /// What was asked for.
        name: String,
        /// The runs.
        ids: Vec<String>,
    },
    /// Another process works on the cluster.
    #[error("cluster `{cluster}` is being worked on by {holder}")]
    Held {
        /// The cluster.
        cluster: String,
        /// Who works on it.
        holder: Holder,
    },
    /// A directory cannot be read.
    #[error("cannot read `{}`", path.display())]
    Read {
        /// The directory.
        path: PathBuf,
        /// The system's reason.
        #[source]
        source: std::io::Error,
    },
    /// The journal cannot be used.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

impl Diagnose for RunError {
    fn code(&self) -> Code {
        match self {
            Self::None | Self::Unknown { .. } => Code::RunUnknown,
            Self::Ambiguous { .. } => Code::RunAmbiguous,
            Self::Held { .. } => Code::RunHeld,
            Self::Read { .. } => Code::FileUnreadable,
            Self::Journal(error) => error.code(),
        }
    }

    fn hints(&self) -> Vec<String> {
        match self {
            Self::Unknown { name, known } => nearest(name, known.iter().map(String::as_str))
                .map(|guess| format!("did you mean `{guess}`"))
                .into_iter()
                .chain(["butleradm bootstrap list".to_owned()])
                .collect(),
            Self::Ambiguous { .. } => vec!["butleradm bootstrap list".to_owned()],
            Self::None => vec!["butleradm bootstrap --config FILE".to_owned()],
            Self::Held { cluster, .. } => vec![
                format!("butleradm bootstrap status {cluster}"),
                format!("butleradm bootstrap abort {cluster}"),
            ],
            Self::Read { .. } => Vec::new(),
            Self::Journal(error) => error.hints(),
        }
    }
}
