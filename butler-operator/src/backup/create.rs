//! Fills a backup from a cluster that runs.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use butler_core::{
    api::{self, names::namespaces},
    bootstrap::{
        config::ProviderSettings,
        run::{RunDir, RunFacts, RunState, Stage},
    },
    cluster::{ApiError, pages::Pages},
    event::{Reporter, Unit},
    redact::Secret,
    settings::Home,
};
use fs_err as fs;
use futures::{StreamExt, TryStreamExt};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Namespace;
use kube::{Api, Client, ResourceExt};
use serde::Serialize;
use serde_json::value::RawValue;

use super::{
    BackupError, Header, Recipients, Sealed, contents, header::Facts, seal, snapshot::SnapshotSum,
    write::Contents,
};
use crate::{
    sandbox::Place,
    talos::{TalosError, client, talosconfig::Talosconfig},
};

/// Bytes of the snapshot in one entry.
const PIECE: usize = 8 << 20;

/// What is backed up.
#[derive(Debug)]
pub struct Subject<'a> {
    /// The Butler home, where the credentials of the cluster are.
    pub home: &'a Home,
    /// The run that made the cluster.
    pub dir: &'a RunDir,
    /// How far it is.
    pub state: &'a RunState,
    /// What it is.
    pub facts: &'a RunFacts,
    /// The sandbox of its machines, if they are simulated.
    pub place: Option<Place>,
    /// Whether the cluster has nodes with Talos.
    pub provider: &'a ProviderSettings,
    /// Version of this program.
    pub version: &'a str,
    /// Now.
    pub now: Timestamp,
}

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Created {
    /// The file.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// What it is of.
    pub header: Header,
    /// How many objects are in it to be read, besides those in the snapshot.
    pub objects: usize,
    /// The size of the snapshot of etcd.
    pub snapshot_bytes: u64,
}

impl Subject<'_> {
    /// Refuses what has nothing to back up.
    pub fn check(&self) -> Result<(), BackupError> {
        let why = match (&self.state.stage, self.provider) {
            (_, ProviderSettings::Local(_)) => {
                "clusters of provider `local` have no nodes with Talos".to_owned()
            }
            (_, _) if self.state.half_destroyed => "its removal was begun".to_owned(),
            (Stage::Succeeded, _) if !self.talosconfig().exists() => {
                format!("`{}` is gone", self.talosconfig().display())
            }
            (Stage::Succeeded, _) if !self.dir.secret("talos.yaml").exists() => {
                format!("`{}` is gone", self.dir.secret("talos.yaml").display())
            }
            (Stage::Succeeded, _) => return Ok(()),
            (stage, _) => format!("it is {}", stage.as_str()),
        };
        let (cluster, run) = (self.facts.cluster.clone(), self.dir.id().clone());
        Err(BackupError::Nothing { cluster, run, why })
    }

    /// The administrator's kubeconfig.
    pub fn kubeconfig(&self) -> PathBuf {
        self.home.dir().join(format!("{}-kubeconfig", self.facts.cluster))
    }

    fn talosconfig(&self) -> PathBuf {
        self.home.dir().join(format!("{}-talosconfig", self.facts.cluster))
    }

    /// The configuration as it was given; as the journal keeps it, when the file is gone.
    fn config(&self) -> Result<Secret, BackupError> {
        let path = self.dir.config();
        match (fs::read_to_string(&path), &self.state.given) {
            (Ok(text), _) => Ok(text.into()),
            (Err(_), Some(given)) => Ok(given.document.to_string().into()),
            (Err(source), None) => Err(BackupError::Read { path, source }),
        }
    }
}

/// Writes a backup of a cluster to `path`. Nothing about the cluster changes.
pub async fn create(
    subject: &Subject<'_>,
    client: &Client,
    recipients: &Recipients,
    path: &Path,
    reporter: &Reporter,
) -> Result<Created, BackupError> {
    subject.check()?;
    let header = header(subject, client, recipients).await?;
    let (mut objects, mut snapshot_bytes) = (0, 0);
    let Sealed { path, bytes } = seal(path, &header, recipients, async |contents| {
        reporter.phase("CollectingTheRun", async { files(subject, contents) }).await?;
        objects = reporter.phase("CollectingObjects", collect(client, contents)).await?;
        snapshot_bytes = reporter.phase("SnapshottingEtcd", etcd(subject, contents, reporter)).await?;
        Ok(())
    })
    .await?;
    Ok(Created { path, bytes, header, objects, snapshot_bytes })
}

async fn header(
    subject: &Subject<'_>,
    client: &Client,
    recipients: &Recipients,
) -> Result<Header, BackupError> {
    let version = client.apiserver_version().await;
    let version = version.map_err(|error| ApiError::new("ask the API server for its version", error))?;
    let system = Api::<Namespace>::all(client.clone()).get("kube-system").await;
    let system = system.map_err(|error| ApiError::new("get Namespace `kube-system`", error))?;
    Ok(Header::of(Facts {
        cluster: &subject.facts.cluster,
        provider: &subject.facts.provider,
        run: subject.dir.id(),
        created: subject.now,
        version: subject.version,
        kubernetes: version.git_version,
        cluster_id: system.uid().unwrap_or_default(),
        recipients: recipients.names(),
    }))
}

