//! What a run needs to make a cluster again from its backup.

use std::{
    io::{Read, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use butler_core::{
    bootstrap::run::{Restored, RunDir, RunFacts},
    redact::Secret,
    settings::home::{make_private_dir, write_private},
};

use super::{Backup, BackupError, Identities, contents, snapshot::SnapshotSum, verify::pass};
use crate::bootstrap::{NETWORK, SNAPSHOT};

/// The largest of the files that are read whole.
const LARGEST: u64 = 64 << 20;
/// The journal of the run that had made the cluster, in the directory of the one that makes it again.
const BEFORE: &str = "journal.before.ndjson";

/// The run that had made the cluster.
#[derive(Debug)]
pub struct Before {
    /// What it was.
    pub facts: RunFacts,
    /// Its configuration; may hold secrets.
    pub config: Secret,
}

/// Reads everything once, and says what the cluster was made from.
pub fn before(backup: &Backup, identities: &Identities) -> Result<Before, BackupError> {
    backup.check()?;
    let (mut facts, mut config) = (None, None);
    backup.each(identities, |name, body| {
        match name {
            contents::FACTS => facts = Some(whole(backup, name, body)?),
            contents::CONFIG => config = Some(whole(backup, name, body)?),
            _ => {}
        }
        Ok(())
    })?;
    let missing = |name| backup.damaged(name, "it is missing");
    let facts = facts.ok_or_else(|| missing(contents::FACTS))?;
    let config = config.ok_or_else(|| missing(contents::CONFIG))?;
    let facts = serde_json::from_slice(&facts)
        .map_err(|error| backup.damaged(contents::FACTS, &error.to_string()))?;
    Ok(Before { facts, config: String::from_utf8_lossy(&config).into_owned().into() })
}

/// What a run that makes the cluster again says of itself.
pub fn restored(backup: &Backup) -> Restored {
    let header = backup.header();
    Restored {
        file: std::path::absolute(backup.path()).unwrap_or_else(|_| backup.path().to_owned()),
        created: header.created,
        run: header.run.clone(),
    }
}

/// Writes what the run needs into its directory: the Talos secrets, the snapshot, and the journal of before.
pub fn unpack(backup: &Backup, identities: &Identities, dir: &RunDir) -> Result<(), BackupError> {
    make_private_dir(&dir.secrets())?;
    let path = dir.secret(SNAPSHOT);
    let failed = |source| BackupError::Write { path: path.clone(), source };
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&path)
        .map_err(failed)?;
    let mut sum = SnapshotSum::new();
    backup.each(identities, |name, body| {
        if contents::piece_of(name).is_some() {
            let mut written = Ok(());
            pass(backup, name, body, |bytes| {
                sum.take(bytes);
                if written.is_ok() {
                    written = file.write_all(bytes);
                }
            })?;
            return written.map_err(failed);
        }
        let place: PathBuf = match name {
            contents::TALOS => dir.secret("talos.yaml"),
            contents::NETWORK => dir.secret(NETWORK),
            contents::JOURNAL => dir.path().join(BEFORE),
            _ => return Ok(()),
        };
        write(&place, &whole(backup, name, body)?)
    })?;
    if sum.finish().is_none() {
        return Err(backup.damaged("etcd/snapshot.db", "the checksum of etcd at its end does not fit"));
    }
    file.sync_all().map_err(failed)?;
    if !dir.secret("talos.yaml").exists() {
        return Err(backup.damaged(contents::TALOS, "it is missing"));
    }
    Ok(())
}

fn write(path: &Path, content: &[u8]) -> Result<(), BackupError> {
    Ok(write_private(path, content)?)
}

fn whole(backup: &Backup, name: &str, body: &mut dyn Read) -> Result<Vec<u8>, BackupError> {
    let mut content = Vec::new();
    let read = body.take(LARGEST).read_to_end(&mut content);
    read.map_err(|error| backup.damaged(name, &error.to_string()))?;
    Ok(content)
}
