//! Commands that both programs have.

pub mod completion;
pub mod explain;
pub mod man;
pub mod version;
