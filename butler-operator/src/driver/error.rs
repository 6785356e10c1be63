//! What a provider can answer when it does not do what was asked, by class.
//!
//! A driver decides the class from the provider's status or error code, never from its text; the
//! class decides whether a controller waits, retries or gives up. The provider's own words stay
//! with the error as its cause.

use std::{error::Error, fmt, time::Duration};

use butler_core::error::{Code, Diagnose};

/// Why a provider did not do what was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorClass {
    /// The machine, load balancer or image does not exist.
    NotFound,
    /// The name is taken by something that is not ours, or belongs to another owner.
    Conflict,
    /// It may work on the next try: network, overload, a lock, a restart.
    Transient,
    /// A limit of the provider or of the account was reached.
    Quota,
    /// The credentials are wrong, expired or lack a right.
    Auth,
    /// The request or the ProviderConfig asks for something that cannot be.
    Invalid,
}

impl ErrorClass {
    /// The word used in metrics and logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotFound => "not-found",
            Self::Conflict => "conflict",
            Self::Transient => "transient",
            Self::Quota => "quota",
            Self::Auth => "auth",
            Self::Invalid => "invalid",
        }
    }
}

/// A call to a provider that failed.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action}")]
pub struct DriverError {
    class: ErrorClass,
    hold: Hold,
    action: String,
    #[source]
    cause: ProviderMessage,
}

/// What is known of a failure that may pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Hold {
    #[default]
    Nothing,
    /// The provider wants to be left in peace, for this long if it said so.
    Throttled(Option<Duration>),
    /// No answer came in time.
    Late,
}

impl DriverError {
    /// `action` completes the sentence "cannot …" with the object named in backticks;
    /// `provider_message` is what the provider said, unchanged.
    pub fn new(class: ErrorClass, action: impl Into<String>, provider_message: impl Into<String>) -> Self {
        Self {
            class,
            hold: Hold::Nothing,
            action: action.into(),
            cause: ProviderMessage { text: provider_message.into(), source: None },
        }
    }

    /// There were too many calls, and the provider may have said how long it wants to be left in peace.
    pub fn throttled(
        action: impl Into<String>,
        provider_message: impl Into<String>,
        pause: Option<Duration>,
    ) -> Self {
        Self { hold: Hold::Throttled(pause), ..Self::new(ErrorClass::Transient, action, provider_message) }
    }

    /// No answer came in time; the call may have had its effect.
    pub fn late(action: impl Into<String>, provider_message: impl Into<String>) -> Self {
        Self { hold: Hold::Late, ..Self::new(ErrorClass::Transient, action, provider_message) }
    }

    /// Adds the error of the layer below: the HTTP client, the file system.
    #[must_use]
    pub fn because(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.cause.source = Some(source.into());
        self
    }

    /// The class, which decides what happens next.
    pub fn class(&self) -> ErrorClass {
        self.class
    }

    /// How long the provider wants to be left in peace.
    pub fn pause(&self) -> Option<Duration> {
        match self.hold {
            Hold::Throttled(pause) => pause,
            Hold::Nothing | Hold::Late => None,
        }
    }

    /// The provider's own words.
    pub fn provider_message(&self) -> &str {
        &self.cause.text
    }

    /// True when what was asked for does not exist.
    pub fn is_not_found(&self) -> bool {
        self.class == ErrorClass::NotFound
    }
}

impl Diagnose for DriverError {
    fn code(&self) -> Code {
        match self.class {
            ErrorClass::NotFound => Code::ProviderNotFound,
            ErrorClass::Conflict => Code::ProviderConflict,
            ErrorClass::Transient => match self.hold {
                Hold::Nothing => Code::ProviderTransient,
                Hold::Throttled(_) => Code::ProviderThrottled,
                Hold::Late => Code::ProviderTimeout,
            },
            ErrorClass::Quota => Code::ProviderQuota,
            ErrorClass::Auth => Code::ProviderAuth,
            ErrorClass::Invalid => Code::ProviderInvalid,
        }
    }
}

/// The words of the provider, as a link in the chain of causes.
#[derive(Debug)]
struct ProviderMessage {
    text: String,
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl fmt::Display for ProviderMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Error for ProviderMessage {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

#[cfg(test)]
mod tests {
    use butler_core::error::ErrorKind;

    use super::*;

    #[test]
    fn the_words_of_the_provider_are_the_cause_and_the_class_decides_the_code() {
        let error =
            DriverError::new(ErrorClass::Quota, "create machine `dev-cp-0`", "VcpuLimitExceeded: 32 of 32")
                .because(std::io::Error::other("HTTP 400"));
        assert_eq!(error.to_string(), "cannot create machine `dev-cp-0`");
        let cause = error.source().unwrap();
        assert_eq!(cause.to_string(), "VcpuLimitExceeded: 32 of 32");
        assert_eq!(cause.source().unwrap().to_string(), "HTTP 400");
        assert_eq!((error.code(), error.kind()), (Code::ProviderQuota, ErrorKind::Quota));
    }
}
