//! The colours, by meaning. Written through `anstream`, so they vanish where there are none.

use anstyle::{AnsiColor, Style};

/// `error` in front of a failure; failed phases.
pub const ERROR: Style = AnsiColor::Red.on_default().bold();
/// `warning` in front of a warning.
pub const WARNING: Style = AnsiColor::Yellow.on_default().bold();
/// `hint` in front of a next step.
pub const HINT: Style = AnsiColor::Cyan.on_default().bold();
/// Done, ready, good.
pub const SUCCESS: Style = AnsiColor::Green.on_default().bold();
/// Column headings and section titles.
pub const HEADING: Style = AnsiColor::Blue.on_default().bold();
/// On the way.
pub const PROGRESS: Style = AnsiColor::Yellow.on_default();
/// Going away.
pub const LEAVING: Style = AnsiColor::Magenta.on_default();
/// Less important.
pub const DIM: Style = AnsiColor::BrightBlack.on_default();
/// Nothing.
pub const PLAIN: Style = Style::new();

/// The colour of a phase, whatever its case; unknown phases stay plain.
pub fn phase(phase: &str) -> Style {
    match phase.to_ascii_lowercase().as_str() {
        "ready" | "installed" | "running" | "allocated" | "active" => SUCCESS,
        "provisioning" | "installing" | "updating" | "upgrading" | "creating" => PROGRESS,
        "failed" | "degraded" => ERROR,
        "pending" => DIM,
        "deleting" | "terminating" => LEAVING,
        _ => PLAIN,
    }
}
