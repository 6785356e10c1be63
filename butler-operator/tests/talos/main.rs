//! The Talos library against what real Talos tools say.

mod protos;
