//! A failed call to a provider, as a decision sees it.

use std::time::Duration;

use butler_core::{
    api::conditions::reasons,
    error::{Code, Diagnose},
};

use super::{Next, leader::chain};
use crate::driver::{DriverError, ErrorClass};

/// What a driver answered in place of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failure {
    /// Decides what happens next.
    pub(super) class: ErrorClass,
    /// What `explain` knows of it.
    pub(super) code: Code,
    /// How long the provider wants to be left in peace.
    pub(super) pause: Option<Duration>,
    /// What was tried, and the provider's words.
    pub(super) text: String,
}

impl From<DriverError> for Failure {
    fn from(error: DriverError) -> Self {
        Self { class: error.class(), code: error.code(), pause: error.pause(), text: chain(&error) }
    }
}

impl Failure {
    /// The word in `status.failureReason` and in conditions.
    pub(super) fn reason(&self) -> &'static str {
        match self.class {
            ErrorClass::Transient if self.code == Code::ProviderTransient => reasons::PROVIDER_ERROR,
            ErrorClass::Transient => self.code.word(),
            ErrorClass::Conflict => CONFLICT,
            ErrorClass::Quota => reasons::QUOTA_EXCEEDED,
            ErrorClass::Auth => reasons::CREDENTIALS_INVALID,
            // What is missing when something is made was named in the request or the ProviderConfig.
            ErrorClass::NotFound | ErrorClass::Invalid => reasons::INVALID_CONFIGURATION,
        }
    }

    /// When to try again: not before the provider wants to be asked.
    pub(super) fn retry(&self) -> Next {
        let word = self.class.as_str();
        self.pause.map_or(Next::Retry(word), |pause| Next::RetryAfter(word, pause))
    }

    /// True when it goes away without anybody changing an object.
    pub(super) fn may_pass(&self) -> bool {
        !matches!(self.class, ErrorClass::Invalid)
    }
}

/// The code that a reason in the status of a request stands for.
pub(crate) fn code_of(reason: &str) -> Option<Code> {
    Some(match reason {
        reasons::PROVIDER_ERROR => Code::ProviderTransient,
        reasons::QUOTA_EXCEEDED => Code::ProviderQuota,
        reasons::CREDENTIALS_INVALID => Code::ProviderAuth,
        reasons::INVALID_CONFIGURATION => Code::ProviderInvalid,
        CONFLICT => Code::ProviderConflict,
        super::machine_request::IP_TIMEOUT => Code::MachineNoAddress,
        super::machine_request::VM_DELETED => Code::ProviderNotFound,
        other => return Code::of_word(other),
    })
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

    #[test]
    fn a_provider_is_not_asked_before_it_wants_to_be_and_reasons_lead_to_codes() {
        let pause = Duration::from_secs(7);
        let throttled = Failure::from(DriverError::throttled("create machine `a`", "slow down", Some(pause)));
        assert_eq!(throttled.retry(), Next::RetryAfter("transient", pause));
        let failures = [
            throttled,
            DriverError::late("create machine `a`", "no answer").into(),
            DriverError::new(ErrorClass::Transient, "create machine `a`", "500").into(),
            DriverError::new(ErrorClass::Quota, "create machine `a`", "full").into(),
            DriverError::new(ErrorClass::Auth, "create machine `a`", "expired").into(),
            DriverError::new(ErrorClass::Conflict, "create machine `a`", "taken").into(),
            DriverError::new(ErrorClass::Invalid, "create machine `a`", "no image").into(),
        ];
        for failure in &failures {
            assert_eq!(code_of(failure.reason()), Some(failure.code), "{failure:?}");
        }
        assert_eq!(failures[1].retry(), Next::Retry("transient"));
        assert_eq!(code_of("WaitingForIP"), None);
    }
}
