//! Who is who in the management plane: two authorities, and what they sign.
//!
//! etcd has an authority of its own, so that no certificate which the API server accepts opens etcd.
//! Authorities are made once; what they sign is made anew when it nears its end or no longer fits.

use std::path::{Path, PathBuf};

use butler_core::{
    pki::{Authority, CertificateInfo, Issued, KeyKind, Leaf, PkiError, PrivateKey, Usage},
    redact::Secret,
    settings::home::{make_private_dir, write_private},
};
use fs_err as fs;
use jiff::{SignedDuration, Timestamp};

use super::ports::PlanePorts;
use crate::{
    plane::TlsFiles,
    sandbox::{SandboxError, place::Place},
};

const DAY: SignedDuration = SignedDuration::from_hours(24);
const AUTHORITY_LIFE: SignedDuration = SignedDuration::from_hours(24 * 3650);
const LEAF_LIFE: SignedDuration = SignedDuration::from_hours(24 * 365);
/// A certificate that ends sooner is replaced.
const RENEW: SignedDuration = SignedDuration::from_hours(24 * 30);
/// Names by which the API server is known inside a cluster.
const API_NAMES: [&str; 7] = [
    "127.0.0.1",
    "10.96.0.1",
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
];

/// Identities on disk.
#[derive(Clone, Debug)]
pub struct Identities {
    /// etcd, for clients and members.
    pub etcd_server: TlsFiles,
    /// The API server, for etcd.
    pub etcd_client: TlsFiles,
    /// The API server, for clients.
    pub api_server: TlsFiles,
    /// Certificate and key of the authority of clients.
    pub signing: (PathBuf, PathBuf),
    /// Key of service account tokens.
    pub token_key: PathBuf,
    /// Kubeconfig of kube-controller-manager.
    pub controller_manager: PathBuf,
    /// Kubeconfig of our own controllers.
    pub serve: PathBuf,
    /// Kubeconfig of the administrator.
    pub admin: PathBuf,
}

impl Identities {
    /// Reads them, and makes what is missing, ends soon or does not fit.
    pub fn ensure(place: &Place, ports: &PlanePorts, now: Timestamp) -> Result<Self, SandboxError> {
        let (etcd, cluster) = (place.pki().join("etcd"), place.pki().join("cluster"));
        let etcd_authority = authority(&etcd, "etcd", now)?;
        let cluster_authority = authority(&cluster, "kubernetes", now)?;
        let ip = ports.api.ip();
        let names =
            |names: &[&str]| names.iter().map(|name| (*name).to_owned()).chain([ip.to_string()]).collect();
        let server = |names, usage| leaf(None, None, names, usage, now);
        let person =
            |name: &str, group: Option<&str>| leaf(Some(name), group, Vec::new(), Usage::Client, now);
        ensure(&etcd, "server", &etcd_authority, &server(names(&["localhost"]), Usage::Both), now)?;
        ensure(&etcd, "client", &etcd_authority, &person("kube-apiserver", None), now)?;
        ensure(&cluster, "server", &cluster_authority, &server(names(&API_NAMES), Usage::Server), now)?;
        let token_key = cluster.join("tokens.key");
        if !token_key.exists() {
            write_private(&token_key, PrivateKey::generate(KeyKind::P256)?.to_pem().expose().as_bytes())?;
        }
        let kubeconfig = |file: &str, name: &str, group: Option<&str>| -> Result<PathBuf, SandboxError> {
            ensure(&cluster, file, &cluster_authority, &person(name, group), now)?;
            let path = cluster.join(format!("{file}.kubeconfig"));
            write_kubeconfig(&path, place.name(), ports, &cluster, file, name)?;
            Ok(path)
        };
        let controller_manager =
            kubeconfig("kube-controller-manager", "system:kube-controller-manager", None)?;
        let serve = kubeconfig("serve", "butler-serve", Some("system:masters"))?;
        ensure(&cluster, "admin", &cluster_authority, &person("admin", Some("system:masters")), now)?;
        write_kubeconfig(&place.kubeconfig(), place.name(), ports, &cluster, "admin", "admin")?;
        Ok(Self {
            etcd_server: TlsFiles::in_dir(&etcd, "server"),
            etcd_client: TlsFiles::in_dir(&etcd, "client"),
            api_server: TlsFiles::in_dir(&cluster, "server"),
            signing: (cluster.join("ca.crt"), cluster.join("ca.key")),
            token_key,
            controller_manager,
            serve,
            admin: place.kubeconfig(),
        })
    }
}

fn leaf(name: Option<&str>, group: Option<&str>, names: Vec<String>, usage: Usage, now: Timestamp) -> Leaf {
    Leaf {
        common_name: Some(name.unwrap_or("server").to_owned()),
        organization: group.map(str::to_owned),
        names,
        usage,
        // A clock that was set back a little does no harm.
        not_before: now.checked_sub(DAY).unwrap_or(now),
        life: LEAF_LIFE,
    }
}

