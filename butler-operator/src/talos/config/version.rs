//! A Talos version, and the shape of configuration it asks for.

use std::{fmt, str::FromStr};

use crate::talos::document::{Document, DocumentError};

/// A release of Talos, written `v1.12.1`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TalosVersion(semver::Version);

impl TalosVersion {
    /// From 1.12 on names and mirrors have documents of their own, and features that can no longer
    /// be turned off are not written.
    pub(super) fn has_small_documents(&self) -> bool {
        (self.0.major, self.0.minor) >= (1, 12)
    }
}

impl From<semver::Version> for TalosVersion {
    fn from(version: semver::Version) -> Self {
        Self(version)
    }
}

impl FromStr for TalosVersion {
    type Err = DocumentError;

    fn from_str(text: &str) -> Result<Self, DocumentError> {
        text.strip_prefix('v').and_then(|text| semver::Version::parse(text).ok()).map(Self).ok_or_else(|| {
            DocumentError::field(Document::MachineConfig, text, "is not a Talos version like v1.12.1")
        })
    }
}

impl fmt::Display for TalosVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v{}", self.0)
    }
}
