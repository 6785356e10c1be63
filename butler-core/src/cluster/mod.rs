//! Finding a management cluster and talking to it with our own verbs.

mod connect;
mod error;
pub mod names;

pub use connect::{ConnectError, ConnectOptions, Connection, Source, connect};
pub use error::ApiError;
