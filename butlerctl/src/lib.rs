//! `butlerctl`: tenant clusters, addons and kubeconfigs for developers.
//!
//! [`Cli`] is the command line; one file per command below [`commands`].

mod cli;
mod commands;

pub use cli::Cli;
