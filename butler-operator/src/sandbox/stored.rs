//! What a sandbox holds, read from its files: for those who must know it while nothing runs.

use fs_err as fs;
use jiff::Timestamp;
use serde_json::Value;

use super::Place;
use crate::driver::Ownership;

/// A machine or load balancer on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// True for a machine, false for a load balancer.
    pub is_machine: bool,
    /// Its name.
    pub name: String,
    /// Whose it is, unless that cannot be read any more.
    pub ownership: Option<Ownership>,
    /// When it was made, if that can be read.
    pub created: Option<Timestamp>,
}

impl Place {
    /// Every machine and load balancer on disk, by name.
    pub fn inventory(&self) -> Vec<Stored> {
        let entries = |dir| {
            let names = fs::read_dir(dir).into_iter().flatten().flatten();
            let mut names: Vec<String> =
                names.filter_map(|entry| entry.file_name().into_string().ok()).collect();
            names.retain(|name| !name.starts_with('.'));
            names.sort();
            names
        };
        let json = |path| -> Value {
            let text: Vec<u8> = fs::read(path).unwrap_or_default();
            serde_json::from_slice(&text).unwrap_or_default()
        };
        let ownership = |value: &Value| serde_json::from_value(value["ownership"].clone()).ok();
        let created = |value: &Value| value["created"].as_str().and_then(|text| text.parse().ok());
        let machines = entries(self.machines()).into_iter().map(|name| {
            let dir = self.machines().join(&name);
            // The ownership stands in both files.
            let (host, machine) = (json(dir.join("host.json")), json(dir.join("machine.json")));
            let ownership = ownership(&host).or_else(|| ownership(&machine));
            Stored { is_machine: true, name, ownership, created: created(&host) }
        });
        let balancers = self.dir().join("load-balancers");
        let balancers = entries(balancers.clone()).into_iter().filter_map(|file| {
            let name = file.strip_suffix(".json")?.to_owned();
            let value = json(balancers.join(&file));
            let (ownership, created) = (ownership(&value["spec"]), created(&value));
            Some(Stored { is_machine: false, name, ownership, created })
        });
        machines.chain(balancers).collect()
    }
}
