//! What host and driver say to each other: JSON bodies of the calls on the host's socket.
//!
//! | call | body → answer |
//! |---|---|
//! | `GET /v1/about` | [`About`] |
//! | `GET /v1/nodes` | [`NodeStatus`]es, damaged ones too |
//! | `GET /v1/machines?owner=` | [`MachineBody`]s |
//! | `POST /v1/machines` | [`MachineSpecBody`] → [`MachineBody`] |
//! | `POST /v1/machines/{name}/get`, `/delete`, `/power`, `/console` | [`KeyBody`] … → … |
//! | `GET /v1/load-balancers?owner=` | [`BalancerBody`]s |
//! | `POST /v1/load-balancers`, `/{name}/get`, `/{name}/delete` | [`BalancerSpecBody`], [`KeyBody`] → [`BalancerBody`] |
//! | `POST /v1/images`, `/v1/images/{name}/delete` | [`ImageSpecBody`] → [`ImageBody`] |
//! | `GET /v1/find/{kind}` | [`FoundBody`]s |
//! | `GET /v1/changes` | a stream of [`Ownership`]s, one per line |
//!
//! An error is an [`ErrorBody`]. The driver's own types stay free of a wire format, so each has its
//! counterpart here.

use std::{collections::BTreeMap, net::IpAddr};

use butler_core::redact::Secret;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    driver::{
        BootData, Deletion, Disk, ErrorClass, Find, Found, Image, ImageSpec, ImageState, LoadBalancer,
        LoadBalancerKey, LoadBalancerSpec, Machine, MachineKey, MachineSpec, MachineState, Ownership, Power,
        Role, Target,
    },
    sandbox::machine::NodePorts,
};

/// An answer without content.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Nothing {}

/// Who answers.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct About {
    /// Name of the sandbox.
    pub sandbox: String,
    /// Version of the host.
    pub version: String,
    /// The addresses of its machines, `127.40.0.0/24`.
    pub network: String,
}

/// Why the host did not do it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ErrorBody {
    /// The class.
    pub class: Class,
    /// The host's own words.
    pub message: String,
}

/// [`ErrorClass`] on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// [`ErrorClass::NotFound`]
    NotFound,
    /// [`ErrorClass::Conflict`]
    Conflict,
    /// [`ErrorClass::Transient`]
    Transient,
    /// [`ErrorClass::Quota`]
    Quota,
    /// [`ErrorClass::Auth`]
    Auth,
    /// [`ErrorClass::Invalid`]
    Invalid,
}

macro_rules! same_variants {
    ($left:ty, $right:ty, $($variant:ident),+) => {
        impl From<$left> for $right {
            fn from(value: $left) -> Self {
                match value { $(<$left>::$variant => Self::$variant,)+ }
            }
        }
        impl From<$right> for $left {
            fn from(value: $right) -> Self {
                match value { $(<$right>::$variant => Self::$variant,)+ }
            }
        }
    };
}

same_variants!(Class, ErrorClass, NotFound, Conflict, Transient, Quota, Auth, Invalid);

/// What to do with a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PowerBody {
    /// Switch on.
    On,
    /// Switch off.
    Off,
    /// Off and on.
    Reset,
}

same_variants!(PowerBody, Power, On, Off, Reset);

/// What to look for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FindBody {
    /// Networks.
    Networks,
    /// Images.
    Images,
    /// Sizes.
    Sizes,
    /// Storage.
    Storage,
    /// Zones.
    Zones,
}

same_variants!(FindBody, Find, Networks, Images, Sizes, Storage, Zones);

impl FindBody {
    /// The word in the address of the call.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Networks => "networks",
            Self::Images => "images",
            Self::Sizes => "sizes",
            Self::Storage => "storage",
            Self::Zones => "zones",
        }
    }
}

/// Something that was found.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FoundBody {
    id: String,
    name: String,
    description: Option<String>,
}

impl From<Found> for FoundBody {
    fn from(Found { id, name, description }: Found) -> Self {
        Self { id, name, description }
    }
}

impl From<FoundBody> for Found {
    fn from(FoundBody { id, name, description }: FoundBody) -> Self {
        Self { id, name, description }
    }
}

