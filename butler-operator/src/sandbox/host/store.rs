//! What the host keeps on disk: a directory per machine, a file per load balancer, the images, and the
//! witness, an append-only log of everything that was created and deleted.
//!
//! A machine's directory appears and disappears by one rename, so there is never half a machine.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use butler_core::settings::{
    HomeError,
    home::{make_private_dir, write_private},
};
use fs_err::{self as fs, os::unix::fs::OpenOptionsExt};
use jiff::Timestamp;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::wire::{BalancerSpecBody, DiskBody, ImageSpecBody};
use crate::{
    driver::{MachineSpec, Ownership},
    sandbox::machine::{MachineDir, MachineFile},
};

/// Begins the name of what is being made or removed.
const UNFINISHED: &str = ".";

/// The directory of the host.
#[derive(Clone, Debug)]
pub(super) struct Store {
    dir: PathBuf,
}

/// What the host knows of a machine besides its [`MachineFile`]. The ownership stands in both, so
/// that a machine is still known by it when one of the two is damaged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Record {
    pub(super) ownership: Ownership,
    pub(super) on: bool,
    pub(super) created: Timestamp,
    pub(super) image: String,
    pub(super) labels: BTreeMap<String, String>,
    pub(super) extra_disks: Vec<DiskBody>,
}

/// A machine as its directory shows it.
#[derive(Debug)]
pub(super) enum Loaded {
    Whole(Box<MachineFile>, Record),
    Damaged { ownership: Option<Ownership>, problem: String },
}

/// A load balancer on disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct BalancerRecord {
    pub(super) spec: BalancerSpecBody,
    pub(super) address: std::net::SocketAddr,
    #[serde(default)]
    pub(super) created: Option<Timestamp>,
}

/// A line of the witness.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Witnessed {
    /// When.
    pub time: Timestamp,
    /// `created` or `deleted`.
    pub what: String,
    /// `machine` or `load-balancer`.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Whose it is, unless that was damaged.
    pub ownership: Option<Ownership>,
}

