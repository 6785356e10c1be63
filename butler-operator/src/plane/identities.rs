//! Who is who in a control plane of ours: an authority in a directory, and what it signs.
//!
//! An authority is made once; what it signs is made anew when it nears its end or no longer fits.

use std::{
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use base64::{Engine, prelude::BASE64_STANDARD};
use butler_core::{
    cluster::ApiError,
    error::{Code, Diagnose, ErrorKind},
    pki::{Authority, CertificateInfo, Issued, KeyKind, Leaf, PkiError, PrivateKey, Usage, valid_from},
    redact::Secret,
    settings::{
        HomeError,
        home::{make_private_dir, write_private},
    },
};
use fs_err as fs;
use jiff::{SignedDuration, Timestamp};
use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};
use tracing::{instrument::WithSubscriber, subscriber::NoSubscriber};

use super::TlsFiles;

const AUTHORITY_LIFE: SignedDuration = SignedDuration::from_hours(24 * 3650);
const LEAF_LIFE: SignedDuration = SignedDuration::from_hours(24 * 365);
/// A certificate that ends sooner is replaced.
const RENEW: SignedDuration = SignedDuration::from_hours(24 * 30);
/// How long one answer about readiness may take.
const ANSWER_LIMIT: Duration = Duration::from_secs(5);

