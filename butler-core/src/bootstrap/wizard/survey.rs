//! What a provider told of itself.

use std::{collections::BTreeMap, fmt};

/// What can be looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Resource {
    /// Networks and subnets.
    Networks,
    /// Images and templates.
    Images,
    /// Storage classes, containers, pools.
    Storage,
    /// Regions, clusters, hosts, namespaces: where in the provider.
    Zones,
}

impl Resource {
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::Zones, Self::Networks, Self::Images, Self::Storage];
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Networks => "networks",
            Self::Images => "images",
            Self::Storage => "storage",
            Self::Zones => "places",
        })
    }
}

/// Something that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// What goes into the configuration.
    pub id: String,
    /// What a person calls it, and a word more.
    pub label: String,
}

/// How much there is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// Cores.
    pub cpu: u64,
    /// Memory in MB.
    pub memory_mb: u64,
    /// Disk in GB.
    pub disk_gb: u64,
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} cores, {} GB of memory, {} GB of disk", self.cpu, self.memory_mb / 1024, self.disk_gb)
    }
}

/// What a provider told of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    /// What a person may want to know, each with its name.
    pub facts: Vec<(String, String)>,
    /// How much there is, if it says so.
    pub capacity: Option<Amount>,
    /// What was found, or why it could not be looked for.
    pub found: BTreeMap<Resource, Result<Vec<Found>, String>>,
}

impl Survey {
    /// What was found of a kind.
    pub fn of(&self, what: Resource) -> &[Found] {
        match self.found.get(&what) {
            Some(Ok(found)) => found,
            _ => &[],
        }
    }
}
