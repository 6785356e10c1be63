//! Where machines come from: one trait over every hypervisor, cloud and the sandbox.
//!
//! [`Driver`] is what every provider can do. What only some can do is a small trait of its own,
//! reached through a method that answers `None` by default. Drivers hold no state that matters:
//! whatever they created is found again by its [`Ownership`], which is written on the provider's
//! object in the call that creates it.

mod error;
pub mod registry;
pub mod sandbox;

use std::{collections::BTreeMap, fmt, net::IpAddr};

use async_trait::async_trait;
use futures::stream::BoxStream;
use jiff::Timestamp;

pub use error::{DriverError, ErrorClass};

/// What a driver returns.
pub type DriverResult<T> = Result<T, DriverError>;

/// A provider of machines.
#[async_trait]
pub trait Driver: fmt::Debug + Send + Sync {
    /// The provider's name, as in `spec.provider` of a ProviderConfig.
    fn name(&self) -> &'static str;

    /// Makes sure the machine exists and is switched on. Idempotent by name and owner: a machine
    /// of that name with the same [`Ownership`] is returned as it is; one with another owner, or
    /// with none, is a [`Conflict`](ErrorClass::Conflict). Does not wait for the machine to boot.
    async fn create(&self, spec: &MachineSpec) -> DriverResult<Machine>;

    /// Looks at a machine; [`NotFound`](ErrorClass::NotFound) if there is none of this name and owner.
    async fn get(&self, machine: &MachineKey) -> DriverResult<Machine>;

    /// Every machine of an owner; without one, every machine that carries any [`Ownership`].
    async fn list(&self, owner: Option<&str>) -> DriverResult<Vec<Machine>>;

    /// Removes a machine with its disks. Idempotent: one that does not exist is gone.
    async fn delete(&self, machine: &MachineKey) -> DriverResult<Deletion>;

    /// Switches a machine on or off, or resets it. Switching on what is on changes nothing.
    async fn power(&self, machine: &MachineKey, power: Power) -> DriverResult<()>;

    /// Reading what a machine writes to its console.
    fn console(&self) -> Option<&dyn Console> {
        None
    }

    /// Load balancers for control planes.
    fn load_balancers(&self) -> Option<&dyn LoadBalancers> {
        None
    }

    /// Bringing images to the provider.
    fn images(&self) -> Option<&dyn Images> {
        None
    }

    /// Looking around, for the wizard.
    fn discover(&self) -> Option<&dyn Discover> {
        None
    }

    /// Being told of changes instead of asking.
    fn changes(&self) -> Option<&dyn Changes> {
        None
    }
}

/// Whose a machine or load balancer is. Kept on the provider's object as two tags, so that it is
/// found again after everything else is lost. Neither part depends on the UID of an API object,
/// because those change when a temporary cluster is rebuilt.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct Ownership {
    /// The bootstrap run, or the management cluster, that it belongs to.
    pub owner: String,
    /// The request it was made for: `<namespace>.<name>` of the API object.
    pub object: String,
}

impl Ownership {
    /// The owner and the API object.
    pub fn new(owner: impl Into<String>, namespace: &str, name: &str) -> Self {
        Self { owner: owner.into(), object: format!("{namespace}.{name}") }
    }

    /// Namespace and name of the API object. A namespace has no dots, so the first one divides.
    pub fn object_ref(&self) -> Option<(&str, &str)> {
        self.object.split_once('.')
    }
}

/// What a machine does in its cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Runs etcd and the API server.
    ControlPlane,
    /// Runs workloads.
    Worker,
}

/// The machine that is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineSpec {
    /// Its name at the provider.
    pub name: String,
    /// Whose it is.
    pub ownership: Ownership,
    /// What it is for.
    pub role: Role,
    /// Virtual processors.
    pub cpu: u32,
    /// Memory in MiB.
    pub memory_mb: u32,
    /// Root disk in GiB.
    pub disk_gb: u32,
    /// Further disks.
    pub extra_disks: Vec<Disk>,
    /// The provider's own reference of an image; none: the one of the ProviderConfig.
    pub image: Option<String>,
    /// Labels or tags to put on it, besides the ownership.
    pub labels: BTreeMap<String, String>,
    /// Data for its first boot.
    pub user_data: Option<BootData>,
    /// Network settings for its first boot.
    pub network_data: Option<BootData>,
}

