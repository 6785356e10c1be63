//! What the supervisor says: to whoever starts it, line by line on stdout, and to whoever asks at its
//! socket.

use std::{net::SocketAddr, path::PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::sandbox::{Report, host::wire::NodeStatus, platform::Programs};

/// The first line on a supervisor's stdin. A second line, [`DETACH`], lets it live on; the end of the
/// input before that stops it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Order {
    /// The real programs.
    pub programs: Programs,
}

/// The line that lets a supervisor go its own way.
pub const DETACH: &str = "detach";

/// A line on a supervisor's stdout.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "notice", rename_all = "camelCase")]
pub enum Notice {
    /// A phase of the start begins; the one before is done.
    Phase {
        /// Its name, for people.
        phase: String,
    },
    /// Something a person should know.
    Warning {
        /// One line.
        message: String,
    },
    /// Everything is ready.
    Ready,
    /// It gave up, and has stopped what it had started.
    Failed(Report),
}

/// How a part or the whole is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Health {
    /// It was started and is not ready yet.
    Starting,
    /// It works.
    Ready,
    /// It ended, and will be started again.
    Restarting,
    /// It does not run.
    Stopped,
}

impl Health {
    /// The word people see.
    pub fn word(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Ready => "ready",
            Self::Restarting => "restarting",
            Self::Stopped => "stopped",
        }
    }
}

/// A part of the platform.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PartStatus {
    /// Its name.
    pub name: String,
    /// How it is doing.
    pub state: Health,
    /// Its process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// How often it ended by itself and was started again.
    pub restarts: u32,
    /// How it ended last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_exit: Option<String>,
    /// Since when it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// Where it listens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<SocketAddr>,
    /// Its log.
    pub log: PathBuf,
}

/// The whole sandbox.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlatformStatus {
    /// How it is doing.
    pub state: Health,
    /// The addresses of its machines.
    pub network: String,
    /// Where people sign in, once there is a login server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub login_server: Option<String>,
    /// The supervisor first, then its children.
    pub parts: Vec<PartStatus>,
    /// The machines.
    pub machines: Vec<NodeStatus>,
}
