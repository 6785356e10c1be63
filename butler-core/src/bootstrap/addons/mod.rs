//! What is installed into a new management cluster, in which order, as data.
//!
//! A step is one line of the ClusterBootstrap's `status.addonsInstalled`. It says what to install and
//! what must be there before; how that is done is the business of an installer in the operator crate.
//!
//! [`plan_addons`] makes the steps from objects alone, so a controller that was started again makes the
//! same ones. It is one list of decisions, read from top to bottom; what a step holds is made beside it:
//!
//! - `charts`: releases of other people's charts; `versions`: which version of everything
//! - `cloud`: controller managers of clouds; `capi`: Cluster API, in steps that can each be repeated
//! - `platform`: Butler's own: definitions, provider, settings, controllers, console
//!
//! # What is absent
//!
//! An absent `cni`, `storage`, `loadBalancer` or `gitOps` block means that nothing is installed; every
//! other absent block means that the addon is. In a block that is there, `enabled: false` is always
//! honoured, and `type: none` is too. The definitions of the Gateway API come where something uses them.
//!
//! # The local cluster
//!
//! KIND has a network of Pods and storage. The addresses that MetalLB gives out are those of the container
//! engine's network, which nobody knows before it is there: see [`set_addresses`].
//!
//! # The sandbox
//!
//! Its machines run no containers, but everything else about them is real: Helm works, and Deployments
//! become available. So as not to need a network, it gets only what this program carries: definitions,
//! provider, settings. A chart or published manifest comes along when its block is in the
//! ClusterBootstrap, or when the mirror offers it. Its supervisor runs the controllers, so they are not
//! installed as Pods.
//!
//! # Values that are secrets
//!
//! No step holds one. In objects, values and variables these stand for a text that an installer makes
//! when it needs it:
//!
//! - `{"fromCredentials": KEY}`: a value of the provider's credentials; with `"optional": true` the place
//!   is left out when there is none
//! - `{"joined": [TEXT, …]}`: texts one after the other, each of which may be such a reference
//! - `{"asJson": VALUE}`: a document as text, with references inside filled in
//!
//! and each may add `"encode": "base64"`.

mod capi;
mod charts;
mod cloud;
mod nodes;
mod plan;
mod platform;
#[cfg(test)]
mod tests;
pub mod versions;

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use charts::set_addresses;
pub use nodes::{NodeMachine, node_machines};
pub use plan::{AddonInput, plan_addons, without};

/// One thing to install.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AddonStep {
    /// Its key in `status.addonsInstalled`, such as `cert-manager`.
    pub key: String,
    /// What a person calls it.
    pub title: String,
    /// Keys of steps that must be done before. Always of steps earlier in the list.
    pub requires: Vec<String>,
    /// What to do.
    pub action: AddonAction,
    /// Whether the cluster is of use without it: a failure is then reported and passed over.
    pub optional: bool,
    /// How long it may take, all tries together.
    pub deadline: Duration,
}

/// What a step does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "do")]
pub enum AddonAction {
    /// Installs or upgrades a Helm release.
    Chart(ChartRelease),
    /// Applies manifests that somebody publishes.
    Manifests(PublishedManifests),
    /// Applies objects of ours, in this order.
    Objects {
        /// The objects. Where a value must come from the provider's credentials, an object holds
        /// `{"fromCredentials": KEY}` in its place, so that no step holds a secret.
        objects: Vec<Value>,
        /// Workloads that must be rolled out before the step is done: `deployment/ns/name`.
        wait_for: Vec<String>,
    },
    /// Installs Butler's definitions and waits until they are served.
    Definitions,
    /// Writes the provider's ids on the nodes, from the MachineRequests.
    NodeProviderIds,
    /// Puts the nodes into the backend pool that Azure's cloud controller manager makes for Services.
    BackendPool(BackendPool),
}

/// A backend pool of Azure, in a load balancer of the same name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BackendPool {
    /// Where tokens come from.
    pub login: String,
    /// Where the resource manager answers.
    pub management: String,
    /// The subscription.
    pub subscription: String,
    /// The group of the load balancer and the network cards.
    pub resource_group: String,
    /// Name of the pool and of its load balancer: the cluster's.
    pub name: String,
}

/// A Helm release.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChartRelease {
    /// Name of the release.
    pub release: String,
    /// Its namespace.
    pub namespace: String,
    /// Pod-security level the namespace is labelled with; none leaves it alone.
    pub pod_security: Option<String>,
    /// Where the chart comes from.
    pub source: ChartSource,
    /// Name of the chart.
    pub chart: String,
    /// Its version. Always pinned.
    pub version: String,
    /// Its values. `{"fromCredentials": KEY}` as in [`AddonAction::Objects`].
    pub values: Value,
    /// Whether to wait until its workloads are there.
    pub wait: bool,
    /// Objects that belong to the release but to no chart, applied after it.
    pub then: Vec<Value>,
}

/// Where a chart comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ChartSource {
    /// A chart repository: an `https://` address.
    Repository(String),
    /// A registry: an `oci://` prefix.
    Oci(String),
    /// The chart that this program carries.
    Embedded,
}

/// Manifests that somebody publishes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PublishedManifests {
    /// Name and version: also the file's name in a mirror, with `.yaml`.
    pub name: String,
    /// Where they are published.
    pub url: String,
    /// SHA-256 of the file, where we know it.
    pub sha256: Option<String>,
    /// Variables of the form `${NAME}` and `${NAME:=default}`: values, or keys of the credentials.
    pub variables: Vec<(String, Value)>,
    /// Definitions that must be served before the step is done, besides those in the file.
    pub established: Vec<String>,
    /// Namespaces whose deployments must be available before the step is done, besides the deployments in
    /// the file.
    pub available: Vec<String>,
}
