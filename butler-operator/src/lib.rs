//! What acts on infrastructure.

pub mod driver;
