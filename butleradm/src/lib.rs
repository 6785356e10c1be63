//! `butleradm`: the platform, for its operators.
//!
//! [`Cli`] is the command line; one file per command below [`commands`].

mod cli;
mod commands;

pub use cli::Cli;
