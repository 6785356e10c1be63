//! The terminal layer that `butleradm` and `butlerctl` share.
//!
//! - [`run`]: from `main` to an exit status
//! - [`ui`]: the streams; stdout is data, stderr is talk
//! - [`output`]: tables, JSON, YAML, names
//! - [`error`]: how a failure is shown
//! - [`args`]: argument groups of both programs

pub mod args;
pub mod commands;
pub mod error;
pub mod output;
pub mod run;
pub mod theme;
pub mod ui;

pub use error::CommandError;
pub use ui::Ui;

/// What a command returns.
pub type CommandResult<T = ()> = Result<T, CommandError>;
