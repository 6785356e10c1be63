//! Commands that both programs have.

pub mod explain;
pub mod version;
