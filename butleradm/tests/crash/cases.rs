//! Which courses of events are tried.

use std::path::Path;

use butler_tests::crash::{Case, Disturbance, Fault, Injection, Operation, Reference, destroy_points};

const JOURNAL: &str = "journal.ndjson";
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

/// A disk that is full from each operation on that something depends on, and a journal that finds no room for
/// each of its records while everything else does.
///
/// Before the temporary control plane is up, a run is begun for each of them, stopped there, taken up, brought
/// past the place where it was stopped and removed; each seventh is brought to its end, so that every sort of
/// operation is. What is stopped later always is. Where records are certain to be written again by the next
/// process, several of them stop one run in turn.
pub(crate) fn full_disk(reference: &Reference) -> Vec<Case> {
    let (intent, result) = (record(reference, "intent temporary"), record(reference, "result temporary"));
    let mut cases = vec![before_the_first_record(reference)];
    let (mut records, mut of_journal, mut early) = (0, 0, 0);
    for operation in &reference.operations {
        let Operation { number, what, path } = operation;
        let is_journal = path.ends_with(JOURNAL);
        records += usize::from(is_journal && what == "write");
        of_journal += usize::from(is_journal);
        if records <= 1 {
            continue;
        }
        let case = if is_journal && what == "sync" {
            journal_full(of_journal)
        } else {
            // A file is written under a name that nobody can know before.
            let at = if what == "sync" || is_journal { Some(path.as_path()) } else { path.parent() };
            let at = at.and_then(Path::file_name).unwrap_or_default().display();
            Case::stopped(Fault::Full(*number)).named(format!("disk full at {number}, {what} in {at}"))
        };
        if records < result {
            early += 1;
            let goal = if records < intent { "Intent" } else { "Result" };
            cases.push(if early % 7 == 0 { case } else { up_to(goal, case) });
            continue;
        }
        let word = reference.records.get(records - 1).map_or("", String::as_str);
        let one_is_enough =
            is_journal && !word.contains(" result ") && (what == "sync") != (records % 2 == 0);
        if !(one_is_enough || is_journal && word.contains(" intent ")) {
            cases.push(case);
        }
    }
    cases.extend(in_turn(reference, result));
    cases
}

/// Several processes that find no room before there is a run, with more room each time: the first ones have
/// to make directories too.
fn before_the_first_record(reference: &Reference) -> Case {
    let operations = reference.operations.iter();
    let before = operations.take_while(|operation| !operation.path.ends_with(JOURNAL)).count() + 3;
    let again = (2..=before).chain(1..=before).map(|n| Injection::of(Fault::Full(n))).collect();
    Case { again, ..Case::stopped(Fault::Full(1)) }
        .named("disk full before the first record, again and again")
}

fn journal_full(operation: usize) -> Case {
    let mut case = Case::stopped(Fault::Full(operation));
    case.first.only = Some(JOURNAL);
    case.named(format!("journal full at its operation {operation}"))
}

/// Taken up only as far as the record that announces the temporary control plane, or says that it is there.
fn up_to(kind: &str, case: Case) -> Case {
    let goal = format!(r#""kind":"{kind}","step":"temporary-cluster""#);
    Case { again: vec![Injection::from(Fault::After(1), goal)], ends_there: true, ..case }
}

/// Disks and journals that are full when an effect is to be announced: nothing happened, so each of the
/// following processes announces it again.
fn in_turn(reference: &Reference, after: usize) -> Vec<Case> {
    let late = reference.records.iter().skip(after);
    let steps: Vec<&str> =
        late.filter_map(|record| record.split_once(" intent ")).map(|(_, step)| step).collect();
    let case = |steps: &[&str]| {
        let mut stops = steps.iter().flat_map(|step| {
            let text = format!(r#""kind":"Intent","step":"{step}""#);
            let disk = Injection::from(Fault::Full(1), text.clone());
            [disk, Injection { only: Some(JOURNAL), ..Injection::from(Fault::Full(2), text) }]
        });
        let first = stops.next().unwrap_or_default();
        let name = format!("disk, then journal full at {}", steps.join(", "));
        Case { first, again: stops.collect(), ..Case::default() }.named(name)
    };
    steps.chunks(5).map(case).collect()
}
