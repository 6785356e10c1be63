//! Reads everything in a backup and says what it is.

use std::{collections::BTreeMap, io::Read, path::PathBuf};

use butler_core::redact::Secret;
use serde::Serialize;
use serde_json::Value;

use super::{Backup, BackupError, Header, Identities, contents, snapshot::SnapshotSum};
use crate::talos::{secrets::SecretsBundle, talosconfig::Talosconfig};

/// Objects come in pages, everything else of this kind is smaller.
const LARGEST: u64 = 256 << 20;
const STEP: usize = 1 << 20;

/// What was found in a backup that is whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Verified {
    /// The file.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// What it is of.
    pub header: Header,
    /// What is in it; none when there was no identity to open it with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contents: Option<Contents>,
}

/// What is inside.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Contents {
    /// How many entries.
    pub entries: usize,
    /// How many objects, by kind.
    pub objects: BTreeMap<String, usize>,
    /// The size of the snapshot of etcd.
    pub snapshot_bytes: u64,
    /// Records in the journal of the run.
    pub records: usize,
}

/// Reads a backup to its end. Without identities only the file is looked at, not what is in it.
pub fn verify(backup: &Backup, identities: Option<&Identities>) -> Result<Verified, BackupError> {
    backup.check()?;
    let contents = identities.map(|identities| look(backup, identities)).transpose()?;
    Ok(Verified {
        path: backup.path().to_owned(),
        bytes: backup.bytes(),
        header: backup.header().clone(),
        contents,
    })
}

fn look(backup: &Backup, identities: &Identities) -> Result<Contents, BackupError> {
    let mut found = Contents::default();
    let mut missing =
        vec![contents::HEADER, contents::FACTS, contents::CONFIG, contents::TALOS, contents::KUBECONFIG];
    let mut sum = SnapshotSum::new();
    let mut pieces = 0;
    found.entries = backup.each(identities, |name, body| {
        missing.retain(|wanted| *wanted != name);
        if let Some(piece) = contents::piece_of(name) {
            if piece != pieces {
                return Err(backup.damaged(name, "a piece before it is missing"));
            }
            pieces += 1;
            return pass(backup, name, body, |bytes| sum.take(bytes));
        }
        let mut text = Vec::new();
        let read = body.take(LARGEST).read_to_end(&mut text);
        read.map_err(|error| backup.damaged(name, &error.to_string()))?;
        understand(backup, name, &text, &mut found)
    })?;
    if let Some(name) = missing.first() {
        return Err(backup.damaged(name, "it is missing"));
    }
    found.snapshot_bytes = sum
        .finish()
        .ok_or_else(|| backup.damaged("etcd/snapshot.db", "the checksum of etcd at its end does not fit"))?;
    Ok(found)
}

/// Hands on what is read, a step at a time.
pub(super) fn pass(
    backup: &Backup,
    name: &str,
    body: &mut dyn Read,
    mut take: impl FnMut(&[u8]),
) -> Result<(), BackupError> {
    let mut step = vec![0; STEP];
    loop {
        match body.read(&mut step) {
            Ok(0) => return Ok(()),
            Ok(count) => take(&step[..count]),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(backup.damaged(name, &error.to_string())),
        }
    }
}

/// Demands that an entry can be used for what it is there for.
fn understand(backup: &Backup, name: &str, text: &[u8], found: &mut Contents) -> Result<(), BackupError> {
    let wrong = |why: &str| Err(backup.damaged(name, why));
    // What a parser says may quote the text.
    let secret = || Secret::from(String::from_utf8_lossy(text).into_owned());
    match name {
        contents::HEADER => match Header::read(text) {
            Ok(header) if header == *backup.header() => Ok(()),
            Ok(_) => wrong("what stands at the beginning of the file is not the same"),
            Err(why) => wrong(&why),
        },
        contents::TALOS if SecretsBundle::from_yaml(&secret()).is_err() => wrong("it is no secrets bundle"),
        contents::TALOSCONFIG if Talosconfig::from_yaml(&secret()).is_err() => wrong("it is no talosconfig"),
        contents::KUBECONFIG if kube::config::Kubeconfig::from_yaml(secret().expose()).is_err() => {
            wrong("it is no kubeconfig")
        }
        contents::JOURNAL => {
            found.records = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).count();
            Ok(())
        }
        _ => {
            let Some(kind) = contents::kind_of(name) else { return Ok(()) };
            let Ok(Value::Object(list)) = serde_json::from_slice(text) else { return wrong("it is no list") };
            let items = list.get("items").and_then(Value::as_array);
            let Some(items) = items else { return wrong("it has no objects") };
            if items.iter().any(|item| item.pointer("/metadata/name").is_none_or(|name| !name.is_string())) {
                return wrong("an object has no name");
            }
            *found.objects.entry(kind.to_owned()).or_default() += items.len();
            Ok(())
        }
    }
}
