//! Sizes of clusters, and what they come to.

use super::{Amount, Answers};

/// A machine: cores, MB of memory, GB of disk.
type Machine = (u64, u64, u64);

struct Size {
    name: &'static str,
    control_plane: Machine,
    workers: u64,
    worker: Machine,
}

const fn size(name: &'static str, control_plane: Machine, workers: u64, worker: Machine) -> Size {
    Size { name, control_plane, workers, worker }
}

/// Sizes of real machines.
const REAL: [Size; 3] = [
    size("small", (4, 8192, 50), 3, (4, 8192, 100)),
    size("medium", (4, 8192, 60), 3, (8, 16384, 120)),
    size("large", (8, 16384, 100), 5, (16, 32768, 200)),
];
/// Sizes of simulated machines.
const SIMULATED: [Size; 3] = [
    size("small", (2, 2048, 20), 1, (2, 2048, 20)),
    size("medium", (2, 4096, 40), 2, (4, 8192, 40)),
    size("large", (4, 8192, 60), 3, (8, 16384, 80)),
];

/// The preset that is chosen; whoever wants sizes of their own begins with the smallest.
fn chosen(answers: &Answers) -> &'static Size {
    let sizes = if answers.on_this_computer() { &SIMULATED } else { &REAL };
    let name = answers.text("size");
    sizes.iter().find(|size| size.name == name).unwrap_or(&sizes[0])
}

/// What the preset says of a key below `cluster.`, such as `controlPlane.cpu`.
pub(super) fn preset(answers: &Answers, key: &str) -> String {
    let size = chosen(answers);
    let ((cpu, memory, disk), count) = match key.starts_with("controlPlane") {
        true => (size.control_plane, if answers.single_node() { 1 } else { 3 }),
        false => (size.worker, size.workers),
    };
    let number = match key.rsplit('.').next() {
        Some("replicas") => count,
        Some("cpu") => cpu,
        Some("memoryMB") => memory,
        _ => disk,
    };
    number.to_string()
}

/// How many machines the answers ask for, and what they come to.
pub fn totals(answers: &Answers) -> (u64, Amount) {
    let mut machines = 0;
    let mut total = Amount::default();
    for role in ["controlPlane", "workers"] {
        let number = |key: &str| answers.number(&format!("cluster.{role}.{key}"));
        let count = number("replicas");
        machines += count;
        let sum = |sum: u64, each: u64| sum.saturating_add(each.saturating_mul(count));
        total.cpu = sum(total.cpu, number("cpu"));
        total.memory_mb = sum(total.memory_mb, number("memoryMB"));
        total.disk_gb = sum(total.disk_gb, number("diskGB"));
    }
    (machines, total)
}

/// Of what there is too little, in words.
pub fn shortage(wanted: &Amount, there: &Amount) -> Option<String> {
    let pairs = [
        ("cores", wanted.cpu, there.cpu),
        ("GB of memory", wanted.memory_mb / 1024, there.memory_mb / 1024),
        ("GB of disk", wanted.disk_gb, there.disk_gb),
    ];
    let short: Vec<String> = pairs
        .iter()
        .filter(|(_, wanted, there)| wanted > there)
        .map(|(what, wanted, there)| format!("{wanted} {what} of {there}"))
        .collect();
    (!short.is_empty()).then(|| format!("more than there is: {}", short.join(", ")))
}
