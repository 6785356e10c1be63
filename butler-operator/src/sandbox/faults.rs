//! What may go wrong with a simulated machine, on purpose: `faults.json` in its directory.
//!
//! The file may be changed at any time; a node looks at it whenever it is about to do what a fault is
//! about. A machine without the file has no faults.

use std::{io, path::Path, time::Duration};

use serde::{Deserialize, Serialize};

/// The faults of a machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Faults {
    /// Each boot takes this many seconds longer.
    #[serde(skip_serializing_if = "is_zero")]
    pub slow_boot_seconds: u64,
    /// The machine is on and never gets further.
    #[serde(skip_serializing_if = "is_false")]
    pub never_boots: bool,
    /// The machine tells an address that is not its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wrong_address: Option<std::net::IpAddr>,
    /// The node takes its configuration and switches off.
    #[serde(skip_serializing_if = "is_false")]
    pub dies_after_config: bool,
    /// The node refuses every configuration with these words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refuses_config: Option<String>,
    /// etcd never joins the others.
    #[serde(skip_serializing_if = "is_false")]
    pub etcd_wont_join: bool,
    /// The API server is killed this many seconds after each start.
    #[serde(skip_serializing_if = "is_zero")]
    pub api_server_flaps_seconds: u64,
    /// The node's clock is ahead by this many seconds, or behind.
    #[serde(skip_serializing_if = "is_zero_signed")]
    pub clock_skew_seconds: i64,
    /// Nothing can be written to the disk.
    #[serde(skip_serializing_if = "is_false")]
    pub disk_full: bool,
}

impl Faults {
    /// Reads the faults of a machine. A missing file has none; one that cannot be understood is an error.
    pub fn read(path: &Path) -> io::Result<Self> {
        let text = match fs_err::read(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            text => text?,
        };
        serde_json::from_slice(&text).map_err(|error| {
            io::Error::new(io::ErrorKind::InvalidData, format!("`{}` is not valid: {error}", path.display()))
        })
    }

    /// How much longer a boot takes.
    pub fn slow_boot(&self) -> Duration {
        Duration::from_secs(self.slow_boot_seconds)
    }
}

fn is_false(value: &bool) -> bool {
    !value
}

fn is_zero(value: &u64) -> bool {
    *value == 0
}

fn is_zero_signed(value: &i64) -> bool {
    *value == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_that_does_not_exist_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("faults.json");
        assert_eq!(Faults::read(&path).unwrap(), Faults::default());
        fs_err::write(&path, r#"{"neverBoots": true}"#).unwrap();
        assert!(Faults::read(&path).unwrap().never_boots);
        fs_err::write(&path, r#"{"neverBots": true}"#).unwrap();
        let error = Faults::read(&path).unwrap_err().to_string();
        assert!(error.contains("neverBots") && error.contains("faults.json"), "{error}");
    }
}
