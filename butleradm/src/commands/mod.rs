//! One file per command, a folder per group.

pub(crate) mod config;
pub(crate) mod crds;
pub(crate) mod doctor;
pub(crate) mod sandbox;
pub(crate) mod status;
pub(crate) mod tools;
