//! The YAML documents of Talos: one style of writing, and errors that never quote the text, because
//! every one of these documents holds keys.

use std::fmt;

use butler_core::{
    error::{Code, Diagnose},
    pki::PkiError,
    redact::Secret,
};
use serde::{Serialize, de::DeserializeOwned};

/// The kinds of documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Document {
    /// `secrets.yaml`
    Secrets,
    /// A machine configuration.
    MachineConfig,
    /// A talosconfig.
    Talosconfig,
    /// A patch on a machine configuration.
    Patch,
}

impl fmt::Display for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Secrets => "secrets bundle",
            Self::MachineConfig => "machine configuration",
            Self::Talosconfig => "talosconfig",
            Self::Patch => "configuration patch",
        })
    }
}

/// What is wrong with a document.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DocumentError {
    /// Not YAML, or a value of the wrong shape.
    #[error("cannot read the {document}: line {line}, column {column} is not what it should be")]
    Yaml { document: Document, line: u64, column: u64 },
    /// A field that is missing or has a value that cannot be.
    #[error("the {document} is not usable: `{field}` {problem}")]
    Field { document: Document, field: String, problem: &'static str },
    /// A certificate or key that cannot be used.
    #[error("the {document} is not usable: `{field}`")]
    Certificate {
        document: Document,
        field: &'static str,
        #[source]
        source: PkiError,
    },
    /// The system gave no randomness.
    #[error("cannot make random values for the {document}")]
    Randomness { document: Document },
    /// Our own value did not serialise.
    #[error("cannot write the {document}")]
    Write { document: Document },
}

impl DocumentError {
    pub(super) fn field(document: Document, field: impl Into<String>, problem: &'static str) -> Self {
        Self::Field { document, field: field.into(), problem }
    }

    fn document(&self) -> Document {
        match self {
            Self::Yaml { document, .. }
            | Self::Field { document, .. }
            | Self::Certificate { document, .. }
            | Self::Randomness { document }
            | Self::Write { document } => *document,
        }
    }
}

impl Diagnose for DocumentError {
    fn code(&self) -> Code {
        if let Self::Randomness { .. } | Self::Write { .. } = self {
            return Code::CertificateNotSigned;
        }
        match self.document() {
            Document::Secrets => Code::SecretsInvalid,
            Document::MachineConfig => Code::MachineConfigInvalid,
            Document::Talosconfig => Code::TalosconfigInvalid,
            Document::Patch => Code::PatchInvalid,
        }
    }
}

pub(super) fn read<T: DeserializeOwned>(document: Document, text: &str) -> Result<T, DocumentError> {
    serde_saphyr::from_str(text).map_err(|error| {
        let (line, column) = error.location().map_or((1, 1), |place| (place.line(), place.column()));
        DocumentError::Yaml { document, line, column }
    })
}

/// Writes as Talos does: four spaces, every text on one line.
pub(super) fn write<T: Serialize>(document: Document, value: &T) -> Result<Secret, DocumentError> {
    let options = serde_saphyr::ser_options! { indent_step: 4, prefer_block_scalars: false };
    serde_saphyr::to_string_with_options(value, options)
        .map(Secret::from)
        .map_err(|_| DocumentError::Write { document })
}
