//! Where a sandbox lies: `BUTLER_HOME/sandbox/<name>/`.
//!
//! | file | holds |
//! |---|---|
//! | `layout` | the number of this layout |
//! | `lock`, `up.lock` | held by the supervisor, by whoever starts one |
//! | `host.sock`, `control.sock` | where the host and the supervisor are spoken to |
//! | `kubeconfig` | the administrator's way to the management API server |
//! | `kind` | `machines` where a bootstrap makes the management plane, on machines of this sandbox |
//! | `management.json` | what controllers of that management plane must know, once it is there |
//! | `network.json`, `ports.json` | addresses that are kept |
//! | `pki/`, `etcd/` | the management plane |
//! | `machines/`, `load-balancers/`, `images.json`, `host.ndjson`, `discovery/` | the host's |
//! | `supervisor.log`, `logs/` | what the parts say; `logs/calls.log` has every call to the host |
//! | `faults.json`, `faults/` | what goes wrong on purpose: with the host, with machines to come |

use std::{
    io,
    path::{Path, PathBuf},
};

use butler_core::settings::{
    Home,
    home::{make_private_dir, write_private},
};
use fs_err as fs;

use super::{SandboxError, host::is_label};
use crate::process::free_mib;

/// The layout this program knows.
pub const LAYOUT: u32 = 1;
/// Space without which etcd does not even begin, and some to work with.
const NEEDED_MIB: u64 = 400;

/// The directory of a sandbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    name: String,
    dir: PathBuf,
}

/// What a sandbox is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Composition {
    /// A management plane of its own, and machines.
    Platform,
    /// Machines; a bootstrap makes a management plane of them.
    Machines,
}

impl Composition {
    const MACHINES: &str = "machines";
}

/// A name that no sandbox can have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a sandbox is named with up to 63 of a-z, 0-9 and -, neither first nor last")]
pub struct BadName;

/// Checks the name of a sandbox: it becomes part of paths and ids.
pub fn check_name(name: &str) -> Result<String, BadName> {
    if is_label(name) { Ok(name.to_owned()) } else { Err(BadName) }
}

macro_rules! paths {
    ($($(#[$doc:meta])* $name:ident = $file:literal;)+) => {
        $($(#[$doc])* pub fn $name(&self) -> PathBuf { self.dir.join($file) })+
    };
}

impl Place {
    /// The sandbox of this name; touches nothing.
    pub fn new(home: &Home, name: &str) -> Self {
        let dir = home.sandbox_dir(name);
        Self { name: name.to_owned(), dir: std::path::absolute(&dir).unwrap_or(dir) }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    paths! {
        /// The number of the layout.
        layout = "layout";
        /// Held by the supervisor.
        lock = "lock";
        /// Held by whoever starts a supervisor.
        up_lock = "up.lock";
        /// The host's socket.
        host_socket = "host.sock";
        /// The supervisor's socket.
        control_socket = "control.sock";
        /// The administrator's kubeconfig.
        kubeconfig = "kubeconfig";
        /// What the sandbox is made of.
        kind = "kind";
        /// What controllers of a management cluster on machines of this sandbox must know.
        management = "management.json";
        /// The addresses of machines.
        network = "network.json";
        /// The ports of the management plane.
        ports = "ports.json";
        /// Certificates and keys.
        pki = "pki";
        /// etcd's data.
        etcd = "etcd";
        /// Directories of machines.
        machines = "machines";
        /// Logs of the parts.
        logs = "logs";
        /// What goes wrong with the host on purpose.
        host_faults = "faults.json";
        /// The supervisor's own log.
        supervisor_log = "supervisor.log";
    }

    /// What the sandbox is made of.
    pub fn composition(&self) -> Composition {
        match fs::read_to_string(self.kind()) {
            Ok(kind) if kind.trim() == Composition::MACHINES => Composition::Machines,
            _ => Composition::Platform,
        }
    }

    /// Makes it a sandbox of machines only. One that has a management plane of its own is refused.
    pub fn only_machines(&self) -> Result<(), SandboxError> {
        if self.composition() == Composition::Machines {
            return Ok(());
        }
        if self.exists() {
            return Err(SandboxError::HasPlatform { name: self.name.clone() });
        }
        make_private_dir(&self.dir)?;
        Ok(write_private(&self.kind(), format!("{}\n", Composition::MACHINES).as_bytes())?)
    }

    /// What goes wrong on purpose with a machine that is still to be made.
    pub fn faults_ahead(&self, machine: &str) -> PathBuf {
        self.dir.join("faults").join(format!("{machine}.json"))
    }

    /// The log of a part.
    pub fn part_log(&self, part: &str) -> PathBuf {
        self.logs().join(format!("{part}.log"))
    }

    /// True when there is something of a sandbox.
    pub fn exists(&self) -> bool {
        self.layout().exists() || self.etcd().exists() || self.machines().exists()
    }

    /// Makes the directories, after making sure that what is there is of our layout.
    pub fn prepare(&self) -> Result<(), SandboxError> {
        self.check_layout()?;
        for dir in [self.dir.clone(), self.pki(), self.etcd(), self.logs()] {
            make_private_dir(&dir)?;
        }
        self.check_space()?;
        if !self.layout().exists() {
            write_private(&self.layout(), format!("{LAYOUT}\n").as_bytes())?;
        }
        Ok(())
    }

    /// Refuses files that another version laid out. Files without a number are older than numbers.
    pub fn check_layout(&self) -> Result<(), SandboxError> {
        let found = match fs::read_to_string(self.layout()) {
            Ok(text) => text.trim().to_owned(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                // Directories alone are those of a start that went no further.
                let used = |dir: PathBuf| fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_some());
                if !used(self.etcd()) && !used(self.machines()) {
                    return Ok(());
                }
                "0 (no number)".to_owned()
            }
            Err(source) => return Err(SandboxError::Read { path: self.layout(), source }),
        };
        if found == LAYOUT.to_string() {
            return Ok(());
        }
        Err(SandboxError::Layout { name: self.name.clone(), found, known: LAYOUT })
    }

    fn check_space(&self) -> Result<(), SandboxError> {
        match free_mib(&self.dir) {
            Some(free) if free < NEEDED_MIB => {
                Err(SandboxError::NoSpace { dir: self.dir.clone(), free, needed: NEEDED_MIB })
            }
            // A system that does not say is believed.
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use butler_core::settings::Environment;

    use super::*;

    fn place() -> (tempfile::TempDir, Place) {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::resolve(&Environment::of([("BUTLER_HOME", dir.path())])).unwrap();
        (dir, Place::new(&home, "dev"))
    }

    #[test]
    fn a_layout_that_is_not_ours_is_left_alone() {
        let (_dir, place) = place();
        place.prepare().unwrap();
        place.prepare().unwrap();
        fs::write(place.layout(), "2\n").unwrap();
        let error = place.prepare().unwrap_err();
        assert_eq!(error.to_string(), "sandbox `dev` has layout 2, and this program works with layout 1");
        fs::remove_file(place.layout()).unwrap();
        fs::create_dir(place.etcd().join("member")).unwrap();
        assert!(place.prepare().unwrap_err().to_string().contains("layout 0"), "older than numbers");
        assert!(!place.layout().exists());
    }

    #[test]
    fn names_that_are_no_part_of_a_path_are_refused() {
        assert_eq!(check_name("dev-2").as_deref(), Ok("dev-2"));
        for name in ["", "..", "a/b", "A", "-x"] {
            assert_eq!(check_name(name), Err(BadName), "{name}");
        }
    }
}
