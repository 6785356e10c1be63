//! What a run will do, as data: every step, object, machine, address, image and chart, how long it should
//! take, and what was seen of the world when that was decided.
//!
//! [`plan`] decides and does nothing else: whatever must be looked at stands in [`PlanInput`]. A plan that
//! was written to a file is carried out only while the world is as it was: [`Plan::moved`] says what is not.

mod error;
mod expect;
mod make;
mod moved;
#[cfg(test)]
mod tests;
mod world;

use std::net::Ipv4Addr;

use ipnet::Ipv4Net;
use serde::{Deserialize, Serialize};

pub use error::PlanError;
pub use expect::{Past, phases};
pub use make::{PlanInput, plan, provider_balancer};
pub use moved::Moved;
pub use world::{SeenRun, Taken, World, answers, fingerprint, salt, sha256};

use crate::api::{
    cluster_bootstrap::Topology,
    common::{MachineRole, ProviderKind},
};

/// `kind` of a plan.
pub const KIND: &str = "BootstrapPlan";

/// What a run will do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    /// Version of this format.
    pub api_version: String,
    /// [`KIND`].
    pub kind: String,
    /// The management cluster.
    pub cluster: String,
    /// Where its machines come from.
    pub provider: ProviderKind,
    /// One machine or many.
    pub topology: Topology,
    /// What the temporary cluster is made of.
    pub runtime: String,
    /// What is done, in this order.
    pub steps: Vec<Step>,
    /// Every object that is made.
    pub objects: Vec<PlannedObject>,
    /// Every machine that is made.
    pub machines: Vec<PlannedMachine>,
    /// Addresses that are used.
    pub addresses: Addresses,
    /// Container images that are pulled.
    pub images: Vec<Image>,
    /// Helm charts that are installed, and manifests that are applied.
    pub charts: Vec<Chart>,
    /// What a person should know before it begins.
    #[serde(default)]
    pub notes: Vec<String>,
    /// How long it should take.
    pub expected: Expected,
    /// What was seen, and must still be so when the plan is carried out.
    pub world: World,
}

impl Plan {
    /// Reads a plan that was written to a file.
    pub fn from_json(text: &str) -> Result<Self, PlanError> {
        let plan: Self = serde_json::from_str(text).map_err(PlanError::Unreadable)?;
        let fits = plan.kind == KIND && plan.api_version == crate::api::API_VERSION;
        if fits { Ok(plan) } else { Err(PlanError::Foreign { kind: plan.kind, version: plan.api_version }) }
    }
}

/// One thing that is done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Step {
    /// Its name: that of the phase, and for addons of the addon behind it.
    pub id: String,
    /// What a person calls it.
    pub title: String,
    /// How long it should take.
    pub expected_seconds: u64,
}

/// Where an object is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Place {
    /// In the temporary cluster.
    Temporary,
    /// In the management cluster.
    Management,
}

impl Place {
    /// Its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Temporary => "temporary",
            Self::Management => "management",
        }
    }
}

/// An object that is made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlannedObject {
    /// Where.
    pub place: Place,
    /// Its kind; `Release` is a release of Helm.
    pub kind: String,
    /// Its namespace, if the kind has one.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
}

/// A machine that is made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlannedMachine {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub role: MachineRole,
    /// Cores.
    pub cpu: i32,
    /// Memory in MB.
    #[serde(rename = "memoryMB")]
    pub memory_mb: i32,
    /// The disk that Talos is installed on, in GB.
    #[serde(rename = "diskGB")]
    pub disk_gb: i32,
    /// Further disks, in GB.
    #[serde(rename = "extraDisksGB")]
    pub extra_disks_gb: Vec<i32>,
    /// What it boots from at the provider; null when the provider's own choice is taken.
    pub image: Option<String>,
}

/// Addresses that are used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Addresses {
    /// Where the API will answer; null when that is known only once machines or a load balancer exist.
    pub endpoint: Option<String>,
    /// How the endpoint comes about, in words.
    pub endpoint_from: String,
    /// The address that control planes hand among themselves.
    pub vip: Option<Ipv4Addr>,
    /// First and last address for Services of type LoadBalancer.
    pub load_balancer_pool: Option<(Ipv4Addr, Ipv4Addr)>,
    /// Addresses of Pods.
    #[serde(rename = "podCIDR")]
    pub pod_cidr: Ipv4Net,
    /// Addresses of Services.
    #[serde(rename = "serviceCIDR")]
    pub service_cidr: Ipv4Net,
}

/// A container image.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Image {
    /// Its reference.
    pub name: String,
    /// Its digest; null when it is not known before the image is pulled.
    pub digest: Option<String>,
    /// What it is built from, when an image factory makes it: the name says what must be in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schematic: Option<String>,
}

impl Image {
    /// An image by its reference, which may carry a digest.
    pub fn of(reference: &str) -> Self {
        let digest = reference.split_once('@').map(|(_, digest)| digest.to_owned());
        Self { name: reference.to_owned(), digest, schematic: None }
    }
}

/// A chart, or manifests that somebody publishes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Chart {
    /// The addon that it belongs to.
    pub addon: String,
    /// Its name.
    pub name: String,
    /// Its version; null for manifests, whose version is in their name.
    pub version: Option<String>,
    /// Where it comes from.
    pub source: String,
    /// SHA-256 of the file, where it is known.
    pub sha256: Option<String>,
    /// What it is compared with when it is fetched.
    #[serde(default)]
    pub checked: Checked,
}

/// What a chart or manifests are compared with when they are fetched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Checked {
    /// Nothing: nobody publishes a digest that we know.
    #[default]
    Nothing,
    /// The digest in this plan.
    Digest,
    /// What the index of its repository says.
    Repository,
    /// What its registry says.
    Registry,
}

impl Checked {
    /// In words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Nothing => "nothing: not verified",
            Self::Digest => "its digest",
            Self::Repository => "its repository's index",
            Self::Registry => "its registry",
        }
    }
}

/// How long a run should take.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Expected {
    /// In all.
    pub seconds: u64,
    /// Past runs of the same provider that this was learned from; 0: from a table.
    pub past_runs: usize,
}