impl MachineSpec {
    /// How to find the machine again.
    pub fn key(&self) -> MachineKey {
        MachineKey { name: self.name.clone(), ownership: self.ownership.clone(), id: None }
    }
}

/// A further disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disk {
    /// Size in GiB.
    pub size_gb: u32,
    /// The provider's storage class or tier.
    pub storage_class: Option<String>,
}

/// Text given to a machine at its first boot. It usually holds keys, so `Debug` shows its size only.
#[derive(Clone, PartialEq, Eq)]
pub struct BootData(pub String);

impl fmt::Debug for BootData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BootData({} bytes)", self.0.len())
    }
}

/// How to find a machine. Drivers look by id where there is one, else by name, and take a machine
/// with another ownership for absent: nobody can read or remove what is not theirs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MachineKey {
    /// Its name at the provider.
    pub name: String,
    /// Whose it must be.
    pub ownership: Ownership,
    /// The provider's id, once it is known.
    pub id: Option<String>,
}

/// A machine as the provider sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// The provider's id: what goes into `status.providerID`.
    pub id: String,
    /// Its name at the provider.
    pub name: String,
    /// Whose it is.
    pub ownership: Ownership,
    /// What it is doing.
    pub state: MachineState,
    /// Usable addresses, private ones first; link-local addresses are left out.
    pub addresses: Vec<IpAddr>,
    /// Hardware address of its first network card.
    pub mac: Option<String>,
    /// Where in the provider it runs.
    pub zone: Option<String>,
    /// When it was made, if the provider remembers.
    pub created: Option<Timestamp>,
}

impl Machine {
    /// How to find it again.
    pub fn key(&self) -> MachineKey {
        let (name, ownership) = (self.name.clone(), self.ownership.clone());
        MachineKey { name, ownership, id: Some(self.id.clone()) }
    }
}

/// What a machine is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MachineState {
    /// Being made or booting.
    Creating,
    /// Switched on.
    Running,
    /// Switched off.
    Stopped,
    /// Going away.
    Deleting,
    /// Broken beyond a retry; the text is the provider's.
    Failed(String),
}

/// How far a deletion is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deletion {
    /// Nothing is left.
    Gone,
    /// Asked for; look again later.
    Pending,
}

/// What to do with the switch of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Power {
    /// Switch on.
    On,
    /// Switch off, at once.
    Off,
    /// Off and on again.
    Reset,
}

/// Reading what machines write to their consoles.
#[async_trait]
pub trait Console: Send + Sync {
    /// The console log, or its last `lines`.
    async fn log(&self, machine: &MachineKey, lines: Option<usize>) -> DriverResult<String>;
}

/// Load balancers in front of control planes.
#[async_trait]
pub trait LoadBalancers: Send + Sync {
    /// Makes the load balancer exist with exactly these targets. Idempotent by name and owner, with
    /// the same conflict rule as [`Driver::create`]. Does not wait for it to be ready.
    async fn ensure(&self, spec: &LoadBalancerSpec) -> DriverResult<LoadBalancer>;

    /// Looks at one.
    async fn get(&self, load_balancer: &LoadBalancerKey) -> DriverResult<LoadBalancer>;

    /// Every load balancer of an owner; without one, every load balancer that carries any [`Ownership`].
    async fn list(&self, owner: Option<&str>) -> DriverResult<Vec<LoadBalancer>>;

    /// Removes one with all its parts. Idempotent.
    async fn delete(&self, load_balancer: &LoadBalancerKey) -> DriverResult<Deletion>;
}

/// The load balancer that is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadBalancerSpec {
    /// Name, a prefix of what it is made of at the provider.
    pub name: String,
    /// Whose it is.
    pub ownership: Ownership,
    /// Port of the load balancer and of its targets.
    pub port: u16,
    /// Port on which targets are probed.
    pub health_check_port: u16,
    /// The machines behind it.
    pub targets: Vec<Target>,
}

