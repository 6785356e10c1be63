//! What a backup is of: readable by everybody who has the file, so nothing in it is secret.

use butler_core::{api::API_VERSION, event::RunId};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// The format that this program writes and reads.
pub(super) const FORMAT: u32 = 1;
/// What names of backups end with.
pub const EXTENSION: &str = ".butler-backup";

/// What a backup is of. It stands at the beginning of the file, and again inside what is encrypted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Header {
    api_version: String,
    kind: String,
    /// The number of the format.
    pub format: u32,
    /// The management cluster.
    pub cluster: String,
    /// The provider of its machines.
    pub provider: String,
    /// The run that made it.
    pub run: RunId,
    /// When the backup was begun.
    pub created: Timestamp,
    /// Version of the program that wrote it.
    pub version: String,
    /// What Kubernetes the API server said it is.
    pub kubernetes: String,
    /// The uid of its namespace `kube-system`: no other cluster has it.
    pub cluster_id: String,
    /// Who can open it.
    pub recipients: Vec<String>,
}

/// What a header is made of.
#[derive(Clone, Debug)]
pub(super) struct Facts<'a> {
    pub(super) cluster: &'a str,
    pub(super) provider: &'a str,
    pub(super) run: &'a RunId,
    pub(super) created: Timestamp,
    pub(super) version: &'a str,
    pub(super) kubernetes: String,
    pub(super) cluster_id: String,
    pub(super) recipients: Vec<String>,
}

impl Header {
    const KIND: &str = "Backup";

    pub(super) fn of(facts: Facts<'_>) -> Self {
        Self {
            api_version: API_VERSION.to_owned(),
            kind: Self::KIND.to_owned(),
            format: FORMAT,
            cluster: facts.cluster.to_owned(),
            provider: facts.provider.to_owned(),
            run: facts.run.clone(),
            created: facts.created,
            version: facts.version.to_owned(),
            kubernetes: facts.kubernetes,
            cluster_id: facts.cluster_id,
            recipients: facts.recipients,
        }
    }

    /// Reads one; the error says what is wrong with it.
    pub(super) fn read(text: &[u8]) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Known {
            #[serde(default)]
            kind: String,
            #[serde(default)]
            format: u32,
        }
        let known: Known = serde_json::from_slice(text).map_err(|_| "it has no header".to_owned())?;
        if known.kind != Self::KIND {
            return Err("its header is of something else".to_owned());
        }
        if known.format != FORMAT {
            return Err(format!("it has format {}, and this version reads format {FORMAT}", known.format));
        }
        serde_json::from_slice(text).map_err(|error| format!("its header is not complete: {error}"))
    }
}

/// The usual name of a backup.
pub fn file_name(cluster: &str, created: Timestamp) -> String {
    format!("{cluster}-{}{EXTENSION}", created.strftime("%Y%m%d-%H%M%S"))
}
