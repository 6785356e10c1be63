//! Values that come from elsewhere, and what a person should know of them.

use butler_core::error::Diagnose;
use jiff::Timestamp;

/// Why there is no value, in the words of the error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Its stable code.
    pub code: String,
    /// What was tried, and why it did not work.
    pub message: String,
    /// What to do next.
    pub hints: Vec<String>,
}

impl<E: Diagnose> From<&E> for Fault {
    fn from(error: &E) -> Self {
        let mut message = error.to_string();
        message.extend(error.problems().iter().map(|problem| format!("; {problem}")));
        let mut cause = error.source();
        while let Some(error) = cause {
            message += &format!(": {error}");
            cause = error.source();
        }
        let mut hints = error.hints();
        if hints.is_empty() {
            hints.extend(error.code().page().next.iter().map(|hint| (*hint).to_owned()));
        }
        Self { code: error.code().to_string(), message, hints }
    }
}

/// A value that comes from elsewhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Remote<T> {
    /// It was asked for.
    #[default]
    Loading,
    /// As it is.
    Ready(T),
    /// As it was: since then nobody answers.
    Stale(T, Timestamp, Fault),
    /// It could not be had.
    Failed(Fault),
}

impl<T> Remote<T> {
    /// The value, also an old one.
    pub fn value(&self) -> Option<&T> {
        match self {
            Self::Ready(value) | Self::Stale(value, ..) => Some(value),
            Self::Loading | Self::Failed(_) => None,
        }
    }

    /// The value, to be changed.
    pub fn value_mut(&mut self) -> Option<&mut T> {
        match self {
            Self::Ready(value) | Self::Stale(value, ..) => Some(value),
            Self::Loading | Self::Failed(_) => None,
        }
    }

    /// What is wrong, if something is.
    pub fn fault(&self) -> Option<&Fault> {
        match self {
            Self::Stale(_, _, fault) | Self::Failed(fault) => Some(fault),
            Self::Loading | Self::Ready(_) => None,
        }
    }

    /// Nobody answers: what is known becomes stale, else there is nothing.
    pub fn lose(&mut self, fault: Fault, now: Timestamp) {
        *self = match std::mem::take(self) {
            Self::Ready(value) => Self::Stale(value, now, fault),
            Self::Stale(value, since, _) => Self::Stale(value, since, fault),
            Self::Loading | Self::Failed(_) => Self::Failed(fault),
        };
    }

    /// Somebody answers again, though nothing new is known yet.
    pub fn find(&mut self) {
        *self = match std::mem::take(self) {
            Self::Stale(value, ..) => Self::Ready(value),
            Self::Failed(_) => Self::Loading,
            other => other,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_known_stays_and_says_since_when_it_is_old() {
        let fault = |text: &str| Fault { code: "BTL-1001".into(), message: text.into(), hints: Vec::new() };
        let (early, late) = (Timestamp::from_second(1).unwrap(), Timestamp::from_second(2).unwrap());
        let mut value = Remote::Loading;
        value.lose(fault("a"), early);
        assert_eq!(value, Remote::Failed(fault("a")));
        value = Remote::Ready(7);
        value.lose(fault("a"), early);
        value.lose(fault("b"), late);
        assert_eq!(value, Remote::Stale(7, early, fault("b")));
        assert_eq!((value.value(), value.fault()), (Some(&7), Some(&fault("b"))));
        value.find();
        assert_eq!(value, Remote::Ready(7));
    }
}
