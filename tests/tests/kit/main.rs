//! The kit itself: what every other test stands on.

mod control_plane;
mod env;
mod http;
mod pty;

use std::time::Duration;

/// Long enough for a busy machine.
const LIMIT: Duration = Duration::from_secs(60);
