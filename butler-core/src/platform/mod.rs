//! The health of a management cluster: one survey of facts, two readings of it.
//!
//! [`Survey::take`] asks the API server a fixed number of questions, whatever the size of the
//! platform; [`doctor`] and [`status`] turn the facts into checks and a report without any I/O.

pub mod doctor;
pub mod status;
mod survey;

use serde::Serialize;
pub use survey::{Basics, Provider, Survey, Tenant, Workload, WorkloadKind};

/// How good or bad something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Works.
    Pass,
    /// Works in part, or will not for long.
    Warn,
    /// Does not work.
    Fail,
    /// Not looked at, because something it needs failed.
    Skip,
}

impl Level {
    /// All of the wanted replicas ready: pass; some: warn; none, or none wanted: fail.
    pub fn of_replicas(ready: i32, desired: i32) -> Self {
        match ready {
            ready if desired > 0 && ready >= desired => Self::Pass,
            ready if ready > 0 => Self::Warn,
            _ => Self::Fail,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Level;

    #[test]
    fn replicas_decide_the_level() {
        assert_eq!(Level::of_replicas(3, 3), Level::Pass);
        assert_eq!(Level::of_replicas(4, 3), Level::Pass);
        assert_eq!(Level::of_replicas(1, 3), Level::Warn);
        assert_eq!(Level::of_replicas(0, 3), Level::Fail);
        assert_eq!(Level::of_replicas(0, 0), Level::Fail);
    }
}