impl Store {
    /// Opens the directory; removes what was never finished.
    pub(super) fn open(dir: &Path) -> Result<Self, HomeError> {
        let store = Self { dir: dir.to_owned() };
        for dir in [store.machines(), store.balancers(), store.discovery(), store.logs()] {
            make_private_dir(&dir)?;
        }
        for entry in fs::read_dir(store.machines()).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
                // What stays is hidden, and tried again next time.
                let _ = fs::remove_dir_all(entry.path());
            }
        }
        Ok(store)
    }

    /// What a host that does not run has on disk: machines and load balancers by name, with their owners as
    /// far as they can be read. Changes nothing.
    pub(super) fn at_rest(dir: &Path) -> [Vec<(String, Option<Ownership>)>; 2] {
        let store = Self { dir: dir.to_owned() };
        let machines = store.load().unwrap_or_default().into_iter().map(|(name, loaded)| match loaded {
            Loaded::Whole(file, _) => (name, Some(file.ownership)),
            Loaded::Damaged { ownership, .. } => (name, ownership),
        });
        let balancers = store.load_balancers().unwrap_or_default().into_iter().flatten();
        let balancers = balancers.map(|record| (record.spec.name, Some(record.spec.ownership)));
        [machines.collect(), balancers.collect()]
    }

    fn machines(&self) -> PathBuf {
        self.dir.join("machines")
    }

    fn balancers(&self) -> PathBuf {
        self.dir.join("load-balancers")
    }

    fn logs(&self) -> PathBuf {
        self.dir.join("logs")
    }

    /// Every call that was made.
    pub(super) fn calls(&self) -> PathBuf {
        self.logs().join("calls.log")
    }

    /// What goes wrong with the host on purpose.
    pub(super) fn host_faults(&self) -> PathBuf {
        self.dir.join("faults.json")
    }

    /// Where nodes find each other.
    pub(super) fn discovery(&self) -> PathBuf {
        self.dir.join("discovery")
    }

    /// The directory of a machine.
    pub(super) fn machine(&self, name: &str) -> MachineDir {
        MachineDir(self.machines().join(name))
    }

    fn record(&self, name: &str) -> PathBuf {
        self.machines().join(name).join("host.json")
    }

    /// Every machine by name.
    pub(super) fn load(&self) -> io::Result<BTreeMap<String, Loaded>> {
        let mut machines = BTreeMap::new();
        for entry in fs::read_dir(self.machines())? {
            let entry = entry?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            if !name.starts_with(UNFINISHED) && entry.file_type()?.is_dir() {
                let loaded = self.load_one(&name);
                machines.insert(name, loaded);
            }
        }
        Ok(machines)
    }

    fn load_one(&self, name: &str) -> Loaded {
        let path = self.machine(name).machine_file();
        let record = read::<Record>(&self.record(name));
        match (MachineFile::read(&path), record) {
            (Ok(file), Ok(record)) if file.name == name && file.ownership == record.ownership => {
                Loaded::Whole(Box::new(file), record)
            }
            (Ok(file), Ok(record)) => {
                let what = if file.name == name { "owner" } else { "name" };
                let problem = format!("`{}` was edited: it has another {what}", path.display());
                Loaded::Damaged { ownership: Some(record.ownership), problem }
            }
            (Err(error), record) => Loaded::Damaged {
                ownership: record.ok().map(|record| record.ownership),
                problem: in_words(&path, &error),
            },
            (Ok(file), Err(error)) => Loaded::Damaged {
                ownership: Some(file.ownership),
                problem: in_words(&self.record(name), &error),
            },
        }
    }

    /// Makes the directory of a machine, whole or not at all.
    pub(super) fn create(
        &self,
        spec: &MachineSpec,
        file: &MachineFile,
        record: &Record,
    ) -> Result<(), HomeError> {
        let hidden = self.machines().join(format!("{UNFINISHED}new-{}", file.name));
        // A leftover of a failed attempt.
        let _ = fs::remove_dir_all(&hidden);
        let made = self.fill(&hidden, spec, file, record);
        if made.is_err() {
            let _ = fs::remove_dir_all(&hidden);
        }
        made
    }

    fn fill(
        &self,
        hidden: &Path,
        spec: &MachineSpec,
        file: &MachineFile,
        record: &Record,
    ) -> Result<(), HomeError> {
        let dir = MachineDir(hidden.to_owned());
        make_private_dir(&dir.disk())?;
        file.write(&dir.machine_file())?;
        write(&hidden.join("host.json"), record)?;
        for (path, data) in
            [(dir.user_data(), &spec.user_data), (hidden.join("network-data"), &spec.network_data)]
        {
            if let Some(data) = data {
                write_private(&path, data.0.as_bytes())?;
            }
        }
        // Faults that somebody set before there was a machine.
        let ahead = self.dir.join("faults").join(format!("{}.json", file.name));
        if ahead.exists() {
            // A machine without its faults is better than none.
            let _ = fs::copy(&ahead, dir.faults_file());
        }
        let place = self.machine(&file.name).0;
        let unwritable = |source| HomeError::Write { path: place.clone(), source };
        fs::rename(hidden, &place).map_err(unwritable)?;
        sync(&self.machines()).map_err(unwritable)
    }

    /// Replaces the record of a machine.
    pub(super) fn update(&self, name: &str, record: &Record) -> Result<(), HomeError> {
        write(&self.record(name), record)
    }

    /// Removes the directory of a machine.
    pub(super) fn remove(&self, name: &str) -> io::Result<()> {
        let hidden = self.machines().join(format!("{UNFINISHED}gone-{name}"));
        let _ = fs::remove_dir_all(&hidden);
        fs::rename(self.machine(name).0, &hidden)?;
        sync(&self.machines())?;
        // A process that is just ending may still write; what stays is removed at the next start.
        for _ in 0..3 {
            if fs::remove_dir_all(&hidden).is_ok() {
                break;
            }
        }
        Ok(())
    }

    /// Every load balancer, and what is wrong with those that cannot be read.
    pub(super) fn load_balancers(&self) -> io::Result<Vec<Result<BalancerRecord, String>>> {
        let files = fs::read_dir(self.balancers())?.collect::<io::Result<Vec<_>>>()?;
        let paths = files.into_iter().map(|entry| entry.path());
        let records = paths.filter(|path| path.extension().is_some_and(|extension| extension == "json"));
        Ok(records.map(|path| read(&path).map_err(|error| in_words(&path, &error))).collect())
    }

    pub(super) fn save_balancer(&self, record: &BalancerRecord) -> Result<(), HomeError> {
        write(&self.balancers().join(format!("{}.json", record.spec.name)), record)
    }

    pub(super) fn remove_balancer(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.balancers().join(format!("{name}.json")))
    }

    /// The images that were brought here. A file that cannot be read costs uploads, nothing else.
    pub(super) fn images(&self) -> BTreeMap<String, ImageSpecBody> {
        read(&self.dir.join("images.json")).unwrap_or_default()
    }

    pub(super) fn save_images(&self, images: &BTreeMap<String, ImageSpecBody>) -> Result<(), HomeError> {
        write(&self.dir.join("images.json"), images)
    }

    fn witness_file(&self) -> PathBuf {
        self.dir.join("host.ndjson")
    }

    /// Adds a line to the witness.
    pub(super) fn witness(&self, line: &Witnessed) -> io::Result<()> {
        let path = self.witness_file();
        let mut file = fs::OpenOptions::new().create(true).append(true).read(true).mode(0o600).open(path)?;
        let mut text = serde_json::to_vec(line)?;
        text.push(b'\n');
        if torn(&mut file)? {
            text.insert(0, b'\n');
        }
        file.write_all(&text)?;
        file.sync_data()
    }

    /// Names of the machines that exist according to the witness.
    pub(super) fn witnessed_machines(&self) -> BTreeSet<String> {
        let text = fs::read(self.witness_file()).unwrap_or_default();
        let mut live = BTreeSet::new();
        for line in text.split(|byte| *byte == b'\n') {
            let Ok(line) = serde_json::from_slice::<Witnessed>(line) else { continue };
            match (line.kind.as_str(), line.what.as_str()) {
                ("machine", "created") => live.insert(line.name),
                ("machine", "deleted") => live.remove(&line.name),
                _ => false,
            };
        }
        live
    }
}

/// True when the last line has no end, because somebody died over it.
fn torn(file: &mut fs::File) -> io::Result<bool> {
    if file.seek(SeekFrom::End(0))? == 0 {
        return Ok(false);
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last != *b"\n")
}

fn sync(dir: &Path) -> io::Result<()> {
    fs::File::open(dir)?.sync_all()
}

fn read<T: DeserializeOwned>(path: &Path) -> io::Result<T> {
    let text = fs::read(path)?;
    serde_json::from_slice(&text).map_err(|error| {
        io::Error::new(io::ErrorKind::InvalidData, format!("`{}` is not valid: {error}", path.display()))
    })
}

fn write(path: &Path, value: &impl Serialize) -> Result<(), HomeError> {
    let text = serde_json::to_vec_pretty(value)
        .map_err(|error| HomeError::Write { path: path.to_owned(), source: error.into() })?;
    write_private(path, &text)
}

/// The error with the name of its file, once.
fn in_words(path: &Path, error: &io::Error) -> String {
    let (text, name) = (error.to_string(), path.display().to_string());
    if text.contains(&name) { text } else { format!("`{name}`: {text}") }
}
