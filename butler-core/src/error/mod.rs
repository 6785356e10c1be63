//! What every error of ours can say about itself: a class, a stable code and the next step.
//!
//! The class decides the exit code and whether to retry; the code is what a person looks up with
//! `explain`; hints are commands to copy. Text is never matched to find any of them.

mod codes;
mod evidence;

pub use codes::{Code, Page};
pub use evidence::Outlook;

/// The class of a failure. Decides retry, exit code and colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The named thing does not exist.
    NotFound,
    /// Somebody else changed or holds it.
    Conflict,
    /// The identity is known and may not do this.
    Forbidden,
    /// There is no usable identity.
    Unauthenticated,
    /// A value given by a person is wrong: flag, file or setting.
    Invalid,
    /// It may work on the next try.
    Transient,
    /// A limit was reached.
    Quota,
    /// A deadline passed while waiting.
    Timeout,
    /// The person stopped it.
    Cancelled,
    /// A bootstrap run ended in failure.
    Bootstrap,
    /// None of the above.
    Failed,
    /// A defect of ours.
    Internal,
}

impl ErrorKind {
    /// The documented exit status of a program that ends with this class.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Invalid => 2,
            Self::NotFound => 3,
            Self::Bootstrap => 4,
            Self::Forbidden | Self::Unauthenticated => 5,
            Self::Timeout => 6,
            Self::Cancelled => 130,
            Self::Conflict | Self::Transient | Self::Quota | Self::Failed | Self::Internal => 1,
        }
    }

    /// True when the same call may succeed later without anybody changing anything.
    pub fn is_retryable(self) -> bool {
        matches!(self, Self::Transient | Self::Timeout | Self::Conflict)
    }
}

/// An error that knows its code and what to do next.
///
/// The message says what was tried, with the object named, in lower case and without a period; the
/// cause is reached through `source()` and is not repeated in the message.
pub trait Diagnose: std::error::Error {
    /// The stable code; its page is what `explain` prints.
    fn code(&self) -> Code;

    /// The class; that of the code unless the cause says more.
    fn kind(&self) -> ErrorKind {
        self.code().kind()
    }

    /// What was found wrong, when one pass finds several things; the message then only counts them.
    fn problems(&self) -> Vec<String> {
        Vec::new()
    }

    /// Next steps a person can copy. The page of the code has the general advice, this has the
    /// concrete one with names filled in.
    fn hints(&self) -> Vec<String> {
        Vec::new()
    }
}

impl<T: Diagnose + ?Sized> Diagnose for &T {
    fn code(&self) -> Code {
        (**self).code()
    }

    fn kind(&self) -> ErrorKind {
        (**self).kind()
    }

    fn problems(&self) -> Vec<String> {
        (**self).problems()
    }

    fn hints(&self) -> Vec<String> {
        (**self).hints()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_follow_the_documented_table() {
        let table = [
            (ErrorKind::Failed, 1),
            (ErrorKind::Invalid, 2),
            (ErrorKind::NotFound, 3),
            (ErrorKind::Bootstrap, 4),
            (ErrorKind::Unauthenticated, 5),
            (ErrorKind::Forbidden, 5),
            (ErrorKind::Timeout, 6),
            (ErrorKind::Cancelled, 130),
        ];
        for (kind, code) in table {
            assert_eq!(kind.exit_code(), code, "{kind:?}");
        }
    }
}