impl LoadBalancerSpec {
    /// How to find it again.
    pub fn key(&self) -> LoadBalancerKey {
        LoadBalancerKey { name: self.name.clone(), ownership: self.ownership.clone(), id: None }
    }
}

/// How to find a load balancer; the rules of [`MachineKey`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LoadBalancerKey {
    /// Its name.
    pub name: String,
    /// Whose it must be.
    pub ownership: Ownership,
    /// The provider's id, once it is known.
    pub id: Option<String>,
}

/// A machine behind a load balancer; providers differ in which of these they need.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Target {
    /// Its address.
    pub ip: Option<IpAddr>,
    /// Its id at the provider.
    pub instance_id: Option<String>,
    /// Its name at the provider.
    pub instance_name: Option<String>,
}

/// A load balancer as the provider sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadBalancer {
    /// The provider's id: what goes into `status.resourceID`.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Whose it is.
    pub ownership: Ownership,
    /// Address or name to connect to, once there is one.
    pub endpoint: Option<String>,
    /// True when it takes connections.
    pub ready: bool,
    /// How many targets are registered.
    pub targets: usize,
    /// When it was made, if the provider remembers.
    pub created: Option<Timestamp>,
}

impl LoadBalancer {
    /// How to find it again.
    pub fn key(&self) -> LoadBalancerKey {
        let (name, ownership) = (self.name.clone(), self.ownership.clone());
        LoadBalancerKey { name, ownership, id: Some(self.id.clone()) }
    }
}

/// Bringing images to the provider.
#[async_trait]
pub trait Images: Send + Sync {
    /// Makes the image exist. Idempotent by name: call again to see how far it is.
    async fn ensure(&self, spec: &ImageSpec) -> DriverResult<Image>;

    /// Removes an image. Idempotent.
    async fn delete(&self, name: &str) -> DriverResult<Deletion>;
}

/// The image that is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageSpec {
    /// Its name at the provider.
    pub name: String,
    /// Where the provider, or the driver, fetches it.
    pub url: String,
    /// SHA-256 of the bytes behind the address, in hexadecimal.
    pub sha256: Option<String>,
}

/// An image as the provider sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// The reference that goes into [`MachineSpec::image`].
    pub id: String,
    /// How far it is.
    pub state: ImageState,
}

/// How far an image is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImageState {
    /// On its way, with what is known of the share that is done.
    Uploading {
        /// 0 to 100.
        percent: Option<u8>,
    },
    /// Machines can be made from it.
    Ready,
    /// Broken; the text is the provider's.
    Failed(String),
}

/// Looking around at a provider, for the wizard.
#[async_trait]
pub trait Discover: Send + Sync {
    /// Tries the address and the credentials; answers with the provider's version, if it has one.
    async fn probe(&self) -> DriverResult<Option<String>>;

    /// What there is of a kind, below `parent` where the provider nests them (subnets of a network).
    async fn find(&self, kind: Find, parent: Option<&str>) -> DriverResult<Vec<Found>>;
}

/// What can be looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Find {
    /// Networks and subnets.
    Networks,
    /// Images and templates.
    Images,
    /// Machine sizes.
    Sizes,
    /// Storage classes, containers, tiers.
    Storage,
    /// Regions, zones, hosts, clusters.
    Zones,
}

/// Something that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// What goes into the configuration.
    pub id: String,
    /// What a person calls it.
    pub name: String,
    /// A word more: a range, a size, a VLAN.
    pub description: Option<String>,
}

/// Being told of changes instead of asking.
pub trait Changes: Send + Sync {
    /// The ownership of each machine or load balancer that changed, from now on. A driver that
    /// loses track ends the stream; the reader subscribes again and looks at everything.
    fn subscribe(&self) -> BoxStream<'static, Ownership>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ownership_leads_back_to_its_object() {
        let ownership = Ownership::new("run-7", "butler-system", "dev.example-cp-0");
        assert_eq!(ownership.object_ref(), Some(("butler-system", "dev.example-cp-0")));
    }

    #[test]
    fn boot_data_is_never_shown() {
        let data = BootData("token: hunter2".to_owned());
        assert_eq!(format!("{data:?}"), "BootData(14 bytes)");
    }
}
