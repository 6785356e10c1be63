//! Measurements. The machine's size is its own; what moves is taken from the computer it runs on.

use std::collections::BTreeMap;

use crate::{
    sandbox::node::context::Node,
    talos::proto::machine::{
        CpUsFreqStats, CpUsInfo, CpuFreqStats, CpuInfo, CpuStat, DiskStat, DiskStats, FeaturesInfo, LoadAvg,
        MemInfo, Memory, MountStat, Mounts, NetDev, NetworkDeviceStats, PlatformInfo, Process, ProcessInfo,
        SystemStat, Version, VersionInfo,
    },
};

/// Clock ticks per second, as every Linux counts them for programs.
const TICKS: f64 = 100.0;

pub(super) fn version(node: &Node) -> Version {
    Version {
        metadata: None,
        version: Some(VersionInfo {
            tag: node.version.clone(),
            sha: "sandbox".into(),
            built: String::new(),
            go_version: "go1.25".into(),
            os: "linux".into(),
            arch: if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" }.into(),
        }),
        platform: Some(PlatformInfo { name: "nocloud".into(), mode: "cloud".into() }),
        features: Some(FeaturesInfo { rbac: true }),
    }
}

fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

pub(super) fn load() -> LoadAvg {
    let text = read("/proc/loadavg");
    let mut numbers = text.split_whitespace().map(|word| word.parse().unwrap_or_default());
    let mut next = || numbers.next().unwrap_or_default();
    LoadAvg { metadata: None, load1: next(), load5: next(), load15: next() }
}

/// What the node's own processes hold, of the memory the machine has.
pub(super) fn memory(node: &Node) -> Memory {
    let total = u64::from(node.machine.file.memory_mb) * 1024;
    let used: u64 = own_processes(node).iter().map(|process| process.resident_memory / 1024).sum();
    let free = total.saturating_sub(used);
    let meminfo = MemInfo { memtotal: total, memfree: free, memavailable: free, ..MemInfo::default() };
    Memory { metadata: None, meminfo: Some(meminfo) }
}

pub(super) fn system(node: &Node) -> SystemStat {
    let text = read("/proc/stat");
    let times = |line: &str| {
        let mut numbers =
            line.split_whitespace().skip(1).map(|word| word.parse::<f64>().unwrap_or_default() / TICKS);
        let mut next = || numbers.next().unwrap_or_default();
        CpuStat {
            user: next(),
            nice: next(),
            system: next(),
            idle: next(),
            iowait: next(),
            irq: next(),
            soft_irq: next(),
            steal: next(),
            guest: next(),
            guest_nice: next(),
        }
    };
    let number = |name: &str| {
        let line = text.lines().find(|line| line.split_whitespace().next() == Some(name));
        line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok()).unwrap_or_default()
    };
    let lines = || text.lines().filter(|line| line.starts_with("cpu"));
    let count = usize::try_from(node.machine.file.cpu).unwrap_or(1);
    SystemStat {
        metadata: None,
        boot_time: u64::try_from(node.booted.as_second()).unwrap_or_default(),
        cpu_total: lines().next().map(times),
        cpu: lines().skip(1).map(times).cycle().take(count).collect(),
        context_switches: number("ctxt"),
        process_created: number("processes"),
        process_running: number("procs_running"),
        process_blocked: number("procs_blocked"),
    }
}

pub(super) fn processors(node: &Node) -> CpUsInfo {
    let cpu_info = (0..node.machine.file.cpu).map(|processor| CpuInfo {
        processor,
        vendor_id: "Sandbox".into(),
        model_name: "Sandbox Virtual CPU".into(),
        cpu_mhz: 2000.0,
        cpu_cores: node.machine.file.cpu,
    });
    CpUsInfo { metadata: None, cpu_info: cpu_info.collect() }
}

pub(super) fn frequencies(node: &Node) -> CpUsFreqStats {
    let one = CpuFreqStats {
        current_frequency: 2_000_000,
        minimum_frequency: 2_000_000,
        maximum_frequency: 2_000_000,
        governor: "performance".into(),
    };
    let count = usize::try_from(node.machine.file.cpu).unwrap_or(1);
    CpUsFreqStats { metadata: None, cpu_freq_stats: vec![one; count] }
}

