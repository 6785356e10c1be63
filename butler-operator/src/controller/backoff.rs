//! How long to wait before the next try: longer each time, never the same for all.

use std::{
    collections::HashMap,
    hash::{BuildHasher, Hasher, RandomState},
    sync::Mutex,
    time::Duration,
};

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

/// A delay with up to a quarter more, so that those who wait for the same do not come back together.
pub(crate) fn spread(delay: Duration) -> Duration {
    // The seed of the standard hasher is random enough to come apart.
    let random = RandomState::new().build_hasher().finish() & 0xffff;
    delay + delay.mul_f64(random as f64 / f64::from(0xffff_u16) / 4.0)
}

/// How long to wait before the next question to something that is starting: a tenth of what was waited
/// already. So an answer is at most that much late, and the questions become few.
pub(crate) fn pause(waited: Duration) -> Duration {
    const SHORTEST: Duration = Duration::from_millis(25);
    const LONGEST: Duration = Duration::from_secs(2);
    spread((waited / 10).clamp(SHORTEST, LONGEST))
}

/// One series of delays, begun anew after each success.
#[derive(Debug)]
pub(crate) struct Delays {
    first: Duration,
    longest: Duration,
    next: Option<ExponentialBackoff>,
}

impl Delays {
    /// A series that has not begun.
    pub(crate) fn new(first: Duration, longest: Duration) -> Self {
        Self { first, longest, next: None }
    }

    /// The next delay.
    pub(crate) fn next(&mut self) -> Duration {
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
    fn questions_to_what_is_starting_become_few_and_answers_are_never_much_late() {
        let (mut waited, mut asked) = (Duration::ZERO, 0);
        while waited < Duration::from_secs(60) {
            let pause = pause(waited);
            assert!(pause <= (waited / 8).max(Duration::from_millis(32)), "{waited:?} {pause:?}");
            waited += pause;
            asked += 1;
        }
        assert!((50..90).contains(&asked), "{asked}");
    }

    #[test]
    fn those_who_wait_for_the_same_come_back_apart_and_never_too_early() {
        let second = Duration::from_secs(1);
        let delays: std::collections::BTreeSet<_> = (0..20).map(|_| spread(second)).collect();
        assert!(delays.len() > 10, "{delays:?}");
        assert!(delays.iter().all(|delay| *delay >= second && *delay <= second * 5 / 4), "{delays:?}");
    }

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
