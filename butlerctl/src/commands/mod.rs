//! One file per command, a folder per group.
