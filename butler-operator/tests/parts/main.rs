//! Parts, from outside: searching, downloading from a server on loopback, building with a stand-in
//! for Go that counts.

mod bench;
mod build;
mod download;
mod find;
mod http;
