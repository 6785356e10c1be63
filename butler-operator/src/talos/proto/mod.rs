//! The wire: messages, client and server code of the Talos API, one module per package.
//!
//! Generated from `butler-operator/proto` and committed, so that a build needs no generator; a test
//! keeps both in step. Messages that carry configurations or keys hide their bytes in `Debug`.

#![expect(
    clippy::allow_attributes,
    clippy::allow_attributes_without_reason,
    unused_qualifications,
    reason = "generated code"
)]

use std::fmt;

macro_rules! packages {
    ($($(#[$doc:meta])* $name:ident = $file:literal;)+) => {$(
        $(#[$doc])*
        pub mod $name {
            include!($file);
        }
    )+};
}

packages! {
    /// Server-side health checks.
    cluster = "generated/cluster.rs";
    /// Envelope and byte streams.
    common = "generated/common.rs";
    /// Specs inside COSI resources.
    definitions = "generated/definitions.rs";
    /// etcd's own API: members, state, snapshots.
    etcdserverpb = "generated/etcdserverpb.rs";
    /// The machine API.
    machine = "generated/machine.rs";
    /// trustd.
    securityapi = "generated/securityapi.rs";
    /// Disks.
    storage = "generated/storage.rs";
    /// Clocks.
    time = "generated/time.rs";
}

/// The resource store of a node.
pub mod cosi {
    packages! {
        /// Package `cosi.resource`.
        resource = "generated/cosi.resource.rs";
    }
}

/// Google's status message.
pub mod google {
    packages! {
        /// Package `google.rpc`.
        rpc = "generated/google.rpc.rs";
    }
}

macro_rules! hide_bytes {
    ($($message:ty),+) => {$(
        impl fmt::Debug for $message {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($message)).finish_non_exhaustive()
            }
        }
    )+};
}

hide_bytes!(
    common::Data,
    definitions::MachineConfigSpec,
    etcdserverpb::SnapshotResponse,
    machine::ApplyConfigurationRequest,
    machine::GenerateClientConfiguration
);
