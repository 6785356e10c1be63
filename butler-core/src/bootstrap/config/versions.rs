//! Which Kubernetes goes with which Talos.

use semver::Version;

/// What the simulated machines of a sandbox say they run.
pub const SANDBOX_TALOS: Version = Version::new(1, 11, 5);
/// What the simulated machines of a sandbox run.
pub const SANDBOX_KUBERNETES: Version = Version::new(1, 34, 4);
/// The version of Talos when a file names none.
pub const DEFAULT_TALOS: Version = Version::new(1, 12, 1);

/// The Kubernetes that one minor version of Talos accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Supported {
    /// Oldest minor version.
    pub oldest: u64,
    /// Newest minor version.
    pub newest: u64,
}

/// What is known about a version of Talos.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// It is in the table.
    Yes(Supported),
    /// It is older than all that is.
    TooOld,
    /// It is newer than all that is.
    TooNew,
}

/// Minor versions of Talos 1: oldest and newest Kubernetes.
const TABLE: [(u64, u64, u64); 5] = [(9, 27, 32), (10, 28, 33), (11, 29, 34), (12, 30, 35), (13, 31, 36)];

/// What is known about a version of Talos.
pub(super) fn known(talos: &Version) -> Known {
    let (first, last) = (TABLE[0].0, TABLE[TABLE.len() - 1].0);
    match TABLE.iter().find(|(minor, ..)| talos.major == 1 && talos.minor == *minor) {
        Some(&(_, oldest, newest)) => Known::Yes(Supported { oldest, newest }),
        None if talos.major < 1 || talos.major == 1 && talos.minor < first => Known::TooOld,
        None => {
            debug_assert!(talos.major > 1 || talos.minor > last);
            Known::TooNew
        }
    }
}

/// The newest and oldest versions of Talos in the table, for messages.
pub(super) fn talos_range() -> String {
    format!("v1.{} to v1.{}", TABLE[0].0, TABLE[TABLE.len() - 1].0)
}

/// The Kubernetes that a version of Talos comes with; none for one that is not known.
pub(super) fn kubernetes_for(talos: &Version) -> Option<Version> {
    let (minor, patch) = match (talos.major, talos.minor, talos.patch) {
        (1, 9, _) => (32, 0),
        (1, 10, _) => (33, 0),
        (1, 11, _) => (34, 1),
        (1, 12, ..5) => (35, 0),
        (1, 12, 5..7) => (35, 2),
        (1, 12, _) => (35, 4),
        (1, 13, _) => (36, 0),
        _ => return None,
    };
    Some(Version::new(1, minor, patch))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("1.11.5", "1.34.1")]
    #[case("1.12.1", "1.35.0")]
    #[case("1.12.4", "1.35.0")]
    #[case("1.12.5", "1.35.2")]
    #[case("1.12.7", "1.35.4")]
    #[case("1.13.0", "1.36.0")]
    fn the_default_kubernetes_is_one_that_talos_accepts(#[case] talos: &str, #[case] kubernetes: &str) {
        let talos: Version = talos.parse().unwrap();
        let default = kubernetes_for(&talos).unwrap();
        assert_eq!(default.to_string(), kubernetes);
        let Known::Yes(supported) = known(&talos) else { panic!("{talos} is in the table") };
        assert!((supported.oldest..=supported.newest).contains(&default.minor));
    }

    #[test]
    fn the_edges_of_the_table() {
        assert_eq!(known(&Version::new(1, 8, 9)), Known::TooOld);
        assert_eq!(known(&Version::new(0, 14, 0)), Known::TooOld);
        assert_eq!(known(&Version::new(1, 14, 0)), Known::TooNew);
        assert_eq!(known(&Version::new(2, 0, 0)), Known::TooNew);
        assert_eq!(kubernetes_for(&Version::new(1, 14, 0)), None);
        let Known::Yes(supported) = known(&SANDBOX_TALOS) else { panic!("it is in the table") };
        assert!((supported.oldest..=supported.newest).contains(&SANDBOX_KUBERNETES.minor));
    }
}