/// Whose machine or load balancer is meant; its name stands in the address of the call.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KeyBody {
    /// Whose it must be.
    pub ownership: Ownership,
    /// The provider's id, once it is known.
    pub id: Option<String>,
    /// With `power`: what to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power: Option<PowerBody>,
    /// With `console`: how many lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<usize>,
}

impl From<&MachineKey> for KeyBody {
    fn from(key: &MachineKey) -> Self {
        Self { ownership: key.ownership.clone(), id: key.id.clone(), power: None, lines: None }
    }
}

impl From<&LoadBalancerKey> for KeyBody {
    fn from(key: &LoadBalancerKey) -> Self {
        Self { ownership: key.ownership.clone(), id: key.id.clone(), power: None, lines: None }
    }
}

/// The machine that is wanted.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MachineSpecBody {
    name: String,
    ownership: Ownership,
    role: Role,
    cpu: u32,
    memory_mb: u32,
    disk_gb: u32,
    extra_disks: Vec<DiskBody>,
    image: Option<String>,
    labels: BTreeMap<String, String>,
    user_data: Option<Secret>,
    network_data: Option<Secret>,
}

/// A further disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DiskBody {
    size_gb: u32,
    storage_class: Option<String>,
}

impl From<&Disk> for DiskBody {
    fn from(disk: &Disk) -> Self {
        Self { size_gb: disk.size_gb, storage_class: disk.storage_class.clone() }
    }
}

impl From<&MachineSpec> for MachineSpecBody {
    fn from(spec: &MachineSpec) -> Self {
        let secret = |data: &Option<BootData>| data.as_ref().map(|data| Secret::from(data.0.clone()));
        Self {
            name: spec.name.clone(),
            ownership: spec.ownership.clone(),
            role: spec.role,
            cpu: spec.cpu,
            memory_mb: spec.memory_mb,
            disk_gb: spec.disk_gb,
            extra_disks: spec.extra_disks.iter().map(DiskBody::from).collect(),
            image: spec.image.clone(),
            labels: spec.labels.clone(),
            user_data: secret(&spec.user_data),
            network_data: secret(&spec.network_data),
        }
    }
}

impl From<MachineSpecBody> for MachineSpec {
    fn from(body: MachineSpecBody) -> Self {
        let data = |secret: Option<Secret>| secret.map(|secret| BootData(secret.expose().to_owned()));
        let disk = |disk: DiskBody| Disk { size_gb: disk.size_gb, storage_class: disk.storage_class };
        Self {
            name: body.name,
            ownership: body.ownership,
            role: body.role,
            cpu: body.cpu,
            memory_mb: body.memory_mb,
            disk_gb: body.disk_gb,
            extra_disks: body.extra_disks.into_iter().map(disk).collect(),
            image: body.image,
            labels: body.labels,
            user_data: data(body.user_data),
            network_data: data(body.network_data),
        }
    }
}

/// A machine.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MachineBody {
    id: String,
    name: String,
    ownership: Ownership,
    state: StateBody,
    addresses: Vec<IpAddr>,
    mac: Option<String>,
    zone: Option<String>,
    #[serde(default)]
    created: Option<Timestamp>,
}

/// What a machine is doing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StateBody {
    /// Booting.
    Creating,
    /// On.
    Running,
    /// Off.
    Stopped,
    /// Going away.
    Deleting,
    /// Broken, and why.
    Failed(String),
}

impl StateBody {
    /// The state in one word.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Creating => "booting",
            Self::Running => "running",
            Self::Stopped => "off",
            Self::Deleting => "deleting",
            Self::Failed(_) => "damaged",
        }
    }
}

impl From<MachineState> for StateBody {
    fn from(state: MachineState) -> Self {
        match state {
            MachineState::Creating => Self::Creating,
            MachineState::Running => Self::Running,
            MachineState::Stopped => Self::Stopped,
            MachineState::Deleting => Self::Deleting,
            MachineState::Failed(why) => Self::Failed(why),
        }
    }
}