/// The authority in a directory, made if there is none. One that is damaged is an error: everything
/// signed by it would become worthless without a word.
fn authority(dir: &Path, name: &str, now: Timestamp) -> Result<Authority, SandboxError> {
    make_private_dir(dir)?;
    let (certificate, key) = (dir.join("ca.crt"), dir.join("ca.key"));
    if key.exists() {
        let read = |path: &Path| {
            fs::read_to_string(path).map_err(|source| SandboxError::Read { path: path.to_owned(), source })
        };
        return Ok(Authority::from_pem(&read(&certificate)?, &Secret::from(read(&key)?))?);
    }
    let begin = now.checked_sub(DAY).unwrap_or(now);
    let authority = Authority::generate(KeyKind::P256, Some(name), begin, AUTHORITY_LIFE)?;
    write_private(&certificate, authority.certificate().as_bytes())?;
    // The key comes last: with it the authority exists.
    write_private(&key, authority.key().to_pem().expose().as_bytes())?;
    Ok(authority)
}

/// Makes `<name>.crt` and `<name>.key`, unless they are good as they are.
fn ensure(
    dir: &Path,
    name: &str,
    authority: &Authority,
    leaf: &Leaf,
    now: Timestamp,
) -> Result<(), SandboxError> {
    let (certificate, key) = (dir.join(format!("{name}.crt")), dir.join(format!("{name}.key")));
    let good = || -> Result<bool, PkiError> {
        let (Ok(text), true) = (fs::read_to_string(&certificate), key.exists()) else { return Ok(false) };
        let info = CertificateInfo::from_pem(&text)?;
        let root = CertificateInfo::from_pem(authority.certificate())?;
        let (mut has, mut wants) = (info.names.clone(), leaf.names.clone());
        has.sort();
        wants.sort();
        Ok(has == wants && info.signed_by(&root) && info.not_after > now + RENEW && info.not_before <= now)
    };
    if good().unwrap_or(false) {
        return Ok(());
    }
    let Issued { certificate: text, key: secret } = authority.issue(leaf)?;
    write_private(&key, secret.expose().as_bytes())?;
    Ok(write_private(&certificate, text.as_bytes())?)
}

/// Writes a kubeconfig that holds its identity, so that it can be carried elsewhere.
fn write_kubeconfig(
    path: &Path,
    sandbox: &str,
    ports: &PlanePorts,
    dir: &Path,
    file: &str,
    user: &str,
) -> Result<(), SandboxError> {
    use base64::{Engine, prelude::BASE64_STANDARD};

    let data = |name: String| {
        let path = dir.join(name);
        let bytes = fs::read(&path).map_err(|source| SandboxError::Read { path, source })?;
        Ok::<_, SandboxError>(BASE64_STANDARD.encode(bytes))
    };
    let cluster = format!("sandbox-{sandbox}");
    let config = serde_json::json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{ "name": cluster, "cluster": {
            "server": format!("https://{}", ports.api),
            "certificate-authority-data": data("ca.crt".to_owned())?,
        }}],
        "users": [{ "name": user, "user": {
            "client-certificate-data": data(format!("{file}.crt"))?,
            "client-key-data": data(format!("{file}.key"))?,
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

/// The address of a server certificate, for tests of what was kept.
#[cfg(test)]
fn address_of(path: &Path) -> Vec<std::net::IpAddr> {
    let info = CertificateInfo::from_pem(&fs::read_to_string(path).unwrap()).unwrap();
    info.names.iter().filter_map(|name| name.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use butler_core::settings::{Environment, Home};

    use super::*;

    fn ports(ip: &str) -> PlanePorts {
        let at = |port: u16| format!("{ip}:{port}").parse().unwrap();
        PlanePorts { etcd: at(1), etcd_peer: at(2), api: at(3), controller_manager: at(4), serve: at(5) }
    }

    #[test]
    fn identities_are_kept_until_they_end_or_no_longer_fit() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::resolve(&Environment::of([("BUTLER_HOME", dir.path())])).unwrap();
        let place = Place::new(&home, "dev");
        place.prepare().unwrap();
        let now: Timestamp = "2026-01-02T03:04:05Z".parse().unwrap();
        let read = |path: &Path| fs::read_to_string(path).unwrap();

        let first = Identities::ensure(&place, &ports("127.40.0.1"), now).unwrap();
        let (server, kubeconfig) = (read(&first.api_server.certificate), read(&first.admin));
        let again = Identities::ensure(&place, &ports("127.40.0.1"), now + DAY).unwrap();
        assert_eq!(read(&again.api_server.certificate), server);
        assert_eq!(read(&again.admin), kubeconfig, "what a person exported stays valid");

        let authority = read(&first.api_server.authority);
        let moved = Identities::ensure(&place, &ports("127.41.0.1"), now).unwrap();
        assert!(address_of(&moved.api_server.certificate).contains(&"127.41.0.1".parse().unwrap()));
        let later = Identities::ensure(&place, &ports("127.41.0.1"), now + DAY * 400).unwrap();
        let info = CertificateInfo::from_pem(&read(&later.api_server.certificate)).unwrap();
        assert!(info.not_after > now + DAY * 700);
        assert_eq!(read(&later.api_server.authority), authority, "the authority is for life");
        assert_ne!(authority, read(&later.etcd_server.authority), "etcd has its own");

        fs::write(&first.signing.1, "torn").unwrap();
        assert!(Identities::ensure(&place, &ports("127.41.0.1"), now).is_err());
    }
}
