//! What keeps a run from being found or read.

use std::path::PathBuf;

use super::compare::Change;
use crate::{
    error::{Code, Diagnose},
    event::{JournalError, RunId, journal::Holder},
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
    /// The configuration is not the one that the run began with.
    #[error("run `{run}` began with another configuration: {}", counted(changes))]
    ConfigChanged {
        /// The run.
        run: RunId,
        /// What changed.
        changes: Vec<Change>,
        /// The file, as a person named it.
        file: Option<PathBuf>,
    },
    /// Neither directory nor journal has the configuration.
    #[error("the configuration of run `{run}` is gone")]
    ConfigLost {
        /// The run.
        run: RunId,
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
            Self::ConfigChanged { .. } => Code::RunConfigChanged,
            Self::ConfigLost { .. } => Code::RunConfigLost,
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
            Self::ConfigChanged { run, changes, .. } if changes.iter().any(Change::is_unsafe) => vec![
                format!("butleradm bootstrap resume {run}, without what is not possible"),
                format!("butleradm bootstrap destroy {run}, then run with the new file"),
            ],
            Self::ConfigChanged { run, file, .. } => {
                let file = file.as_ref().map(|file| format!(" --config {}", file.display()));
                vec![format!("butleradm bootstrap resume {run}{} --accept-config", file.unwrap_or_default())]
            }
            Self::ConfigLost { run } => vec![
                format!("butleradm bootstrap resume {run} --config FILE"),
                format!("butleradm bootstrap destroy {run} --config FILE"),
            ],
            Self::Read { .. } => Vec::new(),
            Self::Journal(error) => error.hints(),
        }
    }

    fn problems(&self) -> Vec<String> {
        match self {
            Self::ConfigChanged { changes, .. } => changes.iter().map(ToString::to_string).collect(),
            _ => Vec::new(),
        }
    }
}

/// `2 changes, 1 of which is not possible`.
fn counted(changes: &[Change]) -> String {
    let all = if changes.len() == 1 { "a change".to_owned() } else { format!("{} changes", changes.len()) };
    match changes.iter().filter(|change| change.is_unsafe()).count() {
        0 => format!("{all}, safe"),
        count if count == changes.len() => format!("{all}, not possible in a run that is this far"),
        count => format!("{all}, of which {count} not possible in a run that is this far"),
    }
}
