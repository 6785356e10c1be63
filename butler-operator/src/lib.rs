//! What acts on infrastructure.
//!
//! - [`addons`]: installs what a management cluster needs
//! - [`backup`]: a management cluster in one file, and back
//! - [`bootstrap`]: from a configuration to a management cluster, and back
//! - [`controller`]: what brings the world to what objects ask for
//! - [`discover`]: what a provider has, for somebody who chooses of it
//! - [`driver`]: where machines come from
//! - [`keyring`]: secrets that the user's keyring holds
//! - [`ledger`]: effects, written down before and after they happen
//! - [`parts`]: etcd, kube-apiserver, kubectl and the others: found, downloaded or built
//! - [`plane`]: the programs of a control plane and their flags
//! - [`process`]: other programs as children that never outlive us
//! - [`runtime`]: the temporary control plane of a bootstrap
//! - [`sandbox`]: simulated machines, and a platform on them
//! - [`support`]: what a helper needs to know, in one file without secrets
//! - [`talos`]: what makes a machine a node: configurations and the calls to it

pub mod addons;
pub mod backup;
pub mod bootstrap;
pub mod controller;
pub mod discover;
pub mod driver;
pub mod keyring;
pub mod ledger;
pub mod parts;
pub mod plane;
pub mod process;
pub mod runtime;
pub mod sandbox;
pub mod support;
pub mod talos;
