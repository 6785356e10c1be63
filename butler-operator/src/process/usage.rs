//! What processes cost: memory and processor time, of one and of all it started. Read from `/proc`;
//! where there is none, nothing is known.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};

use fs_err as fs;

/// One process at the moment of a [`Snapshot`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its id.
    pub pid: u32,
    /// The process that started it, or has adopted it.
    pub parent: u32,
    /// Moment of its start, in the kernel's ticks: an id alone may be given to another one later.
    pub started: u64,
    ticks: u64,
    pages: u64,
    dead: bool,
}

/// Every process at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    taken: Instant,
    processes: BTreeMap<u32, Process>,
}

/// What a tree of processes costs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    /// Resident memory in bytes.
    pub memory: u64,
    /// Share of one core since the earlier look, in percent.
    pub cpu: f64,
}

impl Snapshot {
    /// Looks at every process.
    pub fn take() -> Self {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let processes = pids.filter_map(|pid| Some((pid, read(pid)?))).collect();
        Self { taken: Instant::now(), processes }
    }

    /// A process and everything it started, as far as their parents still live.
    pub fn tree(&self, root: u32) -> Vec<Process> {
        let mut members: BTreeSet<u32> = BTreeSet::from([root]);
        loop {
            let before = members.len();
            let children = self.processes.values().filter(|process| members.contains(&process.parent));
            let found: Vec<u32> = children.map(|process| process.pid).collect();
            members.extend(found);
            if members.len() == before {
                break;
            }
        }
        members
            .into_iter()
            .filter_map(|pid| self.processes.get(&pid).copied())
            .filter(|process| !process.dead)
            .collect()
    }

    /// True while this very process lives.
    pub fn has(&self, process: &Process) -> bool {
        let same = self.processes.get(&process.pid).filter(|found| found.started == process.started);
        same.is_some_and(|found| !found.dead)
    }

    /// What a process costs, alone or with all it started.
    pub fn usage(&self, root: u32, with_tree: bool, earlier: &Self) -> Option<Usage> {
        let members = if with_tree {
            self.tree(root)
        } else {
            self.processes.get(&root).copied().into_iter().collect()
        };
        if members.is_empty() {
            return None;
        }
        let pages: u64 = members.iter().map(|process| process.pages).sum();
        let ticks: u64 = members
            .iter()
            .map(|now| {
                let before = earlier.processes.get(&now.pid).filter(|before| before.started == now.started);
                now.ticks.saturating_sub(before.map_or(0, |before| before.ticks))
            })
            .sum();
        let span = self.taken.duration_since(earlier.taken).max(Duration::from_millis(1));
        let seconds = ticks as f64 / rustix::param::clock_ticks_per_second() as f64;
        Some(Usage {
            memory: pages * rustix::param::page_size() as u64,
            cpu: 100.0 * seconds / span.as_secs_f64(),
        })
    }
}

fn read(pid: u32) -> Option<Process> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of the program stands in parentheses and may hold anything, parentheses too.
    let rest = text.rsplit_once(')')?.1;
    let columns: Vec<&str> = rest.split_whitespace().collect();
    let number = |at: usize| columns.get(at)?.parse::<u64>().ok();
    Some(Process {
        pid,
        parent: u32::try_from(number(1)?).ok()?,
        started: number(19)?,
        ticks: number(11)? + number(12)?,
        pages: number(21)?,
        dead: matches!(*columns.first()?, "Z" | "X"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_and_its_child_are_one_tree() {
        let mut child = std::process::Command::new("/bin/sleep").arg("60").spawn().unwrap();
        let now = Snapshot::take();
        let tree = now.tree(std::process::id());
        assert!(tree.iter().any(|process| process.pid == child.id()), "{tree:?}");
        let one = tree.iter().find(|process| process.pid == child.id()).unwrap();
        let usage = now.usage(std::process::id(), true, &now).unwrap();
        assert!(usage.memory > 0 && usage.cpu >= 0.0, "{usage:?}");
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!Snapshot::take().has(one));
        assert_eq!(now.usage(u32::MAX, true, &now), None);
    }
}
