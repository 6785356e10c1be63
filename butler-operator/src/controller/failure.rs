//! A failed call to a provider, as a decision sees it.

use butler_core::api::conditions::reasons;

use super::leader::chain;
use crate::driver::{DriverError, ErrorClass};

/// What a driver answered in place of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failure {
    /// Decides what happens next.
    pub(super) class: ErrorClass,
    /// What was tried, and the provider's words.
    pub(super) text: String,
}

impl From<DriverError> for Failure {
    fn from(error: DriverError) -> Self {
        Self { class: error.class(), text: chain(&error) }
    }
}

impl Failure {
    /// The word in `status.failureReason` and in conditions.
    pub(super) fn reason(&self) -> &'static str {
        match self.class {
            ErrorClass::Transient => reasons::PROVIDER_ERROR,
            ErrorClass::Conflict => CONFLICT,
            ErrorClass::Quota => reasons::QUOTA_EXCEEDED,
            ErrorClass::Auth => reasons::CREDENTIALS_INVALID,
            // What is missing when something is made was named in the request or the ProviderConfig.
            ErrorClass::NotFound | ErrorClass::Invalid => reasons::INVALID_CONFIGURATION,
        }
    }

    /// True when it goes away without anybody changing an object.
    pub(super) fn may_pass(&self) -> bool {
        !matches!(self.class, ErrorClass::Invalid)
    }
}

/// The name is taken by something that is not ours.
pub(super) const CONFLICT: &str = "Conflict";
/// The driver cannot do this at all.
pub(super) const UNSUPPORTED: &str = "Unsupported";
/// The provider does not finish a deletion.
pub(super) const DELETION_TIMEOUT: &str = "DeletionTimeout";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_has_what_was_tried_and_the_providers_words() {
        let error = DriverError::new(ErrorClass::Quota, "create machine `a`", "VcpuLimitExceeded: 32 of 32");
        let failure = Failure::from(error);
        assert_eq!(failure.text, "cannot create machine `a`: VcpuLimitExceeded: 32 of 32");
        assert_eq!((failure.reason(), failure.may_pass()), ("QuotaExceeded", true));
    }
}
