//! The program as a person runs it; one module per command group.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod tools;
