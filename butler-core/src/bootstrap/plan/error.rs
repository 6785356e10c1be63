//! Why a plan cannot be carried out.

use super::Moved;
use crate::error::{Code, Diagnose};

/// Why a plan cannot be carried out.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The file is no plan.
    #[error("the plan cannot be read")]
    Unreadable(#[source] serde_json::Error),
    /// The file is something else, or of another version.
    #[error("the file is a `{kind}` of `{version}`, not a plan of this program")]
    Foreign {
        /// Its kind.
        kind: String,
        /// Its version.
        version: String,
    },
    /// The world is not as it was.
    #[error("{} changed since the plan was made", match moved.len() { 1 => "one thing".to_owned(), count => format!("{count} things") })]
    Moved {
        /// What.
        moved: Vec<Moved>,
    },
}

impl Diagnose for PlanError {
    fn code(&self) -> Code {
        match self {
            Self::Unreadable(_) | Self::Foreign { .. } => Code::PlanUnreadable,
            Self::Moved { .. } => Code::PlanMoved,
        }
    }

    fn problems(&self) -> Vec<String> {
        match self {
            Self::Moved { moved } => moved.iter().map(ToString::to_string).collect(),
            Self::Unreadable(_) | Self::Foreign { .. } => Vec::new(),
        }
    }
}