impl From<StateBody> for MachineState {
    fn from(state: StateBody) -> Self {
        match state {
            StateBody::Creating => Self::Creating,
            StateBody::Running => Self::Running,
            StateBody::Stopped => Self::Stopped,
            StateBody::Deleting => Self::Deleting,
            StateBody::Failed(why) => Self::Failed(why),
        }
    }
}

impl From<Machine> for MachineBody {
    fn from(machine: Machine) -> Self {
        let Machine { id, name, ownership, state, addresses, mac, zone, created } = machine;
        Self { id, name, ownership, state: state.into(), addresses, mac, zone, created }
    }
}

impl From<MachineBody> for Machine {
    fn from(body: MachineBody) -> Self {
        let MachineBody { id, name, ownership, state, addresses, mac, zone, created } = body;
        Self { id, name, ownership, state: state.into(), addresses, mac, zone, created }
    }
}

/// How far a deletion is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeletionBody {
    /// Nothing is left.
    Gone,
    /// Look again later.
    Pending,
}

same_variants!(DeletionBody, Deletion, Gone, Pending);

/// A console log.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ConsoleBody {
    /// What the machine wrote.
    pub text: String,
}

/// The load balancer that is wanted; also what is kept of it on disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BalancerSpecBody {
    /// Its name.
    pub name: String,
    /// Whose it is.
    pub ownership: Ownership,
    /// Port it listens on, and its targets too.
    pub port: u16,
    /// Port on which targets are probed.
    pub health_check_port: u16,
    /// The machines behind it.
    pub targets: Vec<TargetBody>,
}

/// A machine behind a load balancer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TargetBody {
    /// Its address.
    pub ip: Option<IpAddr>,
    /// Its id.
    pub instance_id: Option<String>,
    /// Its name.
    pub instance_name: Option<String>,
}

impl From<&LoadBalancerSpec> for BalancerSpecBody {
    fn from(spec: &LoadBalancerSpec) -> Self {
        let target =
            |Target { ip, instance_id, instance_name }: Target| TargetBody { ip, instance_id, instance_name };
        Self {
            name: spec.name.clone(),
            ownership: spec.ownership.clone(),
            port: spec.port,
            health_check_port: spec.health_check_port,
            targets: spec.targets.iter().cloned().map(target).collect(),
        }
    }
}

/// A load balancer.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BalancerBody {
    /// The provider's id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Whose it is.
    pub ownership: Ownership,
    /// Where to connect to.
    pub endpoint: Option<String>,
    /// True when it takes connections.
    pub ready: bool,
    /// How many targets there are.
    pub targets: usize,
    /// When it was made.
    pub created: Option<Timestamp>,
}

impl From<BalancerBody> for LoadBalancer {
    fn from(body: BalancerBody) -> Self {
        let BalancerBody { id, name, ownership, endpoint, ready, targets, created } = body;
        Self { id, name, ownership, endpoint, ready, targets, created }
    }
}

/// The image that is wanted; also what is kept of it on disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ImageSpecBody {
    /// Its name.
    pub name: String,
    /// Where it comes from.
    pub url: String,
    /// Its checksum.
    pub sha256: Option<String>,
}

impl From<&ImageSpec> for ImageSpecBody {
    fn from(spec: &ImageSpec) -> Self {
        Self { name: spec.name.clone(), url: spec.url.clone(), sha256: spec.sha256.clone() }
    }
}

/// An image; the sandbox needs no time to fetch one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ImageBody {
    /// What a machine names.
    pub id: String,
}

impl From<ImageBody> for Image {
    fn from(body: ImageBody) -> Self {
        Self { id: body.id, state: ImageState::Ready }
    }
}

/// A machine with what only the sandbox knows of it, for people.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeStatus {
    /// Its name.
    pub name: String,
    /// What it is doing.
    pub state: StateBody,
    /// Whose it is, unless that is damaged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ownership: Option<Ownership>,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// Its address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<IpAddr>,
    /// Its ports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ports: Option<NodePorts>,
    /// Talos' word for the stage of its life.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stage: Option<String>,
    /// Its process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// How often it ended by itself and was started again.
    pub restarts: u32,
    /// How it ended last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_exit: Option<String>,
    /// Since when it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
}
