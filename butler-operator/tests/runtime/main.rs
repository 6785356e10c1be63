//! Temporary control planes.

mod process;
