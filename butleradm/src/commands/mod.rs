//! One file per command, a folder per group.

pub(crate) mod backup;
pub(crate) mod bootstrap;
pub(crate) mod config;
pub(crate) mod crds;
pub(crate) mod doctor;
pub(crate) mod machine;
pub(crate) mod sandbox;
pub(crate) mod serve;
pub(crate) mod status;
pub(crate) mod support_bundle;
pub(crate) mod sweep;
pub(crate) mod tools;
pub(crate) mod tui;
