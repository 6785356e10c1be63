//! What may go wrong in a sandbox, on purpose.
//!
//! | file | whose |
//! |---|---|
//! | `faults.json` in the directory of a machine | [`Faults`] of the machine |
//! | `faults/<machine>.json` in the directory of the sandbox | of a machine that is still to be made |
//! | `faults.json` in the directory of the sandbox | [`HostFaults`] of its host |
//!
//! A file may be changed at any time; it is looked at whenever something is about to be done that a fault is
//! about. Where there is no file, there are no faults.

use std::{io, path::Path, time::Duration};

use butler_core::{
    error::{Code, Diagnose},
    settings::home::{HomeError, write_private},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

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
    /// etcd neither begins nor joins the others.
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

/// The faults of a host: what it answers instead of doing what it is asked. The first one that is set counts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct HostFaults {
    /// 429, with this many seconds in `Retry-After`.
    #[serde(skip_serializing_if = "is_zero")]
    pub throttled_seconds: u64,
    /// 500, with these words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fails: Option<String>,
    /// Nothing at all.
    #[serde(skip_serializing_if = "is_false")]
    pub silent: bool,
    /// 401: the credentials have expired.
    #[serde(skip_serializing_if = "is_false")]
    pub credentials_expired: bool,
    /// Nothing is made: a limit was reached, in these words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quota_exceeded: Option<String>,
    /// Only this call is answered so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub only: Option<HostCall>,
}

/// A call of a driver to the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HostCall {
    /// Machines are listed.
    List,
    /// A machine is made.
    Create,
    /// A machine is looked at.
    Get,
    /// A machine is removed.
    Delete,
    /// The switch of a machine is turned.
    Power,
    /// The console of a machine is read.
    Console,
    /// Anything about load balancers.
    LoadBalancer,
    /// Anything else.
    Other,
}

impl Scripted for Faults {}
impl Scripted for HostFaults {}

/// Faults in a file.
pub trait Scripted: Clone + Default + PartialEq + Serialize + DeserializeOwned {
    /// Reads faults. A missing file has none; one that cannot be understood is an error.
    fn read(path: &Path) -> io::Result<Self> {
        let text = match fs_err::read(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            text => text?,
        };
        serde_json::from_slice(&text).map_err(|error| {
            io::Error::new(io::ErrorKind::InvalidData, format!("`{}` is not valid: {error}", path.display()))
        })
    }

    /// These faults with one set to `value`: JSON, or text as it stands.
    fn with(&self, name: &str, value: &str) -> Result<Self, FaultError> {
        let wrong = |reason: String| FaultError { name: name.to_owned(), reason };
        let mut faults = serde_json::to_value(self).map_err(|error| wrong(error.to_string()))?;
        // A text may look like a number, and a number is no text; the type decides.
        let json = serde_json::from_str(value).unwrap_or_else(|_| value.into());
        let mut last = None;
        for value in [json, serde_json::Value::from(value)] {
            faults[name] = value;
            match serde_json::from_value(faults.clone()) {
                Ok(faults) => return Ok(faults),
                Err(error) => last.get_or_insert(error.to_string()),
            };
        }
        Err(wrong(last.unwrap_or_default()))
    }

    /// Replaces the file; no faults are no file.
    fn write(&self, path: &Path) -> Result<(), HomeError> {
        let unwritable = |source| HomeError::Write { path: path.to_owned(), source };
        if *self == Self::default() {
            return match fs_err::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(unwritable(error)),
                _ => Ok(()),
            };
        }
        let text = serde_json::to_vec_pretty(self).map_err(|error| unwritable(error.into()))?;
        write_private(path, &text)
    }

    /// Those that are set, as name and value.
    fn set(&self) -> Vec<(String, String)> {
        match serde_json::to_value(self) {
            Ok(serde_json::Value::Object(faults)) => {
                faults.into_iter().map(|(name, value)| (name, value.to_string())).collect()
            }
            _ => Vec::new(),
        }
    }
}

impl Faults {
    /// How much longer a boot takes.
    pub fn slow_boot(&self) -> Duration {
        Duration::from_secs(self.slow_boot_seconds)
    }
}

/// A fault that does not exist, or a value it cannot have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` cannot be set: {reason}")]
pub struct FaultError {
    name: String,
    reason: String,
}

impl Diagnose for FaultError {
    fn code(&self) -> Code {
        Code::FaultUnknown
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

    #[test]
    fn the_host_has_faults_of_its_own() {
        let faults = HostFaults::default().with("throttledSeconds", "3").unwrap();
        let faults = faults.with("only", "create").unwrap();
        assert_eq!((faults.throttled_seconds, faults.only), (3, Some(HostCall::Create)));
        let error = faults.with("only", "everything").unwrap_err().to_string();
        assert!(error.contains("create") && error.contains("load-balancer"), "{error}");
        assert!(faults.with("neverBoots", "true").is_err(), "that is a machine's");
    }

    #[test]
    fn faults_are_set_by_name_with_the_type_they_have() {
        let faults = Faults::default().with("neverBoots", "true").unwrap();
        let faults = faults.with("refusesConfig", "123").unwrap().with("slowBootSeconds", "5").unwrap();
        assert_eq!((faults.never_boots, faults.refuses_config.as_deref()), (true, Some("123")));
        let set: Vec<_> = faults.set().into_iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(set, ["neverBoots=true", "refusesConfig=\"123\"", "slowBootSeconds=5"]);
        let error = faults.with("neverBots", "true").unwrap_err().to_string();
        assert!(error.contains("unknown field") && error.contains("neverBoots"), "{error}");
        assert!(faults.with("slowBootSeconds", "soon").is_err());

        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("faults.json");
        faults.write(&path).unwrap();
        assert_eq!(Faults::read(&path).unwrap(), faults);
        Faults::default().write(&path).unwrap();
        assert!(!path.exists());
    }
}