/// Why a control plane cannot be given its identities, or be asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlaneError {
    /// A file cannot be read.
    #[error("cannot read `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
    /// A file cannot be written.
    #[error(transparent)]
    Home(#[from] HomeError),
    /// A certificate or key is damaged.
    #[error(transparent)]
    Pki(#[from] PkiError),
    /// There is no client for the API server.
    #[error(transparent)]
    Api(#[from] ApiError),
}

impl Diagnose for PlaneError {
    fn code(&self) -> Code {
        match self {
            Self::Read { .. } => Code::FileUnreadable,
            Self::Home(error) => error.code(),
            Self::Pki(error) => error.code(),
            Self::Api(error) => error.code(),
        }
    }

    fn kind(&self) -> ErrorKind {
        match self {
            Self::Api(error) => error.kind(),
            _ => self.code().kind(),
        }
    }
}

/// What a server shows: any name that it is reached by.
pub fn server(names: &[&str], usage: Usage, now: Timestamp) -> Leaf {
    let mut names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    names.sort();
    names.dedup();
    leaf("server", None, names, usage, now)
}

/// What a client shows: its name and its group.
pub fn person(name: &str, group: Option<&str>, now: Timestamp) -> Leaf {
    leaf(name, group, Vec::new(), Usage::Client, now)
}

fn leaf(name: &str, group: Option<&str>, names: Vec<String>, usage: Usage, now: Timestamp) -> Leaf {
    Leaf {
        common_name: Some(name.to_owned()),
        organization: group.map(str::to_owned),
        names,
        usage,
        not_before: valid_from(now),
        life: LEAF_LIFE,
    }
}

/// A directory with an authority, `ca.crt` and `ca.key`, and with what it has signed.
#[derive(Debug)]
pub struct PkiDir {
    dir: PathBuf,
    authority: Authority,
}

impl PkiDir {
    /// Opens the directory; makes it and its authority if there is none. An authority that is damaged is
    /// an error: everything signed by it would become worthless without a word.
    pub fn open(dir: &Path, name: &str, now: Timestamp) -> Result<Self, PlaneError> {
        make_private_dir(dir)?;
        let (certificate, key) = (dir.join("ca.crt"), dir.join("ca.key"));
        if key.exists() {
            let read = |path: &Path| {
                fs::read_to_string(path).map_err(|source| PlaneError::Read { path: path.to_owned(), source })
            };
            let authority = Authority::from_pem(&read(&certificate)?, &Secret::from(read(&key)?))?;
            return Ok(Self { dir: dir.to_owned(), authority });
        }
        let authority = Authority::generate(KeyKind::P256, Some(name), valid_from(now), AUTHORITY_LIFE)?;
        write_private(&certificate, authority.certificate().as_bytes())?;
        // The key comes last: with it the authority exists.
        write_private(&key, authority.key().to_pem().expose().as_bytes())?;
        Ok(Self { dir: dir.to_owned(), authority })
    }

    /// Certificate and key of the authority.
    pub fn signing(&self) -> (PathBuf, PathBuf) {
        (self.dir.join("ca.crt"), self.dir.join("ca.key"))
    }

    /// Makes `<file>.crt` and `<file>.key`, unless they are good as they are.
    pub fn identity(&self, file: &str, leaf: &Leaf, now: Timestamp) -> Result<TlsFiles, PlaneError> {
        let files = TlsFiles::in_dir(&self.dir, file);
        if self.is_good(&files, leaf, now).unwrap_or(false) {
            return Ok(files);
        }
        let Issued { certificate, key } = self.authority.issue(leaf)?;
        write_private(&files.key, key.expose().as_bytes())?;
        write_private(&files.certificate, certificate.as_bytes())?;
        Ok(files)
    }

    fn is_good(&self, files: &TlsFiles, leaf: &Leaf, now: Timestamp) -> Result<bool, PkiError> {
        let (Ok(text), true) = (fs::read_to_string(&files.certificate), files.key.exists()) else {
            return Ok(false);
        };
        let info = CertificateInfo::from_pem(&text)?;
        let root = CertificateInfo::from_pem(self.authority.certificate())?;
        let (mut has, mut wants) = (info.names.clone(), leaf.names.clone());
        has.sort();
        wants.sort();
        Ok(has == wants && info.signed_by(&root) && info.not_after > now + RENEW && info.not_before <= now)
    }

    /// A key that signs service account tokens, made if there is none.
    pub fn token_key(&self) -> Result<PathBuf, PlaneError> {
        let path = self.dir.join("tokens.key");
        if !path.exists() {
            write_private(&path, PrivateKey::generate(KeyKind::P256)?.to_pem().expose().as_bytes())?;
        }
        Ok(path)
    }

    /// Writes a kubeconfig that holds its identity, so that it can be carried elsewhere. Leaves one
    /// alone that says the same.
    pub fn kubeconfig(
        &self,
        path: &Path,
        cluster: &str,
        server: &str,
        user: &str,
        identity: &TlsFiles,
    ) -> Result<(), PlaneError> {
        let data = |path: &Path| {
            let bytes =
                fs::read(path).map_err(|source| PlaneError::Read { path: path.to_owned(), source })?;
            Ok::<_, PlaneError>(BASE64_STANDARD.encode(bytes))
        };
        let config = serde_json::json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{ "name": cluster, "cluster": {
                "server": server,
                "certificate-authority-data": data(&self.signing().0)?,
            }}],
            "users": [{ "name": user, "user": {
                "client-certificate-data": data(&identity.certificate)?,
                "client-key-data": data(&identity.key)?,
            }}],
            "contexts": [{ "name": cluster, "context": { "cluster": cluster, "user": user } }],
            "current-context": cluster,
        });
        // JSON is YAML, and every reader of kubeconfigs takes it.
        let text = format!("{config:#}\n");
        if fs::read_to_string(path).is_ok_and(|known| known == text) {
            return Ok(());
        }
        Ok(write_private(path, text.as_bytes())?)
    }
}

/// A client of a control plane on this machine that does not try again by itself: the caller asks until
/// it is told.
pub async fn client(kubeconfig: &Path) -> Result<Client, PlaneError> {
    let unusable = |source: Box<dyn std::error::Error + Send + Sync>| PlaneError::Read {
        path: kubeconfig.to_owned(),
        source: io::Error::other(source),
    };
    let content = Kubeconfig::read_from(kubeconfig).map_err(|error| unusable(error.into()))?;
    let mut config = Config::from_custom_kubeconfig(content, &KubeConfigOptions::default())
        .await
        .map_err(|error| unusable(error.into()))?;
    config.default_retry = false;
    // Everything is on this machine, whatever the environment says of proxies.
    config.proxy_url = None;
    Client::try_from(config).map_err(|error| ApiError::new("make a client", error).into())
}

/// True when the API server answers that it is ready.
pub async fn ready(client: &Client) -> bool {
    let request = http::Request::get("/readyz").body(Vec::new()).unwrap_or_default();
    // A server that is starting refuses, and the client would log each time.
    let answer = client.request_text(request).with_subscriber(NoSubscriber::default());
    matches!(tokio::time::timeout(ANSWER_LIMIT, answer).await, Ok(Ok(_)))
}
