//! The machine's clock: the system's, and ahead or behind when that fault is set.

use std::{
    path::PathBuf,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use jiff::{SignedDuration, Timestamp};
use rustls::{pki_types::UnixTime, time_provider::TimeProvider};

use crate::sandbox::faults::{Faults, Scripted};

/// How long a look at the faults counts.
const FRESH: Duration = Duration::from_secs(1);

/// Tells the machine's time.
#[derive(Debug)]
pub(super) struct Clock {
    faults: PathBuf,
    skew: Mutex<Option<(Instant, SignedDuration)>>,
}

impl Clock {
    pub(super) fn new(faults: PathBuf) -> Self {
        Self { faults, skew: Mutex::new(None) }
    }

    /// How far it is ahead.
    pub(super) fn skew(&self) -> SignedDuration {
        let mut known = self.skew.lock().unwrap_or_else(PoisonError::into_inner);
        match *known {
            Some((seen, skew)) if seen.elapsed() < FRESH => skew,
            _ => {
                // A file that cannot be read counts as it did before.
                let old = known.map(|(_, skew)| skew).unwrap_or_default();
                let skew = Faults::read(&self.faults)
                    .map_or(old, |faults| SignedDuration::from_secs(faults.clock_skew_seconds));
                *known = Some((Instant::now(), skew));
                skew
            }
        }
    }

    /// What time it is on this machine.
    pub(super) fn now(&self) -> Timestamp {
        Timestamp::now().saturating_add(self.skew()).unwrap_or(Timestamp::MAX)
    }

    /// The same for protobuf.
    pub(super) fn stamp(&self) -> prost_types::Timestamp {
        stamp(self.now())
    }
}

impl TimeProvider for Clock {
    fn current_time(&self) -> Option<UnixTime> {
        let seconds = u64::try_from(self.now().as_second()).ok()?;
        Some(UnixTime::since_unix_epoch(Duration::from_secs(seconds)))
    }
}

/// A time as protobuf writes it.
pub(super) fn stamp(time: Timestamp) -> prost_types::Timestamp {
    prost_types::Timestamp { seconds: time.as_second(), nanos: time.subsec_nanosecond() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fault_moves_the_clock() {
        let dir = tempfile::tempdir().unwrap();
        let faults = dir.path().join("faults.json");
        fs_err::write(&faults, r#"{"clockSkewSeconds": -7200}"#).unwrap();
        let behind = Timestamp::now() - Clock::new(faults).now();
        assert!((7199..7202).contains(&behind.get_seconds()), "{behind}");
    }
}
