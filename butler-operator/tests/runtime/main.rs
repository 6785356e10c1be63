//! Temporary control planes.

mod kind;
mod process;