/// Everything travels over loopback here, so its counters are the card's.
pub(super) fn network() -> NetworkDeviceStats {
    let text = read("/proc/net/dev");
    let line = text.lines().find_map(|line| line.trim().strip_prefix("lo:"));
    let numbers: Vec<u64> =
        line.unwrap_or_default().split_whitespace().map(|word| word.parse().unwrap_or_default()).collect();
    let at = |index: usize| numbers.get(index).copied().unwrap_or_default();
    let device = NetDev {
        name: "eth0".into(),
        rx_bytes: at(0),
        rx_packets: at(1),
        tx_bytes: at(8),
        tx_packets: at(9),
    };
    let total = NetDev { name: "total".into(), ..device.clone() };
    NetworkDeviceStats { metadata: None, total: Some(total), devices: vec![device] }
}

pub(super) fn disk() -> DiskStats {
    let (mut read_completed, mut read_sectors, mut write_completed, mut write_sectors) = (0, 0, 0, 0);
    for line in read("/proc/diskstats").lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let at =
            |index: usize| words.get(index).and_then(|word| word.parse::<u64>().ok()).unwrap_or_default();
        read_completed += at(3);
        read_sectors += at(5);
        write_completed += at(7);
        write_sectors += at(9);
    }
    let device =
        DiskStat { name: "sda".into(), read_completed, read_sectors, write_completed, write_sectors };
    let total = DiskStat { name: "total".into(), ..device.clone() };
    DiskStats { metadata: None, total: Some(total), devices: vec![device] }
}

pub(super) fn mounts(node: &Node) -> Mounts {
    let size = u64::from(node.machine.file.disk_gb) << 30;
    let available = if node.machine.disk.room().is_ok() { size / 2 } else { 0 };
    let mount = |filesystem: &str, mounted_on: &str| MountStat {
        filesystem: filesystem.to_owned(),
        size,
        available,
        mounted_on: mounted_on.to_owned(),
    };
    let stats = vec![mount("/dev/sda6", "/var"), mount("/dev/sda5", "/system/state")];
    Mounts { metadata: None, stats }
}

/// The node itself as process 1, and its real children.
fn own_processes(node: &Node) -> Vec<ProcessInfo> {
    let mut pids: BTreeMap<u32, &str> = BTreeMap::from([(std::process::id(), "machined")]);
    if let Some(pid) = node.etcd.borrow().pid {
        pids.insert(pid, "etcd");
    }
    for (name, component) in node.components.borrow().iter() {
        pids.extend(component.pid.map(|pid| (pid, *name)));
    }
    pids.into_iter().filter_map(|(pid, name)| process(pid, name)).collect()
}

pub(super) fn processes(node: &Node) -> Process {
    Process { metadata: None, processes: own_processes(node) }
}

fn process(pid: u32, name: &str) -> Option<ProcessInfo> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The command may contain anything, also blanks and parentheses.
    let rest = stat.rsplit_once(')')?.1;
    let words: Vec<&str> = rest.split_whitespace().collect();
    let number =
        |index: usize| words.get(index).and_then(|word| word.parse::<u64>().ok()).unwrap_or_default();
    let is_self = pid == std::process::id();
    #[expect(clippy::cast_precision_loss, reason = "seconds of a process")]
    let cpu_time = (number(11) + number(12)) as f64 / TICKS;
    Some(ProcessInfo {
        pid: if is_self { 1 } else { i32::try_from(pid).ok()? },
        ppid: i32::from(!is_self),
        state: words.first().copied().unwrap_or("S").to_owned(),
        threads: i32::try_from(number(17)).unwrap_or(1),
        cpu_time,
        virtual_memory: number(20),
        resident_memory: number(21) * 4096,
        command: name.to_owned(),
        executable: format!("/usr/bin/{name}"),
        // Arguments may name secrets of this computer.
        args: name.to_owned(),
        label: String::new(),
    })
}
