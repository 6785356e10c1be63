//! Names of what is inside a backup.
//!
//! | entry | is |
//! |---|---|
//! | `backup.json` | the [`Header`](super::Header) once more: what is outside could have been changed |
//! | `run/facts.json`, `run/config.yaml`, `run/journal.ndjson` | the run that made the cluster |
//! | `run/secrets/talos.yaml` | the Talos secrets: whoever has them can be any part of the cluster |
//! | `run/sandbox-network.json` | the addresses of simulated machines |
//! | `credentials/kubeconfig`, `credentials/talosconfig` | the administrator's way in |
//! | `objects/<Kind>.<page>.json` | Butler's objects with their status, and Secrets and ConfigMaps of their namespaces |
//! | `etcd/snapshot.db.<piece>` | the snapshot of etcd, in pieces that follow one another |
//! | `SHA256SUMS` | the checksum of every entry before it; without it a backup is not complete |

pub(super) const HEADER: &str = "backup.json";
pub(super) const DATA: &str = "data.age";
pub(super) const DATA_SUM: &str = "data.age.sha256";
pub(super) const SUMS: &str = "SHA256SUMS";

pub(super) const FACTS: &str = "run/facts.json";
pub(super) const CONFIG: &str = "run/config.yaml";
pub(super) const JOURNAL: &str = "run/journal.ndjson";
pub(super) const TALOS: &str = "run/secrets/talos.yaml";
pub(super) const NETWORK: &str = "run/sandbox-network.json";
pub(super) const KUBECONFIG: &str = "credentials/kubeconfig";
pub(super) const TALOSCONFIG: &str = "credentials/talosconfig";

const OBJECTS: &str = "objects/";
const SNAPSHOT: &str = "etcd/snapshot.db.";

/// One page of the objects of a kind.
pub(super) fn objects(kind: &str, page: usize) -> String {
    format!("{OBJECTS}{kind}.{page:04}.json")
}

/// The kind whose objects an entry holds.
pub(super) fn kind_of(entry: &str) -> Option<&str> {
    entry.strip_prefix(OBJECTS)?.split_once('.').map(|(kind, _)| kind)
}

/// One piece of the snapshot.
pub(super) fn snapshot(piece: usize) -> String {
    format!("{SNAPSHOT}{piece:06}")
}

/// The number of a piece.
pub(super) fn piece_of(entry: &str) -> Option<usize> {
    entry.strip_prefix(SNAPSHOT)?.parse().ok()
}

/// Bytes as hexadecimal digits.
pub(super) fn hex(bytes: impl AsRef<[u8]>) -> String {
    bytes.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}
