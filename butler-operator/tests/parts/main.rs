//! Parts, from outside: searching, downloading from a server on loopback, building with a stand-in
//! for Go that counts.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod bench;
mod build;
mod download;
mod find;
