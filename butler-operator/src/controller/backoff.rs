//! How long to wait before the next try: longer each time, never the same for all.

use std::{collections::HashMap, sync::Mutex, time::Duration};

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};

/// Delays that double from `first` to `longest`, each with a random part.
pub(super) fn delays(first: Duration, longest: Duration) -> ExponentialBackoff {
    ExponentialBuilder::default()
        .with_min_delay(first)
        .with_max_delay(longest)
        .with_jitter()
        .without_max_times()
        .build()
}

/// One series of delays, begun anew after each success.
#[derive(Debug)]
pub(super) struct Delays {
    first: Duration,
    longest: Duration,
    next: Option<ExponentialBackoff>,
}

impl Delays {
    /// A series that has not begun.
    pub(super) fn new(first: Duration, longest: Duration) -> Self {
        Self { first, longest, next: None }
    }

    /// The next delay.
    pub(super) fn next(&mut self) -> Duration {
        let (first, longest) = (self.first, self.longest);
        self.next.get_or_insert_with(|| delays(first, longest)).next().unwrap_or(longest)
    }

    /// Begins anew; true when there had been a failure.
    pub(super) fn reset(&mut self) -> bool {
        self.next.take().is_some()
    }

    /// True when the last try failed.
    pub(super) fn has_begun(&self) -> bool {
        self.next.is_some()
    }
}

/// A series of delays for each object.
#[derive(Debug)]
pub(super) struct PerObject {
    first: Duration,
    longest: Duration,
    series: Mutex<HashMap<String, Delays>>,
}

impl PerObject {
    /// No object has failed yet.
    pub(super) fn new(first: Duration, longest: Duration) -> Self {
        Self { first, longest, series: Mutex::default() }
    }

    /// The next delay of an object.
    pub(super) fn failed(&self, uid: &str) -> Duration {
        let mut series = self.series.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        series.entry(uid.to_owned()).or_insert_with(|| Delays::new(self.first, self.longest)).next()
    }

    /// The object is well, or gone.
    pub(super) fn forget(&self, uid: &str) {
        self.series.lock().unwrap_or_else(std::sync::PoisonError::into_inner).remove(uid);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_grow_to_the_longest_differ_between_objects_and_begin_anew() {
        let (first, longest) = (Duration::from_secs(1), Duration::from_secs(60));
        let backoff = PerObject::new(first, longest);
        let series = |uid: &str| (0..10).map(|_| backoff.failed(uid)).collect::<Vec<_>>();
        let (a, b) = (series("a"), series("b"));
        assert_ne!(a, b, "no jitter");
        for (index, delay) in a.iter().enumerate() {
            let least = (first * 2u32.pow(u32::try_from(index).unwrap())).min(longest);
            // The random part may double a delay.
            assert!(*delay >= least && *delay <= longest * 2, "{index}: {a:?}");
        }
        backoff.forget("a");
        assert!(backoff.failed("a") <= first * 2);
    }
}
