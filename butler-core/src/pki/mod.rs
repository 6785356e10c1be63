//! Certificates: authorities of our own, the leaves they sign, and what a certificate says.
//!
//! Keys are Ed25519 or P-256, made by ring. Nothing here opens a connection or writes a file; the
//! clock is an argument.

mod authority;
mod inspect;
mod key;
mod request;

pub use authority::{Authority, Issued, Leaf, Usage};
pub use inspect::{CertificateInfo, fingerprint};
pub use key::{KeyKind, PrivateKey};
pub use request::Request;

use jiff::{SignedDuration, Timestamp};

use crate::error::{Code, Diagnose};

/// How far the clocks of two machines may disagree: a day, as after a date that was set wrong, and an hour.
pub const TOLERANCE: SignedDuration = SignedDuration::from_hours(25);

/// When a certificate that is made now begins to be valid, so that machines whose clocks are behind take it.
pub fn valid_from(now: Timestamp) -> Timestamp {
    now.checked_sub(TOLERANCE).unwrap_or(now)
}

/// Why a certificate or key could not be used or made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PkiError {
    /// The text is not a PEM block, or not one with that content.
    #[error("cannot read {what} from PEM")]
    Malformed {
        /// What was looked for.
        what: &'static str,
    },
    /// The key is of a kind that ring does not sign with.
    #[error("cannot use a private key that is neither Ed25519 nor P-256")]
    Unsupported,
    /// The key does not belong to the certificate beside it.
    #[error("the private key does not belong to the certificate")]
    Mismatch,
    /// Making a key or signing failed.
    #[error("cannot sign a certificate")]
    Sign(#[source] rcgen::Error),
}

impl Diagnose for PkiError {
    fn code(&self) -> Code {
        match self {
            Self::Sign(_) => Code::CertificateNotSigned,
            _ => Code::CertificateUnusable,
        }
    }
}