/// What the run keeps, and the way into the cluster.
fn files(subject: &Subject<'_>, contents: &mut Contents<'_>) -> Result<(), BackupError> {
    let facts = serde_json::to_vec_pretty(subject.facts).unwrap_or_default();
    contents.add(contents::FACTS, &facts)?;
    contents.add(contents::CONFIG, subject.config()?.expose().as_bytes())?;
    let network = subject.place.as_ref().map(Place::network).filter(|path| path.exists());
    let files = [
        (contents::JOURNAL, Some(subject.dir.journal())),
        (contents::TALOS, Some(subject.dir.secret("talos.yaml"))),
        (contents::NETWORK, network),
        (contents::KUBECONFIG, Some(subject.kubeconfig())),
        (contents::TALOSCONFIG, Some(subject.talosconfig())),
    ];
    for (name, path) in files {
        let Some(path) = path else { continue };
        let content = fs::read(&path).map_err(|source| BackupError::Read { path, source })?;
        contents.add(name, &content)?;
    }
    Ok(())
}

/// Butler's objects, and the Secrets and ConfigMaps of every namespace that has one. They are for people: a cluster
/// is made again from the snapshot, which has all of them.
async fn collect(client: &Client, contents: &mut Contents<'_>) -> Result<usize, BackupError> {
    let mut namespaces = BTreeSet::from([namespaces::SYSTEM.to_owned()]);
    let mut count = 0;
    for crd in api::all_crds() {
        let (kind, plural) = (&crd.spec.names.kind, &crd.spec.names.plural);
        let url = format!("/apis/{}/{}/{plural}", api::GROUP, api::VERSION);
        let mut pages = Pages::new(client, url, format!("list every {kind}"), None);
        let mut number = 0;
        while let Some(items) = next(&mut pages).await? {
            namespaces.extend(items.iter().filter_map(|item| namespace_of(item)));
            count += items.len();
            page(contents, kind, number, api::API_VERSION, &items)?;
            number += 1;
        }
    }
    for (kind, plural) in [("Secret", "secrets"), ("ConfigMap", "configmaps")] {
        let mut number = 0;
        for namespace in &namespaces {
            let url = format!("/api/v1/namespaces/{namespace}/{plural}");
            let mut pages = Pages::new(client, url, format!("list every {kind} in `{namespace}`"), None);
            while let Some(items) = next(&mut pages).await? {
                count += items.len();
                page(contents, kind, number, "v1", &items)?;
                number += 1;
            }
        }
    }
    Ok(count)
}

/// The next page; a cluster without our definitions has none.
async fn next(pages: &mut Pages) -> Result<Option<Vec<Box<RawValue>>>, ApiError> {
    match pages.next().await {
        Err(error) if error.is_not_found() => Ok(None),
        page => page,
    }
}

fn namespace_of(item: &RawValue) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Object {
        metadata: Meta,
    }
    #[derive(serde::Deserialize)]
    struct Meta {
        namespace: Option<String>,
    }
    serde_json::from_str::<Object>(item.get()).ok()?.metadata.namespace
}

fn page(
    contents: &mut Contents<'_>,
    kind: &str,
    number: usize,
    version: &str,
    items: &[Box<RawValue>],
) -> Result<(), BackupError> {
    if items.is_empty() {
        return Ok(());
    }
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct List<'a> {
        api_version: &'a str,
        kind: String,
        items: &'a [Box<RawValue>],
    }
    let list = List { api_version: version, kind: format!("{kind}List"), items };
    contents.add(&contents::objects(kind, number), &serde_json::to_vec(&list).unwrap_or_default())
}

/// The snapshot of etcd, from the first control plane that hands one out.
async fn etcd(
    subject: &Subject<'_>,
    contents: &mut Contents<'_>,
    reporter: &Reporter,
) -> Result<u64, BackupError> {
    let path = subject.talosconfig();
    let text = fs::read_to_string(&path).map_err(|source| BackupError::Read { path, source })?;
    let talosconfig = Talosconfig::from_yaml(&text.into())?;
    let access = talosconfig.current()?;
    let mut last = None;
    for address in &access.endpoints {
        let begun = async { client::Client::connect(address, access).await?.etcd_snapshot().await };
        match begun.await {
            Ok(pieces) => return copy(subject, pieces, contents, reporter).await,
            Err(error) => last = Some(error),
        }
    }
    Err(last.unwrap_or_else(|| TalosError::Address { node: String::new() }).into())
}

/// A snapshot that breaks off is not begun anew at another node: the pieces would not fit together.
async fn copy(
    subject: &Subject<'_>,
    pieces: impl futures::Stream<Item = Result<Vec<u8>, TalosError>>,
    contents: &mut Contents<'_>,
    reporter: &Reporter,
) -> Result<u64, BackupError> {
    let mut pieces = std::pin::pin!(pieces.fuse());
    let mut sum = SnapshotSum::new();
    let (mut buffer, mut number, mut bytes) = (Vec::with_capacity(PIECE), 0, 0);
    loop {
        let piece = pieces.try_next().await?;
        let is_end = piece.is_none();
        buffer.extend(piece.unwrap_or_default());
        while buffer.len() >= PIECE || (is_end && !buffer.is_empty()) {
            let rest = buffer.split_off(buffer.len().min(PIECE));
            sum.take(&buffer);
            bytes += buffer.len() as u64;
            contents.add(&contents::snapshot(number), &buffer)?;
            (buffer, number) = (rest, number + 1);
            reporter.progress("snapshot", bytes, None, Unit::Bytes);
        }
        if is_end {
            break;
        }
    }
    sum.finish().ok_or_else(|| {
        let (cluster, run) = (subject.facts.cluster.clone(), subject.dir.id().clone());
        BackupError::Nothing { cluster, run, why: "the snapshot of etcd broke off before its end".to_owned() }
    })
}
