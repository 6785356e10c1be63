//! The node's own clock, and pauses between attempts.

use std::{
    hash::{BuildHasher, Hasher, RandomState},
    time::Duration,
};

use jiff::{SignedDuration, Timestamp};
use kube::runtime::utils::Backoff;
use tokio::time::Instant;

/// A clock that may be wrong.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    skew: SignedDuration,
}

impl Clock {
    pub(super) fn new(skew: SignedDuration) -> Self {
        Self { skew }
    }

    /// What time the node thinks it is.
    pub(super) fn now(self) -> Timestamp {
        let now = Timestamp::now();
        now.checked_add(self.skew).unwrap_or(now)
    }

    /// The moment to wake up at, so that the clock shows this time.
    pub(super) fn wake(self, time: Timestamp) -> Instant {
        let left = Duration::try_from(time.duration_since(self.now())).unwrap_or(Duration::ZERO);
        // Timers are in milliseconds: never a little too early, which would make a second round.
        Instant::now() + left.min(Duration::from_secs(3600)) + Duration::from_millis(1)
    }
}

/// A number between 0 and 1.
fn chance() -> f64 {
    let random = RandomState::new().build_hasher().finish();
    f64::from(u32::try_from(random & 0xffff).unwrap_or(0)) / 65_536.0
}

/// The duration, or up to this fraction longer.
pub(super) fn jittered(duration: Duration, fraction: f64) -> Duration {
    duration.mul_f64(1.0 + fraction * chance())
}

/// Pauses that grow while the API server does not answer, and differ between nodes.
#[derive(Clone, Debug, Default)]
pub(super) struct Pauses {
    failures: u32,
}

impl Pauses {
    const SHORTEST: Duration = Duration::from_millis(200);
    const LONGEST: Duration = Duration::from_secs(5);

    /// The next pause.
    pub(super) fn longer(&mut self) -> Duration {
        let pause = Self::SHORTEST * 2_u32.pow(self.failures.min(5));
        self.failures += 1;
        jittered(pause.min(Self::LONGEST), 0.5)
    }
}

impl Iterator for Pauses {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        Some(self.longer())
    }
}

impl Backoff for Pauses {
    fn reset(&mut self) {
        self.failures = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_a_limit_and_begin_anew() {
        let mut pauses = Pauses::default();
        let first = pauses.longer();
        assert!((Pauses::SHORTEST..Pauses::SHORTEST * 2).contains(&first), "{first:?}");
        let later = (0..20).map(|_| pauses.longer()).max();
        assert!(later.is_some_and(|pause| pause >= Pauses::LONGEST && pause <= Pauses::LONGEST.mul_f64(1.5)));
        pauses.reset();
        assert!(pauses.longer() < Pauses::SHORTEST * 2);
    }

    #[test]
    fn a_skewed_clock_wakes_at_its_own_time() {
        let clock = Clock::new(SignedDuration::from_hours(5));
        assert!(clock.now() > Timestamp::now() + SignedDuration::from_hours(4));
        let wake = clock.wake(clock.now() + SignedDuration::from_secs(2));
        assert!(wake <= Instant::now() + Duration::from_millis(2100));
    }
}
