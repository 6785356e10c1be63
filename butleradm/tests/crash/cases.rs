//! Which courses of events are tried.

use butler_tests::crash::{Case, Disturbance, Fault, Injection, Reference, destroy_points};

const DAY: i64 = 24 * 60 * 60;

/// Killed after every record, and in the middle of every record that tells what came of an effect: then the
/// effect has happened, and nothing says so. Their removals are killed too, in turn at every record.
pub(crate) fn every_record(reference: &Reference) -> Vec<Case> {
    let mut cases = Vec::new();
    for (index, record) in reference.records.iter().enumerate() {
        cases.push(Case::stopped(Fault::After(index + 1)));
        if record.contains(" result ") {
            cases.push(Case::stopped(Fault::Torn(index + 1)));
        }
    }
    destroy_points(&mut cases, reference.removal.len());
    cases
}

/// The number of the first record that contains these words.
fn record(reference: &Reference, words: &str) -> usize {
    reference.records.iter().position(|record| record.contains(words)).map_or(1, |index| index + 1)
}

/// What else can happen around a kill: at the record where it hurts most.
pub(crate) fn disturbed(reference: &Reference) -> Vec<Case> {
    let at = |words: &str| Fault::After(record(reference, words));
    let (machines, etcd, addons) =
        (at("result machine/"), at("intent talos/bootstrap"), at("begin InstallingAddons"));
    let mut cases = vec![
        Case::stopped(Fault::Torn(1)),
        Case {
            again: vec![Injection::of(Fault::After(4)), Injection::of(Fault::After(9))],
            ..Case::stopped(machines)
        }
        .named("killed, and twice while it resumed, early"),
        Case {
            again: vec![Injection::of(Fault::After(14)), Injection::of(Fault::Torn(12))],
            ..Case::stopped(addons)
        }
        .named("killed, and twice while it resumed, late"),
        Case::stopped(etcd).then(Disturbance::JournalTorn).named("last line torn"),
    ];
    for (words, fault) in [("early", machines), ("at etcd", etcd), ("late", addons)] {
        let with = |disturbance, name: &str| {
            Case::stopped(fault).then(disturbance).named(format!("{name}, {words}"))
        };
        cases.push(with(Disturbance::ScratchLost, "temporary cluster deleted"));
        cases.push(with(Disturbance::MachinesRebooted, "machines rebooted"));
        cases.push(with(Disturbance::HostRebooted, "host rebooted"));
    }
    for (sign, words) in [(1, "ahead"), (-1, "behind")] {
        let clock = |from| Injection::clock(sign * DAY, from);
        cases.push(
            Case { last: clock(0), ..Case::stopped(etcd) }.named(format!("clock a day {words} at resume")),
        );
        cases.push(
            Case { last: clock(9), ..Case::stopped(machines) }
                .named(format!("clock a day {words} in a resume")),
        );
        let mut first = Injection::of(etcd);
        first.clock = Some((sign * DAY, record(reference, "intent temporary-cluster")));
        cases.push(Case { first, ..Case::default() }.named(format!("clock a day {words} before the kill")));
    }
    cases
}

/// A disk that is full from each operation on, and a journal that finds no room from each record on.
pub(crate) fn full_disk(reference: &Reference) -> Vec<Case> {
    let operations = (1..=reference.operations.len()).map(|n| Case::stopped(Fault::Full(n)));
    let journal = |n| {
        let mut case = Case::stopped(Fault::Full(n)).named(format!("journal full at its operation {n}"));
        case.first.only = Some("journal.ndjson");
        case
    };
    // Each record is a write and a sync.
    let records = reference.records.len();
    operations.chain((1..=records).map(|n| journal(2 * n))).collect()
}
