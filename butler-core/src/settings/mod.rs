//! Settings, resolved once at the edge of a program, and the user's Butler home.
//!
//! Below the commands nobody reads the environment or a settings file; they receive values.

pub mod env;
pub mod home;

pub use env::Environment;
pub use home::{Home, HomeError};
