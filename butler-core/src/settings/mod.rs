//! Settings, resolved once at the edge of a program, and the user's Butler home.
//!
//! - [`keys`]: the one table of settings
//! - [`layers`]: which value wins, and where it came from
//! - [`mod@file`]: reading and editing `config.toml`
//! - [`mod@env`]: every environment variable
//! - [`home`]: the directory of a user's files
//!
//! Below the commands nobody reads the environment or a settings file; they receive values.

pub mod env;
mod error;
pub mod file;
pub mod home;
pub mod keys;
pub mod layers;

pub use env::Environment;
pub use error::{Place, Problem, SettingsError};
pub use home::{Home, HomeError};
pub use layers::{Settings, Sources};
