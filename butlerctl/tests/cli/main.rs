//! The program as a person runs it; one module per command group.

mod completion;
mod docs;
mod usage;
mod version;
