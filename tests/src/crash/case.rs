//! Courses of events.

use super::{Disturbance, Fault, Injection};

/// One course of events: a first process, a disturbance, further processes, and the removal.
#[derive(Clone, Debug, Default)]
pub struct Case {
    /// Its name in the report.
    pub name: String,
    /// What happens to the process that begins.
    pub first: Injection,
    /// What happens between that and the next.
    pub between: Option<Disturbance>,
    /// What happens to those that take it up and do not reach the end.
    pub again: Vec<Injection>,
    /// What happens to the one that does.
    pub last: Injection,
    /// Nobody takes it to the end: it is removed where the last of those stopped.
    pub ends_there: bool,
    /// How the first removal is stopped.
    pub removal: Option<Fault>,
}

impl Case {
    /// The first process is stopped so, and the next goes through.
    pub fn stopped(fault: Fault) -> Self {
        let name = match fault {
            Fault::After(n) => format!("killed after {n}"),
            Fault::Torn(n) => format!("killed in {n}"),
            Fault::Full(n) => format!("disk full at {n}"),
            Fault::FullOnce(n) => format!("no room once at {n}"),
        };
        Self { name, first: Injection::of(fault), ..Self::default() }
    }

    /// With another name.
    pub fn named(self, name: impl Into<String>) -> Self {
        Self { name: name.into(), ..self }
    }

    /// With something between the first process and the next.
    pub fn then(self, disturbance: Disturbance) -> Self {
        Self { between: Some(disturbance), ..self }
    }
}

/// Stops the removals of cases in turn after each of its `records`, so that every one of them is tried when
/// there are enough cases. A removal cannot be stopped after its last record, which says that it is over.
pub fn destroy_points(cases: &mut [Case], records: usize) {
    let points = records.saturating_sub(1).max(1);
    for (index, case) in cases.iter_mut().enumerate() {
        case.removal = Some(Fault::After(index % points + 1));
    }
}

/// What a sample is drawn with: the same number, the same sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seed(pub u64);

impl Seed {
    /// The next number below `limit`.
    pub fn below(&mut self, limit: usize) -> usize {
        // SplitMix64: small, and good enough to choose from a list.
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        usize::try_from((mixed ^ (mixed >> 31)) % (limit.max(1) as u64)).unwrap_or_default()
    }
}

/// Draws `count` different ones, in their order.
pub fn sample<T>(mut from: Vec<T>, count: usize, seed: &mut Seed) -> Vec<T> {
    while from.len() > count {
        from.remove(seed.below(from.len()));
    }
    from
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_draws_the_same_sample_and_another_seed_another() {
        let draw = |seed| sample((1..=80).collect(), 4, &mut Seed(seed));
        assert_eq!(draw(7), draw(7));
        assert_eq!(draw(7).len(), 4);
        let drawn: std::collections::BTreeSet<i32> = (0..200).flat_map(draw).collect();
        assert_eq!(drawn.len(), 80, "every one is drawn some day");
    }

    #[test]
    fn every_point_of_the_removal_is_tried() {
        let mut cases: Vec<Case> = (1..=10).map(|n| Case::stopped(Fault::After(n))).collect();
        destroy_points(&mut cases, 5);
        let points: Vec<_> = cases.iter().filter_map(|case| case.removal).collect();
        assert_eq!(points.len(), 10);
        assert!((1..=4).all(|n| points.contains(&Fault::After(n))) && !points.contains(&Fault::After(5)));
    }
}
