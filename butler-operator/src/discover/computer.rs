//! This computer: what it can carry, which programs are here, and which sandboxes.

use std::path::Path;

use butler_core::bootstrap::{
    config::{SANDBOX_KUBERNETES, SANDBOX_TALOS},
    wizard::{Amount, Survey},
};

use super::Surveyor;
use crate::{
    parts::{self, Part},
    process::free_mib,
    runtime::kind,
    sandbox::{Place, supervisor},
};

/// What a bootstrap in the sandbox runs.
const PROGRAMS: [&Part; 5] = [
    &parts::ETCD,
    &parts::KUBE_APISERVER,
    &parts::KUBE_CONTROLLER_MANAGER,
    &parts::KUBE_SCHEDULER,
    &parts::HELM,
];

/// For simulated machines.
pub(super) async fn sandbox(surveyor: &Surveyor) -> Survey {
    let mut survey = computer(surveyor);
    let machines = format!("Talos v{SANDBOX_TALOS}, Kubernetes v{SANDBOX_KUBERNETES}, simulated");
    survey.facts.push(("Machines".to_owned(), machines));
    let addresses = "of 127.0.0.0/8; no other machine reaches them";
    survey.facts.push(("Addresses".to_owned(), addresses.to_owned()));
    survey.facts.push(("Programs".to_owned(), programs(surveyor, &PROGRAMS).await));
    survey.facts.push(("Sandboxes".to_owned(), sandboxes(surveyor)));
    survey
}

/// For a cluster of KIND.
pub(super) async fn local(surveyor: &Surveyor) -> Survey {
    let mut survey = computer(surveyor);
    survey.facts.push(("Programs".to_owned(), programs(surveyor, &[&parts::KIND, &parts::HELM]).await));
    let engine = match kind::exists(kind::DEFAULT_NAME, &surveyor.environment).await {
        Ok(_) => "it answers".to_owned(),
        Err(error) => error.to_string(),
    };
    survey.facts.push(("Container engine".to_owned(), engine));
    survey
}

fn computer(surveyor: &Surveyor) -> Survey {
    let capacity = capacity(surveyor.home.dir());
    let facts = vec![("This computer".to_owned(), capacity.to_string())];
    Survey { facts, capacity: Some(capacity), ..Survey::default() }
}

/// Cores, memory that is not in use, and room on the disk of the Butler home.
fn capacity(home: &Path) -> Amount {
    let memory = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let there = home.ancestors().find(|path| path.exists()).unwrap_or(Path::new("/"));
    Amount {
        cpu: std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64),
        memory_mb: available(&memory),
        disk_gb: free_mib(there).unwrap_or_default() >> 10,
    }
}

/// MB of memory that can be had, as the kernel tells it.
fn available(meminfo: &str) -> u64 {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = line.and_then(|rest| rest.trim().trim_end_matches("kB").trim().parse::<u64>().ok());
    kib.unwrap_or_default() >> 10
}

/// Which programs are here; the others are fetched when a run begins.
async fn programs(surveyor: &Surveyor, wanted: &[&'static Part]) -> String {
    let (mut here, mut missing) = (Vec::new(), Vec::new());
    for part in wanted {
        match surveyor.parts.find(part).await {
            Ok(found) => here.push(format!("{} {}", part.name, found.version)),
            Err(_) => missing.push(part.name),
        }
    }
    let here = if here.is_empty() { "none yet".to_owned() } else { here.join(", ") };
    if missing.is_empty() { here } else { format!("{here}; the run fetches {}", missing.join(", ")) }
}

/// The sandboxes of this home, and whether they run.
fn sandboxes(surveyor: &Surveyor) -> String {
    let dirs = surveyor.home.sandboxes();
    let names = dirs.iter().filter_map(|dir| dir.file_name()?.to_str());
    let state = |name: &str| {
        let runs = supervisor::holder(&Place::new(&surveyor.home, name)).is_some();
        format!("{name} ({})", if runs { "runs" } else { "stopped" })
    };
    let known: Vec<String> = names.map(state).collect();
    if known.is_empty() {
        "none; the run makes one, named after the cluster".to_owned()
    } else {
        known.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_what_the_kernel_says() {
        assert_eq!(available("MemTotal: 8000000 kB\nMemAvailable:    4194304 kB\n"), 4096);
        assert_eq!(available("MemAvailable: much\n"), 0);
        assert_eq!(available(""), 0);
    }

    #[test]
    fn this_computer_has_a_core_and_room() {
        let dir = tempfile::tempdir().unwrap();
        let there = capacity(&dir.path().join("not/there/yet"));
        assert!(there.cpu > 0 && there.memory_mb > 0, "{there:?}");
    }
}
