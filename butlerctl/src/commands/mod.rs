//! One file per command, a folder per group.

pub(crate) mod cluster;
