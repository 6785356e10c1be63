//! What a program leaves behind: processes, ports, temporary files.

use std::{
    net::SocketAddr,
    path::Path,
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};
use butler_operator::process::{Signal, listeners};
use rustix::process::{Pid, kill_process};

/// How long a process may take to vanish.
const LIMIT: Duration = Duration::from_secs(30);
/// Between two looks, which cost the machine something themselves: the first, and the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// A process that has to do with a directory: its arguments or its environment name it, or it works there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its id.
    pub pid: u32,
    /// The kernel's short name of its program.
    pub name: String,
}

/// The processes that have to do with a directory.
pub fn processes(home: &Path) -> Vec<Process> {
    let text = home.display().to_string();
    let names =
        |path: String| std::fs::read(path).is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains(&text));
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| *pid != std::process::id() && alive(*pid))
        .filter(|pid| {
            let works_there =
                || std::fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|dir| dir.starts_with(home));
            names(format!("/proc/{pid}/cmdline")) || names(format!("/proc/{pid}/environ")) || works_there()
        })
        .map(|pid| {
            let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            Process { pid, name: name.trim().to_owned() }
        })
        .collect()
}

/// What everybody on this computer may read of each process of a directory, and whoever is the same user:
/// its arguments and its environment.
pub fn open_words(home: &Path) -> Vec<(Process, String)> {
    let read = |pid: u32, file: &str| std::fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
    let words = |pid| [read(pid, "cmdline"), read(pid, "environ")].concat();
    let of = |process: Process| {
        let words = String::from_utf8_lossy(&words(process.pid)).into_owned();
        (process, words)
    };
    processes(home).into_iter().map(of).collect()
}

/// Where the processes of a directory listen.
pub fn ports(home: &Path) -> Vec<SocketAddr> {
    let pids: Vec<u32> = processes(home).into_iter().map(|process| process.pid).collect();
    let ours = listeners::all().into_iter();
    let ours = ours.filter(|found| found.holder().is_some_and(|holder| pids.contains(&holder.pid)));
    ours.map(|found| found.address).collect()
}

/// Demands that no process of the directory runs, nobody listens on its ports and nothing is in its
/// directory for temporary files.
pub fn none(home: &Path, ports: &[SocketAddr], temp_dir: &Path) -> Result<()> {
    until("every process is gone", || {
        let left = processes(home);
        ensure!(left.is_empty(), "{left:?}");
        Ok(())
    })?;
    until("every port is free", || {
        let open: Vec<SocketAddr> = listeners::all().into_iter().map(|found| found.address).collect();
        let left: Vec<&SocketAddr> = ports.iter().filter(|port| open.contains(port)).collect();
        ensure!(left.is_empty(), "{left:?}");
        Ok(())
    })?;
    let entries = std::fs::read_dir(temp_dir)?.flatten();
    let files: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    ensure!(files.is_empty(), "temporary files are left: {files:?}");
    Ok(())
}

/// Kills every process of a directory whose name begins so, and waits until all of them are gone.
pub fn kill(home: &Path, name: &str) -> Result<()> {
    until("the processes are killed", || {
        let found = processes(home).into_iter().filter(|process| process.name.starts_with(name));
        let found: Vec<Process> = found.collect();
        for process in &found {
            if let Some(pid) = i32::try_from(process.pid).ok().and_then(Pid::from_raw) {
                // It may be gone by itself.
                let _ = kill_process(pid, Signal::KILL);
            }
        }
        ensure!(found.is_empty(), "{found:?}");
        Ok(())
    })
}

/// Waits until `check` is content; what it said last is the error.
pub fn until<T>(what: &str, mut check: impl FnMut() -> Result<T>) -> Result<T> {
    let end = Instant::now() + LIMIT;
    let mut pause = FIRST_PAUSE;
    loop {
        match check() {
            Ok(value) => return Ok(value),
            Err(error) if Instant::now() > end => {
                return Err(error.context(format!("waited in vain until {what}")));
            }
            Err(_) => std::thread::sleep(pause),
        }
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

fn alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ")
}
