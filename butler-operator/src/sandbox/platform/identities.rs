//! Who is who in the management plane: two authorities, and what they sign.
//!
//! etcd has an authority of its own, so that no certificate which the API server accepts opens etcd.

use std::path::PathBuf;

use butler_core::pki::Usage;
use jiff::Timestamp;

use super::ports::PlanePorts;
use crate::{
    plane::{API_NAMES, PkiDir, TlsFiles, person, server},
    sandbox::{SandboxError, place::Place},
};

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
        let etcd = PkiDir::open(&place.pki().join("etcd"), "etcd", now)?;
        let dir = place.pki().join("cluster");
        let cluster = PkiDir::open(&dir, "kubernetes", now)?;
        let ip = ports.api.ip().to_string();
        let names: Vec<&str> = API_NAMES.into_iter().chain([ip.as_str()]).collect();
        let etcd_server = etcd.identity("server", &server(&["localhost", &ip], Usage::Both, now), now)?;
        let etcd_client = etcd.identity("client", &person("kube-apiserver", None, now), now)?;
        let api_server = cluster.identity("server", &server(&names, Usage::Server, now), now)?;
        let (context, address) = (format!("sandbox-{}", place.name()), format!("https://{}", ports.api));
        let kubeconfig = |path: PathBuf, file: &str, name: &str, group| -> Result<PathBuf, SandboxError> {
            let identity = cluster.identity(file, &person(name, group, now), now)?;
            cluster.kubeconfig(&path, &context, &address, name, &identity)?;
            Ok(path)
        };
        let file = |name: &str| dir.join(format!("{name}.kubeconfig"));
        let manager = "kube-controller-manager";
        let masters = Some("system:masters");
        Ok(Self {
            etcd_server,
            etcd_client,
            api_server,
            signing: cluster.signing(),
            token_key: cluster.token_key()?,
            controller_manager: kubeconfig(file(manager), manager, &format!("system:{manager}"), None)?,
            serve: kubeconfig(file("serve"), "serve", "butler-serve", masters)?,
            admin: kubeconfig(place.kubeconfig(), "admin", "admin", masters)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use butler_core::{
        pki::CertificateInfo,
        settings::{Environment, Home},
    };
    use fs_err as fs;
    use jiff::SignedDuration;

    use super::*;

    const DAY: SignedDuration = SignedDuration::from_hours(24);

    fn address_of(path: &Path) -> Vec<std::net::IpAddr> {
        let info = CertificateInfo::from_pem(&fs::read_to_string(path).unwrap()).unwrap();
        info.names.iter().filter_map(|name| name.parse().ok()).collect()
    }

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
