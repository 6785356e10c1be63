//! The terminal layer that `butleradm` and `butlerctl` share.
//!
//! - [`run`]: from `main` to an exit status
//! - [`ui`]: the streams; stdout is data, stderr is talk
//! - [`prompt`], [`spinner`]: questions, and signs of life, on stderr
//! - [`output`]: tables, JSON, YAML, names, templates
//! - [`report`]: progress of long jobs
//! - [`error`]: how a failure is shown
//! - [`args`]: argument groups of both programs
//! - [`tui`]: the frame of full-screen views
//! - [`dashboard`]: the views themselves, of a management cluster and of bootstrap runs
//! - [`wizard`]: the questions for a new management cluster, line by line
//! - [`commands`]: the commands both programs have
//! - [`complete`], [`docs`]: live candidates for shells; completion scripts and manual pages

pub mod args;
pub mod commands;
pub mod complete;
pub mod dashboard;
pub mod docs;
pub mod error;
pub mod output;
pub mod prompt;
pub mod report;
pub mod run;
pub mod spinner;
pub mod theme;
pub mod tui;
pub mod ui;
pub mod wizard;

pub use error::CommandError;
pub use spinner::Spinner;
pub use ui::Ui;

/// What a command returns.
pub type CommandResult<T = ()> = Result<T, CommandError>;
