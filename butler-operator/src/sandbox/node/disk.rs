//! The machine's disk: what survives a reboot, by partition.
//!
//! | place | partition | holds |
//! |---|---|---|
//! | `state/` | STATE | the machine configuration, the node's identity and certificates |
//! | `ephemeral/` | EPHEMERAL | etcd's data, the files of Kubernetes, logs |
//! | `meta.json` | META | which version boots |

use std::{
    io,
    path::{Path, PathBuf},
};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use butler_core::{
    redact::Secret,
    settings::home::{make_private_dir, write_private},
};
use ring::rand::{SecureRandom, SystemRandom};
use serde::{Deserialize, Serialize};

use crate::sandbox::{
    faults::{Faults, Scripted},
    machine::MachineDir,
};

/// A machine's disk.
#[derive(Clone, Debug)]
pub(super) struct Disk {
    root: PathBuf,
    faults: PathBuf,
}

/// What the boot loader knows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Meta {
    /// The version that boots, if another than the image's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) version: Option<String>,
    /// The one before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) previous: Option<String>,
    /// The one to take at the next boot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) staged: Option<String>,
}

impl Disk {
    pub(super) fn new(dir: &MachineDir) -> Self {
        Self { root: dir.disk(), faults: dir.faults_file() }
    }

    pub(super) fn state(&self) -> PathBuf {
        self.root.join("state")
    }

    pub(super) fn ephemeral(&self) -> PathBuf {
        self.root.join("ephemeral")
    }

    /// etcd's data.
    pub(super) fn etcd(&self) -> PathBuf {
        self.ephemeral().join("etcd")
    }

    /// A snapshot that etcd is to begin from.
    pub(super) fn etcd_snapshot(&self) -> PathBuf {
        self.ephemeral().join("etcd.snapshot")
    }

    /// Where data is made from a snapshot, until it is whole.
    pub(super) fn etcd_recovering(&self) -> PathBuf {
        self.ephemeral().join("etcd.recovering")
    }

    /// Files of the control plane.
    pub(super) fn kubernetes(&self) -> PathBuf {
        self.ephemeral().join("kubernetes")
    }

    /// Logs of services and containers.
    pub(super) fn logs(&self) -> PathBuf {
        self.ephemeral().join("log")
    }

    /// The files of kubelet: its identity.
    pub(super) fn kubelet(&self) -> PathBuf {
        self.ephemeral().join("kubelet")
    }

    /// Makes what is missing.
    pub(super) fn prepare(&self) -> io::Result<()> {
        for dir in [self.state(), self.logs(), self.kubernetes(), self.kubelet()] {
            make_private_dir(&dir).map_err(io::Error::other)?;
        }
        Ok(())
    }

    /// Writes a file, unless the disk is full.
    pub(super) fn write(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        self.room()?;
        if let Some(dir) = path.parent() {
            make_private_dir(dir).map_err(io::Error::other)?;
        }
        write_private(path, content).map_err(io::Error::other)
    }

    /// Fails when the disk is full.
    pub(super) fn room(&self) -> io::Result<()> {
        if Faults::read(&self.faults).is_ok_and(|faults| faults.disk_full) {
            return Err(io::Error::new(io::ErrorKind::StorageFull, "no space left on device"));
        }
        Ok(())
    }

    fn config_file(&self) -> PathBuf {
        self.state().join("config.yaml")
    }

    /// The configuration the machine was given.
    pub(super) fn config(&self) -> io::Result<Option<Secret>> {
        match fs_err::read_to_string(self.config_file()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            text => text.map(|text| Some(text.into())),
        }
    }

    pub(super) fn write_config(&self, text: &Secret) -> io::Result<()> {
        self.write(&self.config_file(), text.expose().as_bytes())
    }

    /// What the node is known by in its cluster; made at the first boot.
    pub(super) fn identity(&self) -> io::Result<String> {
        let path = self.state().join("node-identity");
        match fs_err::read_to_string(&path) {
            Ok(text) if !text.is_empty() => return Ok(text),
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut bytes = [0; 32];
        SystemRandom::new().fill(&mut bytes).map_err(|_| io::Error::other("no randomness"))?;
        let identity = URL_SAFE_NO_PAD.encode(bytes);
        self.write(&path, identity.as_bytes())?;
        Ok(identity)
    }

    pub(super) fn meta(&self) -> Meta {
        let read = fs_err::read(self.root.join("meta.json")).ok();
        read.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default()
    }

    pub(super) fn write_meta(&self, meta: &Meta) -> io::Result<()> {
        let text = serde_json::to_vec(meta).map_err(io::Error::other)?;
        self.write(&self.root.join("meta.json"), &text)
    }

    /// True when etcd was here before.
    pub(super) fn has_etcd(&self) -> bool {
        fs_err::read_dir(self.etcd()).is_ok_and(|mut entries| entries.next().is_some())
    }

    /// Wipes a partition by its label; labels nobody uses here are empty anyway.
    pub(super) fn wipe(&self, label: &str) -> io::Result<()> {
        let dir = match label {
            "STATE" => self.state(),
            "EPHEMERAL" => self.ephemeral(),
            "META" => self.root.join("meta.json"),
            _ => return Ok(()),
        };
        let removed = if dir.is_dir() { fs_err::remove_dir_all(&dir) } else { fs_err::remove_file(&dir) };
        match removed {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed,
        }
    }
}
