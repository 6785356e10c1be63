//! The Talos library: its code against its `.proto` files, and its client against a node on loopback.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot be set up has failed")]

mod calls;
mod node;
mod protos;
mod trust;
